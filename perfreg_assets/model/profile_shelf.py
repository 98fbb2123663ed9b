"""The power profiles that traces are read with: those of the warehouse, over those of the installation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from perfreg_assets import bundled
from perfreg_assets.methods.power_profile import PowerProfile, same_frequencies, same_values
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import POWER_PROFILE
from perfreg_assets.settings import Settings
from perfreg_assets.traces.chips import of_same_chip
from perfreg_assets.traces.power_profile import parse_profile
from perfreg_assets.traces.profile_choice import BUNDLED, SETTING, WAREHOUSE, Offered, Profiles
from perfreg_assets.warehouse import power_profiles, settings_table
from perfreg_assets.warehouse.connection import Reader, Warehouse
from perfreg_assets.warehouse.runs import RunRow

OF_THE_DEVICE = "device"
"""The value of the setting `power_profile` that forces none."""
_POLICY, _MOST_KHZ = re.compile(r"[0-9]{1,4}"), 1e9
_FREQUENCIES = "cpu_frequencies_khz"  # in run.json: {"0": [300000, …], "4": […]}, by policy


@dataclass(frozen=True)
class Shelf:
    """`forced`: what the setting names, None where it names none or one that is not stored; `added`: by device."""

    forced: Offered | None = None
    added: Mapping[str, Offered] = field(default_factory=dict)

    def offered_to(self, device: str | None) -> str:
        """Hash of all on it that the choice for a run of the device rests on: what is added for its chip's devices may
        confirm or contradict what the run brought along."""
        of_chip = {device or "", *of_same_chip(device or "")}
        forced = [] if self.forced is None else [self.forced]
        offered = [*forced, *(one for name, one in sorted(self.added.items()) if name in of_chip)]
        told = [(one.origin, one.name, one.device, hashlib.sha256(one.content).hexdigest()) for one in offered]
        return hashlib.sha256(repr(told).encode()).hexdigest()[:16] if told else ""

    def for_run(self, run: RunRow, folder: Path, settings: Settings) -> Profiles:
        """What a run's profile is chosen from.

        Args:
            folder: with the run's files.
        """
        told = run.extra or {}
        return replace(
            self._of_folder(folder, settings),
            fetched_sha256=fetched_sha256(told),
            frequencies_khz=_frequencies(told),
            state_times=_state_times(told),
        )

    def for_trace(self, trace: Path, settings: Settings) -> Profiles:
        """What is chosen from of a trace that is no run's, or not yet: the one beside it is its device's, too."""
        return self._of_folder(trace.parent, settings)

    def while_collected(self, folder: Path, settings: Settings) -> Profiles:
        """The same before there is a run.json: what lies in the folder was fetched from the run's device."""
        found = self._of_folder(folder, settings)
        return replace(found, fetched_sha256=found.own_sha256)

    def _of_folder(self, folder: Path, settings: Settings) -> Profiles:
        name = settings.power_profile
        return Profiles(
            own=folder / POWER_PROFILE,
            forced=self.forced,
            forced_name="" if name == OF_THE_DEVICE else name,
            of_devices={**installed(), **self.added},
            nominal_voltage_v=settings.nominal_voltage_v,
        )

    def as_json(self) -> dict[str, Any]:
        """For workers, who know no warehouse."""
        return {
            "forced": None if self.forced is None else _told(self.forced),
            "added": [_told(one) for one in self.added.values()],
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Shelf:
        """
        Raises:
            KeyError, TypeError: it is none.
        """
        forced = told["forced"]
        added = [_heard(one, WAREHOUSE) for one in told["added"]]
        return cls(None if forced is None else _heard(forced, SETTING), {one.device: one for one in added})


def of_warehouse(settings: Settings) -> tuple[Settings, Shelf]:
    """What a run would be read by: the settings in force and the profiles of the warehouse, where there is one."""
    warehouse = Warehouse.of(settings)
    if not warehouse.published.exists():
        return settings, Shelf()
    with warehouse.reading_caught_up() as reader:
        settings = settings_table.in_force(reader, settings)
        return settings, load(reader, settings)


def load(reader: Reader, settings: Settings) -> Shelf:
    """What the warehouse has.

    Args:
        settings: those in force.
    """
    name, forced = settings.power_profile, None
    if name != OF_THE_DEVICE:
        one, row = installed().get(name), power_profiles.find_added(reader, name)
        if row is None and one is not None:
            forced = Offered(one.content, one.name, one.device, SETTING)
        elif (found := row or power_profiles.find(reader, name)) is not None:
            forced = Offered(found.content.encode(), found.profile_name, found.device_name or "", SETTING)
    added = power_profiles.of_devices(reader)
    return Shelf(
        forced,
        {
            row.device_name: Offered(row.content.encode(), row.profile_name, row.device_name, WAREHOUSE)
            for row in added
            if row.device_name
        },
    )


@cache
def installed() -> Mapping[str, Offered]:
    """Code name -> profile that the installation brings."""
    files: Sequence[Path] = sorted(bundled.power_profiles_dir().glob("*.xml"))
    return {path.stem: Offered(path.read_bytes(), path.name, path.stem, BUNDLED) for path in files}


def offered_for(reader: Reader | None, settings: Settings, device: str) -> Offered | None:
    """What was added for a device (None: to no warehouse), else what the installation brings for it; None where neither
    is there."""
    added = {} if reader is None else load(reader, settings).added
    return {**installed(), **added}.get(device)


def of_device(reader: Reader | None, settings: Settings, device: str) -> tuple[PowerProfile, bytes, str, str]:
    """(profile, content, name, origin as it is stored) of what was added for a device, else of what the installation
    brings.

    Args:
        settings: those in force.

    Raises:
        Rejected: PROFILE_MISSING.
    """
    offered = offered_for(reader, settings, device)
    if offered is None:
        raise Rejected(Reason.PROFILE_MISSING, f"device {device}")
    profile = parse_profile(offered.content, offered.name, nominal_voltage_v=settings.nominal_voltage_v)
    origin = power_profiles.ADDED if offered.origin == WAREHOUSE else power_profiles.BUNDLED
    return profile, offered.content, offered.name, origin


def doubt_of(reader: Reader, settings: Settings, profile: PowerProfile, device: str | None) -> str | None:
    """Why a profile that somebody puts on a device's run is perhaps another chip's, though it may fit: neighbouring
    generations share frequencies. None where nothing speaks for that.

    Args:
        settings: those in force.
        device: code name by the trace; None where it does not tell.
    """
    if device is None or profile.source != "profile" or not profile.has_frequencies:
        return None
    volts = settings.nominal_voltage_v
    known = {
        name: parse_profile(one.content, one.name, nominal_voltage_v=volts)
        for name, one in {**installed(), **load(reader, settings).added}.items()
    }
    for name in (device, *sorted(of_same_chip(device) - {device})):
        beside = known.get(name)
        if beside is not None and beside.source == "profile" and beside.has_frequencies:
            of = "the profile known of it" if name == device else f"the profile of {name}, of its chip"
            is_same = same_frequencies(profile, beside)
            return None if is_same else f"it has other frequencies than {device}'s cores, by {of}"
    theirs = next((name for name, one in known.items() if one.profile_id == profile.profile_id), None)
    return None if theirs is None else f"it is the profile known of {theirs}, nothing is known of {device}"


@dataclass(frozen=True)
class KnownProfile:
    """A profile that can be used. `same_as`: another one that states the same values, None where there is none."""

    profile: PowerProfile
    name: str
    device: str | None
    origin: str
    run_count: int
    same_as: str | None = None


def known_profiles(reader: Reader | None, settings: Settings) -> list[KnownProfile]:
    """Every profile of the warehouse (None: of none) and of the installation, by device."""
    found: dict[str, KnownProfile] = {}
    volts = settings.nominal_voltage_v
    for row, run_count in power_profiles.listing(reader) if reader is not None else ():
        profile = parse_profile(row.content.encode(), row.profile_name, nominal_voltage_v=volts)
        origin = row.profile_origin if row.removed_at is None else power_profiles.REMOVED
        found[row.profile_id] = KnownProfile(profile, row.profile_name, row.device_name, origin, run_count)
    for one in installed().values():
        profile = parse_profile(one.content, one.name, nominal_voltage_v=volts)
        found.setdefault(profile.profile_id, KnownProfile(profile, one.name, one.device, one.origin, 0))
    rows = sorted(found.values(), key=lambda one: (one.device or "~", one.name))
    return [
        replace(one, same_as=next((other.name for other in rows if same_values(one.profile, other.profile)), None))
        for one in rows
    ]


def _frequencies(extra: Mapping[str, Any]) -> dict[int, list[float]]:
    """What run.json says; what cannot be used counts as not said."""
    given = extra.get(_FREQUENCIES)
    if not isinstance(given, dict):
        return {}
    found = {}
    for policy, values in given.items():
        if _POLICY.fullmatch(policy) and isinstance(values, list) and all(map(_is_frequency, values)):
            found[int(policy)] = [float(one) for one in values]
    return found


def _is_frequency(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _MOST_KHZ


def _state_times(extra: Mapping[str, Any]) -> Mapping[str, Any] | None:
    told = extra.get("cpu_time_in_state")
    return told if isinstance(told, dict) else None


def fetched_sha256(extra: Mapping[str, Any]) -> str | None:
    """SHA-256 of the power profile that the collection took from the device; None where it says none."""
    told = extra.get("collection")
    profile = told.get("power_profile") if isinstance(told, dict) else None
    sha256 = profile.get("sha256") if isinstance(profile, dict) else None
    return sha256 if isinstance(sha256, str) else None


def _told(one: Offered) -> dict[str, str]:
    return {"name": one.name, "device": one.device, "content": one.content.decode("utf-8", "replace")}


def _heard(told: Mapping[str, str], origin: str) -> Offered:
    return Offered(told["content"].encode(), told["name"], told["device"], origin)
