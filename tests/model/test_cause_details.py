"""Details of windows from traces: on the same screens, by name, beside the history; what cannot be read is told."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import APP, SAMPLES, Project, reader_of, row

from perfreg_assets.cli import main
from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.methods.window_causes import Entity, rank_named
from perfreg_assets.model import handover, trying_again
from perfreg_assets.model.cause_details import explain_details
from perfreg_assets.model.windows import Window
from perfreg_assets.objects import Objects
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.memory_growth import MEMORY_SCHEMA
from perfreg_assets.traces.profiles import UnreadProfile
from perfreg_assets.traces.slice_uses import NO_SLICES
from perfreg_assets.traces.slices import FRAME_SCHEMA, SLICE_SCHEMA
from perfreg_assets.traces.stacks import STACK_SCHEMA
from perfreg_assets.traces.window_details import WindowDetails
from perfreg_assets.warehouse import attachments, settings_table, unread_traces

S = 1_000_000_000
SLOW = "made-008"
LOCK = (
    "monitor contention with owner pool-# (#) at void a.b.Store.put(int)(Store.java:#) "
    "waiters=# blocking from int a.Cache.get()(Cache.java:#)"
)
SLICES_OF_RUN = SliceUses(("s0",), (APP,), ("main",), ("draw",), *(np.array([number]) for number in (1, 2, 3, 4, 5, 6)))


def reader(changed=(), **given):
    """Runs whose traces tell slices, frames, stacks and allocations, and have two processes."""
    plain = reader_of({SLOW: ("cpu_app", 1.0)})

    def inspect(run, settings):
        found = plain(run, settings)
        health = replace(
            found.health,
            data_sources=("android_actual_frame_timeline", "call_stacks", "heap_allocations"),
            app_processes=(APP, f"{APP}:push"),
            **given,
        )
        return found._replace(health=health, slices="no atrace" if run.run_id in changed else SLICES_OF_RUN)

    return inspect


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        made = Project(tmp_path_factory.mktemp("made"), reader())
        made.read = Traces()
        made.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
        made.settle()
    return made


class Traces:
    """Stands for what reads traces: a slice that takes as much per second as its run says."""

    def __init__(self, slow=frozenset({SLOW}), broken=frozenset(), covered=None, unread=(), clocks=None):
        self.slow, self.broken, self.asked, self.clocks = slow, broken, [], clocks or {}
        self.covered, self.unread = covered or {}, unread

    def __call__(self, trace, sha256, app, ranges, settings, *, profiles=()):
        assert (sha256.startswith("made-"), app) == (True, APP)
        self.asked.append((sha256, list(ranges)))
        if sha256 in self.broken:
            raise Rejected(Reason.TRACE_FILE_MISSING, sha256)
        slices, frames, stacks, memory = [], [], [], []
        slow = 0.4 if sha256 in self.slow else 0.1
        for number, (start, end) in enumerate(ranges):
            length = (end - start) / S
            slices.append((number, True, APP, "main", ["draw", "inflate"], False, slow * length, 3))
            slices.append((number, True, APP, "main", [LOCK], True, slow * length, 1))
            slices.append((number, False, "system", "ui", ["draw"], False, slow * length, 3))
            frames.append((number, True, APP, "App Deadline Missed", slow * length, 1))
            stacks.append((number, "perf", True, APP, "main", ["a", "b"], 9, slow * length, "s"))
            stacks.append((number, "perf", True, APP, "main", ["a", "b"], 9, 7.0, "instructions"))
            stacks.append((number, "heap", True, APP, "?", ["malloc"], 9, slow * 1e8, "bytes"))
            held = 50e6 + number * slow * 1e8
            memory.append((number, True, f"{APP}:push", "anon", held, held + slow * 1e8))
        tables = [
            pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)
            for rows, schema in (
                (slices, SLICE_SCHEMA), (frames, FRAME_SCHEMA), (stacks, STACK_SCHEMA), (memory, MEMORY_SCHEMA)
            )
        ]  # fmt: skip
        found = WindowDetails(*tables, 0, 20, 2)
        if not profiles:
            return found
        bad = [UnreadProfile(one.name, one.kind, "damaged") for one in profiles if sha256 in self.unread]
        covered = {} if bad else {"method_trace": [self.covered.get(sha256, (0, SAMPLES * S))]}
        clock = self.clocks.get(sha256, "wall")
        return replace(found, methods=found.slices, covered=covered, unread=tuple(bad), method_clock=clock)


def explain(project, read, *windows):
    with project.warehouse.reading() as reader:
        settings = settings_table.in_force(reader, project.settings)
        return explain_details(reader, settings, SLOW, windows, read=read)


def test_a_slice_a_lock_a_frame_and_a_stack_that_grew(project):
    traces = Traces()
    windows = Window("cpu_app", 20.0, 20 * S, 28 * S), Window("cpu_app", 5.0, 5 * S, 8 * S)
    details = explain(project, traces, *windows)
    assert [one.window for one in details.windows] == list(windows)
    for detailed in details.windows:
        assert list(detailed.rankings) == ["slices", "frames", "call_stacks"]
        slow, lock = sorted(detailed.rankings["slices"].listed, key=lambda one: one.kind, reverse=True)
        assert (slow.kind, slow.process, slow.thread, slow.name) == ("slice", APP, "main", "inflate")
        assert slow.path == ("draw", "inflate")
        assert (slow.value, slow.history_median) == pytest.approx((0.4, 0.1))
        assert (slow.is_matched, slow.history_count) == (True, 4)
        assert (lock.kind, lock.name) == ("lock", "held by pool-# in Store.put, wanted in Cache.get")
        (frame,) = detailed.rankings["frames"].listed
        assert (frame.kind, frame.name, frame.value) == ("frame", "App Deadline Missed", pytest.approx(0.4))
        (stack,) = detailed.rankings["call_stacks"].listed
        assert (stack.kind, stack.path, stack.value) == ("stack", ("a", "b"), pytest.approx(0.4))
    assert (details.sample_count, details.without_stack_count, details.left_out) == (20, 2, [])
    assert details.history_counts == {"slices": 4, "frames": 4, "call_stacks": 4}


def test_a_process_and_an_allocation_that_grew(project):
    (detailed,) = explain(project, Traces(), Window("rss_app", 20.0, 20 * S, 28 * S)).windows
    assert list(detailed.rankings) == ["process_memory", "heap"]
    (memory,) = detailed.rankings["process_memory"].listed
    assert (memory.kind, memory.process, memory.name) == ("memory", f"{APP}:push", "anon")
    assert (memory.value, memory.history_median) == pytest.approx((8 * 40e6, 8 * 10e6))
    (heap,) = detailed.rankings["heap"].listed
    assert (heap.kind, heap.path, heap.value) == ("heap", ("malloc",), pytest.approx(8 * 40e6))


def test_traces_are_asked_for_every_second_so_that_they_are_opened_once(project):
    traces = Traces()
    explain(project, traces, Window("cpu_app", 20.0, 20 * S, 28 * S))
    explain(project, traces, Window("cpu_app", 3.0, 3 * S, 5 * S))
    assert {name for name, _ in traces.asked} == {SLOW, "made-002", "made-003", "made-004", "made-005"}
    assert {str(ranges) for _, ranges in traces.asked} == {str([(k * S, (k + 1) * S) for k in range(SAMPLES)])}


def test_nothing_grew_where_all_traces_tell_the_same(project):
    (detailed,) = explain(project, Traces(slow=frozenset()), Window("cpu_app", 20.0, 20 * S, 28 * S)).windows
    assert [ranking.listed for ranking in detailed.rankings.values()] == [[], [], []]


def test_traces_that_cannot_be_read_are_told_and_count_for_nothing(project):
    read = Traces(broken=frozenset({"made-005", "made-004"}))
    details = explain(project, read, Window("cpu_app", 20.0, 20 * S, 28 * S))
    assert {one.run_id for one in details.left_out} == {"made-004", "made-005"}
    assert details.history_counts["slices"] == 2
    (detailed,) = details.windows
    assert not detailed.rankings["slices"].has_history, "two are fewer than three"
    assert detailed.rankings["slices"].listed[0].z is None
    gone = explain(project, Traces(broken=frozenset({SLOW})), Window("cpu_app", 20.0, 20 * S, 28 * S))
    assert gone.windows == []
    assert gone.left_out[0].run_id == SLOW
    assert gone.missing["slices"] == gone.left_out[0].why


def test_an_engine_that_does_not_start_says_nothing_of_a_trace(project):
    def read(*_, **_more):
        raise Rejected(Reason.ENGINE_UNAVAILABLE, "none")

    with pytest.raises(Rejected) as caught:
        explain(project, read, Window("cpu_app", 20.0, 20 * S, 28 * S))
    assert caught.value.reason is Reason.ENGINE_UNAVAILABLE


# ---- profiles beside the trace -------------------------------------------------------------------
def with_method_traces(project, *run_ids):
    attached = [
        attachments.AttachmentRow(
            run_id=run_id, file_name="cpu.trace", kind="method_trace", bytes=9, sha256=f"art {run_id}", ts_ns=None
        )
        for run_id in run_ids
    ]
    with project.warehouse.writing() as writer:
        attachments.replace(writer, run_ids, attached)


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        made = Project(tmp_path_factory.mktemp("profiled"), reader())
        made.read = Traces()
        made.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
        with_method_traces(made, *(f"made-{number:03d}" for number in range(9) if number != 5))
        made.settle()
    return made


WINDOW = Window("cpu_app", 20.0, 20 * S, 28 * S)


def methods_of(details):
    return {source: one for detailed in details.windows for source, one in detailed.rankings.items()}.get(
        "method_traces"
    )


def test_a_method_that_grew(profiled):
    details = explain(profiled, Traces(), WINDOW)
    assert details.history_counts["method_traces"] == 3, "made-005 has no method trace: it did not take 0"
    slow = next(one for one in methods_of(details).listed if one.name == "inflate")
    assert (slow.kind, slow.process, slow.thread, slow.path) == ("method", APP, "main", ("draw", "inflate"))
    assert (slow.value, slow.history_median) == pytest.approx((0.4, 0.1))


def test_methods_by_another_clock_count_for_nothing(profiled):
    details = explain(profiled, Traces(clocks={SLOW: "thread-cpu", "made-004": "thread-cpu"}), WINDOW)
    assert details.history_counts["method_traces"] == 1
    slow = next(one for one in methods_of(details).causes if one.name == "inflate")
    assert (slow.value, slow.history_count) == (pytest.approx(0.4), 1)


def test_methods_are_stored_with_causes_and_stacks(profiled):
    rows = profiled.rows(
        f"SELECT DISTINCT kind, name FROM marts.causes WHERE run_id = '{SLOW}' AND source = 'method_traces'"
    )
    assert {(one["kind"], one["name"]) for one in rows} >= {("method", "inflate")}
    stacks = profiled.rows(f"SELECT stack FROM marts.cause_stacks WHERE run_id = '{SLOW}' AND source = 'method_traces'")
    assert ["draw", "inflate"] in [one["stack"] for one in stacks]
    (source,) = profiled.rows(
        f"SELECT is_present, history_count FROM marts.cause_sources WHERE run_id = '{SLOW}' "
        "AND source = 'method_traces'"
    )
    assert source == {"is_present": True, "history_count": 3}


def test_only_seconds_that_a_profile_tells_of_are_compared(profiled):
    """Buffers fill up: in seconds behind that nothing is told, which is not 0."""
    short = {SLOW: (0, 25 * S), "made-004": (3 * S + 1, 12 * S), "made-003": (S, S + 1)}
    details = explain(profiled, Traces(covered=short), WINDOW)
    assert details.history_counts["method_traces"] == 2, "of made-003 no second is told as a whole"
    slow = next(one for one in methods_of(details).causes if one.name == "inflate")
    assert (slow.value, slow.history_count) == (pytest.approx(0.4), 2)
    details = explain(profiled, Traces(covered={SLOW: (0, 20 * S)}), WINDOW, Window("cpu_app", 5.0, 5 * S, 8 * S))
    assert ["method_traces" in one.rankings for one in details.windows] == [False, True]
    assert details.missing["method_traces"] is None
    details = explain(profiled, Traces(covered={SLOW: (0, 20 * S)}), WINDOW)
    assert "suspicious seconds" in details.missing["method_traces"]
    details = explain(profiled, Traces(covered={SLOW: (0, 1)}), WINDOW)
    assert "any second" in details.missing["method_traces"]


def test_a_profile_that_cannot_be_read_takes_nothing_from_the_rest(profiled):
    details = explain(profiled, Traces(unread={SLOW}), WINDOW)
    assert methods_of(details) is None
    assert details.missing["method_traces"] == "damaged"
    assert all(one.listed for one in details.windows[0].rankings.values())
    details = explain(profiled, Traces(unread={"made-004"}), WINDOW)
    assert details.history_counts["method_traces"] == 2
    assert [(one.run_id, one.file_name) for one in details.left_out] == [("made-004", "cpu.trace")]


def test_another_profile_of_the_history_is_another_cause(tmp_path):
    project = Project(tmp_path, reader())
    project.read = Traces()
    project.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
    project.settle()
    with_method_traces(project, "made-005")
    assert [(one.run_id, one.stage.name) for one in project.due()] == [(SLOW, "CAUSE")]
    project.settle()


# ---- tried again ---------------------------------------------------------------------------------
def test_a_trace_that_could_not_be_read_is_tried_again_when_the_file_is_another(tmp_path):
    project = Project(tmp_path, reader())
    project.read = Traces(broken={SLOW, "made-005"})
    project.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
    project.settle()
    assert project.rows("SELECT member_id, file_name, file_state FROM core.unread_traces ORDER BY member_id") == [
        {"member_id": member, "file_name": "trace", "file_state": "gone"} for member in ("made-005", SLOW)
    ]
    (source,) = project.rows(f"SELECT * FROM marts.cause_sources WHERE run_id = '{SLOW}' AND source = 'slices'")
    assert not source["is_present"]
    assert project.due() == []
    for member in ("made-005", SLOW):
        folder = project.settings.runs_dir / member
        folder.mkdir(parents=True)
        (folder / "trace").write_bytes(b"not whole yet")
        (due,) = project.due()
        assert (due.run_id, due.stage.name) == (SLOW, "CAUSE")
        assert due.why == f"trace of {member} could not be read, and is another file by now"
        project.settle()
        assert project.due() == [], "as broken as before"
        (folder / "trace").write_bytes(b"whole")
        project.read = Traces(broken=project.read.broken - {member})
        project.settle()
    assert project.rows("SELECT * FROM core.unread_traces") == []
    (source,) = project.rows(f"SELECT * FROM marts.cause_sources WHERE run_id = '{SLOW}' AND source = 'slices'")
    assert (source["is_present"], source["history_count"]) == (True, 4)


def test_a_trace_is_tried_again_when_the_exchange_has_it(tmp_path):
    (tmp_path / "exchange").mkdir()
    project = Project(tmp_path, reader(), exchange=str(tmp_path / "exchange"))
    project.read = Traces(broken={SLOW})
    runs = [row(number, version="1" if number < 6 else "2") for number in range(9)]
    project.arrive(*runs)
    project.settle()
    assert project.rows("SELECT member_id, file_state FROM core.unread_traces") == [
        {"member_id": SLOW, "file_state": "gone"}
    ]
    assert project.due() == []
    (slow,) = (one for one in runs if one.run_id == SLOW)
    Objects(project.settings.exchange).write(f"{handover.archive_name(slow)}/trace", b"whole")
    assert [(one.run_id, one.stage.name) for one in project.due()] == [(SLOW, "CAUSE")]
    project.read = Traces()
    project.settle()
    assert project.rows("SELECT * FROM core.unread_traces") == []
    assert project.due() == []


def test_what_an_engine_could_not_read_is_tried_again_when_its_folder_is_given_again(tmp_path):
    """As a run's own reading is: somebody may have allowed more memory since. A damaged file stays as damaged."""
    project = Project(tmp_path, reader())
    problems = {SLOW: Reason.ENGINE_KILLED, "made-005": Reason.TRACE_CORRUPT}
    plain = Traces()

    def read(trace, sha256, *where, **how):
        if sha256 in problems:
            raise Rejected(problems[sha256], "made")
        return plain(trace, sha256, *where, **how)

    project.read = read
    project.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
    project.settle()
    with project.warehouse.writing() as writer:
        unread_traces.ask_again(writer, {"made-004", "made-005"})
    assert project.due() == []
    with project.warehouse.writing() as writer:
        unread_traces.ask_again(writer, {SLOW})
    (due,) = project.due()
    assert (due.run_id, due.stage.name) == (SLOW, "CAUSE")
    assert due.why == f"trace of {SLOW} could not be read, and its folder was given again"
    project.settle()
    assert project.due() == [], "killed as before"
    with project.warehouse.writing() as writer:
        unread_traces.ask_again(writer, {SLOW})
    del problems[SLOW]
    project.settle()
    assert project.rows("SELECT member_id FROM core.unread_traces") == [{"member_id": "made-005"}]


