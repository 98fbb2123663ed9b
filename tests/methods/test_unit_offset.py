"""What a device unit adds to a score, against the integral over all offsets that it may have."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from perfreg_assets.methods.empirical_null import EmpiricalNull, TheoreticalScore, calibrated_score
from perfreg_assets.methods.unit_offset import BETWEEN_UNITS_SD, UnitOffset

scores = st.floats(-6, 6)
earlier = st.lists(st.tuples(st.floats(-4, 4), st.floats(0, 1)), max_size=20)


def offset_of(pairs):
    return UnitOffset.of(*(np.array([pair[place] for pair in pairs], dtype=float) for place in (0, 1)))


def slow_score(score, foreign, pairs):
    """How often a run of the unit scores as much, over every offset as likely as the earlier scores make it."""

    def likelihood(offset):
        logs = stats.norm.logpdf(offset, scale=BETWEEN_UNITS_SD)
        return math.exp(logs + sum(stats.norm.logpdf(one, loc=share * offset) for one, share in pairs))

    whole, _ = integrate.quad(likelihood, -8, 8, epsabs=0, limit=200)
    tail, _ = integrate.quad(
        lambda offset: likelihood(offset) * stats.norm.sf(score - foreign * offset), -8, 8, epsabs=0, limit=200
    )
    return stats.norm.isf(tail / whole)


@pytest.mark.parametrize("pairs", [[], [(1.2, 1.0)], [(1.5, 1.0), (0.4, 0.5), (2.2, 0.75), (-0.3, 0.0)]])
@pytest.mark.parametrize(("score", "foreign"), [(2.0, 1.0), (-0.5, 0.5), (3.5, 1.0)])
def test_it_is_the_predictive_distribution(score, foreign, pairs):
    assert offset_of(pairs).without(score, foreign) == pytest.approx(slow_score(score, foreign, pairs), abs=1e-6)


@given(earlier, scores)
def test_a_history_of_the_own_unit_leaves_a_score_as_it_is(pairs, score):
    assert offset_of(pairs).without(score, 0.0) == score


@given(earlier, scores, scores, st.floats(0, 1))
def test_a_higher_score_stays_the_higher_one_and_the_order_of_earlier_ones_changes_no_bit(pairs, one, other, foreign):
    low, high = sorted([one, other])
    assert offset_of(pairs).without(low, foreign) <= offset_of(pairs).without(high, foreign)
    assert offset_of(pairs) == offset_of(pairs[::-1])


def test_the_level_is_kept_on_a_heavier_unit_from_its_first_run_on():
    """Units scatter by as much as runs do; each is judged five times, beside its own runs before."""
    draw = np.random.default_rng(7)
    alarms = {"by theory": [], "by unit": []}
    for _ in range(2000):
        offset = draw.normal(0, BETWEEN_UNITS_SD)
        past = []
        for score in offset + draw.normal(size=5):
            alarms["by theory"].append(score > 1.6449)
            alarms["by unit"].append(offset_of(past).without(score, 1.0) > 1.6449)
            past.append((score, 1.0))
    assert np.mean(alarms["by theory"]) > 0.1
    assert np.mean(alarms["by unit"]) == pytest.approx(0.05, abs=0.01)


def test_a_lighter_unit_is_no_improvement_from_its_first_run_on():
    """As above, towards the better side."""
    draw = np.random.default_rng(8)
    told = {"by theory": [], "by unit": []}
    for _ in range(2000):
        offset = draw.normal(0, BETWEEN_UNITS_SD)
        past = []
        for score in offset + draw.normal(size=5):
            null = EmpiricalNull([], np.empty(0), offset_of(past), 1.0)
            told["by theory"].append(-score > 1.6449)
            told["by unit"].append(null.improved(-score) > 1.6449)
            past.append((score, 1.0))
    assert np.mean(told["by theory"]) > 0.1
    assert np.mean(told["by unit"]) == pytest.approx(0.05, abs=0.01)
    assert EmpiricalNull([], np.empty(0)).improved(1.7) == 1.7


def test_a_null_takes_the_unit_off_before_it_looks_at_the_past():
    past, ages = np.array([0.3, -0.4, 1.1, 0.2]), np.ones(4)
    unit = UnitOffset.of(np.array([1.4, 1.6]), np.ones(2))
    known, score = [TheoreticalScore(one, one) for one in past], TheoreticalScore(3.0, 3.0)
    whole, few = EmpiricalNull(known, ages, unit, 1.0), EmpiricalNull(known[:2], ages[:2], unit, 1.0)
    assert whole.judged(score) == calibrated_score(unit.without(3.0, 1.0), past, ages)
    assert few.judged(score) == unit.without(3.0, 1.0) < 2.0
    assert few.counts
    assert not few.has_past


@pytest.mark.parametrize(
    ("known", "shares", "word"),
    [
        ([1.0], [], "one share per score"),
        ([np.nan], [1.0], "finite"),
        ([1.0], [1.5], "0 to 1"),
        ([1.0], [-0.1], "0 to 1"),
    ],
)
def test_what_makes_no_sense_is_refused(known, shares, word):
    with pytest.raises(ValueError, match=word):
        UnitOffset.of(np.array(known), np.array(shares))
