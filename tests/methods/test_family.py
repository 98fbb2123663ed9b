"""One alarm per run: each series pays for the others, and the run follows its series at every ω."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perfreg_assets.methods.calibration import QUARTILE, omega_of_level
from perfreg_assets.methods.family import corrected, run_score
from perfreg_assets.methods.samples import Score


def score(distance, improvement=None):
    return Score(
        distance=distance,
        q1=-QUARTILE,
        q3=QUARTILE,
        improvement=improvement,
        is_recheck_passed=None,
        p_value=float(stats.norm.sf(distance)),
        direction="more",
        history_distances=np.zeros(3),
        sentence="grows",
    )


@given(z=st.floats(-6, 6), count=st.integers(1, 12))
def test_the_corrected_p_is_sidaks(z, count):
    p = stats.norm.sf(z)
    got = corrected(score(z), count)
    assert got.p_value == pytest.approx(1 - (1 - p) ** count, rel=1e-6, abs=1e-12)
    assert got.distance <= z + 1e-9
    assert got.p_value <= min(1.0, count * p) + 1e-12  # never stricter than Bonferroni


@given(first=st.floats(-6, 6), second=st.floats(-6, 6), count=st.integers(1, 12))
def test_the_order_of_series_is_kept(first, second, count):
    assert (corrected(score(first), count).distance <= corrected(score(second), count).distance) or first > second


@given(zs=st.lists(st.floats(-4, 6), min_size=1, max_size=6), omega=st.floats(0, 4))
def test_a_run_is_anomalous_exactly_when_a_series_is(zs, omega):
    scores = {f"s{i}": corrected(score(z), len(zs)) for i, z in enumerate(zs)}
    run = run_score(scores)
    assert run.is_anomalous(omega) == any(one.is_anomalous(omega) for one in scores.values())


def test_normal_runs_raise_alarms_at_the_nominal_rate():
    rng = np.random.default_rng(5)
    omega = omega_of_level(0.05)
    runs = rng.standard_normal((4000, 3))
    alarms = [
        run_score({str(i): corrected(score(float(z)), 3) for i, z in enumerate(run)}).is_anomalous(omega)
        for run in runs
    ]
    assert 0.04 < np.mean(alarms) < 0.06


def test_less_load_in_one_series_is_told_as_the_runs_improvement():
    run = run_score({"cpu": corrected(score(-1.0, 3.5), 2), "rss": corrected(score(0.1, -0.1), 2)})
    assert run.improvement is not None
    assert run.improvement > 3
    assert run.sentence == "cpu: grows"


def test_nothing_judged_is_refused():
    with pytest.raises(ValueError, match="at least one score"):
        run_score({})
    with pytest.raises(ValueError, match="series_count"):
        corrected(score(0.0), 0)