def test_an_exchange_that_does_not_answer_says_nothing_of_what_it_keeps(tmp_path, caplog):
    (tmp_path / "exchange").mkdir()
    project = Project(tmp_path, reader(), exchange=str(tmp_path / "exchange"))
    project.read = Traces(broken={SLOW})
    project.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
    project.settle()
    away = project.settings.with_values(exchange="nowhere-at-all://x")
    with project.warehouse.reading() as one:
        assert trying_again.readable_again(one, away) == {}
    assert "is not known" in caplog.text


# ---- by itself -----------------------------------------------------------------------------------
def test_the_step_looks_into_traces_and_stores_what_grew(project):
    rows = project.rows(
        f"SELECT kind, process, thread, name, path, value, history_median, z, source, rank FROM marts.causes "
        f"WHERE run_id = '{SLOW}' AND series = 'cpu_app' AND window_index = 0 ORDER BY rank"
    )
    assert [one["rank"] for one in rows] == list(range(1, len(rows) + 1))
    traced = {one["kind"]: one for one in rows if one["source"] in ("slices", "call_stacks")}
    assert set(traced) == {"slice", "stack"}
    assert (traced["slice"]["name"], traced["slice"]["path"]) == ("inflate", "draw;inflate")
    assert (traced["slice"]["value"], traced["slice"]["history_median"]) == pytest.approx((0.4, 0.1))
    beside = project.rows(f"SELECT DISTINCT kind FROM marts.also_grew WHERE run_id = '{SLOW}' AND series = 'cpu_app'")
    assert {one["kind"] for one in beside} >= {"lock", "frame"}, "no core was busy with waiting"


