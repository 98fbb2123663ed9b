"""Whatever power profiles are added and removed, and when: runs cost what they cost where those in force were there
from the beginning."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from house import Exchanging, House
from made_folders import TRACE, Made
from made_reading import inspect_made

from perfreg_assets.model import freshness, inspecting
from perfreg_assets.model.trace_places import found_again
from perfreg_assets.warehouse import traces

STATES = """
SELECT run_id, profile_id, profile_name, profile_origin, is_foreign_profile, profile_doubt, reason_code, is_outdated
FROM marts.energy_states ORDER BY run_id
"""
RUNS = {
    "f0": Made(run_id="own", hour=0, version="1", content="0", device="made", profile="low.xml"),
    "f1": Made(run_id="of-chip", hour=1, version="1", content="1", device="raven", profile="low.xml"),
    "f2": Made(run_id="without", hour=2, version="1", content="2", device="raven"),
    "f3": Made(run_id="known", hour=3, version="1", content="3", device="oriole"),
    "f4": Made(run_id="unknown", hour=4, version="1", content="4", device="made"),
}


@pytest.fixture(autouse=True)
def made_reading(monkeypatch, no_waiting_for_the_disk):
    monkeypatch.setattr(inspecting, "inspect_trace", inspect_made)


@pytest.fixture
def given(tmp_path):
    """Folders that nobody took in yet."""
    return [made.write(tmp_path / "given" / name) for name, made in RUNS.items()]


def read(house):
    """Reads what is to be read, until nothing is."""
    for _ in range(3):
        with house.warehouse.reading() as reader:
            due = freshness.due(reader, house.settings, upto=freshness.Stage.TRACE)
        house.steps()["time_series"](sorted({one.partition_key for one in due}))
    assert not due


def as_given_at_once(tmp_path, given, *profiles, **settings):
    house = House(tmp_path / "fresh")
    for setting in settings.items():
        house.change(*setting)
    for profile in profiles:
        house.add_profile(*profile)
    house.register(given)
    read(house)
    return house.rows(STATES)


@pytest.mark.parametrize(
    ("profiles", "removed", "settings"),
    [
        ([("high.xml", "made")], 0, {}),
        ([("other.xml", "made")], 0, {}),
        ([("larger.xml", "oriole")], 0, {}),
        ([("high.xml", "oriole")], 1, {}),
        ([("high.xml", "raven"), ("high.xml", "made")], 0, {}),
        ([("high.xml", "oriole")], 0, {"power_profile": "high.xml"}),
        ([("high.xml", "oriole")], 1, {"power_profile": "oriole"}),
    ],
    ids=[
        *("confirms one brought along", "contradicts one brought along", "of another device of the chip", "taken back"),
        *("the same file for another device", "the one that a setting names", "that a setting names, taken back"),
    ],
)
def test_profiles_hold_as_if_they_had_been_there_from_the_beginning(tmp_path, given, profiles, removed, settings):
    house = House(tmp_path / "house")
    for setting in settings.items():
        house.change(*setting)
    house.register(given)
    read(house)
    for profile in profiles:
        house.add_profile(*profile)
        read(house)
    for name, _ in profiles[:removed]:
        house.remove_profile(name)
    read(house)
    left = dict(profiles[removed:])
    assert house.rows(STATES) == as_given_at_once(tmp_path, given, *left.items(), **settings)


def test_a_named_one_that_a_log_of_methods_brings_along_holds_as_if_it_had_been_there_from_the_beginning(
    tmp_path, given
):
    """The setting named a file that nobody had given yet, and the runs were due no more when it came."""
    house = House(tmp_path / "house")
    house.change("power_profile", "high.xml")
    house.register(given)
    read(house)
    assert set(house.keep_profile("high.xml", "oriole")) == {made.run_id for made in RUNS.values()}
    read(house)
    fresh = House(tmp_path / "fresh")
    fresh.change("power_profile", "high.xml")
    assert fresh.keep_profile("high.xml", "oriole") == []
    fresh.register(given)
    read(fresh)
    assert house.rows(STATES) == fresh.rows(STATES)


def test_one_that_is_added_while_traces_are_read_is_not_lost(tmp_path, given, monkeypatch):
    house = House(tmp_path / "house")
    house.register(given)
    added = []

    def inspect(path, **how):
        if not added:
            added.append(True)
            house.add_profile("high.xml", "made")
        return inspect_made(path, **how)

    monkeypatch.setattr(inspecting, "inspect_trace", inspect)
    monkeypatch.setattr(inspecting, "usable_cores", lambda: 1)
    read(house)
    monkeypatch.undo()
    monkeypatch.setattr(inspecting, "inspect_trace", inspect_made)
    assert added
    assert house.rows(STATES) == as_given_at_once(tmp_path, given, ("high.xml", "made"))


def test_what_a_worker_read_before_it_was_added_is_read_again(tmp_path, given):
    house = Exchanging(tmp_path / "house")
    house.register(given[:1])
    read(house)
    house.hand_in(given)
    house.work()
    house.add_profile("high.xml", "made")
    house.commit()
    read(house)
    assert house.rows(STATES) == as_given_at_once(tmp_path, given, ("high.xml", "made"))


def test_a_trace_that_was_gone_then_is_read_again_once_it_is_there(tmp_path, given):
    house = House(tmp_path / "house")
    house.register(given)
    read(house)
    trace = house.settings.runs_dir / "unknown" / TRACE
    aside = trace.rename(tmp_path / "aside")
    with house.warehouse.writing() as writer:
        traces.note_gone(writer, ["unknown"], is_gone=True)
    house.add_profile("high.xml", "made")
    read(house)
    aside.rename(trace)
    with house.warehouse.writing() as writer:
        traces.note_gone(writer, found_again(writer, house.settings), is_gone=False)
    read(house)
    assert house.rows(STATES) == as_given_at_once(tmp_path, given, ("high.xml", "made"))


def test_a_run_that_lacks_what_its_history_has_by_now_is_measured_again(tmp_path):
    """It went on as if nobody knew what the runs before it drew."""
    earlier = [Made(run_id=f"e{n}", hour=n, version="1", content=f"e{n}", device="made") for n in range(3)]
    late = Made(run_id="late", hour=9, version="2", content="late", device="oriole")
    house = House(tmp_path / "house")
    house.register([made.write(tmp_path / "given" / str(made.run_id)) for made in (*earlier, late)])
    house.settle()
    lacking = "SELECT missing_series FROM marts.distances WHERE is_latest AND run_id = 'late' AND series = '*'"
    assert {tuple(row["missing_series"]) for row in house.rows(lacking)} == {()}
    house.add_profile("low.xml", "made")
    house.settle()
    assert {tuple(row["missing_series"]) for row in house.rows(lacking)} == {("power_cpu_app",)}
