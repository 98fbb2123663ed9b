"""What the cores of a run took at most, from the kernel's times in state: where the trace has no frequencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perfreg_assets.methods.power_profile import PowerProfile
from perfreg_assets.methods.state_ticks import charge_mas, seconds_between
from perfreg_assets.reasons import Reason, Rejected

SOURCE = "time_in_state"
_MOST_CORES = 1000  # a list of them is made; as many as a log of methods may name


class TickedCores:
    """`profile_choice.SeenCores` by what run.json says in `cpu_time_in_state`."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        """
        Raises:
            Rejected: STATE_TIMES_DISAGREE.
        """
        try:
            elapsed_s = float(told["end_s"]) - float(told["start_s"])
            policies = {_within("policy", number, 0): own for number, own in told["policies"].items()}
            self.first = tuple(sorted(policies))
            self.core_counts = [_within("core_count", policies[number]["core_count"], 1) for number in self.first]
            self.seconds = [
                seconds_between(_ticks(policies[number]["start"]), _ticks(policies[number]["end"]), elapsed_s)
                for number in self.first
            ]
        except (KeyError, TypeError, AttributeError) as error:
            raise Rejected(Reason.STATE_TIMES_DISAGREE, f"run.json, cpu_time_in_state ({error!r})") from error
        except (ValueError, OverflowError) as error:
            raise Rejected(Reason.STATE_TIMES_DISAGREE, f"run.json, cpu_time_in_state: {error}") from error

    @property
    def cores(self) -> tuple[int, ...]:
        """Numbers of the cores, ascending."""
        return tuple(first + k for first, count in zip(self.first, self.core_counts, strict=True) for k in range(count))

    @property
    def seen_clusters(self) -> tuple[int, ...]:
        """First core of each cluster."""
        return self.first

    def fit(self, profile: PowerProfile) -> float:
        """Share of the kernel's frequencies that the profile's tables have."""
        found = [
            bool((table == khz).any())
            for number, seconds in enumerate(self.seconds)
            for table in [_table(profile, number)]
            for khz in seconds
        ]
        return sum(found) / len(found) if found else 0.0

    def available_frequencies(self, first_cores: Sequence[int]) -> list[np.ndarray]:
        """As `frequencies`: the kernel counts those that it never used, too."""
        return self.frequencies(first_cores)

    def frequencies(self, first_cores: Sequence[int]) -> list[np.ndarray]:
        """Of each cluster (n,) the frequencies that the kernel knows, ascending."""
        return [np.array(sorted(seconds), np.float64) for seconds in self.seconds]

    def charge_mas(self, profile: PowerProfile) -> float:
        """mA·s of all cores, at the frequencies that they were at, busy or not."""
        return sum(
            count * charge_mas(profile, number, seconds)
            for number, (count, seconds) in enumerate(zip(self.core_counts, self.seconds, strict=True))
        )


def _table(profile: PowerProfile, number: int) -> np.ndarray:
    is_single = profile.first_cores is None and len(profile.clusters) == 1
    table = profile.cluster(number).khz if is_single or number < len(profile.clusters) else None
    return np.zeros(0) if table is None else table


def _within(what: str, told: Any, least: int) -> int:
    number = int(told)
    if not least <= number <= _MOST_CORES:
        raise ValueError(f"{what} is {number}, allowed is {least} to {_MOST_CORES}")
    return number


def _ticks(levels: Any) -> dict[float, int]:
    return {float(khz): int(ticks) for khz, ticks in levels}
