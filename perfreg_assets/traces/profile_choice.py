"""Which power profile holds for a trace: the run folder's own, the one that a setting names, the device's.

A profile is taken only where it fits: the frequencies that the trace has must be in its tables. One that a setting
forces is taken anyway, and what is made of it says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from perfreg_assets.methods.power_profile import (
    FIT_MINIMUM,
    PowerProfile,
    layout,
    same_charges,
    same_frequencies,
)
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.chips import of_same_chip
from perfreg_assets.traces.power_profile import parse_profile, read_profile

RUN_FOLDER, SETTING, WAREHOUSE, BUNDLED = "run_folder", "setting", "warehouse", "bundled"
"""Where a profile came from, in the order in which they are asked."""
_TOP_TOLERANCE = 0.01  # of the highest frequency, which some kernels measure; generations differ by 1.7 % and more


class SeenCores(Protocol):
    """What a trace tells of its cores' frequencies, see `power_times.CoreStates`."""

    @property
    def cores(self) -> tuple[int, ...]: ...

    @property
    def seen_clusters(self) -> tuple[int, ...]: ...

    def fit(self, profile: PowerProfile) -> float: ...

    def available_frequencies(self, first_cores: Sequence[int]) -> list[np.ndarray]: ...

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
    doubt: why it may be a sibling chip's all the same; None where nothing speaks for that.
    is_unconfirmed: nothing confirms that it is of the device's chip: what is made of it is told, and never judged.
    """

    profile: PowerProfile
    offered: Offered
    fit_ratio: float
    is_foreign: bool
    doubt: str | None = None
    is_unconfirmed: bool = False


@dataclass(frozen=True)
class Profiles:
    """What there is to choose from.

    Attributes:
        own: file in the run folder, which need not be there.
        fetched_sha256: of the file that the collection fetched from the run's own device.
        of_devices: code name → profile.
        frequencies_khz: number of a policy → frequencies, from run.json, for profiles that have steps only.
        nominal_voltage_v: of the battery.
        state_times: `cpu_time_in_state` of run.json; None where it says none.
    """

    own: Path | None = None
    fetched_sha256: str | None = None
    forced: Offered | None = None
    forced_name: str = ""
    of_devices: Mapping[str, Offered] = field(default_factory=dict)
    frequencies_khz: Mapping[int, Sequence[float]] = field(default_factory=dict)
    nominal_voltage_v: float = 3.85
    state_times: Mapping[str, Any] | None = None

    @property
    def own_sha256(self) -> str | None:
        """Of the file in the run folder, usable or not; None where there is none."""
        if self.own is None or not self.own.is_file():
            return None
        try:
            with self.own.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:  # `choose` says so
            return None

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
        if is_forced:
            return Chosen(profile, offered, fit, is_other or fit < FIT_MINIMUM)
        _refuse_slower_chip(profile, offered.name, seen)
        if offered.origin != RUN_FOLDER:
            return Chosen(profile, offered, fit, False)
        doubt, is_confirmed = self._doubt(profile, offered.name, device, seen)
        return Chosen(profile, offered, fit, False, doubt, not is_confirmed)

    def clusters_of(self, device: str, seen: SeenCores) -> tuple[int, ...]:
        """First core of each cluster where no profile could be chosen: as what is known of the device or of its chip
        has them, if that fits; else as the trace shows them.

        Args:
            device: code name by the trace; empty where it does not tell.
        """
        try:
            known = self._known_of(device) or self._known_of_chip(device)[1]
        except Rejected:  # a profile that an earlier release took; where it was to be chosen, `choose` said so
            known = None
        first_cores = layout(known, seen.cores, seen.seen_clusters)
        if known is None or first_cores is None or seen.fit(known) < FIT_MINIMUM:
            return tuple(seen.seen_clusters)
        return first_cores

    def _doubt(self, profile: PowerProfile, name: str, device: str, seen: SeenCores) -> tuple[str | None, bool]:
        """Why a file that fits may be a sibling chip's all the same, None where nothing speaks for that; and whether
        something confirms that it is of the device's chip.

        Raises:
            Rejected: PROFILE_MISFIT: what is known of the device says so.
        """
        if profile.source != "profile" or not profile.has_frequencies:
            return None, True
        if self.fetched_sha256 == profile.profile_id:
            return None, True
        known = self._known_of(device)
        if known is not None and not same_frequencies(profile, known):
            raise Rejected(
                Reason.PROFILE_MISFIT, f"{name} has other frequencies than {device}'s cores, by the profile known of it"
            )
        if known is not None:
            return (
                None if same_charges(profile, known) else f"the profile known of {device} states other values"
            ), True
        sibling, related = self._known_of_chip(device)
        if related is not None:
            if not same_frequencies(profile, related):
                raise Rejected(
                    Reason.PROFILE_MISFIT,
                    f"{name} has other frequencies than {device}'s cores, by the profile of {sibling}, of its chip",
                )
            return None, True
        first_cores = layout(profile, seen.cores, seen.seen_clusters) or ()
        of_run = [np.array(sorted(self.frequencies_khz.get(core, ())), np.float64) for core in first_cores]
        available = seen.available_frequencies(first_cores) or (of_run if all(map(len, of_run)) else [])
        if _by_the_kernel(profile, name, available):
            return None, True
        return f"no profile of {device or 'a device that the trace does not name'} is known to compare it with", False

    def _known_of_chip(self, device: str) -> tuple[str, PowerProfile | None]:
        """What is known of another device of the same chip, and its code name."""
        for sibling in sorted(of_same_chip(device) - {device}):
            found = self._known_of(sibling)
            if found is not None:
                return sibling, found
        return "", None

    def _known_of(self, device: str) -> PowerProfile | None:
        """What is known of a device besides what its runs bring along; None for nothing with frequencies."""
        offered = self.of_devices.get(device)
        if offered is None:
            return None
        found = parse_profile(offered.content, offered.name, nominal_voltage_v=self.nominal_voltage_v)
        return found if found.source == "profile" and found.has_frequencies else None

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


def _refuse_slower_chip(profile: PowerProfile, name: str, seen: SeenCores) -> None:
    """Generations of a chip share frequencies, and the newer one has higher ones: those are in no older one's table."""
    first_cores = layout(profile, seen.cores, seen.seen_clusters) or ()
    for number, khz in enumerate(seen.frequencies(first_cores)):
        table = profile.cluster(number).khz
        if table is not None and khz.size and khz[-1] > table[-1] * (1 + _TOP_TOLERANCE):
            raise Rejected(
                Reason.PROFILE_MISFIT,
                f"{name} ends at {table[-1] / 1e3:.0f} MHz, a core of cluster {number} ran at {khz[-1] / 1e3:.0f}",
            )


def _by_the_kernel(profile: PowerProfile, name: str, available: Sequence[np.ndarray]) -> bool:
    """Whether the kernel told which frequencies the cores can run at, and those are the profile's.

    Args:
        available: kHz of each cluster (n,), ascending; empty where it is not known.

    Raises:
        Rejected: PROFILE_MISFIT: a cluster's highest is another one, which no two chips of a family share.
    """
    is_same = bool(available)
    for number, khz in enumerate(available):
        table = profile.cluster(number).khz
        if table is None:
            return False
        if abs(table[-1] - khz[-1]) > khz[-1] * _TOP_TOLERANCE:
            raise Rejected(
                Reason.PROFILE_MISFIT,
                f"{name} ends at {table[-1] / 1e3:.0f} MHz, the kernel says that cores of cluster {number} reach "
                f"{khz[-1] / 1e3:.0f}",
            )
        is_same = is_same and np.array_equal(table, khz)
    return is_same
