"""Comparing benchmarks: intervals that cover what they promise, means of logarithms, tests that stand out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from perfreg_assets.methods import benchmark_statistics as statistics

SCORES = st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=8).map(np.array)


def noisy(random, launches, tests, *, between=0.02, within=0.03, iterations=10):
    """Scores (tests, launches): medians of iterations that share what their launch has."""
    levels = random.normal(0, between, (tests, launches, 1))
    return np.exp(np.median(levels + random.normal(0, within, (tests, launches, iterations)), axis=2))


# ---- one test ------------------------------------------------------------------------------------
def test_a_test_of_two_sides_is_welchs():
    random = np.random.default_rng(1)
    a, b = np.exp(random.normal(0, 0.02, 5)), np.exp(random.normal(0.1, 0.05, 7))
    found = statistics.of_launches(a, b, 1)
    known = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    low, high = known.confidence_interval(0.95)
    assert found.p_value == pytest.approx(known.pvalue, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


@given(SCORES, SCORES)
def test_the_sides_are_alike_and_the_sign_is_the_direction(a, b):
    there, back = statistics.of_launches(a, b, 1), statistics.of_launches(b, a, 1)
    inverse = statistics.of_launches(a, b, -1)
    assert there.log_ratio == pytest.approx(-back.log_ratio, abs=1e-9)
    assert inverse.log_ratio == -there.log_ratio
    if not math.isnan(there.low):
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-9)
        assert there.low <= there.log_ratio <= there.high


@given(SCORES, SCORES, st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter(a, b, factor):
    one, other = statistics.of_launches(a, b, 1), statistics.of_launches(a * factor, b * factor, 1)
    assert one.log_ratio == pytest.approx(other.log_ratio, abs=1e-9)


@pytest.mark.parametrize("launches", [2, 4])
def test_a_side_with_one_launch_counts_with_the_others_scatter(launches):
    a, b = np.array([100.0, 102, 98, 101])[:launches], np.array([110.0])
    found = statistics.of_launches(a, b, 1)
    spread = np.std(np.log(a), ddof=1) * math.sqrt(1 + 1 / launches)
    reach = stats.t.ppf(0.975, launches - 1) * spread
    assert (found.low, found.high) == pytest.approx((found.log_ratio - reach, found.log_ratio + reach))
    with pytest.raises(ValueError, match="one launch on each side"):
        statistics.of_launches(b, b, 1)


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), st.integers(2, 12))
@example(50.0, 50.0, 5)
def test_equal_launches_tell_no_noise(one, other, launches):
    """Whatever their logarithms' mean is in its last digit."""
    found = statistics.of_launches(np.full(launches, one), np.full(launches, other), 1)
    assert found.log_ratio == pytest.approx(math.log(other) - math.log(one))
    assert math.isnan(found.low)
    assert math.isnan(found.p_value)


def test_one_launch_is_drawn_from_and_one_iteration_tells_no_noise():
    random = np.random.default_rng(0)
    a, b = random.normal(100, 3, 30), random.normal(110, 3, 30)
    found = statistics.of_iterations(a, b, -1, np.random.default_rng(0))
    assert found.basis == "iterations"
    assert found.low < found.log_ratio < found.high < 0
    outside = [np.mean(found.draws < found.low), np.mean(found.draws > found.high)]
    assert outside == pytest.approx([0.025, 0.025], abs=0.002)
    assert found.p_value == pytest.approx(stats.mannwhitneyu(a, b).pvalue)
    assert statistics.of_iterations(a[:2], b[:2], -1, np.random.default_rng(0)).basis == "iterations"
    alone = statistics.of_iterations(np.array([1.0]), b, -1, np.random.default_rng(0))
    assert alone.basis == "none"
    assert math.isnan(alone.low)


ITERATIONS = st.lists(st.one_of(st.integers(20, 26), st.floats(20, 26)), min_size=2, max_size=14).map(
    lambda values: np.array(values, dtype=float)
)


