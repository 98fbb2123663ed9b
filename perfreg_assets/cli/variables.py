"""Variables of the environment that disagree with what the warehouse keeps, or are a setting's but for a letter: told
once per command, never silently."""

from __future__ import annotations

import os

from perfreg_assets import terminal
from perfreg_assets.near_names import nearest
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import ENVIRONMENT_PREFIX, SettingError, Settings

_ALIKE = 0.8
"""Variables of other things have our prefix, too: PERFREG_UI_SECRET is no misspelt setting."""


def tell_misspelt() -> None:
    """A line on stderr for each variable whose name is nearly a setting's: it changes nothing."""
    known = {str(row["variable"]) for row in Settings.describe()}
    names = [name.removeprefix(ENVIRONMENT_PREFIX) for name in known]
    for variable in sorted(set(os.environ) - known):
        if variable.startswith(ENVIRONMENT_PREFIX):
            near = nearest(variable.removeprefix(ENVIRONMENT_PREFIX), names, cutoff=_ALIKE)
            if near:
                told = " or ".join(f"{ENVIRONMENT_PREFIX}{name}" for name in near)
                terminal.note(f"{variable} is no setting and changes nothing (did you mean {told}?)")


def tell_disagreements(settings: Settings) -> None:
    """A line on stderr for each variable that would give other results than the warehouse's setting: both values, and
    which one counts. Costs nothing where none is given."""
    if not settings.given & set(Settings.kept_names()):
        return
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    try:
        if not settings.published_warehouse.is_file():
            found = settings_table.disagreements(None, settings)
        else:
            with Warehouse.of(settings).reading() as reader:
                found = settings_table.disagreements(reader, settings)
    except (Rejected, SettingError, OSError) as error:
        terminal.note(f"variables of the environment could not be held against the warehouse's settings: {error}")
        return
    for one in found:
        variable = f"{ENVIRONMENT_PREFIX}{one.name.upper()}"
        if one.is_used:
            terminal.note(
                f"{variable}={one.given} counts for this command; the warehouse has {one.name} = {one.kept}, "
                f"which counts for all that lack the variable (perfreg settings set {one.name} {one.given} keeps it)"
            )
        else:
            terminal.note(
                f"{variable}={one.given} does not count: {one.name} is always the warehouse's, {one.kept} "
                f"(perfreg settings set {one.name} {one.given} changes it)"
            )
