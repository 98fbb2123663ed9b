"""Compiled kernels of `path_similarity`; in a file of their own, so that numba is loaded when one is called."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

UNKNOWN = -1  # a state that the new path does not have: it matches nothing
BELOW = -1  # proven: fewer matched steps than needed


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
        if state == UNKNOWN:
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
def matched_steps(first: Any, second: Any, starts: Any, by_state: Any, needed: int) -> int:
    """Steps that Ratcliff-Obershelp matches, or `BELOW` once it is certain that they are fewer than needed.

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
    return matched if still_possible >= needed else BELOW