@given(st.integers(2, 8), st.integers(2, 8))
def test_the_least_p_is_that_of_sides_that_do_not_overlap(a, b):
    apart = stats.mannwhitneyu(np.arange(a), 100 + np.arange(b), method="exact").pvalue
    assert statistics.least_p(a, b) == pytest.approx(apart)


@pytest.mark.parametrize("tests", [1, 2, 10, 100])
def test_so_many_iterations_are_needed_and_one_less_is_too_few(tests):
    needed = statistics.iterations_needed(tests, 0.05)
    assert statistics.least_p(needed, needed) * tests <= 0.05 < statistics.least_p(needed - 1, needed - 1) * tests


# ---- means ---------------------------------------------------------------------------------------
def test_a_mean_is_the_weighted_sum_of_independent_parts():
    random = np.random.default_rng(3)
    sides = [(np.exp(random.normal(0, s, 4)), np.exp(random.normal(0, s, 6))) for s in (0.01, 0.02, 0.05)]
    changes = [statistics.of_launches(a, b, 1) for a, b in sides]
    weights = np.array([0.5, 0.25, 0.25])
    found = statistics.mean_change(changes, weights)
    terms, degrees = [], []
    for weight, (a, b) in zip(weights, sides, strict=True):
        for side in (a, b):
            terms.append(weight**2 * np.var(np.log(side), ddof=1) / len(side))
            degrees.append(len(side) - 1)
    variance = sum(terms)
    freedom = variance**2 / sum(t**2 / d for t, d in zip(terms, degrees, strict=True))
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(variance)
    middle = sum(w * one.log_ratio for w, one in zip(weights, changes, strict=True))
    assert (found.low, found.high) == pytest.approx((middle - reach, middle + reach))


@pytest.mark.parametrize("shift", [0.0, 4.0, 30.0])
def test_a_mean_of_tests_by_iterations_is_that_of_their_draws_whichever_side_is_quicker(shift):
    random = np.random.default_rng(8)
    sides = [(random.normal(100, 5, count), random.normal(100 + shift, 5, count)) for count in (6, 9)]
    weights, found = np.array([0.25, 0.75]), []
    for sign in (1, -1):
        changes = [statistics.of_iterations(a, b, sign, np.random.default_rng(2)) for a, b in sides]
        found.append(statistics.mean_change(changes, weights))
        draws = np.sort(weights @ np.array([one.draws for one in changes]))
        assert (found[-1].low, found[-1].high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])))
        wrong = min((draws <= 0).sum(), (draws >= 0).sum())  # the draw that is counted on top: never a p of 0
        assert found[-1].p_value == pytest.approx(min(1.0, 2 * (1 + wrong) / (1 + len(draws))))
        assert found[-1].least_p == pytest.approx(2 * statistics.least_p(6, 6) / 2 * statistics.least_p(9, 9) / 2)
    quicker, slower = found
    assert (quicker.log_ratio, quicker.p_value) == pytest.approx((-slower.log_ratio, slower.p_value))
    assert (quicker.p_value < 0.01) == (shift > 10)


def test_a_mean_with_a_test_without_noise_has_no_interval():
    known = statistics.of_launches(np.array([1.0, 1.1]), np.array([1.2, 1.3]), 1)
    blind = statistics.of_iterations(np.array([1.0]), np.array([2.0]), 1, np.random.default_rng(0))
    found = statistics.mean_change([known, blind], np.array([0.5, 0.5]))
    assert found.log_ratio == pytest.approx((known.log_ratio + math.log(2)) / 2)
    assert math.isnan(found.high)


@given(ITERATIONS, ITERATIONS)
def test_a_mean_over_one_test_is_that_test(a, b):
    by_iterations = statistics.of_iterations(a, b, 1, np.random.default_rng(0))
    for one in (by_iterations, statistics.of_launches(a, b, 1)):
        found = statistics.mean_change([one], np.ones(1))
        told = (found.log_ratio, found.low, found.high, found.p_value, found.least_p)
        assert told == pytest.approx((one.log_ratio, one.low, one.high, one.p_value, one.least_p), nan_ok=True)


