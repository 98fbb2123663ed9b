"""An app's own earlier scores judge its later runs: which of them count, and that no order of events changes it."""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import SAMPLES, Project, reader_of, row, snapshot

from perfreg_assets.methods import empirical_null
from perfreg_assets.methods.empirical_null import EmpiricalNull, TheoreticalScore, calibrated_score
from perfreg_assets.methods.multiple_testing import sidak
from perfreg_assets.methods.unit_offset import UnitOffset
from perfreg_assets.model.past_scores import PastScores
from perfreg_assets.warehouse import past_scores as table

# From version 2 on runs are judged; made-009 is far beyond what chance gives.
RUNS = [row(number, version=str(number // 3)) for number in range(18)]
REGRESSIONS = {"made-009": ("cpu_app", 9.0)}
BETTER = (
    "(evidence ->> 'series_improvement')::DOUBLE AS better, "
    "(evidence ->> 'theoretical_improvement')::DOUBLE AS better_by_theory, improvement"
)
THEORY = "SELECT run_id, coalesce((evidence ->> 'theoretical_score')::DOUBLE, uncorrected_distance) AS score"


pytestmark = pytest.mark.usefixtures("three_is_far")


@pytest.fixture
def make(tmp_path):
    def build(name, **settings):
        return Project(tmp_path / name, reader_of(REGRESSIONS), **settings)

    return build


@pytest.fixture(scope="module")
def settled(tmp_path_factory, three_is_far):
    """Some tests review a run of it; what they hold does not depend on which of them came before."""
    project = Project(tmp_path_factory.mktemp("past") / "settled", reader_of(REGRESSIONS))
    project.arrive(*RUNS)
    project.settle()
    return project


def evidence(project, series="cpu_app", detector="default"):
    """run → (score by theory, score, how many earlier runs it was judged by)."""
    rows = project.rows(
        f"{THEORY}, uncorrected_distance AS judged, (evidence ->> 'past_runs')::DOUBLE AS count FROM marts.distances "
        f"WHERE is_latest AND state = 'scored' AND series = '{series}' AND detector = '{detector}' ORDER BY run_id"
    )
    return {one["run_id"]: (one["score"], one["judged"], one["count"]) for one in rows}


def by_hand(known, run_id, *, leaving_out=()):
    """The slow way: all judged runs of other versions before this one, with the age of their version."""
    number, version = int(run_id[-3:]), int(run_id[-3:]) // 3
    past = [
        (theory, version - int(other[-3:]) // 3)
        for other, (theory, _, _) in known.items()
        if int(other[-3:]) < number and int(other[-3:]) // 3 != version and other not in leaving_out
    ]
    return [one for one, _ in past], [float(age) for _, age in past]


def test_later_runs_are_judged_by_the_scores_of_earlier_versions(settled):
    known = evidence(settled)
    far = known["made-009"][0]
    assert far > empirical_null.UNLIKELY_SCORE
    counted = 0
    for run_id, (theory, judged, count) in known.items():
        scores, ages = by_hand(known, run_id, leaving_out=("made-009",))
        if len(scores) < 4:
            assert (judged, count) == (theory, None)
        else:
            counted += 1
            assert count == len(scores)
            assert judged == pytest.approx(calibrated_score(theory, scores, ages))
            assert judged != theory
    assert counted >= 6
    assert {count for _, _, count in evidence(settled, detector="iqr").values()} == {None}
    whole = settled.rows(
        "SELECT whole.run_id, whole.distance AS run, max(parts.distance) AS worst FROM marts.distances AS whole "
        "JOIN marts.distances AS parts USING (run_id, detector) WHERE whole.is_latest AND parts.is_latest "
        "AND whole.series = '*' AND parts.series <> '*' AND detector = 'default' AND whole.distance IS NOT NULL "
        "GROUP BY ALL"
    )
    assert len(whole) == len(known)
    assert all(one["run"] == one["worst"] for one in whole)


def test_a_far_score_counts_once_somebody_calls_it_a_false_alarm(settled):
    before = evidence(settled)
    settled.review("made-009", "rejected")
    later = {run.run_id for run in RUNS if run.version_name > "3"}
    assert later <= {one.run_id for one in settled.due()}
    settled.settle()
    after = evidence(settled)
    for run_id, (theory, judged, count) in after.items():
        if run_id in later:
            scores, ages = by_hand(after, run_id)
            assert count == len(scores)
            assert judged == pytest.approx(calibrated_score(theory, scores, ages))
        else:
            assert before[run_id] == (theory, judged, count)
    settled.review("made-009", "confirmed")
    settled.settle()
    counts = {run_id: count for run_id, (_, _, count) in evidence(settled).items()}
    assert counts == {run_id: count for run_id, (_, _, count) in before.items()}
    settled.review("made-009", "rejected")
    settled.withdraw("made-009")
    settled.settle()
    assert evidence(settled) == before


def test_no_order_of_arrivals_and_reviews_changes_what_is_judged(make):
    fresh = make("fresh")
    for run in RUNS:
        fresh.arrive(run)
        if run.run_id[-1] in "28":
            fresh.settle()
    fresh.review("made-009", "rejected")
    fresh.review("made-007", "confirmed")
    fresh.settle()
    chance, mixed = random.Random(1), make("mixed")
    runs = chance.sample(RUNS, len(RUNS))
    for place, run in enumerate(runs):
        mixed.arrive(run)
        if place % 5 == 4:
            mixed.settle()
        if run.run_id in ("made-009", "made-007"):
            mixed.review(run.run_id, "rejected" if run.run_id == "made-009" else "confirmed")
    mixed.settle()
    found = []
    for project in (mixed, fresh):
        with project.warehouse.reading() as reader:
            found.append(snapshot(reader))
    assert any(count for _, _, count in evidence(mixed).values())
    for name, rows in found[1].items():
        assert found[0][name] == rows, name


def test_a_new_device_unit_is_judged_with_doubt_and_later_beside_its_own_runs(make):
    """Every third run is of unit b and the others of a, but for the last two, which are of units of their own."""
    units = {16: "d", 17: "c"}
    runs = [
        row(number, version=str(number // 3), device_unit=units.get(number, "b" if number % 3 == 2 else "a"))
        for number in range(18)
    ]
    project = make("units")
    project.arrive(*runs[:17])
    project.settle()
    project.arrive(runs[17])
    project.settle()
    told = {
        one["run_id"]: one
        for one in project.rows(
            f"{THEORY}, uncorrected_distance AS judged, (evidence ->> 'unit_runs')::DOUBLE AS unit_runs, {BETTER} FROM "
            "marts.distances WHERE is_latest AND state = 'scored' AND series = 'cpu_app' AND detector = 'default'"
        )
    }
    members = project.rows("SELECT run_id, history_run_id FROM core.history_candidates WHERE history_rank IS NOT NULL")
    unit_of, foreign = {run.run_id: run.device_unit for run in runs}, defaultdict(list)
    for one in members:
        foreign[one["run_id"]].append(unit_of[one["history_run_id"]] != unit_of[one["run_id"]])
    shares = {run_id: float(np.mean(others)) for run_id, others in foreign.items()}
    usual = [run for run in runs[:15] if run.run_id in told and run.run_id != "made-009"]
    offsets = {
        unit: UnitOffset.of(*np.array(pairs, dtype=float).reshape(-1, 2).T)
        for unit in "abcd"
        for pairs in [[(told[run.run_id]["score"], shares[run.run_id]) for run in usual if run.device_unit == unit]]
    }
    own = [
        (offsets[run.device_unit].without(told[run.run_id]["score"], shares[run.run_id]), 5 - int(run.version_name))
        for run in usual
    ]
    assert len(own) >= 4
    scores, ages = np.array(own).T
    for run in runs[15:]:
        one, unit = told[run.run_id], offsets[run.device_unit]
        expected = calibrated_score(unit.without(one["score"], shares[run.run_id]), scores, ages)
        assert one["judged"] == pytest.approx(expected)
        assert one["unit_runs"] == unit.run_count
        # What is less on another unit is no improvement of the version, either.
        null = EmpiricalNull([], np.empty(0), unit, shares[run.run_id])
        assert one["better"] == pytest.approx(null.improved(one["better_by_theory"]))
        assert one["improvement"] == pytest.approx(sidak(one["better"], 3))
    assert told["made-017"]["unit_runs"] == told["made-016"]["unit_runs"] == 0
    assert told["made-015"]["unit_runs"] > 0
    unstated = make("unstated")
    unstated.arrive(*(replace(run, device_unit=None) for run in runs))
    unstated.settle()
    plain = unstated.rows(
        f"{THEORY}, {BETTER} FROM marts.distances WHERE is_latest AND series = 'cpu_app' AND detector = 'default'"
    )
    by_theory = {one["run_id"]: one["better"] for one in plain if one["run_id"] in told}
    assert {one["better_by_theory"] for one in plain} == {None}
    assert by_theory.keys() == told.keys()
    for run_id, one in told.items():
        before = one["better"] if one["better_by_theory"] is None else one["better_by_theory"]
        assert before == by_theory[run_id]
    first = told[runs[5].run_id]  # the first of b that is judged, when nothing else was
    assert first["unit_runs"] == 0
    assert first["judged"] == pytest.approx(UnitOffset().without(first["score"], shares[runs[5].run_id]))


def test_only_so_many_runs_before_a_run_are_asked_whoever_else_is_judged(settled, monkeypatch):
    monkeypatch.setattr(table, "WINDOW_RUNS", 5)
    monkeypatch.setattr("perfreg_assets.model.past_columns.WINDOW_RUNS", 5)
    last, other = RUNS[-1].run_id, RUNS[8].run_id
    with settled.warehouse.reading() as reader:
        alone = PastScores.of(reader, [last], "default")
        together = PastScores.of(reader, [last, other], "default")
        assert alone.hash_of(last, ["cpu_app"]) == together.hash_of(last, ["cpu_app"])
        assert len(alone.null(last, "cpu_app")) == len(together.null(last, "cpu_app")) == 3  # two are of its version
        assert len(together.null(other, "cpu_app")) == 3  # two are of its version
        assert len(alone.null("not-there", "cpu_app")) == 0


def test_runs_that_could_be_in_no_history_say_nothing_about_normal(make):
    project = make("unfit")
    changed = {
        4: {"functional_problem_count": 1},
        5: {"functional_problem_count": None},
        6: {"config_hash": "another"},
        7: {"scenario": "cold"},
    }
    project.arrive(*(row(number, version=str(number // 3), **changed.get(number, {})) for number in range(18)))
    project.settle()
    with project.warehouse.reading() as reader:
        columns, before = PastScores.of(reader, [RUNS[-1].run_id], "default")._before(RUNS[-1].run_id)
    assert [columns.runs[place].place[1] for place in before.places] == [
        run.run_id for run in RUNS[:15] if int(run.run_id[-3:]) not in changed
    ]


def test_four_scores_are_needed():
    few, enough = (EmpiricalNull([TheoreticalScore(2.0, 2.0)] * count, np.ones(count)) for count in (3, 4))
    score = TheoreticalScore(1.9, 1.9)
    assert few.judged(score) == 1.9
    assert enough.judged(score) == calibrated_score(1.9, np.full(4, 2.0), np.ones(4)) < 1.9


def test_a_passing_disturbance_is_worth_little_once_earlier_runs_had_some(tmp_path):
    """Three runs of 24 are disturbed for some seconds, far beyond what a run may score; then another one is."""
    runs = [row(number, version=str(number // 3)) for number in range(27)]
    bursts = {f"made-{number:03}": ("cpu_app", 1.5) for number in (7, 13, 19, 25)}
    found = {}
    for name, disturbed in {"some had": bursts, "first": {"made-025": bursts["made-025"]}}.items():
        project = Project(tmp_path / name, reader_of({}, bursts=disturbed))
        project.arrive(*runs)
        project.settle()
        rows = project.rows(
            f"{THEORY}, uncorrected_distance AS judged, evidence FROM marts.distances WHERE is_latest "
            "AND state = 'scored' AND series = 'cpu_app' AND detector = 'default'"
        )
        found[name] = {one["run_id"]: {**one, "evidence": json.loads(one["evidence"])} for one in rows}
    disturbed = found["some had"]["made-025"]
    assert disturbed["score"] > empirical_null.UNLIKELY_SCORE
    assert disturbed["evidence"]["score_without_transient"] < 1.65
    assert disturbed["evidence"]["transient_start_s"] < 0.6 * SAMPLES < disturbed["evidence"]["transient_end_s"]
    assert disturbed["evidence"]["transient_runs"] == 3
    theories = {run_id: TheoreticalScore.of(one["score"], one["evidence"]) for run_id, one in found["some had"].items()}
    past = {run_id: one for run_id, one in theories.items() if int(run_id[-3:]) < 24}
    ages = np.array([8 - int(run_id[-3:]) // 3 for run_id in past], dtype=float)
    null = EmpiricalNull(list(past.values()), ages)
    assert disturbed["judged"] == pytest.approx(null.judged(theories["made-025"]))
    first = found["first"]["made-025"]
    assert "transient_runs" not in first["evidence"]
    assert disturbed["judged"] < first["judged"] - 0.5


def test_several_detectors_are_asked_for_at_once_and_have_what_each_has_alone(settled):
    last = RUNS[-1].run_id
    with settled.warehouse.reading() as reader:
        together = PastScores.of_detectors(reader, [last])
        assert {"default", "screens"} <= set(together)
        for name, past in together.items():
            assert past.hash_of(last, ["cpu_app"]) == PastScores.of(reader, [last], name).hash_of(last, ["cpu_app"])
            assert len(past._before(last)[1].places)
        assert together["default"].known([RUNS[9].run_id]) != together["screens"].known([RUNS[9].run_id])
        assert PastScores.of_detectors(reader, []) == {}
