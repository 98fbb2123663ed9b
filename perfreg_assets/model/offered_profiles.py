"""Which power profiles a run's was chosen from, and of which runs these are others by now: told by what was offered
when a trace was read, whenever that was, on whichever machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perfreg_assets.model import profile_shelf
from perfreg_assets.model.profile_shelf import Shelf
from perfreg_assets.settings import Settings
from perfreg_assets.traces.energies import Energies
from perfreg_assets.traces.profile_choice import RUN_FOLDER
from perfreg_assets.warehouse import energies, power_profiles
from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.power_profiles import ProfileRow, StoredProfile
from perfreg_assets.warehouse.runs import RunRow


def offered(shelf: Shelf, run: RunRow, found: Energies) -> str:
    """What of a shelf the choice for a run rests on, as core.energy_runs.offered_profiles has it."""
    if found.chosen is not None and found.chosen.offered.origin == RUN_FOLDER:
        fetched = profile_shelf.fetched_sha256(run.extra or {})
        if fetched is not None and fetched == found.own_profile_sha256:
            return energies.OWN_OFFERED
    return shelf.offered_to(found.device)


def add(writer: Writer, settings: Settings, profile: StoredProfile) -> list[str]:
    """Makes it the profile of its device, see `power_profiles.add`.

    Args:
        settings: those in force.

    Returns:
        ids of the runs whose traces are to be read again.
    """
    return _changed(writer, settings, lambda: power_profiles.add(writer, profile))


def remove(writer: Writer, settings: Settings, profile: ProfileRow) -> list[str]:
    """Takes back that it is the profile of its device, see `power_profiles.remove`.

    Args:
        settings: those in force.

    Returns:
        ids of the runs whose traces are to be read again.
    """
    return _changed(writer, settings, lambda: power_profiles.remove(writer, profile))


def keep(writer: Writer, settings: Settings, profile: StoredProfile) -> list[str]:
    """Keeps one that came with something else than a run, see `power_profiles.keep`: the setting may name it.

    Args:
        settings: those in force.

    Returns:
        ids of the runs whose traces are to be read again.
    """
    return _changed(writer, settings, lambda: power_profiles.keep(writer, [profile]))


def outdate(writer: Writer, settings: Settings, run_ids: Sequence[str] | None = None) -> list[str]:
    """Notes of some runs (None: of all) whether they were read with what is offered now; the ids of those that are to
    be read again, and were not to be before. Of all, too, where the setting may name what one of them brought along.

    Args:
        settings: those in force.
    """
    shelf = profile_shelf.load(writer, settings)
    if settings.power_profile != profile_shelf.OF_THE_DEVICE:
        run_ids = None
    now = {device: shelf.offered_to(device) for device in energies.devices(writer, run_ids)}
    return energies.outdate(writer, now, run_ids)


def _changed(writer: Writer, settings: Settings, change: Callable[[], None]) -> list[str]:
    shelf = profile_shelf.load(writer, settings)
    energies.note_offered(writer, {device: shelf.offered_to(device) for device in energies.devices(writer)})
    change()
    return outdate(writer, settings)
