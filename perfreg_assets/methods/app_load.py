"""What an app uses in each second, against what it used in a reference: sees what no event tells.

Counts of events are blind to a thread that computes longer between two switches and to memory that grows. Two features:
core seconds per second, mean of the three seconds around it; and how steadily memory rose within half a minute, falls
not taken off, since a garbage collector hides a leak in the difference of two levels. Steadily: rises count by their
cube roots, as a leak is many small ones and a garbage collector or a screen that is drawn first makes few that are
large. Half a minute is unusual as a whole: a leak is in no second of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from perfreg_assets.methods.inputs import Floats

# On the recorded runs that docs/reduction.md tells figures of; spans, root and margin on half of them.
RUNNING_S, RISES_S = 3, 31
REACH_S = RISES_S - 1
"""So many seconds after one change what is said of it."""
RISE_MARGIN = 1.33
"""So many times what rose most in the reference is unusual (1.1 of the sum): one recording in as many as the reference
is of exceeds its most."""
LIMIT_QUANTILE = 0.999
FEWEST_SECONDS = 120


@dataclass(frozen=True)
class Load:
    """Of the seconds of a recording, (n,) each.

    Attributes:
        core_seconds: per second. rise_bytes: cube of the sum of the cube roots of the rises within 31 seconds: ten of
            1 MB are as one of 1,000 MB; NaN where memory was never polled.
    """

    core_seconds: Floats
    rise_bytes: Floats

    def within(self, first: int, last: int) -> Load:
        """The seconds in [first, last)."""
        return Load(self.core_seconds[max(first, 0) : last], self.rise_bytes[max(first, 0) : last])


@dataclass(frozen=True)
class LoadLimits:
    """The most that an app uses as usual; NaN: not known, and nothing is above it."""

    app: str
    core_seconds: float
    rise_bytes: float

    def excess(self, load: Load) -> Floats:
        """(n,) By what factor each second is above the limits, the larger of the two; 0 where nothing is known. What
        rose counts for all seconds in which it did."""
        running = _ratio(load.core_seconds, self.core_seconds)
        rises = _around(np.nan_to_num(_ratio(load.rise_bytes, self.rise_bytes)), RISES_S).max(axis=1, initial=0.0)
        larger: Floats = np.fmax(np.fmax(running, rises), 0.0)
        return larger


def load_of(running_s: Sequence[float], rise_bytes: Sequence[float] | None) -> Load:
    """
    Args:
        running_s: (n,) core seconds of each second.
        rise_bytes: (n,) by how much memory rose in each second; None where it was never polled.
    """
    count = len(running_s)
    near = np.maximum(_around(np.ones(count), RUNNING_S).sum(axis=1), 1.0)
    running = _around(np.asarray(running_s, np.float64), RUNNING_S).sum(axis=1) / near
    if rise_bytes is None:
        return Load(running, np.full(count, np.nan))
    return Load(running, _around(np.cbrt(np.asarray(rise_bytes, np.float64)), RISES_S).sum(axis=1) ** 3)


def limits_of(app: str, loads: Sequence[Load]) -> LoadLimits | None:
    """From the seconds of correct runs; None from under two minutes of them."""
    running = np.concatenate([one.core_seconds for one in loads]) if loads else np.empty(0)
    rises = np.concatenate([one.rise_bytes for one in loads]) if loads else np.empty(0)
    if len(running) < FEWEST_SECONDS:
        return None
    polled = rises[~np.isnan(rises)]
    rise = RISE_MARGIN * float(polled.max()) if len(polled) >= FEWEST_SECONDS else np.nan
    return LoadLimits(app, float(np.quantile(running, LIMIT_QUANTILE)), rise)


def _around(values: Floats, width: int) -> Floats:
    """(n, width) each value with its neighbours; 0 beyond the ends."""
    if not len(values):
        return np.empty((0, width))
    return sliding_window_view(np.pad(values, width // 2), width)


def _ratio(values: Floats, limit: float) -> Floats:
    # An app that never ran, or whose memory never rose, in the reference has no scale to be compared by.
    if np.isnan(limit) or limit <= 0:
        return np.full(len(values), np.nan)
    ratio: Floats = values / limit
    return ratio
