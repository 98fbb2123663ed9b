"""What the app was doing at each sample: a code for (screen, seconds since the last action)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
LONGEST_WAIT_S = 10  # later than that a screen is at rest


def state_codes(
    paths: Sequence[Sequence[tuple[float, str]]], lengths: Sequence[int], interval_s: float
) -> list[NDArray[np.int64]]:
    """Codes (n,) per run, the same code for the same state in all of them; -1 before the first action.

    Args:
        paths: per run its steps (seconds since the first sample, screen after the action), in order of time.
        lengths: samples per run.
    """
    screens = {name: rank for rank, name in enumerate(sorted({screen for path in paths for _, screen in path}))}
    result = []
    for path, length in zip(paths, lengths, strict=True):
        codes = np.full(length, UNKNOWN, dtype=np.int64)
        if path:
            starts = np.array([offset for offset, _ in path])
            ranks = np.array([screens[screen] for _, screen in path])
            middles = (np.arange(length) + 0.5) * interval_s
            step = np.searchsorted(starts, middles, side="right") - 1
            seen = step >= 0
            waited = np.minimum(middles[seen] - starts[step[seen]], LONGEST_WAIT_S).astype(np.int64)
            codes[seen] = ranks[step[seen]] * (LONGEST_WAIT_S + 1) + waited
        result.append(codes)
    return result
