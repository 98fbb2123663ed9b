"""Runs that went a way of their own: judged screen by screen beside runs of any path, while the thesis' rule waits."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from seeds import seeds
from synthetic import Project, reader_of, row

from perfreg_assets.model.freshness import Stage
from perfreg_assets.run import PathStep, path_hash

COUNT = 14
REGRESSION = {f"made-{COUNT - 1:03d}": ("cpu_app", 0.4)}
pytestmark = pytest.mark.usefixtures("three_is_far")


def own_way(number: int, *, version: str, **changes):
    """A run that shares screens with the others, and hardly a state."""
    draw = random.Random(number)
    steps = [(f"{number}/{step}", f"s{draw.randrange(4)}") for step in range(10)]
    path = tuple(
        PathStep(step=place, ts_ns=place * 4_000_000_000, state_hash=state, screen=screen, action=None)
        for place, (state, screen) in enumerate(steps)
    )
    return row(number, version=version, path=path, path_hash=path_hash(path), step_count=len(path), **changes)


RUNS = [own_way(number, version=str(number // 2)) for number in range(COUNT)]


@pytest.fixture(scope="module")
def settled(tmp_path_factory, three_is_far):
    project = Project(tmp_path_factory.mktemp("any") / "settled", reader_of(REGRESSION))
    project.arrive(*RUNS)
    project.settle()
    return project


def states(project, detector):
    rows = project.rows(
        f"SELECT run_id, state FROM marts.distances WHERE is_latest AND series = '*' AND detector = '{detector}'"
    )
    return {one["run_id"]: one["state"] for one in rows}


def test_runs_are_judged_by_default_and_not_by_the_thesis_rule(settled):
    assert set(states(settled, "iqr").values()) == {"not_enough_history"}
    known = states(settled, "default")
    assert known == states(settled, "screens")
    assert [state for _, state in sorted(known.items())] == ["not_enough_history"] * 4 + ["scored"] * (COUNT - 4)
    sets = settled.rows("SELECT run_id, state, way FROM marts.history_states ORDER BY run_id")
    assert {one["state"] for one in sets} == {"not_enough_history"}
    assert [one["way"] for one in sets] == ["path"] * 4 + ["any_path"] * (COUNT - 4)


def test_it_says_what_it_was_compared_with_and_finds_the_regression(settled):
    (run_id,) = REGRESSION
    (verdict,) = settled.rows(
        f"SELECT state, explanation FROM marts.verdicts WHERE is_current AND run_id = '{run_id}' AND series = 'cpu_app'"
    )
    assert verdict["state"] == "anomalous"
    assert "are usual on the same screens; the 4 earlier runs of any path" in verdict["explanation"]
    of_run = f"WHERE run_id = '{run_id}'"
    beside = settled.rows(f"SELECT history_run_id, way FROM marts.compared_with {of_run} ORDER BY compared_rank")
    assert [one["history_run_id"] for one in beside] == ["made-011", "made-010", "made-009", "made-008"]
    assert {one["way"] for one in beside} == {"any_path"}
    assert settled.rows("FROM marts.history_sets") == []
    windows = settled.rows(f"SELECT start_s FROM marts.discords {of_run} AND series = 'cpu_app'")
    assert windows
    assert min(one["start_s"] for one in windows) == pytest.approx(20, abs=2)
    assert settled.rows(f"SELECT series FROM marts.barycenters {of_run}") == []


def test_a_similar_path_takes_over_once_there_are_enough(tmp_path):
    project = Project(tmp_path / "p", reader_of({}))
    alike = [row(number, version=str(number)) for number in (20, 21, 22)]
    project.arrive(*RUNS[:8], row(30, version="30"), alike[0])
    project.settle()
    (before,) = project.rows("SELECT way FROM marts.history_states WHERE run_id = 'made-030'")
    project.arrive(*alike[1:])
    assert {(one.run_id, one.stage) for one in project.due()} >= {("made-030", Stage.HISTORY)}
    project.settle()
    (after,) = project.rows("SELECT way, state FROM marts.history_states WHERE run_id = 'made-030'")
    assert (before["way"], after["way"], after["state"]) == ("any_path", "path", "ready")
    (told,) = project.rows(
        "SELECT evidence_text FROM marts.distances WHERE is_latest AND detector = 'default' AND run_id = 'made-030' "
        "AND series = 'cpu_app'"
    )
    assert "any path" not in told["evidence_text"]
    beside = "SELECT history_run_id FROM marts.compared_with WHERE run_id = 'made-030' AND way = '{}' ORDER BY ALL"
    similar = [{"history_run_id": f"made-{number:03d}"} for number in (20, 21, 22)]
    assert project.rows(beside.format("path")) == similar
    # Who only ever compares screen by screen takes runs of any path: causes, energy and bands are beside those then.
    project.change("detector", "screens")
    project.settle()
    (told,) = project.rows(
        "SELECT state, evidence_text FROM marts.distances WHERE is_latest AND detector = 'screens' "
        "AND run_id = 'made-030' AND series = 'cpu_app'"
    )
    assert told["state"] == "scored"
    of_any_path = project.rows(beside.format("any_path"))
    assert f"the {len(of_any_path)} earlier runs of any path" in told["evidence_text"]
    assert len(of_any_path) > len(similar)
    assert project.rows(beside.format("path")) == []
    project.change("detector", "iqr")
    assert project.rows(beside.format("path")) == similar


@pytest.mark.parametrize("seed", seeds(1))
def test_another_order_gives_the_same_marts(settled, tmp_path, seed):
    project = Project(tmp_path / "p", reader_of(REGRESSION))
    order = random.Random(seed).sample(RUNS, len(RUNS))
    for part in (order[:5], order[5:9], order[9:]):
        project.arrive(*part)
        project.settle()
    assert project.snapshot() == settled.snapshot()


def test_a_run_whose_screens_change_is_compared_anew(tmp_path):
    project = Project(tmp_path / "p", reader_of({}))
    project.arrive(*RUNS[:8])
    project.settle()
    path = tuple(replace(step, screen="s9") for step in RUNS[7].path or ())
    changed = replace(RUNS[7], path=path, path_hash=path_hash(path), content_hash="another")
    project.arrive(changed)
    assert [one.run_id for one in project.due()] == ["made-007"]
    project.settle()
    (told,) = project.rows(
        "SELECT state, state_reason FROM marts.distances WHERE is_latest AND detector = 'default' "
        "AND run_id = 'made-007' AND series = 'cpu_app'"
    )
    assert told["state"] == "not_enough_history"
    assert told["state_reason"].startswith("Only 0% of the session is on screens that the 4 earlier runs showed")


def test_a_path_without_times_takes_nothing_else_down(tmp_path):
    project = Project(tmp_path / "p", reader_of({}))
    untimed = tuple(replace(step, ts_ns=None) for step in RUNS[7].path or ())
    project.arrive(*RUNS[:6], replace(RUNS[6], version_name="3"), replace(RUNS[7], path=untimed, path_hash="untimed"))
    project.settle()
    told = {
        one["run_id"]: one["state_reason"]
        for one in project.rows(
            "SELECT run_id, state_reason FROM marts.distances WHERE is_latest AND detector = 'default' AND series = '*'"
        )
    }
    assert told["made-006"] is None
    assert told["made-007"].startswith("Only 0% of the session is on screens that the 4 earlier runs showed")
