"""`--protocol shifts`: made-up lives of apps, of which the two families share nothing."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets import detection
from perfreg_assets.evaluation import shifts
from perfreg_assets.evaluation.recalibrating import NULLS, Past, recalibrate
from perfreg_assets.evaluation.shift_judging import ScoredVersion, score_versions
from perfreg_assets.evaluation.shift_streams import FAMILIES, RUNS_PER_VERSION, SHIFTS, TWINS_PER_VERSION, stream
from perfreg_assets.methods.detectors import make_detector
from perfreg_assets.methods.empirical_null import WITHOUT_TRANSIENT, TheoreticalScore
from perfreg_assets.methods.samples import Score
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings

BASE, BURSTS, UNIT = SHIFTS[:3]


@pytest.fixture(scope="module")
def told():
    return shifts.evaluate(
        Path("developers"), settings=Settings(), history=12, repeats=3, seed=0, shifts=[replace(BASE, history=5), UNIT]
    )


def sessions(family, shift, **changes):
    given = {"noise": 1.0, "seed": 0, "number": 0, **changes}
    return [one for step in stream(family, shift, **given) for one in step.normal]


def test_a_life_is_the_same_again_and_no_other_seed_app_or_family_has_it():
    first = sessions("developers", BASE)[3].series["cpu_app"]
    np.testing.assert_array_equal(first, sessions("developers", BASE)[3].series["cpu_app"])
    others = [
        ("held-out", {}),
        ("developers", {"seed": 1}),
        ("developers", {"number": 1}),
        ("developers", {"noise": 2.0}),
    ]
    for family, changes in others:
        other = sessions(family, BASE, **changes)[3].series["cpu_app"]
        assert len(first) != len(other) or not np.allclose(first, other)
    assert len({family.key for family in FAMILIES.values()}) == len(FAMILIES)


def test_a_shift_is_in_the_normal_runs_and_a_regression_in_their_twins():
    def level(shift):
        return np.mean([np.median(one.series["rss_app"]) for one in sessions("developers", shift)])

    assert level(UNIT) / level(BASE) == pytest.approx(1.08, abs=0.02)
    step = next(stream("developers", UNIT, noise=1.0, seed=0, number=0))
    assert len(step.history) == UNIT.history
    history = np.mean([np.median(one.series["rss_app"]) for one in step.history])
    judged = np.mean([np.median(one.series["rss_app"]) for one in step.normal])
    assert judged / history == pytest.approx(1.08, abs=0.05)
    for before, after in zip(step.normal, step.anomalous, strict=False):
        grown = [name for name in before.series if after.series[name].sum() > 1.005 * before.series[name].sum()]
        assert len(grown) == 1
    drifted, still = (sessions("developers", replace(BASE, drift=drift))[-1] for drift in (0.01, 0.0))
    ratios = drifted.series["rss_app"] / still.series["rss_app"]
    np.testing.assert_allclose(ratios, 1.01**15, rtol=0.01)
    assert {one.is_accepted for one in stream("held-out", SHIFTS[5], noise=1.0, seed=0, number=0)} == {True, False}


def test_no_judged_run_is_in_its_own_history():
    for step in stream("developers", BURSTS, noise=1.0, seed=0, number=0):
        assert not {id(one) for one in step.normal} & {id(one) for one in step.history}


def test_rows_are_the_products_verdicts_and_shifts_cost_false_alarms(told):
    found = {(row["shift"], row["noise"], row["past"], row["level"]): row for row in told["rows"]}
    everyone = found["base", 1.0, "all", 0.05]
    assert everyone["normal_runs"] == 15 * RUNS_PER_VERSION
    assert everyone["anomalous_runs"] == 15 * TWINS_PER_VERSION
    parts = [found["base", 1.0, past, 0.05]["normal_runs"] for past in ("< 30", ">= 30")]
    assert parts == [8 * RUNS_PER_VERSION, 7 * RUNS_PER_VERSION]
    unit = found["unit", 1.0, "all", 0.05]
    assert unit["false_positive_rate"] > everyone["false_positive_rate"]
    low, high = unit["false_positive_interval"]
    assert low <= unit["false_positive_rate"] <= high
    curve = [one for one in told["curve"] if (one["shift"], one["noise"], one["level"]) == ("unit", 1.0, 0.05)]
    assert [one["normal_runs"] for one in curve] == [4, 12, 16, 12, 16]
    rates = np.average([one["false_positive_rate"] for one in curve], weights=[4, 12, 16, 12, 16])
    assert rates == pytest.approx(unit["false_positive_rate"])
    # Its own recall: the threshold that is moved to its own false alarms is its own.
    assert unit["default_recall"] == pytest.approx(unit["recall"], abs=0.1)
    shown = io.StringIO()
    shifts.print_report(told, shown)
    assert "default: false alarms and recall of runs" in shown.getvalue()
    assert "by earlier runs" in shown.getvalue()


def test_the_threshold_is_moved_to_a_rate_of_false_alarms():
    normal, worse = [0.1, 0.2, 0.3, 0.4], [0.25, 0.35, 0.5]
    assert [shifts.recall_at(normal, worse, rate) for rate in (0.0, 0.25, 0.5, 1.0)] == [1 / 3, 2 / 3, 1.0, 1.0]


def test_another_word_is_no_family():
    with pytest.raises(Rejected, match="held-out"):
        shifts.evaluate(Path("simulated"), settings=Settings(), history=12, repeats=1, seed=0)


def test_earlier_scores_judge_later_ones_and_accepted_versions_are_no_past():
    shift = SHIFTS[5]
    steps = [step for step in stream("developers", shift, noise=1.0, seed=0, number=0) if step.number <= 6]
    score = Score(0.0, -1.0, 1.0, None, None, 0.5, "more", np.zeros(5))
    versions = [
        ScoredVersion(
            step, {"cpu_app": [replace(score, distance=float(10 * step.number + place)) for place in range(6)]}
        )
        for step in steps
    ]
    seen = {}

    def note(theory, past):
        seen[theory.score] = past
        return -theory.score

    found = recalibrate(versions, note)
    assert [one.distance for one in found[1].scores["cpu_app"]] == [-20.0, -21.0, -22.0, -23.0, -24.0, -25.0]
    assert len(seen[10.0].scores) == 0
    # Of version 6: the four normal runs each of 1, 2, 3 and 5, not 4, which was accepted, and not 6 itself.
    assert sorted(seen[60.0].scores) == [10.0 * n + place for n in (1, 2, 3, 5) for place in range(4)]
    assert sorted(set(seen[60.0].versions_ago)) == [1.0, 3.0, 4.0, 5.0]
    # And of those with an odd number the first run with a regression, which nobody saw.
    assert sorted(one.score for one in seen[60.0].unseen) == [10.0 * n + 4 for n in (1, 3, 5)]
    assert sorted(seen[60.0].unseen_ago) == [1.0, 3.0, 5.0]


def theories(scores, without=None):
    return [TheoreticalScore(*pair) for pair in zip(scores, scores if without is None else without, strict=True)]


def test_a_far_score_is_usual_only_where_somebody_rejected_it():
    past = Past(
        theories(np.append(np.zeros(19), 5.0)), np.zeros(20), np.zeros(0), theories(np.full(5, 5.0)), np.zeros(5)
    )
    judged = TheoreticalScore(4.5, 4.5)
    score = {name: NULLS[name](judged, past) for name in ("calibrated", "calibrated-unseen", "calibrated-reviewed")}
    assert score["calibrated"] == score["calibrated-unseen"] > score["calibrated-reviewed"] + 0.3


def test_a_passing_disturbance_is_worth_little_where_earlier_runs_had_some():
    usual = np.tile([-1.0, 0.0, 1.0, 0.5, -0.5], 6)
    disturbed = usual + np.where(np.arange(30) % 6 == 0, 5.0, 0.0)
    past = Past(theories(disturbed, usual), np.zeros(30), np.zeros(0), [], np.zeros(0))
    burst, regression = TheoreticalScore(5.0, 0.0), TheoreticalScore(5.0, 5.0)
    assert NULLS["calibrated"](burst, past) < 1.6 < NULLS["calibrated-whole"](burst, past)
    assert NULLS["calibrated"](regression, past) > 3


@pytest.mark.parametrize("name", NULLS)
def test_every_way_of_recalibrating_lowers_what_was_usual_and_not_what_never_was(name):
    scores, ages = np.tile([-1.0, 0.0, 1.0, 2.5], 10), np.zeros(40)
    past = Past(theories(scores), ages, np.tile(scores, 2), theories([3.0]), np.zeros(1))
    usual, unusual = (NULLS[name](TheoreticalScore(one, one), past) for one in (2.0, 6.0))
    assert usual < 1.9
    assert unusual > usual


def test_a_burst_of_a_run_is_taken_off_and_a_regression_is_not():
    """By the detector itself: runs that only a burst makes unusual, and those that a leak or load does."""
    versions = [
        one
        for app in (0, 1)
        for one in score_versions(
            list(stream("developers", BURSTS, noise=1.0, seed=0, number=app)), make_detector("default")
        )
    ]
    far = {}
    for kind, chosen in {"normal": slice(RUNS_PER_VERSION), "worse": slice(RUNS_PER_VERSION, None)}.items():
        scores = [score for one in versions for score in one.scores["rss_app"][chosen] if score.distance > 3]
        far[kind] = [TheoreticalScore.of(score.distance, score.evidence) for score in scores]
    share = {kind: np.mean([one.is_transient for one in theories]) for kind, theories in far.items()}
    assert min(map(len, far.values())) >= 8
    assert share["normal"] > 0.7
    assert share["worse"] < 0.1
    for one in versions:
        for score in one.scores["cpu_app"]:
            assert score.evidence.get(WITHOUT_TRANSIENT, score.distance) <= score.distance


def test_a_brief_regression_is_in_one_place():
    shift = next(one for one in SHIFTS if one.name == "brief")
    step = next(stream("developers", shift, noise=1.0, seed=0, number=0))
    for before, after in zip(step.normal, step.anomalous, strict=False):
        changed = [np.flatnonzero(before.series[name] != after.series[name]) for name in before.series]
        (places,) = [one for one in changed if len(one)]
        assert 8 <= len(places) == places[-1] - places[0] + 1 <= 24


def test_what_is_only_evaluated_is_known_to_the_command_line():
    assert {*NULLS, shifts.ALL_PEERS} == set(detection.EVALUATED_ONLY)
