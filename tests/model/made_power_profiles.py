"""Power profiles that are made up, and a trace's cores that one is put on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfreg_assets.methods.power_profile import PowerProfile, fit_ratio
from perfreg_assets.methods.power_states import States

KHZ = (300_000, 600_000)
"""What the cores of made-up traces run at."""
STATES = States(np.zeros(len(KHZ), np.int64), np.array(KHZ, np.float64))


def _profile(powers: Sequence[float], *, speeds: Sequence[int] = KHZ, capacity: int = 3000) -> bytes:
    lists = {"cpu.clusters.cores": (2,), "cpu.core_speeds.cluster0": speeds, "cpu.core_power.cluster0": powers}
    arrays = "".join(
        f'<array name="{name}">{"".join(f"<value>{one}</value>" for one in values)}</array>'
        for name, values in lists.items()
    )
    items = {"cpu.active": 5, "cpu.idle": 2, "battery.capacity": capacity}
    told = "".join(f'<item name="{name}">{value}</item>' for name, value in items.items())
    return f'<device name="Android">{told}{arrays}</device>'.encode()


PROFILES = {
    "low.xml": _profile((10, 20)),
    "high.xml": _profile((15, 40)),
    "larger.xml": _profile((10, 20), capacity=4000),
    "other.xml": _profile((12, 24), speeds=(400_000, 900_000)),
}
"""File → content: three that fit, of which two state the same charges, and one that does not fit."""
DEVICES = ("raven", "made", "oriole")
"""Code names: of the first only its chip is known, of the second nothing, of the third the installation brings a
profile, which does not fit."""


class Cores:
    """What a made-up trace tells of its cores, a `profile_choice.SeenCores`."""

    cores = (0, 1)
    seen_clusters = (0,)

    def fit(self, profile: PowerProfile) -> float:
        return fit_ratio(profile, STATES.cluster, STATES.khz, np.ones(len(KHZ)))

    def available_frequencies(self, first_cores: Sequence[int]) -> list[np.ndarray]:
        return []

    def frequencies(self, first_cores: Sequence[int]) -> list[np.ndarray]:
        return [STATES.khz for _ in first_cores]
