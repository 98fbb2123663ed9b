"""Similarity of two exploration paths: Ratcliff-Obershelp on the state hashes, value for value as
`difflib.SequenceMatcher(None, candidate, new, autojunk=False).ratio()`.

The longest common stretch is matched (of several the one that starts first in the candidate, then first in the new
path), then the parts left and right of it likewise; the ratio is 2 * matched steps / steps of both (Ratcliff &
Metzener 1988).

* `autojunk=False` always: difflib's default drops every state that makes up more than 1 % of a path of 200 steps or
  more, which changes the value of nearly every real path (CPython issue 76070).
* The ratio is not symmetric (issue 81185): candidate first, new run second, everywhere. The second's index is
  built once for all candidates.
* A stretch within a part is never longer than the one that split it off, so the search of a part ends at the first one
  that is as long: paths with few states would take cubic time otherwise (10,000 steps: 0.3 s instead of 108 s).
* What is matched and the shorter sides of what is still open bound the result: once that falls below the minimum, the
  candidate is out and the rest need not be searched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.lazy import LazyModule

kernels = LazyModule("perfreg_assets.methods.path_similarity_kernels")


def similarity(candidate: Sequence[str], new: Sequence[str]) -> float:
    """Ratcliff-Obershelp similarity, 0 to 1: 2 * matched steps / steps of both. Two empty paths are equal: 1."""
    ratio = similarities([candidate], new, minimum=0.0)[0]
    assert ratio is not None  # nothing is below 0
    return ratio


def similarities(candidates: Sequence[Sequence[str]], new: Sequence[str], *, minimum: float) -> list[float | None]:
    """Similarity of each candidate (first) to the new run's path (second); None = proven to be below the minimum.

    A number is always the exact value, and may be below the minimum too.
    """
    if not candidates:
        return []
    numbers = {state: number for number, state in enumerate(dict.fromkeys(new))}
    second = _as_numbers(new, numbers)
    by_state = np.argsort(second, kind="stable")
    starts = np.searchsorted(second[by_state], np.arange(len(numbers) + 1))
    ratios: list[float | None] = []
    for candidate in candidates:
        first = _as_numbers(candidate, numbers)
        steps = len(first) + len(second)
        matched = kernels.matched_steps(first, second, starts, by_state, _needed(minimum, steps))
        ratios.append(None if matched == kernels.BELOW else _ratio(int(matched), steps))
    return ratios


def _as_numbers(path: Sequence[str], numbers: dict[str, int]) -> NDArray[np.int64]:
    return np.fromiter((numbers.get(state, kernels.UNKNOWN) for state in path), dtype=np.int64, count=len(path))


def _ratio(matched: int, steps: int) -> float:
    return 2.0 * matched / steps if steps else 1.0  # in difflib's order of operations


def _needed(minimum: float, steps: int) -> int:
    """The fewest matched steps whose ratio reaches the minimum, by the very division that gives the ratio."""
    matched = max(0, int(minimum * steps / 2) - 1)
    while _ratio(matched, steps) < minimum and matched <= steps:
        matched += 1
    return matched
