"""What a job's steps work on, decided once, is what each of them would have decided anew."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import REGRESSIONS, RUNS, Disturbed, Project, reader_of

from perfreg_assets.assets.outstanding import STEPS
from perfreg_assets.model import freshness
from perfreg_assets.model.freshness import Stage
from perfreg_assets.warehouse import reviews
from perfreg_assets.warehouse.connection import Warehouse

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

BUILDS_ON = [Stage.BARYCENTER, Stage.DISTANCE, Stage.DISCORD, Stage.CAUSE]
KEYS = sorted({one.partition_key for one in RUNS})


@pytest.fixture
def decisions(monkeypatch):
    """(stage, whether an earlier decision was built on) of each decision; every one is held against one made anew."""
    decide, asked = freshness.decide, []

    def held(reader, settings, keys, *, upto, known=None):
        anew = decide(reader, settings, keys, upto=upto)
        found = decide(reader, settings, keys, upto=upto, known=known)
        assert found == anew
        asked.append((upto, known is not None))
        return found

    monkeypatch.setattr(freshness, "decide", held)
    return asked


@pytest.fixture
def project(made_once):
    """Everything is there but the last run of the second version, which just arrived: a copy of one made once."""

    def fill(folder):
        project = Project(folder, reader_of(REGRESSIONS))
        project.arrive(*(one for one in RUNS if one.run_id != "made-010"))
        project.settle()

    made = Project(made_once("made-but-one", fill), reader_of(REGRESSIONS))
    made.arrive(RUNS[10])
    return made


def steps_of(project, warehouse=None):
    """Name → step, of a whole job, in order."""
    steps = project.steps(warehouse)
    return {name: steps[name] for names in STEPS.values() for name in names if name in steps}


def built_on(decisions):
    return [stage for stage, has_known in decisions if has_known]


def test_a_job_decides_once_and_finds_what_every_step_would_find(project, decisions):
    for step in steps_of(project).values():
        step(KEYS)
    assert built_on(decisions) == BUILDS_ON
    assert project.due() == []
    [found] = project.rows("SELECT run_verdict FROM marts.runs WHERE run_id = 'made-010'")
    assert found["run_verdict"] == "anomalous"


@pytest.mark.parametrize("after", ["history_sets", "barycenters", "distances", "verdicts", "discords"])
def test_a_write_between_two_steps_is_seen_by_the_next_one(project, decisions, after):
    for name, step in steps_of(project).items():
        step(KEYS)
        if name == after:
            decisions.clear()
            project.review("made-002", "rejected")  # leaves every later history
    assert built_on(decisions[:1]) == []
    project.settle()


@pytest.mark.parametrize("within", ["history_sets", "barycenters", "distances", "verdicts", "discords"])
def test_a_write_between_a_steps_reading_and_its_own_is_seen_by_the_next_one(project, decisions, within):
    other = Warehouse(project.settings.warehouse, lock_timeout_s=30, publish_every_s=3600.0)

    def meanwhile():
        with other.writing() as writer:
            reviews.add(writer, "made-002", "rejected")

    disturbed = Disturbed(project.settings.warehouse, meanwhile, publish_every_s=3600.0)
    for name, step in steps_of(project).items():
        if name == within:
            steps_of(project, disturbed)[name](KEYS)
            decisions.clear()
        else:
            step(KEYS)
    assert built_on(decisions[:1]) == []
    project.settle()


def test_other_partitions_or_settings_are_decided_about_anew(project, decisions):
    steps = steps_of(project)
    for name in ("time_series", "history_sets"):
        steps[name](KEYS)
    decisions.clear()
    steps["barycenters"](KEYS[:1])
    project.settings = project.settings.with_values(history_size=3)
    steps_of(project)["distances"](KEYS[:1])
    assert [stage for stage, _ in decisions] == [Stage.BARYCENTER, Stage.DISTANCE]
    assert built_on(decisions) == []


def test_where_verdicts_decide_who_is_in_a_history_every_step_decides_anew(project, decisions):
    project.settings = project.settings.with_values(history_excludes_anomalous=True)
    for step in steps_of(project).values():
        step(KEYS)
    assert built_on(decisions) == []
    project.settle()


def test_what_is_published_already_is_decided_about_anew(project, decisions):
    project.warehouse.publish()
    project.warehouse = Warehouse(project.settings.warehouse, lock_timeout_s=30)
    for step in steps_of(project).values():
        step(KEYS)
    assert built_on(decisions) == []
    assert project.due() == []
