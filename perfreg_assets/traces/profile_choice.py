"""Which power profile holds for a trace: the run folder's own, the one that a setting names, the device's.

A profile is taken only where it fits: the frequencies that the trace has must be in its tables. One that a setting
forces is taken anyway, and what is made of it says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from perfreg_assets.methods.power_profile import FIT_MINIMUM, PowerProfile, layout
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.power_profile import parse_profile, read_profile

RUN_FOLDER, SETTING, WAREHOUSE, BUNDLED = "run_folder", "setting", "warehouse", "bundled"
"""Where a profile came from, in the order in which they are asked."""


class SeenCores(Protocol):
    """What a trace tells of its cores' frequencies, see `power_times.CoreStates`."""

    @property
    def cores(self) -> tuple[int, ...]: ...

    @property
    def seen_clusters(self) -> tuple[int, ...]: ...

    def fit(self, profile: PowerProfile) -> float: ...

    def frequencies(self, first_cores: Sequence[int]) -> list[np.ndarray]: ...


@dataclass(frozen=True)
class Offered:
    """A profile's file that may be chosen. `device`: the code name that it is of, empty where nobody says."""

    content: bytes
    name: str
    device: str
    origin: str


@dataclass(frozen=True)
class Chosen:
    """Attributes:
    fit_ratio: share of the frequency samples that it has.
    is_foreign: it was forced, and does not fit or is another device's.
    """

    profile: PowerProfile
    offered: Offered
    fit_ratio: float
    is_foreign: bool


@dataclass(frozen=True)
class Profiles:
    """What there is to choose from.

    Attributes:
        own: file in the run folder, which need not be there.
        of_devices: code name → profile.
        frequencies_khz: number of a policy → frequencies, from run.json, for profiles that have steps only.
        nominal_voltage_v: of the battery.
    """

    own: Path | None = None
    forced: Offered | None = None
    forced_name: str = ""
    of_devices: Mapping[str, Offered] = field(default_factory=dict)
    frequencies_khz: Mapping[int, Sequence[float]] = field(default_factory=dict)
    nominal_voltage_v: float = 3.85

    def choose(self, device: str, seen: SeenCores) -> Chosen:
        """
        Args:
            device: code name by the trace; empty where it does not tell.

        Raises:
            Rejected: PROFILE_….
        """
        offered = self._offered(device)
        if offered is None and self.forced_name:
            raise Rejected(Reason.PROFILE_UNKNOWN, f"power_profile = {self.forced_name}")
        if offered is None:
            raise Rejected(
                Reason.PROFILE_MISSING, f"device {device}" if device else "the trace does not name its device"
            )
        parsed = parse_profile(offered.content, offered.name, nominal_voltage_v=self.nominal_voltage_v)
        profile = self._with_frequencies(parsed, offered.name, seen)
        fit = seen.fit(profile)
        is_other = bool(offered.device and device and offered.device != device)
        is_forced = offered.origin == SETTING
        if (fit < FIT_MINIMUM and not is_forced) or layout(profile, seen.cores, seen.seen_clusters) is None:
            raise Rejected(
                Reason.PROFILE_MISFIT, f"{offered.name} has {fit:.0%} of the frequencies that the trace's cores had"
            )
        return Chosen(profile, offered, fit, is_forced and (is_other or fit < FIT_MINIMUM))

    def _offered(self, device: str) -> Offered | None:
        if self.own is not None and self.own.is_file():
            _, content = read_profile(self.own, nominal_voltage_v=self.nominal_voltage_v)
            return Offered(content, f"the run folder's {self.own.name}", "", RUN_FOLDER)
        if self.forced_name:
            return self.forced
        return self.of_devices.get(device)

    def _with_frequencies(self, profile: PowerProfile, name: str, seen: SeenCores) -> PowerProfile:
        """Frequencies for steps: those of run.json, else those of the trace if it shows as many as there are steps."""
        if profile.has_frequencies:
            return profile
        first_cores = profile.first_cores or ()
        given = [np.array(sorted(self.frequencies_khz.get(core, ())), np.float64) for core in first_cores]
        found = profile.with_frequencies(given) or profile.with_frequencies(seen.frequencies(first_cores))
        if found is None:
            raise Rejected(
                Reason.PROFILE_MISFIT,
                f"{name} has {[len(one.charge_ma) for one in profile.clusters]} steps without frequencies, the trace "
                f"shows {[len(one) for one in seen.frequencies(first_cores)]} (run.json may say cpu_frequencies_khz)",
            )
        return found
