"""Two sides of runs: intervals of Welch, blocks within a run, and a verdict only where runs tell the noise."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import special, stats

from perfreg_assets.methods.features import theil_sen_slope
from perfreg_assets.methods.side_comparison import Courses, compare_sides, drawn_means

RANDOM = np.random.default_rng(7)


def runs(count, level, *, noise=0.1, length=40):
    return [RANDOM.normal(level + RANDOM.normal(0, noise), 0.3, length) for _ in range(count)]


def courses(a, b, *, worse="more", is_judged=True, is_memory=False):
    return Courses("core-seconds/s", a, b, worse, is_judged, is_memory)


def test_the_interval_and_p_are_those_of_welchs_test_over_the_means_of_the_runs():
    a, b = runs(4, 1.0), runs(5, 1.3)
    (one,) = compare_sides({"cpu_app": courses(a, b)}).series
    means = [np.mean(x) for x in a], [np.mean(x) for x in b]
    told = stats.ttest_ind(means[1], means[0], equal_var=False)
    assert one.difference == pytest.approx(np.mean(means[1]) - np.mean(means[0]))
    assert one.p_value == pytest.approx(told.pvalue)
    assert (one.low, one.high) == pytest.approx(tuple(told.confidence_interval()))
    assert (one.basis, one.runs_a, one.runs_b) == ("runs", 4, 5)


def test_a_difference_far_above_the_noise_is_anomalous_improved_or_changed_by_its_direction():
    a, b = runs(3, 1.0, noise=0.01), runs(3, 2.0, noise=0.01)
    states = {
        (worse, way): compare_sides({"x": courses(*sides, worse=worse)}).verdict
        for worse in ("more", "less", "either")
        for way, sides in (("up", (a, b)), ("down", (b, a)))
    }
    assert states == {
        ("more", "up"): "anomalous", ("more", "down"): "improved", ("less", "up"): "improved",
        ("less", "down"): "anomalous", ("either", "up"): "changed", ("either", "down"): "changed",
    }  # fmt: skip


def test_a_regression_goes_before_an_improvement_and_both_before_nothing():
    low, high, same = runs(3, 1.0, noise=0.01), runs(3, 2.0, noise=0.01), [np.full(9, v) for v in (1.0, 2.0, 3.0)]
    found = compare_sides({"a": courses(high, low), "b": courses(low, high), "c": courses(same, same)})
    assert found.verdict == "anomalous"
    assert [one.state for one in found.series] == ["improved", "anomalous", "normal"]
    assert compare_sides({"c": courses(same, same)}).verdict == "normal"


def test_series_that_are_not_judged_count_for_nothing():
    a, b = runs(3, 1.0, noise=0.01), runs(3, 2.0, noise=0.01)
    found = compare_sides({"x": courses(a, b, is_judged=False)})
    assert found.verdict == "not_enough_runs"
    assert math.isnan(found.series[0].p_holm)
    assert found.series[0].p_value < 0.001


@pytest.mark.parametrize("counts", [(2, 3), (3, 2), (1, 6), (1, 1)])
def test_fewer_than_three_runs_on_a_side_get_no_verdict(counts):
    found = compare_sides({"x": courses(runs(counts[0], 1.0, noise=0.01), runs(counts[1], 9.0, noise=0.01))})
    assert (found.verdict, found.series[0].state) == ("not_enough_runs", "not_enough_runs")


def test_runs_that_are_equal_to_the_last_digit_tell_no_noise():
    same = [np.full(9, 2.0)] * 3
    (one,) = compare_sides({"x": courses(same, same)}).series
    assert math.isnan(one.p_value)
    assert one.state == "not_enough_runs"


def test_one_run_on_each_side_is_told_from_within_the_runs_but_not_for_memory():
    a, b = runs(1, 1.0), runs(1, 2.0)
    (one,) = compare_sides({"x": courses(a, b)}).series
    assert one.basis == "within_run"
    assert math.isnan(one.p_value)
    assert one.low < one.difference < one.high
    (memory,) = compare_sides({"x": courses(a, b, is_memory=True)}).series
    assert memory.basis == "none"
    assert math.isnan(memory.low)


def growing(count, per_minute, *, noise=0.05, length=80):
    """Runs of a mean of 100 on the average that grow."""
    minutes = (np.arange(length) - (length - 1) / 2) / 60
    return [
        100 + RANDOM.normal(0, 4) + (per_minute + RANDOM.normal(0, noise)) * minutes + RANDOM.normal(0, 0.2, length)
        for _ in range(count)
    ]


def test_a_leak_that_moves_no_mean_is_found_by_the_growth_within_the_runs_of_memory():
    a, b = growing(3, 1.0), growing(3, 4.0)
    (memory,) = compare_sides({"rss_app": courses(a, b, is_memory=True)}).series
    assert (memory.growth_a, memory.growth_b) == pytest.approx((1.0, 4.0), abs=0.4)
    assert memory.growth_low < memory.growth_difference < memory.growth_high
    assert (memory.state, memory.p_holm > 0.05, memory.growth_p_holm < 0.05) == ("anomalous", True, True)
    assert (memory.mean_state, memory.growth_state) == ("normal", "anomalous")
    (back,) = compare_sides({"rss_app": courses(b, a, is_memory=True)}).series
    assert back.state == "improved"
    (load,) = compare_sides({"cpu_app": courses(a, b)}).series
    assert load.state == "normal"
    assert math.isnan(load.growth_difference)


def test_growth_is_compared_over_the_runs_by_welchs_test_and_corrected_together_with_the_means():
    a, b = growing(4, 1.0, noise=0.5), growing(5, 1.8, noise=0.5)
    (one,) = compare_sides({"rss_app": courses(a, b, is_memory=True)}).series
    slopes = [[60 * theil_sen_slope(run, 1.0) for run in side] for side in (a, b)]
    assert one.growth_p_value == pytest.approx(stats.ttest_ind(slopes[1], slopes[0], equal_var=False).pvalue)
    lower, higher = sorted((one.p_value, one.growth_p_value))
    assert sorted((one.p_holm, one.growth_p_holm)) == pytest.approx(sorted((2 * lower, max(2 * lower, higher))))
    (faster,) = compare_sides(
        {"rss_app": Courses("bytes", a, b, "more", is_judged=True, is_memory=True, interval_s=0.5)}
    ).series
    assert faster.growth_a == pytest.approx(one.growth_a * 2, rel=0.2)


def test_growth_is_no_reason_where_runs_are_too_few_or_too_short():
    (two,) = compare_sides({"rss_app": courses(growing(2, 1.0), growing(3, 9.0), is_memory=True)}).series
    assert two.growth_p_value < 0.05
    assert two.state == "not_enough_runs"
    short = compare_sides({"rss_app": courses(growing(3, 1.0, length=9), growing(3, 9.0, length=80), is_memory=True)})
    assert math.isnan(short.series[0].growth_a)


def test_one_run_beside_several_counts_with_their_scatter():
    a, b = runs(6, 1.0), runs(1, 1.0)
    (one,) = compare_sides({"x": courses(a, b)}).series
    means = [float(np.mean(x)) for x in a]
    reach = stats.t.ppf(0.975, 5) * np.std(means, ddof=1) * math.sqrt(1 + 1 / 6)
    assert one.high - one.difference == pytest.approx(reach)


def test_within_runs_of_independent_samples_the_interval_is_that_of_their_means():
    a, b = (np.random.default_rng(seed).normal(level, 1, 2000) for seed, level in ((1, 5.0), (2, 7.0)))
    (one,) = compare_sides({"x": courses([a], [b])}).series
    reach = stats.norm.ppf(0.975) * math.sqrt(2 / 2000)
    assert (one.difference - one.low, one.high - one.difference) == pytest.approx((reach, reach), rel=0.15)


def test_growth_that_is_judged_tells_what_it_could_have_found_where_equal_means_tell_nothing():
    ramp = np.arange(-40.0, 41)
    a, b = ([100 + slope * ramp for slope in slopes] for slopes in ((1.0, 2.0, 4.0), (2.0, 4.0, 8.0)))
    (one,) = compare_sides({"rss_app": courses(a, b, is_memory=True)}).series
    assert math.isnan(one.p_value)
    assert math.isnan(one.detectable)
    assert one.growth_detectable > 0


def test_blocks_keep_what_neighbouring_samples_share():
    slow = np.sin(np.arange(200) / 10)
    shuffled = np.random.default_rng(1).permutation(slow)
    spread = [drawn_means(values, np.random.default_rng(0)).std() for values in (slow, shuffled)]
    assert spread[0] > 1.5 * spread[1]
    ramp = np.arange(50.0)
    one = drawn_means(ramp, np.random.default_rng(0), draws=1)
    assert 0 < one[0] < 49
    assert any(left != right for left, right in pairwise(drawn_means(ramp, np.random.default_rng(0), draws=5)))


def test_false_alarms_keep_to_the_level():
    """300 comparisons of three judged series (one of memory) without any difference; binomial bound of 99.9 %."""
    alarms = sum(
        compare_sides({name: courses(runs(3, 1.0), runs(3, 1.0), is_memory=name == "c") for name in "abc"}).verdict
        != "normal"
        for _ in range(300)
    )
    assert alarms <= stats.binom.ppf(0.999, 300, 0.05)


@pytest.mark.parametrize("count", [5, 10])
def test_a_difference_of_the_size_that_is_told_as_detectable_is_found_in_eight_of_ten(count):
    """300 comparisons; 99.9 % of such draws lie within the bounds."""
    error = math.sqrt(2 / count)
    freedom = 2 * (count - 1)
    size = special.nctdtrinc(freedom, 0.2, stats.t.ppf(0.975, freedom)) * error  # of sides with a deviation of 1
    plain = [RANDOM.normal(10, 1, count) for _ in range(600)]
    found = [
        compare_sides({"x": courses([np.full(2, v) for v in a], [np.full(2, v + size) for v in b])}).series[0]
        for a, b in zip(plain[::2], plain[1::2], strict=True)
    ]
    assert stats.binom.ppf(0.0005, 300, 0.8) <= sum(one.state == "anomalous" for one in found)
    assert sum(one.state == "anomalous" for one in found) <= stats.binom.ppf(0.9995, 300, 0.8)
    assert np.median([one.detectable for one in found]) == pytest.approx(size, rel=0.1)


def test_more_tests_need_more_and_what_is_not_judged_tells_no_detectable_difference():
    a, b = runs(4, 1.0), runs(4, 1.0)
    (alone,) = compare_sides({"x": courses(a, b)}).series
    beside = compare_sides({"x": courses(a, b), "y": courses(b, a)}).series[0]
    assert beside.detectable > alone.detectable > (alone.high - alone.low) / 2
    assert math.isnan(compare_sides({"x": courses(a, b, is_judged=False)}).series[0].detectable)
    assert math.isnan(compare_sides({"x": courses(a[:2], b)}).series[0].detectable)
    memory = compare_sides({"x": courses(growing(3, 1.0), growing(3, 1.0), is_memory=True)}).series[0]
    assert memory.growth_detectable > 0
    assert math.isnan(alone.growth_detectable)
