"""The numbers that a detector and its sentence are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perfreg_assets.methods.features import LevelScale, scale_of, theil_sen_slope


def plain_theil_sen(values, interval_s):
    """Median of the slopes between all pairs of the medians of 10 s (Theil 1950, Sen 1968)."""
    width = max(1, round(10.0 / interval_s))
    count = len(values) // width
    if count < 3:
        width, count = max(1, len(values) // 3), min(3, len(values))
    points = [np.median(values[index * width : (index + 1) * width]) for index in range(count)]
    slopes = [
        (points[j] - points[i]) / ((j - i) * width * interval_s) for i in range(count) for j in range(i + 1, count)
    ]
    return float(np.median(slopes)) if slopes else 0.0


@pytest.mark.parametrize("interval_s", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("length", [1, 2, 5, 29, 30, 64, 400])
def test_the_slope_is_theils_and_sens(length, interval_s, rng):
    for values in (
        rng.normal(size=length),
        np.arange(float(length)),
        np.zeros(length),
        rng.integers(0, 3, length) * 1.0,
    ):
        assert theil_sen_slope(values, interval_s) == plain_theil_sen(values, interval_s)


@pytest.mark.parametrize("interval_s", [0.1, 0.3, 1.0])
def test_the_slope_is_that_of_scipy(interval_s, rng):
    width = round(10 / interval_s)
    values = rng.normal(size=25 * width)
    points = np.median(values.reshape(25, width), axis=1)
    assert theil_sen_slope(values, interval_s) == stats.theilslopes(points, np.arange(25) * (width * interval_s)).slope


def test_the_slope_at_intervals_that_binary_fractions_do_not_hit(rng):
    values = rng.normal(size=200)
    assert theil_sen_slope(values, 0.1) == pytest.approx(plain_theil_sen(values, 0.1), rel=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=50))
def test_the_scale_of_a_level_is_the_same_in_both_directions(values):
    run = np.array(values)
    scale, mirrored = LevelScale.of([run]), LevelScale.of([-run])
    np.testing.assert_array_equal(scale.levels(run), -mirrored.levels(-run))
    assert np.isfinite(scale.levels(run)).all()


def test_load_and_other_levels_have_their_own_scale():
    run = np.array([0.0, 0.0, 1.0, 2.0])
    assert scale_of("load", [run]).levels(run).min() == 0.0
    assert scale_of("level", [run]).levels(run).min() < 0.0