def test_stacks_of_a_window_are_kept_with_what_they_took_before(project):
    rows = project.rows(
        f"SELECT source, stack, value, history_median, end_ns - start_ns AS length_ns FROM marts.cause_stacks "
        f"WHERE run_id = '{SLOW}' AND series = 'cpu_app' AND window_index = 0 ORDER BY ALL"
    )
    assert [(one["source"], one["stack"]) for one in rows] == [
        ("call_stacks", ["a", "b"]), ("slices", ["draw", "inflate"]), ("slices", [LOCK]),
    ]  # fmt: skip
    assert all((one["value"], one["history_median"]) == pytest.approx((0.4, 0.1)) for one in rows)
    assert all(one["length_ns"] > 0 for one in rows)


@pytest.fixture
def run(project, monkeypatch):
    monkeypatch.setenv("PERFREG_HISTORY_MINIMUM", "3")
    monkeypatch.setenv("PERFREG_HISTORY_SIZE", "4")
    return lambda *arguments: CliRunner().invoke(main, [*arguments, "--warehouse", str(project.settings.warehouse)])


def test_the_command_tells_what_was_found_in_the_trace_without_opening_it_again(run, project):
    asked = len(project.read.asked)
    rows = json.loads(run("causes", SLOW, "--format", "json").stdout)
    own = [one for one in rows if one["start_s"] == rows[0]["start_s"] and one["series"] == "cpu_app"]
    assert [one["rank"] for one in own] == list(range(1, len(own) + 1))
    assert {"slice", "lock", "frame", "stack"} <= {one["kind"] for one in own}
    (slow,) = (one for one in own if one["kind"] == "slice")
    assert (slow["path"], slow["name"], slow["scope"]) == ("draw;inflate", "inflate", "app")
    assert (slow["before"], slow["after"]) == pytest.approx((0.1, 0.4))
    assert len(project.read.asked) == asked
    assert "nothing that is recorded grew" not in run("causes", SLOW, "--series", "cpu_app").stderr
    assert "waits for a lock: held by pool-# in Store.put" in run("causes", SLOW, "--limit", "0").stdout


