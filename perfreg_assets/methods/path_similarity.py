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
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_UNKNOWN = -1  # a state that the new path does not have: it matches nothing
_BELOW = -1  # proven: fewer matched steps than needed


def similarity(candidate: Sequence[str], new: Sequence[str]) -> float:
    """Ratcliff-Obershelp similarity, 0 to 1: 2 * matched steps / steps of both. Two empty paths are equal: 1."""
    ratio = similarities([candidate], new, minimum=0.0)[0]
    assert ratio is not None  # nothing is below 0
    return ratio


def similarities(candidates: Sequence[Sequence[str]], new: Sequence[str], *, minimum: float) -> list[float | None]:
    """Similarity of each candidate (first) to the new run's path (second); None = proven to be below the minimum.

    A number is always the exact value, and may be below the minimum too.
    """
    numbers = {state: number for number, state in enumerate(dict.fromkeys(new))}
    second = _as_numbers(new, numbers)
    by_state = np.argsort(second, kind="stable")
    starts = np.searchsorted(second[by_state], np.arange(len(numbers) + 1))
    ratios: list[float | None] = []
    for candidate in candidates:
        first = _as_numbers(candidate, numbers)
        steps = len(first) + len(second)
        matched = _matched_steps(first, second, starts, by_state, _needed(minimum, steps))
        ratios.append(None if matched == _BELOW else _ratio(int(matched), steps))
    return ratios


def _as_numbers(path: Sequence[str], numbers: dict[str, int]) -> NDArray[np.int64]:
    return np.fromiter((numbers.get(state, _UNKNOWN) for state in path), dtype=np.int64, count=len(path))


def _ratio(matched: int, steps: int) -> float:
    return 2.0 * matched / steps if steps else 1.0  # in difflib's order of operations


def _needed(minimum: float, steps: int) -> int:
    """The fewest matched steps whose ratio reaches the minimum, by the very division that gives the ratio."""
    matched = max(0, int(minimum * steps / 2) - 1)
    while _ratio(matched, steps) < minimum and matched <= steps:
        matched += 1
    return matched


@njit(cache=True, nogil=True)
def _first_not_below(values: Any, low: int, high: int, limit: int) -> int:
    """Index in the ascending values[low:high] of the first that is not below the limit."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _longest_match(
    first: Any, second: Any, starts: Any, by_state: Any, part: Any, length_to: Any
) -> tuple[int, int, int]:
    """(steps, end in first, end in second) of the longest common stretch of a part; as difflib.find_longest_match.

    `part` is (first from, to, second from, to, longest that is possible); `length_to[j]` is the length of the common
    stretch that ends before second[j], valid for the row of `first` that wrote it last.
    """
    first_from, first_to, second_from, second_to, possible = part
    longest, first_end, second_end = 0, 0, 0
    for i in range(first_from, first_to):
        state = first[i]
        if state == _UNKNOWN:
            continue
        is_from_this_row = False
        last = _first_not_below(by_state, starts[state], starts[state + 1], second_to) - 1
        # Backwards, so that length_to[j] is still that of the row before when it is read.
        for place in range(last, starts[state] - 1, -1):
            j = by_state[place]
            if j < second_from:
                break
            length = 1
            if i > first_from and j > second_from and first[i - 1] == second[j - 1]:
                length += length_to[j]
            length_to[j + 1] = length
            if length > longest or (length == longest and is_from_this_row):
                longest, first_end, second_end = length, i + 1, j + 1
                is_from_this_row = True
        if longest == possible:
            break
    return longest, first_end, second_end


@njit(cache=True, nogil=True)
def _matched_steps(first: Any, second: Any, starts: Any, by_state: Any, needed: int) -> int:
    """Steps that Ratcliff-Obershelp matches, or `_BELOW` once it is certain that they are fewer than needed.

    Places of state s in `second` are by_state[starts[s]:starts[s + 1]], ascending.
    """
    shorter = min(len(first), len(second))
    length_to = np.zeros(len(second) + 1, np.int64)
    parts = [(0, len(first), 0, len(second), shorter)]
    matched = 0
    still_possible = shorter  # matched, and the shorter sides of the open parts
    while len(parts) > 0 and still_possible >= needed:
        part = parts.pop()
        first_from, first_to, second_from, second_to, _ = part
        still_possible -= min(first_to - first_from, second_to - second_from)
        longest, first_end, second_end = _longest_match(first, second, starts, by_state, part, length_to)
        if longest == 0:
            continue
        matched += longest
        still_possible += longest
        left = min(first_end - longest - first_from, second_end - longest - second_from)
        if left > 0:
            still_possible += left
            parts.append((first_from, first_end - longest, second_from, second_end - longest, min(left, longest)))
        right = min(first_to - first_end, second_to - second_end)
        if right > 0:
            still_possible += right
            parts.append((first_end, first_to, second_end, second_to, min(right, longest)))
    return matched if still_possible >= needed else _BELOW
