"""Similarity of two exploration paths: Ratcliff-Obershelp on the state hashes, value for value as
`difflib.SequenceMatcher(None, candidate, new, autojunk=False).ratio()`.

* `autojunk=False` always: difflib's default drops every state that makes up more than 1 % of a path of 200 steps or
  more, which changes the value of nearly every real path (CPython issue 76070).
* The ratio is not symmetric (issue 81185): candidate first, new run second, everywhere. The second's index is
  built once for all candidates.
* cydifflib is difflib compiled: same algorithm, same values, about 12 times faster.
* Most dissimilar candidates never get that far: the longest common subsequence (rapidfuzz, bit-parallel) matches at
  least as many steps as Ratcliff-Obershelp, so where even it stays below the minimum, the answer is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from cydifflib import SequenceMatcher
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

_FIRST_PRIVATE = 0xE000  # after the surrogates, which are no characters of their own
_DISTINCT_MAXIMUM = 0x110000 - _FIRST_PRIVATE - 1  # one is kept for states that the new path does not have


def similarity(candidate: Sequence[str], new: Sequence[str]) -> float:
    """Ratcliff-Obershelp similarity, 0 to 1: 2 * matched steps / steps of both. Two empty paths are equal: 1."""
    return _exact([candidate], new)[0]


def similarities(candidates: Sequence[Sequence[str]], new: Sequence[str], *, minimum: float) -> list[float | None]:
    """Similarity of each candidate (first) to the new run's path (second); None = proven to be below the minimum.

    A number is always the exact value, and may be below the minimum too.
    """
    if not candidates:
        return []
    is_possible = _may_reach(candidates, new, minimum)
    possible = [candidate for candidate, possible in zip(candidates, is_possible, strict=True) if possible]
    exact = iter(_exact(possible, new))
    return [next(exact) if possible else None for possible in is_possible]


def _exact(candidates: Sequence[Sequence[str]], new: Sequence[str]) -> list[float]:
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(new)
    ratios = []
    for candidate in candidates:
        matcher.set_seq1(candidate)
        ratios.append(float(matcher.ratio()))
    return ratios


def _may_reach(candidates: Sequence[Sequence[str]], new: Sequence[str], minimum: float) -> list[bool]:
    """Whether the upper bound 2 * LCS / steps of both reaches the minimum."""
    states = {state: number for number, state in enumerate(dict.fromkeys(new))}
    if len(states) > _DISTINCT_MAXIMUM:
        return [True] * len(candidates)  # more states than Unicode has code points: no bound, only exact values

    def as_text(path: Sequence[str]) -> str:
        # States that the new path does not have match nothing, so one code point serves for all of them.
        return "".join(chr(_FIRST_PRIVATE + states.get(state, _DISTINCT_MAXIMUM)) for state in path)

    # Matched steps as whole numbers, divided as difflib does it: rapidfuzz's own normalised cut-off drops values that
    # are equal to it.
    matched = process.cdist(
        [as_text(new)], [as_text(candidate) for candidate in candidates], scorer=LCSseq.similarity, dtype=np.int64
    )[0]
    lengths = [len(candidate) + len(new) for candidate in candidates]
    return [not length or 2.0 * int(steps) / length >= minimum for steps, length in zip(matched, lengths, strict=True)]
