"""One alarm per run: each series pays for the others, and the run follows its series at every ω."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perfreg_assets.methods.calibration import QUARTILE, omega_of_level
from perfreg_assets.methods.multiple_testing import SERIES_IMPROVEMENT, combine, correct
from perfreg_assets.methods.omega_rule import is_anomalous, state
from perfreg_assets.methods.samples import Score


def score(distance, improvement=None, sentence="grows"):
    return Score(
        distance=distance,
        q1=-QUARTILE,
        q3=QUARTILE,
        improvement=improvement,
        is_recheck_passed=None,
        p_value=float(stats.norm.sf(distance)),
        direction="more" if improvement is None or distance >= improvement else "less",
        history_distances=np.full(3, distance),
        sentence=sentence,
    )


def thesis(distance, q1, q3, recheck=None):
    return Score(distance, q1, q3, None, recheck, None, "more", np.array([q1, q3]), None, {}, "told")


def run_of(scores):
    return combine({name: correct(one, len(scores), "sidak") for name, one in scores.items()}, "sidak")


@given(z=st.floats(-6, 6), count=st.integers(1, 12))
def test_the_corrected_p_is_sidaks(z, count):
    p = stats.norm.sf(z)
    got = correct(score(z), count, "sidak")
    assert got.p_value == pytest.approx(1 - (1 - p) ** count, rel=1e-6, abs=1e-12)
    assert got.distance <= z + 1e-9
    assert got.p_value <= min(1.0, count * p) + 1e-12  # never stricter than Bonferroni
    assert got.uncorrected_distance == z


@pytest.mark.parametrize("improvement", [-7.0, -2.0, 0.3, 4.0])
def test_what_an_improvement_was_before_the_correction_stays_known(improvement):
    corrected = correct(score(1.0, improvement), 30, "sidak")
    assert corrected.evidence[SERIES_IMPROVEMENT] == improvement
    assert SERIES_IMPROVEMENT not in correct(score(1.0, None), 30, "sidak").evidence


def test_one_series_alone_needs_no_correction_and_any_corrects_nothing():
    assert correct(score(1.7, 0.3), 1, "sidak").distance == 1.7
    one = thesis(3.0, 1.0, 2.0)
    assert correct(one, 3, "any") == one


@given(first=st.floats(-6, 6), second=st.floats(-6, 6), count=st.integers(1, 12))
def test_the_order_of_series_is_kept(first, second, count):
    one, other = (correct(score(z), count, "sidak").distance for z in (first, second))
    assert one <= other or first > second


@given(zs=st.lists(st.floats(-4, 6), min_size=1, max_size=6), omega=st.floats(0, 4))
def test_a_run_is_anomalous_exactly_when_a_series_is(zs, omega):
    scores = {f"s{i}": correct(score(z), len(zs), "sidak") for i, z in enumerate(zs)}
    run = combine(scores, "sidak")
    assert is_anomalous(run, omega) == any(is_anomalous(one, omega) for one in scores.values())
    assert run.uncorrected_distance == max(zs)


@pytest.mark.parametrize("omega", [0.0, 0.5, 1.0, 1.5, 3.0, 10.0])
def test_any_is_any_series_at_every_omega(omega):
    generator = np.random.default_rng(1)
    for _ in range(200):
        scores = {
            name: thesis(
                generator.uniform(0, 6), 1.0, generator.uniform(1.0, 2.0), generator.choice([None, True, False])
            )
            for name in "abc"
        }
        scores["flat"] = thesis(generator.choice([1.0, 1.5]), 1.2, 1.2)
        expected = any(is_anomalous(one, omega) for one in scores.values())
        assert is_anomalous(combine(scores, "any"), omega) == expected


def test_normal_runs_raise_alarms_at_the_nominal_rate():
    rng = np.random.default_rng(5)
    omega = omega_of_level(0.05)
    runs = rng.standard_normal((4000, 3))
    alarms = [is_anomalous(run_of({str(i): score(float(z)) for i, z in enumerate(run)}), omega) for run in runs]
    assert 0.04 < np.mean(alarms) < 0.06


def test_less_load_in_one_series_is_told_as_the_runs_improvement():
    run = run_of({"cpu": score(-1.0, 3.5, "uses less"), "rss": score(0.1, -0.1, "grows")})
    assert run.improvement > 3
    assert run.direction == "less"
    assert re.fullmatch(r"cpu \(improvement score 3\.\d\): uses less", run.sentence)
    assert state(run, 0.75) == "improved"


def test_a_series_that_is_told_alone_says_its_sentence_once():
    assert run_of({"cpu": score(-3.0, 3.5, "uses less")}).sentence == "cpu: uses less"


def test_a_run_that_is_improved_at_the_lowest_threshold_only_is_told_by_its_improvement():
    """Anomalous at no ω, so its worst series has nothing to say."""
    run = run_of({"cpu": score(-1.0, 1.15, "uses less"), "rss": score(0.1, -0.1, "grows")})
    assert QUARTILE < run.improvement < QUARTILE + 0.1 * 2 * QUARTILE
    assert run.sentence == f"cpu (improvement score {run.improvement:.2g}): uses less"


def test_of_series_anomalous_at_every_omega_the_farthest_over_its_threshold_is_the_worst():
    scores = {"high": thesis(9.5, 9.0, 9.0), "far": thesis(3.0, 1.0, 1.0)}
    assert combine(scores, "any").distance == 3.0


def test_a_series_over_its_own_threshold_is_no_improvement_however_much_better_another_is():
    """The correction for three series hides a leak at ω = 0.75, whose own series is over its threshold; CPU at 60 %."""
    scores = {"cpu_app": score(-3.0, 4.0), "cpu_total": score(-2.0, 2.0), "rss_app": score(1.8, -1.0)}
    run = run_of(scores)
    assert run.distance < QUARTILE + 0.75 * 2 * QUARTILE < 1.8
    assert run.improvement > QUARTILE + 0.75 * 2 * QUARTILE
    assert state(run, 0.75) == "normal"


@given(st.lists(st.tuples(st.floats(-4, 6), st.none() | st.floats(-4, 6)), min_size=1, max_size=4))
def test_all_numbers_and_words_of_a_run_are_of_the_series_named(pairs):
    """As in a leak beside a large improvement: score, history and sentence once came from different series."""
    scores = {
        f"s{i}": correct(score(z, better, f"sentence of s{i}, {z:.6f}"), len(pairs), "sidak")
        for i, (z, better) in enumerate(pairs)
    }
    run = combine(scores, "sidak")
    worst = max(scores.values(), key=lambda one: one.distance)
    same = [one for one in scores.values() if one.distance == worst.distance]
    assert any(
        (run.distance, run.p_value, run.history_distances[0]) == (one.distance, one.p_value, one.history_distances[0])
        for one in same
    )
    for part in run.sentence.split("; "):
        name, text = re.fullmatch(r"(s\d)(?: \(improvement score .*\))?: (.*)", part).groups()
        assert text == scores[name].sentence
    told = run.sentence[:2]
    if state(run, 0.0) == "improved":
        assert scores[told].improvement == run.improvement
        assert run.direction == scores[told].direction
    else:
        assert scores[told].distance == run.distance
        assert run.direction == scores[told].direction


def test_an_anomalous_run_is_told_by_what_is_wrong_and_the_improvement_follows_under_its_own_name():
    run = run_of({"cpu_app": score(-3.0, 5.0, "uses 0.1 cores"), "rss_app": score(3.0, -2.0, "memory grows 2 MB/s")})
    assert state(run, 0.75) == "anomalous"
    first, second = run.sentence.split("; ")
    assert first == "rss_app: memory grows 2 MB/s"
    assert second.startswith("cpu_app (improvement score 4.")
    assert second.endswith(": uses 0.1 cores")
    assert run.direction == "more"


def test_the_order_of_series_in_the_mapping_changes_nothing():
    scores = {name: score(1.0, 2.0, name) for name in "cab"}
    runs = [run_of({name: scores[name] for name in order}) for order in ("abc", "cab", "bca")]
    assert len({run.sentence for run in runs}) == 1


def test_nothing_judged_and_unknown_rules_are_refused():
    with pytest.raises(ValueError, match="at least one score"):
        combine({}, "sidak")
    with pytest.raises(ValueError, match="series_count"):
        correct(score(0.0), 0, "sidak")
    for call in (lambda: correct(score(0.0), 1, "magic"), lambda: combine({"a": score(0.0)}, "magic")):
        with pytest.raises(ValueError, match="sidak or any"):
            call()
