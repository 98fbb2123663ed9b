"""Self times of nested slices cut to a stretch, against a slow count of single nanoseconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.self_times import self_times


@st.composite
def nested(draw, start=0, end=40, depth=0):
    """(start, end, parent) of slices that nest, parents first."""
    found: list[tuple[int, int, int]] = []
    borders = sorted(draw(st.lists(st.integers(start, end), max_size=6)))
    for begin, until in zip(borders[::2], borders[1::2], strict=False):
        own = len(found)
        found.append((begin, until, -1))
        if depth < 3:
            inner = draw(nested(begin, until, depth + 1))
            found += [(a, b, own if parent < 0 else own + 1 + parent) for a, b, parent in inner]
    return found


@given(nested(), st.integers(-5, 45), st.integers(-5, 45))
def test_each_nanosecond_belongs_to_the_innermost_slice(slices, first, last):
    start, end, parent = (np.array([one[k] for one in slices], dtype=np.int64) for k in range(3))
    slow = [0] * len(slices)
    for moment in range(first, last):
        here = [k for k, (begin, until, _) in enumerate(slices) if begin <= moment < until]
        if here:
            slow[here[-1]] += 1  # parents come first
    assert self_times(start, end, parent, first, last).tolist() == slow


def test_children_that_exceed_their_parent_are_told_apart_from_none():
    start, end, parent = np.array([0, 0]), np.array([10, 11]), np.array([-1, 0])
    assert self_times(start, end, parent, 0, 100).tolist() == [-1, 11]
