"""What is said of a review before it is given is what happens when it is."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import Project, reader_of, row

from perfreg_assets.model import review_effects
from perfreg_assets.model.past_scores import PastScores
from perfreg_assets.model.review_effects import effect_of
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import reviews, runs

RUNS = [row(number, version=str(number // 3)) for number in range(18)]
REGRESSIONS = {"made-009": ("cpu_app", 9.0)}
MEASURED = "SELECT run_id, input_hash FROM core.distances WHERE is_latest AND series = '*' AND detector = 'default'"
SCORED = (
    "SELECT DISTINCT run_id FROM core.distances WHERE is_latest AND detector = 'default' AND series <> '*' "
    "AND state = 'scored'"
)
MEMBERS = "SELECT run_id, list(history_run_id ORDER BY history_rank) AS runs FROM marts.history_sets GROUP BY run_id"


pytestmark = pytest.mark.usefixtures("three_is_far")


@pytest.fixture(scope="module")
def settled(tmp_path_factory, three_is_far):
    project = Project(tmp_path_factory.mktemp("effects") / "settled", reader_of(REGRESSIONS))
    project.arrive(*RUNS)
    project.settle()
    return project


@pytest.fixture
def project(settled, tmp_path):
    """A copy of it."""
    shutil.copytree(settled.settings.warehouse.parent, tmp_path / "own")
    return Project(tmp_path / "own", reader_of(REGRESSIONS))


def said(project, run_id, status):
    with project.warehouse.reading() as reader:
        return effect_of(reader, project.settings, run_id, status)


def facts(project):
    """(measured from what, who has the run in its history, for whom its scores count)"""
    measured = {one["run_id"]: one["input_hash"] for one in project.rows(MEASURED)}
    members = {one["run_id"]: one["runs"] for one in project.rows(MEMBERS)}
    return measured, members


def ready_runs(project):
    return {one["run_id"] for one in project.rows("SELECT run_id FROM marts.history_states WHERE state = 'ready'")}


def counting(project, run_id):
    with project.warehouse.reading() as reader:
        later = [run.run_id for run in RUNS if run.run_id > run_id]
        past = PastScores.of(reader, later, "default")
        scored = {one["run_id"] for one in project.rows(SCORED)}
        return sum(past.counts_for(one, run_id) for one in later if one in scored)


# Each after the one before: what is in force differs.
STORY = {
    "an ordinary run": ("made-007", ["confirmed", "accepted", "withdrawn"]),
    "a far one": ("made-009", ["rejected"]),
    "the last one": ("made-017", ["confirmed"]),
}


@pytest.mark.parametrize("story", STORY)
def test_what_is_said_before_is_what_happens(project, story, monkeypatch):
    monkeypatch.setattr(review_effects, "_ASKED_FIRST", 5)  # fills some histories, and others not
    run_id, statuses = STORY[story]
    for status in statuses:
        told = said(project, run_id, status)
        ready = ready_runs(project)
        measured, members = facts(project)
        assert told.later_count == len(RUNS) - 1 - int(run_id[-3:])
        assert told.history_before == sum(run_id in own for own in members.values())
        assert told.null_before == counting(project, run_id)
        if status == reviews.WITHDRAWN:
            project.withdraw(run_id)
        else:
            project.review(run_id, status)
        due = {one.run_id for one in project.due()}
        project.settle()
        measured_now, members_now = facts(project)
        again = {one for one, mark in measured_now.items() if measured.get(one) != mark}
        assert set(told.judged_again) == again, status
        assert told.history_after == sum(run_id in own for own in members_now.values())
        assert told.null_after == counting(project, run_id)
        assert told.unjudged_count == len(ready - ready_runs(project))
        assert again <= due
        assert not told.is_at_least


def test_runs_that_are_judged_beside_any_path_may_be_left_without_a_verdict_too(tmp_path):
    """Each went a way of its own: none has a history, and all but the first are judged screen by screen."""
    own = [
        [
            replace(step, state_hash=f"{number}-{step.step}", screen=f"s{step.step % 3}")
            for step in row(number, version="1").path
        ]
        for number in range(12)
    ]
    project = Project(tmp_path, reader_of({}))
    project.arrive(*(row(number, version=str(number), path=tuple(path)) for number, path in enumerate(own)))
    project.settle()
    assert ready_runs(project) == set()
    scored = {one["run_id"] for one in project.rows(SCORED)}
    assert len(scored) > 5
    measured, _ = facts(project)
    told = said(project, "made-007", "accepted")
    project.review("made-007", "accepted")
    project.settle()
    lost = scored - {one["run_id"] for one in project.rows(SCORED)}
    assert told.unjudged_count == len(lost) > 0
    measured_now, _ = facts(project)
    assert set(told.judged_again) == {one for one, mark in measured_now.items() if measured.get(one) != mark}


def test_the_same_once_more_changes_nothing(project):
    project.review("made-007", "confirmed")
    project.settle()
    told = said(project, "made-007", "confirmed")
    assert told.judged_again == ()
    assert (told.history_before, told.null_before) == (told.history_after, told.null_after)


def test_nothing_is_written_and_only_so_many_runs_are_looked_at(project, monkeypatch):
    before = project.settings.warehouse.read_bytes()
    monkeypatch.setattr(review_effects, "LOOKED_AT", 3)
    told = said(project, "made-007", "accepted")
    assert len(told.judged_again) == 3
    assert told.is_at_least
    assert project.settings.warehouse.read_bytes() == before
    project.settings = project.settings.with_values(detector="iqr")
    project.change("detector", "iqr")
    assert said(project, "made-007", "accepted").null_before == 0, "by distances no earlier score counts"


def test_a_run_in_quarantine_is_compared_with_nothing_and_an_unknown_one_is_named(project):
    broken = row(30, version="9", is_quarantined=True, reason_code="run_json_not_json", reason="broken")
    with project.warehouse.writing() as writer:
        runs.upsert(writer, [broken])
    told = said(project, broken.run_id, "confirmed")
    assert (told.later_count, told.judged_again) == (0, ())
    with pytest.raises(Rejected) as caught:
        said(project, "made-999", "confirmed")
    assert caught.value.reason is Reason.RUN_UNKNOWN
