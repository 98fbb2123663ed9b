"""An app's own earlier scores as the measured distribution of normal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from perfreg_assets.methods.empirical_null import (
    HALF_LIFE_VERSIONS,
    PRIOR_RUNS,
    EmpiricalNull,
    TheoreticalScore,
    calibrated_score,
    is_usual,
    steady,
    without_shared,
)
from perfreg_assets.methods.repeats import combined_score

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


theories = st.tuples(scores, st.floats(0, 8)).map(lambda pair: TheoreticalScore(pair[0], pair[0] - pair[1]))
known_theories = st.lists(st.tuples(theories, st.integers(0, 40)), min_size=4, max_size=40)


def null_of(pairs):
    return EmpiricalNull([one for one, _ in pairs], np.array([age for _, age in pairs], dtype=float))


def slow_judged(theory, pairs):
    """The share of disturbed runs counted one by one, and every score taken for at most as improbable as a disturbed
    run that looks like it does without."""
    ages = [age for _, age in pairs]
    weights = [0.5 ** (age / HALF_LIFE_VERSIONS) for age in ages]
    disturbed = [
        weight
        for (one, _), weight in zip(pairs, weights, strict=True)
        if stats.norm.sf(one.score) < 0.01 and stats.norm.sf(one.without_transient) > 0.05
    ]
    share = sum(disturbed) / (PRIOR_RUNS + sum(weights))

    def beside(one):
        return stats.norm.isf(max(stats.norm.sf(one.score), share * stats.norm.sf(one.without_transient)))

    return slow_score(beside(theory), [beside(one) for one, _ in pairs], ages)


def test_beside_disturbed_runs_it_is_the_slow_reference():
    draw = np.random.default_rng(2)
    pairs = []
    for number in range(40):
        steady = draw.normal()
        pairs.append((TheoreticalScore(steady + (4 if number % 8 == 0 else 0), steady), float(draw.integers(0, 15))))
    null = null_of(pairs)
    assert null.transient_runs > 3
    for theory in (TheoreticalScore(5.0, 0.3), TheoreticalScore(2.5, 2.4), TheoreticalScore(6.0, 5.0)):
        assert null.judged(theory) == pytest.approx(slow_judged(theory, pairs), abs=1e-6)


@given(st.lists(st.tuples(scores, st.integers(0, 40)), min_size=4, max_size=40), theories)
def test_where_no_earlier_run_was_disturbed_nothing_is_taken_off(past, theory):
    null = null_of([(TheoreticalScore(one, one), age) for one, age in past])
    known, ages = (np.array([pair[place] for pair in past], dtype=float) for place in (0, 1))
    assert null.transient_share == 0
    assert null.judged(theory) == calibrated_score(theory.score, known, ages)


@given(known_theories, theories, theories)
def test_who_is_more_unusual_with_and_without_is_never_the_lower_one(pairs, one, other):
    null = null_of(pairs)
    low = TheoreticalScore(*map(min, one, other))
    high = TheoreticalScore(*map(max, one, other))
    assert null.judged(low) <= null.judged(high) + 1e-9
    # However often runs were disturbed, what is as unusual without is worth what its score is.
    whole = TheoreticalScore(one.score, one.score)
    assert null.judged(one) <= null.judged(whole) + 1e-9


@given(known_theories, theories, st.randoms(use_true_random=False))
def test_the_order_of_disturbed_runs_changes_no_bit(pairs, theory, shuffler):
    assert null_of(pairs).judged(theory) == null_of(shuffler.sample(pairs, len(pairs))).judged(theory)


def test_a_disturbed_run_is_usual_and_a_regression_is_not_until_somebody_says_so():
    pairs = ((7.0, 0.2), (7.0, 6.0), (3.0, 3.0), (7.0, 2.0))  # the last is unusual without its disturbance too
    runs = [TheoreticalScore(*pair) for pair in pairs]
    assert is_usual(runs, np.zeros(4, dtype=bool)).tolist() == [True, False, True, False]
    assert is_usual(runs, np.array([False, True, False, True])).all()
    assert steady(runs).tolist() == [0.2, 7.0, 3.0, 7.0]


def test_what_passes_in_most_runs_of_a_version_is_the_versions_and_hides_nothing():
    passing, usual = TheoreticalScore(6.0, 0.2), TheoreticalScore(0.4, 0.4)
    ages = np.repeat(np.arange(1.0, 9.0), 4)
    by_chance = [passing if place % 4 == 0 else usual for place in range(32)]
    of_one_version = [passing if age == 2 and place % 4 else usual for place, age in enumerate(ages)]
    assert without_shared(by_chance, ages).tolist() == [list(one) for one in by_chance]
    told = without_shared(of_one_version, ages)
    assert (told[ages != 2] == usual).all()
    kept = is_usual(told, np.zeros(32, dtype=bool))
    assert not kept[told[:, 0] == 6].any()
    assert EmpiricalNull(told[kept], ages[kept]).judged(passing) > 3 > EmpiricalNull(by_chance, ages).judged(passing)
    # One run of a version, or half of its runs, may be chance.
    for some in (np.ones(1), np.ones(2)):
        had = [passing, usual][: len(some)]
        assert without_shared(had, some).tolist() == [list(one) for one in had]


def test_bursts_keep_the_level_and_cost_less_than_learning_their_scores():
    """A tenth of the normal runs scores 3 more for some seconds; a regression scores 3 more all along."""
    draw = np.random.default_rng(4)
    found = {"false": [], "right": [], "right, learned": []}
    for _ in range(400):
        steady, bursts = draw.normal(size=61), 3.0 * (draw.random(61) < 0.1)
        runs = [TheoreticalScore(*pair) for pair in zip(steady + bursts, steady, strict=True)]
        null = EmpiricalNull(runs[1:], np.zeros(60))
        worse = TheoreticalScore(runs[0].without_transient + 3, runs[0].without_transient + 3)
        found["false"].append(null.judged(runs[0]) > 1.6449)
        found["right"].append(null.judged(worse) > 1.6449)
        past = np.array([one.score for one in runs[1:]])
        found["right, learned"].append(calibrated_score(worse.score, past, np.zeros(60)) > 1.6449)
    rates = {name: np.mean(told) for name, told in found.items()}
    assert rates["false"] < 0.08
    assert rates["right"] > rates["right, learned"] + 0.05


def test_a_regression_that_passes_is_found_by_the_runs_of_a_build_where_one_of_them_is_not_enough():
    """Where a tenth of the normal runs has bursts, a regression of some seconds is in all three runs of a build."""
    draw = np.random.default_rng(5)
    one, three = [], []
    for _ in range(300):
        steady, bursts = draw.normal(size=63), 4.0 * (draw.random(63) < 0.1)
        bursts[:3] = 4.0
        runs = [TheoreticalScore(*pair) for pair in zip(steady + bursts, steady, strict=True)]
        null = EmpiricalNull(runs[3:], np.zeros(60))
        judged = np.array([null.judged(run) for run in runs[:3]])
        one += list(judged > 1.6449)
        three.append(combined_score(judged, 11, 0.25) > 1.6449)
    assert 0.2 < np.mean(one) < 0.7
    assert np.mean(three) > 0.9


@pytest.mark.parametrize(
    ("past", "ages", "prior", "word"),
    [
        ([1.0], [], 10, "one age"),
        ([[1.0]], [[0.0]], 10, "one age"),
        ([np.nan], [0.0], 10, "finite"),
        ([1.0], [-1.0], 10, "below 0"),
        ([], [], 0, "above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(past, ages, prior, word):
    with pytest.raises(ValueError, match=word):
        calibrated_score(1.0, np.array(past), np.array(ages), prior_runs=prior)