def test_equal_iterations_tell_no_noise():
    found = statistics.of_iterations(np.full(9, 10.0), np.full(9, 12.0), -1, np.random.default_rng(0))
    assert found.log_ratio == pytest.approx(-math.log(1.2))
    assert (found.basis, math.isnan(found.p_value), math.isnan(found.low)) == ("none", True, True)


@pytest.mark.parametrize("launches", [2, 3])
def test_a_mean_with_equal_launches_is_not_known_as_if_they_had_no_noise(launches):
    random = np.random.default_rng(launches)
    known = statistics.of_launches(*np.exp(random.normal(0, 0.001, (2, launches))), 1)
    equal = statistics.of_launches(np.full(launches, 10.0), np.full(launches, 12.0), 1)
    found = statistics.mean_change([known, equal], np.array([0.5, 0.5]))
    assert found.log_ratio == pytest.approx((known.log_ratio + math.log(1.2)) / 2)
    assert (found.basis, math.isnan(found.low), math.isnan(found.p_value)) == ("none", True, True)


@pytest.mark.parametrize("launches", [2, 3, 5, 10])
def test_intervals_cover_what_they_promise(launches):
    """The mean over ten tests with noise between launches; the truth is no change."""
    random = np.random.default_rng(launches)
    repeats, hit = 1500, 0
    for _ in range(repeats):
        a, b = noisy(random, launches, 10), noisy(random, launches, 10)
        changes = [statistics.of_launches(one, other, 1) for one, other in zip(a, b, strict=True)]
        found = statistics.mean_change(changes, np.full(10, 0.1))
        hit += found.low <= 0 <= found.high
    assert 0.93 <= hit / repeats <= 0.975


# ---- many tests ----------------------------------------------------------------------------------
def holm_slowly(p_values):
    known = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    found, worst = [math.nan] * len(p_values), 0.0
    for rank, (p, place) in enumerate(known):
        worst = max(worst, min(1.0, p * (len(known) - rank)))
        found[place] = worst
    return found


@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=12))
def test_holms_correction(p_values):
    assert statistics.holm(np.array(p_values)) == pytest.approx(holm_slowly(p_values), nan_ok=True)


def test_ranks_are_compared_for_tests_of_one_size_together():
    random = np.random.default_rng(5)
    a = [random.normal(0, 1, n) for n in (5, 5, 9, 1)]
    b = [random.normal(1, 1, n) for n in (5, 5, 4, 5)]
    found = statistics.rank_p_values(a, b)
    known = [stats.mannwhitneyu(x, y).pvalue for x, y in zip(a[:3], b[:3], strict=True)]
    assert found[:3] == pytest.approx(known)
    assert math.isnan(found[3])


def test_ranks_of_tests_that_are_compared_together_are_those_of_each_alone():
    """Equal values in one test made another p of all others of its size: exact ones became those of a normal curve."""
    random = np.random.default_rng(6)
    sizes = [3, 3, 3, 8, 8, 8, 8, 9, 9, 40, 40]
    a = [random.normal(0, 1, n) for n in sizes]
    b = [random.normal(1, 1, n) for n in sizes]
    for place, tied in ((1, 0), (4, 2), (6, 5), (8, 1), (10, 39)):
        a[place][0] = b[place][tied]
    known = [float(stats.mannwhitneyu(x, y).pvalue) for x, y in zip(a, b, strict=True)]
    assert statistics.rank_p_values(a, b).tolist() == known


def test_what_stands_out_is_far_in_both_ways():
    logs = np.log([1.0, 1.02, 0.99, 1.01, 1.3, 3.0])
    assert statistics.implausible(logs).tolist() == [False, False, False, False, False, True]
    assert not statistics.implausible(np.log([1.0, 40.0])).any()  # of two nobody knows which
    assert not statistics.implausible(np.zeros(5)).any()


def test_a_test_that_stands_out_among_equal_ones_is_seen():
    assert statistics.implausible(np.array([0, 0, 0, 0, 0, math.log(40)])).tolist() == [False] * 5 + [True]
