"""The ω rule against its definition, and the states that follow from it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.omega_rule import critical_omega, is_anomalous, state, threshold
from perfreg_assets.methods.samples import Score

numbers = st.floats(-1e3, 1e3)


def score(distance, q1=1.0, q3=2.0, improvement=None, recheck=None, uncorrected=None):
    return Score(distance, q1, q3, improvement, recheck, None, "more", np.zeros(3), uncorrected)


scores = st.builds(
    lambda distance, q1, spread, improvement, recheck, lost: score(
        distance, q1, q1 + spread, improvement, recheck, None if lost is None else distance + lost
    ),
    *(numbers, numbers, st.sampled_from([0.0, 0.5, 7.0]), st.none() | numbers, st.sampled_from([None, True, False])),
    st.none() | st.floats(0, 10),
)


@given(scores, st.floats(0, 5))
def test_the_rule_is_its_definition(one, omega):
    limit = one.q3 + omega * (one.q3 - one.q1)
    assert threshold(one, omega) == limit
    assert is_anomalous(one, omega) == (one.distance > limit and one.is_recheck_passed is not False)


@given(scores)
def test_a_larger_omega_never_accuses(one):
    verdicts = [is_anomalous(one, omega) for omega in (0, 0.5, 1, 1.5, 100)]
    assert verdicts == sorted(verdicts, reverse=True)


@given(scores, st.floats(0, 5))
def test_the_critical_omega_is_where_the_verdict_changes(one, omega):
    critical = critical_omega(one)
    if not math.isclose(critical, omega, rel_tol=1e-6, abs_tol=1e-6):
        assert is_anomalous(one, omega) == (omega < critical)


def test_equal_distances_have_no_spread_and_a_distance_at_the_threshold_is_normal():
    assert not is_anomalous(score(2.0, 2.0, 2.0), 0)
    assert critical_omega(score(2.0, 2.0, 2.0)) == -math.inf
    assert critical_omega(score(3.0, 2.0, 2.0)) == math.inf
    assert critical_omega(score(9.0, recheck=False)) == -math.inf


@pytest.mark.parametrize(
    ("one", "missing", "expected"),
    [
        (score(5.0), (), "anomalous"),
        (score(5.0), ("rss_app",), "anomalous"),
        (score(5.0, recheck=False), (), "normal"),
        (score(0.0), (), "normal"),
        (score(0.0), ("rss_app",), "series_missing"),
        (score(0.0, improvement=5.0), (), "improved"),
        (score(0.0, improvement=5.0), ("rss_app",), "series_missing"),
        (score(0.0, improvement=2.5), (), "normal"),
        (score(5.0, improvement=6.0), (), "anomalous"),
        # The correction took the alarm away: that makes no improvement.
        (score(2.9, improvement=6.0, uncorrected=3.1), (), "normal"),
        (score(2.8, improvement=6.0, uncorrected=2.9), (), "improved"),
        (score(5.0, improvement=6.0, recheck=False), (), "normal"),
    ],
)
def test_the_states(one, missing, expected):
    assert state(one, 1.0, missing) == expected


@given(scores, st.floats(0, 5), st.lists(st.sampled_from(["rss_app", "cpu_app"]), max_size=2))
def test_what_is_missing_or_was_an_alarm_is_never_normal_or_improved(one, omega, missing):
    found = state(one, omega, missing)
    assert (found == "anomalous") == is_anomalous(one, omega)
    if missing:
        assert found in {"anomalous", "series_missing"}
    if found == "improved":
        assert max(one.distance, one.distance if one.uncorrected_distance is None else one.uncorrected_distance) <= (
            threshold(one, omega)
        )
