"""Causes of windows in a warehouse: what is stored, what marts show of it, when it is due, and that what does not hold
any more is not shown."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import APP, SAMPLES, Project, reader_of, row

from perfreg_assets.bundled import sql_dir
from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.methods.window_causes import Recorded
from perfreg_assets.model.causes import Explainer
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.windows import Window
from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.thread_times import NoThreadTimes
from perfreg_assets.warehouse import thread_times
from perfreg_assets.warehouse.recorded import MEMORY_KINDS

RUNS = [row(number, version="1" if number < 6 else "2") for number in range(11)]
WORSE = {f"made-{number:03d}": ("cpu_app", 1.0) for number in (6, 8, 9)} | {"made-010": ("rss_app", 1.5)}


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def times(run_id, *, renderer="render-#", disturbance=0.0):
    """One thread runs as usual, another one a core longer in the second half of worse runs; both wait a bit."""
    late = (np.arange(SAMPLES) >= SAMPLES // 2) * float(WORSE.get(run_id, ("", 0))[0] == "cpu_app")
    usual = np.full(SAMPLES, 0.1)
    return ThreadTimes(
        0,
        (APP, APP, "system_server", APP),
        ("main", renderer, "*", "main"),
        ("running", "running", "running", "runnable"),
        np.array([True, True, False, True]),
        np.array([usual, 0.2 + late, usual + disturbance * late, usual]),
        ("running", "runnable"),
    )


def reader(**changed):
    """As `reader_of`, with the thread times above and two kinds of memory, of which one grows in worse runs."""
    plain = reader_of(WORSE)

    def inspect(run, settings):
        found = plain(run, settings)
        (rss,) = (one.values for one in found.series if one.name == "rss_app")
        kinds = [
            Series("rss_anon_app", "bytes", 1.0, 0, rss - 40e6),
            Series("rss_file_app", "bytes", 1.0, 0, 0 * rss + 40e6),
        ]
        threads = changed.get(run.run_id, times(run.run_id))
        return found._replace(series=[*found.series, *kinds], threads=threads)

    return inspect


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    """All runs, settled. Read it only."""
    project = Project(tmp_path_factory.mktemp("explained"), reader())
    project.arrive(*RUNS)
    project.settle()
    return project


def test_the_thread_that_grew_is_the_cause_with_the_numbers_of_its_history(explained):
    rows = explained.rows("SELECT * FROM marts.causes WHERE run_id = 'made-008' AND series = 'cpu_app' ORDER BY ALL")
    windows = explained.rows("SELECT * FROM marts.discords WHERE run_id = 'made-008' AND series = 'cpu_app'")
    assert len(rows) == len(windows) > 0
    (first, *_), (window, *_) = rows, windows
    told = {key: first[key] for key in ("rank", "kind", "scope", "process", "thread", "name", "source", "is_new")}
    assert told == {
        "rank": 1, "kind": "thread", "scope": "app", "process": APP, "thread": "render-#", "name": "render-#",
        "source": "sched", "is_new": False,
    }  # fmt: skip
    assert (first["start_ns"], first["end_ns"], first["start_s"]) == (
        window["start_ns"], window["end_ns"], window["start_s"],
    )  # fmt: skip
    assert first["history_median"] == pytest.approx(0.2)
    assert first["growth"] == pytest.approx(first["value"] - 0.2)
    assert (first["history_count"], first["is_matched"]) == (4, True)
    assert first["z"] == pytest.approx(first["growth"] / np.hypot(0.02, 0.01))


def test_memory_is_explained_by_its_kind(explained):
    (cause,) = explained.rows("SELECT * FROM marts.causes WHERE run_id = 'made-010' AND series = 'rss_app'")
    assert (cause["kind"], cause["process"], cause["name"], cause["source"]) == ("memory", APP, "anon", "memory")
    assert cause["growth"] > 50e6


def test_every_window_has_its_state_and_every_source_is_told(explained):
    states = explained.rows("SELECT DISTINCT run_id, state, disturbance FROM marts.cause_windows ORDER BY run_id")
    assert [(one["run_id"], one["state"], one["disturbance"]) for one in states] == [
        (run_id, "ranked", None) for run_id in sorted(WORSE)
    ]
    sources = explained.rows("SELECT * FROM marts.cause_sources WHERE run_id = 'made-008' ORDER BY source")
    assert {one["source"]: (one["is_present"], one["history_count"]) for one in sources} == {
        "call_stacks": (False, 0),
        "frames": (False, 0),
        "heap": (False, 0),
        "memory": (True, 4),
        "method_traces": (False, 0),
        "process_memory": (False, 0),
        "sched": (True, 4),
        "slices": (False, 0),
        "thread_state": (True, 4),
    }
    assert all((one["reason"] is None) == one["is_present"] for one in sources)


def test_what_grew_in_three_runs_of_a_version(explained):
    (row,) = explained.rows("SELECT * FROM marts.causes_by_version")
    assert (row["app"], row["version_name"], row["series"], row["thread"]) == (APP, "2", "cpu_app", "render-#")
    assert (row["run_count"], row["run_ids"]) == (3, ["made-006", "made-008", "made-009"])
    assert row["growth_median"] == pytest.approx(1.0, abs=0.1)


def test_a_run_without_windows_costs_nothing(explained):
    assert {one["run_id"] for one in explained.rows("SELECT run_id FROM core.cause_runs")} == set(WORSE)
    assert {one["run_id"] for one in explained.rows("SELECT run_id FROM core.cause_sources")} == set(WORSE)


def test_a_disturbed_run_says_so_and_another_thread_is_new(tmp_path):
    changed = {"made-008": times("made-008", renderer="shader", disturbance=0.9)}
    project = Project(tmp_path, reader(**changed))
    project.arrive(*RUNS[:9])
    project.settle()
    (window, *_) = project.rows("SELECT * FROM marts.cause_windows WHERE run_id = 'made-008' AND series = 'cpu_app'")
    assert window["disturbance"] == "another process grew by 0.9 core (system_server)"
    grown = project.rows("SELECT * FROM marts.also_grew WHERE run_id = 'made-008' AND series = 'cpu_app'")
    assert {(one["scope"], one["process"]) for one in grown} == {("other", "system_server")}
    (cause, *_) = project.rows("SELECT * FROM marts.causes WHERE run_id = 'made-008' AND series = 'cpu_app'")
    assert (cause["thread"], cause["is_new"], cause["history_median"]) == ("shader", True, 0.0)


def test_without_thread_times_it_is_said_and_nothing_is_ranked(tmp_path):
    changed = {"made-008": NoThreadTimes("series_missing", "the trace has no scheduling events")}
    project = Project(tmp_path, reader(**changed))
    project.arrive(*RUNS[:9])
    project.settle()
    (window, *_) = project.rows("SELECT * FROM marts.cause_windows WHERE run_id = 'made-008' AND series = 'cpu_app'")
    assert (window["state"], window["state_reason"]) == ("source_missing", "the trace has no scheduling events")
    assert project.rows("SELECT * FROM marts.causes WHERE run_id = 'made-008' AND series = 'cpu_app'") == []


def test_other_thread_times_make_causes_due_and_the_old_ones_are_not_shown(tmp_path):
    project = Project(tmp_path, reader())
    project.arrive(*RUNS[:9])
    project.settle()
    assert project.rows("SELECT * FROM marts.causes WHERE run_id = 'made-008'")
    with project.warehouse.writing() as writer:
        thread_times.upsert(writer, [thread_times.described("made-008", times("made-009"), code_version="c")])
        other = thread_times.described("made-008", times("made-008", renderer="other"), code_version="c")
        thread_times.upsert(writer, [other])
    assert {(one.run_id, one.stage) for one in project.due()} == {("made-008", Stage.CAUSE)}
    assert project.rows("SELECT * FROM marts.causes WHERE run_id = 'made-008'") == []
    assert project.rows("SELECT * FROM marts.cause_windows WHERE run_id = 'made-008'") == []
    project.settle()
    causes = project.rows("SELECT thread FROM marts.causes WHERE run_id = 'made-008' AND series = 'cpu_app'")
    assert {one["thread"] for one in causes} == {"other"}


def test_other_thread_times_of_the_history_make_causes_due(tmp_path):
    project = Project(tmp_path, reader())
    project.arrive(*RUNS[:9])
    project.settle()
    with project.warehouse.writing() as writer:
        thread_times.upsert(writer, [thread_times.described("made-005", times("made-009"), code_version="c")])
    due = project.due()
    assert {one.stage for one in due} == {Stage.CAUSE}
    assert {one.run_id for one in due} == {"made-006", "made-008"}
    for mart in ("causes", "also_grew", "cause_windows"):
        assert project.rows(f"SELECT * FROM marts.{mart}") == [], "of another history"
    project.settle()
    causes = project.rows("SELECT DISTINCT run_id FROM marts.causes")
    assert {one["run_id"] for one in causes} == {"made-006", "made-008"}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE core.time_series SET values_hash = 'other' WHERE run_id = 'made-005' AND series = 'rss_anon_app'",
        "UPDATE core.slice_uses SET is_missing = false, use_count = 1, reason_code = NULL, values_hash = 'other' "
        "WHERE run_id = 'made-005'",
        "UPDATE core.traces SET code_version = 'other' WHERE run_id = 'made-008'",
    ],
)
def test_what_else_causes_are_found_from_hides_them_too(tmp_path, change):
    project = Project(tmp_path, reader())
    project.arrive(*RUNS[:9])
    project.settle()
    assert project.rows("SELECT * FROM marts.causes WHERE run_id = 'made-008'")
    with project.warehouse.writing() as writer:
        writer.execute(change)
    assert project.rows("SELECT * FROM marts.causes WHERE run_id = 'made-008'") == []


def test_the_kinds_of_memory_that_causes_rest_on_are_those_that_explain_it():
    text = (sql_dir() / "marts" / "causes_from.sql").read_text()
    assert set(re.search(r"series IN \(([^)]*)\)", text)[1].replace("'", "").split(", ")) == set(MEMORY_KINDS)


def test_windows_that_go_take_their_causes_along(tmp_path):
    project = Project(tmp_path, reader())
    project.arrive(*RUNS[:9])
    project.settle()
    project.change("omega", "80")
    project.settle()
    for name in ("cause_runs", "cause_windows", "causes", "cause_sources"):
        rows = project.rows(f"SELECT DISTINCT run_id FROM core.{name}")
        windows = project.rows("SELECT DISTINCT run_id FROM core.discords")
        assert {one["run_id"] for one in rows} <= {one["run_id"] for one in windows}


def test_other_memory_is_not_explained_by_the_kinds_of_the_apps():
    flat = {"anon": np.full(20, 1e8)}
    explainer = Explainer(APP, Recorded(None, np.empty(0, np.str_), flat), [], missing=None, minimum=3)
    assert explainer.explain(Window("rss_app", 0.0, 0, 10**10)).state == "not_enough_history"
    gpu = explainer.explain(Window("gpu_memory_app", 0.0, 0, 10**10))
    assert (gpu.state, gpu.state_reason) == (
        "source_missing",
        "the kinds of the app's memory do not explain this one",
    )
    assert explainer.explain(Window("cpu_app", 0.0, 0, 10**10)).ranking.causes == ()
