"""What the app was doing at each sample: the screen it was on and the whole seconds since the last action."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LONGEST_S = 30  # seconds on one screen beyond which time since the action tells nothing more

UNKNOWN = -1


def state_codes(
    offsets_s: NDArray[np.float64], screens: Sequence[str], *, count: int, interval_s: float
) -> NDArray[np.int64]:
    """Codes (count,), one per sample; the same (screen, seconds) has the same code in every run.

    A sample takes the state at its middle. Before the first action the state is `UNKNOWN`.

    Args:
        offsets_s: (steps,) seconds from the first sample to each action.
        screens: (steps,) the screen after each action.
    """
    if len(offsets_s) != len(screens):
        raise ValueError(f"{len(offsets_s)} times for {len(screens)} screens; give one time per screen")
    order = np.argsort(offsets_s, kind="stable")
    times = np.asarray(offsets_s, dtype=np.float64)[order]
    middles = (np.arange(count) + 0.5) * interval_s
    last = np.searchsorted(times, middles, side="right") - 1
    names = np.array([zlib.crc32(screens[index].encode("utf-8", "replace")) for index in order], dtype=np.int64)
    codes = np.full(count, UNKNOWN, dtype=np.int64)
    known = last >= 0
    since = np.minimum(middles[known] - times[last[known]], LONGEST_S).astype(np.int64)
    codes[known] = names[last[known]] * (LONGEST_S + 1) + since
    return codes
