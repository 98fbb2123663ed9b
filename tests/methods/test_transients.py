"""A run without its one passing disturbance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.transients import (
    EDGE_S,
    LARGEST_SHARE,
    LENGTHS_S,
    SHORTEST_EDGE_S,
    find_transient,
)

courses = st.lists(st.integers(-20, 20), min_size=8, max_size=90).map(lambda values: np.array(values, dtype=float))


def slow_transient(values, expected, interval_s):
    """(first, end, gain) of every stretch, one after the other; the largest."""
    difference, best = values - expected, (0, 0, 0.0)
    edge, shortest = (max(1, round(seconds / interval_s)) for seconds in (EDGE_S, SHORTEST_EDGE_S))
    for seconds in LENGTHS_S:
        length = max(1, round(seconds / interval_s))
        for first in range(shortest, len(values) - length - shortest + 1):
            before = difference[max(0, first - edge) : first]
            after = difference[first + length : first + length + edge]
            level = max(before.mean(), after.mean())
            gain = sum(one - level for one in difference[first : first + length])
            if length <= LARGEST_SHARE * len(values) and gain > best[2] + 1e-9:
                best = (first, first + length, gain)
    return best


@given(courses, st.sampled_from([1.0, 2.0, 5.0]), st.integers(0, 5))
def test_it_is_the_slow_reference(values, interval_s, seed):
    expected = np.random.default_rng(seed).normal(0, 5, len(values))
    _, _, gain = slow_transient(values, expected, interval_s)
    found = find_transient(values, expected, interval_s, (+1,))
    assert (found.gain if found else 0.0) == pytest.approx(gain, abs=1e-6)


@given(courses, st.sampled_from([(+1,), (-1,), (+1, -1)]))
def test_nothing_changes_beyond_it_and_nothing_gets_further_out(values, signs):
    found = find_transient(values, np.zeros(len(values)), 1.0, signs)
    if found is None:
        return
    inside = np.zeros(len(values), dtype=bool)
    inside[found.first : found.end] = True
    np.testing.assert_array_equal(found.without[~inside], values[~inside])
    assert SHORTEST_EDGE_S <= found.first < found.end <= len(values) - SHORTEST_EDGE_S
    taken = values - found.without
    assert (taken >= -1e-9).all() or (taken <= 1e-9).all()
    assert np.abs(taken).sum() > 0
    if len(signs) == 2:
        assert found.gain == max(
            one.gain for sign in signs if (one := find_transient(values, np.zeros(len(values)), 1.0, (sign,)))
        )


@given(courses)
def test_less_is_more_upside_down(values):
    less, more = (find_transient(one, np.zeros(len(one)), 1.0, (sign,)) for one, sign in ((values, -1), (-values, +1)))
    assert (less is None) == (more is None)
    if less is not None:
        assert (less.first, less.end, less.gain) == (more.first, more.end, more.gain)
        np.testing.assert_array_equal(less.without, -more.without)


def added(places, count=120):
    values = np.random.default_rng(0).normal(1.0, 0.1, count)
    return values, values + 2.0 * places


@pytest.mark.parametrize("length", [8, 16, 24])
def test_a_burst_is_taken_off_to_its_edges(length):
    places = np.zeros(120)
    places[50 : 50 + length] = 1
    values, burst = added(places)
    found = find_transient(burst, np.ones(120), 1.0, (+1,))
    assert found.first <= 52
    assert found.end >= 48 + length
    assert found.without.mean() == pytest.approx(values.mean(), abs=0.05)


def test_what_stays_grows_or_comes_again_keeps_most_of_itself():
    seconds = np.arange(120)
    places = {
        "load that stays": seconds >= 30,
        "a leak": np.maximum(seconds - 30, 0) / 90,
        "every 20 s": seconds % 20 < 4,
        "at the end": seconds >= 100,
    }
    for name, extra in places.items():
        values, worse = added(np.asarray(extra, dtype=float))
        found = find_transient(worse, np.ones(120), 1.0, (+1,))
        kept = (found.without - values).sum() / (worse - values).sum()
        assert kept > 0.6, name  # of what comes every 20 s at most two times in six are within 25 s


def test_a_run_that_is_too_short_for_edges_has_none():
    assert find_transient(np.array([0.0, 0, 0, 9, 9, 0, 0, 0]), np.zeros(8), 1.0, (+1,)) is None


@pytest.mark.parametrize("interval_s", [12.0, 13.0, 14.0, 20.0, 25.0, 26.0, 30.0, 60.0])
def test_what_takes_longer_than_the_longest_does_not_pass_however_rarely_it_is_sampled(interval_s):
    """One sample of a minute is a minute."""
    values = np.where(np.arange(40) == 20, 9.0, 1.0)
    found = find_transient(values, np.ones(40), interval_s, (+1,))
    assert (found is None) == (interval_s > max(LENGTHS_S))
    values[21] = 9.0
    found = find_transient(values, np.ones(40), interval_s, (+1,))
    assert (found is None) == (2 * interval_s > max(LENGTHS_S))
