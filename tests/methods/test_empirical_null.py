"""An app's own earlier scores as the measured distribution of normal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from perfreg_assets.methods.empirical_null import HALF_LIFE_VERSIONS, PRIOR_RUNS, calibrated_score

scores = st.floats(-6, 6)
pasts = st.lists(st.tuples(st.floats(-8, 8), st.integers(0, 40)), max_size=40)


def slow_score(score, past, ages, m=PRIOR_RUNS):
    """One earlier run after the other; the predictive tail by integrating the exponential over its rate's posterior."""
    begin = stats.norm.isf(0.25)
    count = above = total = 0.0
    for one, age in zip(past, ages, strict=True):
        weight = 0.5 ** (age / HALF_LIFE_VERSIONS)
        count += weight
        if one > begin:
            above += weight
            total += weight * -math.log(stats.norm.sf(min(one, 8.0)) / 0.25)
    share = (m / 4 + above) / (m + count)
    if score > begin:
        excess = -math.log(stats.norm.sf(score) / 0.25)
        posterior = stats.gamma(m / 4 + above, scale=1 / (m / 4 + total))
        middle = posterior.median()
        density = lambda rate: math.exp(-rate * excess) * posterior.pdf(rate)  # noqa: E731
        tail = share * (integrate.quad(density, 0, middle)[0] + integrate.quad(density, middle, np.inf)[0])
    else:
        tail = share + (1 - share) * (stats.norm.cdf(begin) - stats.norm.cdf(score)) / 0.75
    return stats.norm.isf((m * stats.norm.sf(score) + count * tail) / (m + count))


@pytest.mark.parametrize("score", [-2.0, 0.0, 0.67, 0.68, 1.6, 3.0, 4.5])
def test_it_is_the_slow_reference(score):
    draw = np.random.default_rng(0)
    past, ages = draw.normal(0.5, 1.5, 35), draw.integers(0, 15, 35).astype(float)
    assert calibrated_score(score, past, ages) == pytest.approx(slow_score(score, past, ages), abs=1e-6)


@given(scores)
def test_without_a_past_a_score_is_what_it_was(score):
    assert calibrated_score(score, np.array([]), np.array([])) == score


@given(pasts, scores, scores)
def test_a_higher_score_never_becomes_the_lower_one(past, one, other):
    known, ages = (np.array([pair[place] for pair in past], dtype=float) for place in (0, 1))
    low, high = sorted([one, other])
    assert calibrated_score(low, known, ages) <= calibrated_score(high, known, ages) + 1e-9


@given(pasts, scores, st.randoms(use_true_random=False))
def test_the_order_of_the_past_changes_no_bit(past, score, shuffler):
    mixed = shuffler.sample(past, len(past))
    told = {
        calibrated_score(score, *(np.array([pair[place] for pair in one], dtype=float) for place in (0, 1)))
        for one in (past, mixed)
    }
    assert len(told) == 1


@given(st.integers(0, 10_000))
def test_a_past_as_in_the_textbook_changes_little(seed):
    past = stats.norm.ppf((np.arange(200) + np.random.default_rng(seed).uniform(0, 1, 200)) / 200)
    for score in (-1.0, 0.5, 1.2816, 1.6449, 2.3263):
        assert calibrated_score(score, past, np.zeros(200)) == pytest.approx(score, abs=0.15)


def test_the_level_is_kept_where_a_tenth_of_the_normal_runs_scores_high():
    draw = np.random.default_rng(1)
    alarms = {"theory": 0, "measured": 0}
    for _ in range(1000):
        *past, score = np.where(draw.random(61) < 0.1, draw.normal(3, 1, 61), draw.normal(0, 1, 61))
        alarms["theory"] += score > 1.6449
        alarms["measured"] += calibrated_score(score, np.array(past), np.zeros(60)) > 1.6449
    assert alarms["theory"] > 115
    assert alarms["measured"] < 0.7 * alarms["theory"]


def test_old_versions_are_forgotten():
    bad = np.full(20, 4.0)
    now, long_ago = (calibrated_score(2.5, bad, np.full(20, age)) for age in (0.0, 120.0))
    assert now < 1
    assert long_ago > 2.4


@pytest.mark.parametrize(
    ("past", "ages", "prior", "word"),
    [
        ([1.0], [], 10, "one age"),
        ([np.nan], [0.0], 10, "finite"),
        ([1.0], [-1.0], 10, "below 0"),
        ([], [], 0, "above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(past, ages, prior, word):
    with pytest.raises(ValueError, match=word):
        calibrated_score(1.0, np.array(past), np.array(ages), prior_runs=prior)
