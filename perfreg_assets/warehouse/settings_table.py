"""Current settings: all that results depend on and somebody set. A log of changes, the last one is in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfreg_assets.settings import ENVIRONMENT_PREFIX, SettingError, Settings
from perfreg_assets.warehouse import last_word
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import now_utc

ALWAYS_KEPT = {"detector", "omega", "localisation"}


def current(reader: Reader) -> dict[str, str]:
    """name -> value in force, as text; `detector`, `omega` and `localisation` are always there."""
    return dict(reader.rows("SELECT name, arg_max(value, changed_at) FROM core.settings GROUP BY name ORDER BY name"))


def in_force(reader: Reader, settings: Settings) -> Settings:
    """The settings with what the warehouse has in force put in.

    Detector, ω and localisation are always the warehouse's. Of the others, what a variable or argument of the process
    gives goes before the warehouse: for trying something out.
    """
    given = current(reader)
    variables = {ENVIRONMENT_PREFIX + name.upper(): value for name, value in given.items()}
    parsed = Settings.from_environment(variables)
    tried = settings.given - ALWAYS_KEPT
    return settings.with_values(**{name: getattr(parsed, name) for name in given if name not in tried})


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A parameter that this process was given otherwise than the warehouse has it; both as `Settings.spelled`.

    Attributes:
        is_used: whether the given value counts for this process; else the warehouse's does.
    """

    name: str
    given: str
    kept: str
    is_used: bool


def disagreements(reader: Reader | None, settings: Settings) -> list[Disagreement]:
    """Where what the process was given is not what the warehouse has in force; without one (None), what a new one
    would not take over."""
    kept = Settings() if reader is None else in_force(reader, Settings())
    asked = settings.given & (ALWAYS_KEPT if reader is None else set(Settings.kept_names()))
    return [
        Disagreement(name, settings.spelled(name), kept.spelled(name), name not in ALWAYS_KEPT)
        for name in sorted(asked)
        if getattr(settings, name) != getattr(kept, name)
    ]


def changes_in_force(reader: Reader) -> dict[str, dict[str, Any]]:
    """name → the change in force: `value`, `changed_at`, `changed_by`, `note`."""
    rows = reader.dicts(
        "SELECT name, value, changed_at, changed_by, note FROM marts.settings WHERE is_current ORDER BY name"
    )
    return {row.pop("name"): row for row in rows}


def meant(name: str, value: str) -> Any:
    """The value that a text spells, of a setting that is kept; whether it fits the others is not looked at.

    Raises:
        SettingError: the name is no setting, or the value is outside its type or range.
    """
    if name not in Settings.kept_names() or not value.strip():
        raise SettingError(f"{name} = {value!r}: not a setting that the warehouse keeps, with a value")
    return Settings.parsed(name, value)


def change(writer: Writer, name: str, value: str, note: str | None = None, changed_by: str | None = None) -> bool:
    """Puts a value in force and logs the change, why and by whom; False when it was in force already. It is the last
    change of the setting whatever the clock says, as it may have been set back since the one before.

    Raises:
        SettingError: the name is no setting, or the value is outside its type or range.
    """
    parsed = meant(name, value)
    text = in_force(writer, Settings()).with_values(**{name: parsed}).spelled(name)  # fits what the others are
    if current(writer).get(name) == text:
        return False
    writer.execute(
        "INSERT INTO core.settings (changed_at, name, value, note, changed_by) SELECT "
        f"{last_word.moment('core.settings', 'changed_at', 'name = $name')}, $name, $value, $note, $changed_by",
        {"now": now_utc(), "name": name, "value": text, "note": note, "changed_by": changed_by},
    )
    return True
