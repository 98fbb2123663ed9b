"""Levels, ω and scores are one scale."""

import numpy as np
import pytest
from scipy import stats

from perfreg_assets.methods.calibration import (
    HEAVY_TAILS,
    LARGEST_SCORE,
    QUARTILE,
    inlier_mask,
    leave_one_out_scores,
    level_of_omega,
    omega_of_level,
    p_of_score,
    predictive_score,
    score_of_p,
)


def test_omega_means_the_levels_that_the_interface_promises():
    assert [round(level_of_omega(omega), 4) for omega in (0, 0.5, 1, 1.5)] == [0.25, 0.0887, 0.0215, 0.0035]


@pytest.mark.parametrize("level", [0.25, 0.1, 0.05, 0.001])
def test_a_level_and_its_omega_are_inverse(level):
    omega = omega_of_level(level)
    assert level_of_omega(omega) == pytest.approx(level, rel=1e-12)
    assert p_of_score(QUARTILE + omega * 2 * QUARTILE) == pytest.approx(level, rel=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, float("nan")])
def test_an_impossible_level_is_refused(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        omega_of_level(level)


def test_the_score_has_the_tail_probability_of_a_prediction_interval():
    known = np.random.default_rng(0).normal(10, 2, 12)
    for value in (8.0, 12.0, 15.0):
        t = (value - known.mean()) / (HEAVY_TAILS * known.std(ddof=1) * np.sqrt(1 + 1 / 12))
        assert predictive_score(known, value, 1e-9) == pytest.approx(stats.norm.isf(stats.t.sf(t, 11)), rel=1e-9)


def test_scores_are_antisymmetric_and_bounded():
    known = np.array([1.0, 2.0, 3.0, 4.0])
    assert predictive_score(known, 2.5 + 1, 1e-9) == pytest.approx(-predictive_score(known, 2.5 - 1, 1e-9))
    assert predictive_score(np.full(5, 2.0), 1e9, 1e-9) == LARGEST_SCORE
    assert predictive_score(np.full(5, 2.0), 2.0, 1e-9) == 0.0
    assert score_of_p(1.0) == -LARGEST_SCORE
    assert score_of_p(0.0) == LARGEST_SCORE


def test_leave_one_out_scores_judge_each_beside_the_others():
    known = np.array([1.0, 2.0, 3.0, 9.0])
    expected = [predictive_score(np.delete(known, index), known[index], 1e-9) for index in range(4)]
    np.testing.assert_array_equal(leave_one_out_scores(known, 1e-9), expected)
    assert len(leave_one_out_scores(known[:2], 1e-9)) == 2


def test_only_runs_far_outside_in_any_number_are_set_aside():
    usual = np.array([0.9, 1.0, 1.1, 1.05, 0.95, 1.2, 0.8, 1.0])
    level, spread = usual.copy(), usual.copy()
    level[7], spread[2] = 50.0, -50.0
    np.testing.assert_array_equal(inlier_mask([level, spread], 0.7), np.isin(np.arange(8), [2, 7], invert=True))
    assert inlier_mask([usual], 0.7).all()
    assert inlier_mask([np.ones(5)], 0.7).all()


def test_natural_tails_are_kept_and_so_is_a_history_that_falls_apart():
    tail = np.array([1.0, 1.01, 0.99, 1.0, 1.02, 1.6])
    assert inlier_mask([tail], 0.7).all()
    halves = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0])
    assert inlier_mask([halves], 0.7).all()
