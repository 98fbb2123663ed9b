"""Whether what a benchmark measured can be relied on."""

from __future__ import annotations

from statistics import fmean, median, stdev, variance

import numpy as np
import pytest

from perfreg_assets.methods import adequacy
from perfreg_assets.reasons import Reason

STEADY = np.array([100.0, 101, 99, 100, 102, 98, 100, 101, 99])


def codes(launches, worse="more"):
    return {one.code for one in adequacy.warnings_of(launches, worse)}


def test_three_steady_launches_have_nothing_to_warn_of():
    assert codes([[STEADY]] * 3) == set()


@pytest.mark.parametrize(
    ("launches", "code"),
    [
        ([[STEADY[:1]]] * 3, Reason.FEW_ITERATIONS),
        ([[STEADY[:2]]] * 4, Reason.FEW_ITERATIONS),  # 8: too few for ranks
        ([[STEADY]] * 2, Reason.FEW_LAUNCHES),
        ([[STEADY * np.array([1, 1.3, 0.7] * 3)]] * 3, Reason.NOISY),
        ([[STEADY * np.linspace(1.2, 1, 9)]] * 3, Reason.NOT_WARM),
        ([[STEADY * np.linspace(1, 1.2, 9)]] * 3, Reason.SLOWING),
    ],
)
def test_each_doubt_is_told(launches, code):
    assert code in codes(launches)


def test_rates_that_rise_are_not_warm_yet():
    rising = [[STEADY * np.linspace(1, 1.2, 9)]] * 3
    assert Reason.NOT_WARM in codes(rising, "less")
    assert codes(rising, "either") == set()


def test_a_drift_within_the_noise_or_below_a_twentieth_is_none():
    random = np.random.default_rng(0)
    assert adequacy.drift_of([100 + random.normal(0, 30, 9)]) is None
    assert adequacy.drift_of([STEADY * np.linspace(1, 1.03, 9)]) is None
    assert adequacy.drift_of([STEADY[:5]]) is None


def slow_drift(series):
    """(the ratio, whether it is above the noise) in plain Python, of series that are long enough."""
    scaled = [[one / fmean(values) for one in values] for values in series]
    first = [one for values in scaled for one in values[: len(values) // 3]]
    last = [one for values in scaled for one in values[len(values) - len(values) // 3 :]]
    error = (variance(first) / len(first) + variance(last) / len(last)) ** 0.5
    ratio = (fmean(last) - fmean(first)) / fmean(first)
    return ratio, abs(ratio) > 0.05 and abs(fmean(last) - fmean(first)) > 2 * error


def test_a_drift_is_the_slow_reference_and_short_series_say_nothing_of_it():
    random = np.random.default_rng(7)
    told = []
    for _ in range(300):
        lengths = random.choice([6, 7, 8, 11], size=random.integers(1, 3))
        series = [50 * random.uniform(0.93, 1.07, size) + np.linspace(0, 6, size) for size in lengths]
        ratio, is_drift = slow_drift([values.tolist() for values in series])
        told.append(is_drift)
        assert adequacy.drift_of(series) == (pytest.approx(ratio) if is_drift else None)
        assert adequacy.drift_of([*series, np.array([1.0, 90, 3, 4, 500])]) == adequacy.drift_of(series)
    assert 30 < sum(told) < 270
    assert adequacy.drift_of([np.array([10.0, 10, 10, 20, 20])] * 5) is None


def test_the_variation_is_the_median_of_what_the_series_have_and_noise_begins_above_a_tenth():
    series = [np.array([9.0, 10, 11]), np.array([5.0]), np.array([10.0, 40]), np.array([3.0, 4, 6])]
    assert adequacy.variation(series) == pytest.approx(
        median(stdev(one) / fmean(one) for one in series if len(one) > 1)
    )
    assert adequacy.variation([np.array([5.0])]) == 0
    for spread, is_noisy in ((0.095, False), (0.105, True)):
        values = np.array([10 - 10 * spread, 10, 10 + 10 * spread])
        assert (Reason.NOISY in codes([[values]] * 3)) == is_noisy


def test_of_several_files_the_adequate_ones_count_and_where_there_is_none_all():
    assert adequacy.counted([1, 2, 3, 4], lambda one: one % 2 == 0) == ([2, 4], [1, 3])
    assert adequacy.counted([1, 3], lambda one: one % 2 == 0) == ([1, 3], [])


def test_launches_that_differ_do_not_hide_a_drift_that_they_share():
    drift = np.linspace(1.2, 1, 9)
    assert adequacy.drift_of([STEADY * drift * level for level in (1, 5, 20)]) == pytest.approx(-0.13, abs=0.03)


def test_short_iterations_and_threads_that_do_not_overlap():
    assert adequacy.short_iterations(np.full(5, 250e6)) is None
    short = adequacy.short_iterations(np.full(5, 20e6))
    assert short is not None
    assert short.code is Reason.ITERATION_SHORT
    assert "20 ms" in short.detail
    assert adequacy.unequal_load(np.array([[0.0, 10], [0.5, 10]])) is None
    apart = adequacy.unequal_load(np.array([[0.0, 10], [4, 14]]))
    assert apart is not None
    assert apart.code is Reason.UNEQUAL_LOAD
    assert "43%" in apart.detail


def test_only_some_doubts_keep_a_result_out():
    def told(code):
        return [adequacy.Caveat(code, "x")]

    assert not adequacy.is_adequate(told(Reason.EMULATOR))
    assert adequacy.is_adequate(told(Reason.NOISY))
    assert adequacy.is_adequate([])
