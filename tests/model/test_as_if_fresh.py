"""Whatever is done to a warehouse, in the end it tells what a fresh one tells that is given what is left of it at once:
marts and pages; and then nothing is due, nothing is written."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

sys.path.insert(0, str(Path(__file__).parent))

from house import Exchanging, House
from made_folders import eleven
from made_reading import inspect_made
from seeds import seeds
from story import Story
from under_dagster import Recorded, UnderDagster

from perfreg_assets.model import inspecting


@pytest.fixture(autouse=True)
def made_reading(monkeypatch, no_waiting_for_the_disk):
    """Traces are read by the stand-in for the engine; what is written is published at once, as commands do."""
    monkeypatch.setattr(inspecting, "inspect_trace", inspect_made)
    monkeypatch.setattr(House, "publish_every_s", 0.0)


@pytest.mark.parametrize(("build", "steps"), [(House, 13), (Exchanging, 5)], ids=["here", "by a worker"])
def test_a_warehouse_tells_what_a_fresh_one_tells(tmp_path_factory, build, steps):
    few = settings(max_examples=len(seeds(0, 1)), stateful_step_count=steps, phases=[Phase.generate])
    run_state_machine_as_test(lambda: Story(tmp_path_factory.mktemp("story"), build), settings=few)


@pytest.mark.skipif(not seeds(), reason="takes minutes: with --hypothesis-profile=search alone")
def test_dagster_is_told_what_a_fresh_one_is_told(tmp_path_factory):
    """Steps of single versions are made by runs of their own, in any order."""
    few = settings(max_examples=len(seeds()), stateful_step_count=6, phases=[Phase.generate])
    story = partial(Story, build=Recorded, build_fresh=Recorded)
    run_state_machine_as_test(lambda: story(tmp_path_factory.mktemp("story")), settings=few)


def test_dagsters_runs_make_the_same_of_it(tmp_path_factory):
    """A short story: each run of Dagster takes seconds."""
    story = Story(tmp_path_factory.mktemp("story"), UnderDagster)
    story.begin(names=["f08", "f01", "f00", "f03", "f04"], at_once=4, later=1)
    story.measure(number=3, version="3", hour=None)
    story.add_profile(name="low.xml", device="made")
    story.correct(name="f04", change={"version": "2"}, is_let_in=True, is_back=False)
    story.review(run_id="made-003", status="confirmed")
    story.teardown()


def test_another_interval_is_said_of_values_without_a_course_too(tmp_path):
    """A start-up time is not measured again for it; its distance and verdict went on saying the interval before."""
    house = House(tmp_path)
    folders = [made.write(tmp_path / "given" / name) for name, made in list(eleven().items())[:7]]
    house.register(folders)
    house.settle()
    house.change("interval_s", "2")
    house.settle()
    for mart in ("distances WHERE is_latest", "verdicts WHERE is_current"):
        found = house.rows(f"SELECT DISTINCT series, interval_s FROM marts.{mart}")
        assert {row["interval_s"] for row in found} == {2.0}
        assert "startup_initial_display_cold" in {row["series"] for row in found}
