from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.spans import Span, merged, until, without

some = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(1, 20)).map(lambda one: (one[0], one[0] + one[1])), max_size=8
)


def numbers(spans: list[Span]) -> set[int]:
    return {number for begin, end in spans for number in range(begin, end)}


@given(some)
def test_merged_spans_hold_the_same_numbers_in_order_and_apart(spans: list[Span]) -> None:
    found = merged(spans)
    assert numbers(found) == numbers(spans)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(found))


@given(some, some)
def test_what_is_in_others_is_left_out(spans: list[Span], others: list[Span]) -> None:
    found = without(merged(spans), others)
    assert numbers(found) == numbers(spans) - numbers(others)
    assert found == sorted(found)
    assert all(begin < end for begin, end in found)


@given(some, st.integers(-60, 80))
def test_nothing_is_left_from_the_limit_on(spans: list[Span], limit: int) -> None:
    found = until(spans, limit)
    assert numbers(found) == {number for number in numbers(spans) if number < limit}
    assert all(begin < end for begin, end in found)
