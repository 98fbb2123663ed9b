"""What the app was doing at each sample: a code for (screen, seconds since the last action)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
LONGEST_WAIT_S = 10  # later than that a screen is at rest
_WAITS = LONGEST_WAIT_S + 2  # 0 to the longest, and before the first action, of which nobody knows how long it waits


class StatePath(NamedTuple):
    """What a run showed when.

    Attributes:
        until: (seconds since the first sample, screen), in order of time: the screen held until then, when the step's
            action was sent; the first one from the start on.
        after: what the last action led to; None where it is not known.
    """

    until: Sequence[tuple[float, str]]
    after: str | None = None

    @classmethod
    def since(cls, start_ns: int, until_ns: Sequence[tuple[int, str]], after: str | None) -> StatePath:
        """Of a run whose first sample is at `start_ns`, on the clock of the path."""
        return cls([((ts_ns - start_ns) / 1e9, name) for ts_ns, name in until_ns], after)


NO_PATH = StatePath(())


def codes_of(screens: NDArray[np.int64], waited_s: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes (n,) of numbered screens (n,), whole seconds (n,) after the action that led to them."""
    return screens * _WAITS + np.minimum(waited_s, LONGEST_WAIT_S)


def screen_of(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of the screen in each code (n,) of a known state."""
    return codes // _WAITS


def state_codes(paths: Sequence[StatePath], lengths: Sequence[int], interval_s: float) -> list[NDArray[np.int64]]:
    """Codes (n,) per run, the same code for the same state in all of them; -1 where the screen is not known.

    A screen that an action led to counts from the moment the action was sent; before a run's first action its first
    screen has a code of its own.

    Args:
        paths: of each run.
        lengths: samples per run.
    """
    names = {name for path in paths for name in (*(screen for _, screen in path.until), path.after) if name}
    ranks = {name: rank for rank, name in enumerate(sorted(names))}
    result = []
    for path, length in zip(paths, lengths, strict=True):
        codes = np.full(length, UNKNOWN, dtype=np.int64)
        if path.until:
            sent = np.array([until for until, _ in path.until])
            names_in_order = (*(screen for _, screen in path.until), path.after)
            shown = np.array([ranks.get(name or "", UNKNOWN) for name in names_in_order])
            middles = (np.arange(length) + 0.5) * interval_s
            step = np.searchsorted(sent, middles, side="right")
            waited = np.minimum(middles - sent[np.maximum(step - 1, 0)], LONGEST_WAIT_S)
            waits = np.where(step > 0, waited.astype(np.int64), LONGEST_WAIT_S + 1)
            codes = np.where(shown[step] == UNKNOWN, UNKNOWN, shown[step] * _WAITS + waits)
        result.append(codes)
    return result
