"""Calls out of entries and exits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.nesting import nest


def _calls(records, last=100):
    thread, method, is_entry, at = (np.array([one[k] for one in records], np.int64) for k in range(4))
    found = nest(thread, method, is_entry.astype(bool), at, {1: last, 2: last})
    rows = zip(found.thread, found.method, found.start, found.end, found.parent, found.depth, strict=True)
    return [tuple(int(value) for value in row) for row in rows]


def test_calls_of_threads_that_take_turns():
    records = [(1, 8, 1, 0), (2, 8, 1, 5), (1, 12, 1, 10), (2, 8, 0, 20), (1, 12, 0, 30), (1, 8, 0, 40)]
    assert _calls(records) == [(1, 8, 0, 40, -1, 0), (2, 8, 5, 20, -1, 0), (1, 12, 10, 30, 0, 1)]


def test_what_was_entered_before_the_first_record_ends_nothing():
    assert _calls([(1, 8, 0, 5), (1, 12, 1, 10), (1, 4, 0, 15), (1, 12, 0, 20)]) == [(1, 12, 10, 20, -1, 0)]


def test_an_exit_ends_what_did_not_end_within():
    assert _calls([(1, 4, 1, 0), (1, 8, 1, 1), (1, 12, 1, 2), (1, 4, 0, 9)]) == [
        (1, 4, 0, 9, -1, 0),
        (1, 8, 1, 9, 0, 1),
        (1, 12, 2, 9, 1, 2),
    ]


def test_an_exit_without_a_method_is_of_the_innermost_and_the_rest_lasts_to_the_end():
    assert _calls([(1, 4, 1, 0), (1, 4, 1, 1), (1, -1, 0, 2)]) == [(1, 4, 0, 100, -1, 0), (1, 4, 1, 2, 0, 1)]


@given(st.lists(st.tuples(st.integers(1, 2), st.sampled_from([4, 8]), st.integers(0, 1)), max_size=30))
def test_a_call_lies_within_the_one_that_made_it(steps):
    found = _calls([(thread, method, enters, at) for at, (thread, method, enters) in enumerate(steps)])
    assert len(found) == sum(enters for _, _, enters in steps)
    for place, (thread, _, start, end, parent, depth) in enumerate(found):
        assert start <= end
        assert (parent >= 0) == (depth > 0)
        if parent >= 0:
            around = found[parent]
            assert parent < place
            assert (around[0], around[5]) == (thread, depth - 1)
            assert around[2] <= start
            assert end <= around[3]
