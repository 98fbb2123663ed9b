"""Charge by how long cores were at each frequency, as the kernel counts it: in ticks of 10 ms, busy or not.

Σ cores Σ frequencies p(f) · time [Gordienko 5.2]. It pays for idle time as for work, 2.7 to 9.8 times what rails
measured: an upper bound, for sources without scheduling only.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perfreg_assets.methods.power_profile import PowerProfile

TICK_S = 0.01
TOLERATED_TICKS = 2
"""By which the sum of a core's ticks may miss the time that passed: both ends are somewhere within a tick."""

Ticks = Mapping[float, int]
"""kHz → ticks since the device started."""


def seconds_between(before: Ticks, after: Ticks, elapsed_s: float) -> dict[float, float]:
    """kHz → s that a core was at it between two moments.

    Args:
        elapsed_s: between the two moments, by a clock.

    Raises:
        ValueError: ticks run backwards, a frequency is there at one moment only, or the sum is not the time that
            passed.
    """
    if before.keys() != after.keys():
        raise ValueError(f"{_mhz(set(before) ^ set(after))} is there at one moment only")
    for khz, ticks in after.items():
        if ticks < before[khz]:
            raise ValueError(f"the ticks at {_mhz([khz])} run backwards, from {before[khz]} to {ticks}")
    total_s = sum(after[khz] - before[khz] for khz in after) * TICK_S
    if not abs(total_s - elapsed_s) <= (TOLERATED_TICKS + 1e-6) * TICK_S:  # nor is a clock that tells NaN one
        raise ValueError(f"the ticks are {total_s:.2f} s, {elapsed_s:.3f} s passed")
    return {khz: (after[khz] - before[khz]) * TICK_S for khz in after}


def _mhz(khz: set[float] | list[float]) -> str:
    return f"{min(khz) / 1e3:g} MHz"


def charge_mas(profile: PowerProfile, cluster: int, seconds: Mapping[float, float]) -> float:
    """mA·s of one core of a cluster."""
    khz = np.array(sorted(seconds), np.float64)
    return float(profile.charge_of(cluster, khz) @ np.array([seconds[one] for one in khz.tolist()]))