def test_folded_stacks_are_those_that_were_kept(run):
    lines = run("causes", SLOW, "--format", "folded", "--series", "cpu_app").stdout.splitlines()
    stack, before, after = next(line for line in lines if ";inflate " in line).rsplit(" ", 2)
    assert stack == f"{APP};main;draw;inflate"
    assert int(after) == pytest.approx(4 * int(before), rel=0.01)


def test_details_of_traces_that_are_gone_are_told_and_the_rest_stands(run):
    result = run("causes", SLOW, "--details", "--format", "json")
    assert {one["kind"] for one in json.loads(result.stdout)} <= {"thread"}
    assert f"the trace of {SLOW} cannot be read: " in result.stderr


def test_which_sources_were_there_is_told(project):
    told = {
        one["source"]: (one["is_present"], one["history_count"])
        for one in project.rows(f"SELECT * FROM marts.cause_sources WHERE run_id = '{SLOW}'")
    }
    assert told["slices"] == told["frames"] == told["call_stacks"] == (True, 4)
    assert told["method_traces"] == (False, 0)


def trace_maker():
    spec = importlib.util.spec_from_file_location("trace_maker", Path(__file__).parents[1] / "traces" / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TraceMaker()


def recorded_trace(slow_s):
    """The app tells every second that it draws, and within that that it inflates, for so long."""
    maker = trace_maker().clocks().process(10, APP)
    for second in range(SAMPLES):
        begin = second * S
        moments = [(begin, "B|10|draw"), (begin + 1000, "B|10|inflate 7"), (begin + round(slow_s * S), "E|10")]
        for ts, text in [*moments, (begin + S // 2, "E|10")]:
            maker.told(ts, "print", tid=10, ip=0, buf=f"{text}\n")
    return maker.serialize()


def test_from_recorded_traces_to_marts_through_the_engine_and_each_is_opened_once(tmp_path):
    project = Project(tmp_path, reader(), trace_processor="wasm")
    rows = [row(number, version="1" if number < 6 else "2") for number in range(9)]
    for one in rows:
        folder = project.settings.runs_dir / one.run_id
        folder.mkdir(parents=True)
        (folder / "trace").write_bytes(recorded_trace(0.4 if one.run_id == SLOW else 0.1))
    project.arrive(*rows)
    project.settle()
    found = project.rows(
        f"SELECT DISTINCT kind, process, name, path, round(value, 3) AS value, round(history_median, 3) AS before, "
        f"growth_share, source FROM marts.causes WHERE run_id = '{SLOW}' AND source = 'slices'"
    )
    assert found == [
        {
            "kind": "slice", "process": APP, "name": "inflate #", "path": "draw;inflate #", "value": 0.4, "before": 0.1,
            "growth_share": 1.0, "source": "slices",
        }
    ]  # fmt: skip
    for one in rows:
        (project.settings.runs_dir / one.run_id / "trace").unlink()
    details = explain(project, None, Window("cpu_app", 3.0, 3 * S, 9 * S))
    assert details.left_out == []
    assert [one.name for one in details.windows[0].rankings["slices"].listed] == ["inflate #"]


def test_runs_whose_traces_tell_nothing_more_open_none(tmp_path):
    project = Project(tmp_path, reader_of({SLOW: ("cpu_app", 1.0)}))
    project.read = Traces()
    project.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
    project.settle()
    assert project.rows(f"SELECT * FROM marts.cause_windows WHERE run_id = '{SLOW}'")
    assert project.read.asked == []
    reasons = {
        one["source"]: one["reason"]
        for one in project.rows(f"SELECT * FROM marts.cause_sources WHERE run_id = '{SLOW}'")
    }
    assert reasons["slices"] == NO_SLICES
    assert "call stacks" in reasons["call_stacks"]


def test_a_run_of_the_history_that_was_recorded_without_slices_did_not_take_0(tmp_path):
    project = Project(tmp_path, reader(changed={"made-005"}))
    project.read = Traces()
    project.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
    project.settle()
    counts = {
        one["source"]: one["history_count"]
        for one in project.rows(f"SELECT * FROM marts.cause_sources WHERE run_id = '{SLOW}'")
    }
    assert (counts["slices"], counts["frames"]) == (3, 4)


def test_names_that_only_the_history_has_do_not_count():
    one, other = (Entity("slice", "a", "m", name, (name,)) for name in ("x", "y"))
    found = rank_named({one: 1.0}, [{one: 0.1, other: 5.0}] * 3, floor=0.005, matched_count=2, minimum=3)
    (cause,) = found.listed
    assert (cause.name, cause.growth_share, cause.is_matched, cause.is_new) == ("x", 1.0, False, False)
    assert rank_named({}, [{one: 0.1}] * 3, floor=0.005, matched_count=3, minimum=3).causes == ()
