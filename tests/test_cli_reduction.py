"""`perfreg reduce` and `perfreg reference`: what is kept, what is told, and what is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.cli import main
from perfreg_assets.settings import Settings
from perfreg_assets.traces.event_types import survey
from perfreg_assets.traces.inspection import inspect_trace
from perfreg_assets.traces.packets import framed
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.references import add, find
from tests.traces.long_traces import START_NS, write_long_trace

SESSIONS = Path(__file__).parent / "data" / "sessions"
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory):
    """Ten minutes: half of them the reference, then ten seconds with another thread and ten without any event."""
    folder = tmp_path_factory.mktemp("long")
    return write_long_trace(folder / "long.perfetto-trace", 600, (400, 410), silent=range(500, 510))


def run(*arguments, warehouse=None):
    extra = ["--warehouse", str(warehouse)] if warehouse else []
    return CliRunner().invoke(main, [*map(str, arguments), *extra])


def told(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def reduced(long_trace, tmp_path_factory):
    out = tmp_path_factory.mktemp("kept")
    (row,) = told(run("reduce", long_trace, "--out", out, "--format", "json"))
    return out, row


def test_the_public_keys_are_there_and_the_disturbance_and_the_hang_are_kept_with_their_rims(reduced, long_trace):
    _, row = reduced
    assert {"trace", "bytes_before", "bytes_after", "windows"} <= set(row)
    assert {"start_ns", "end_ns", "is_kept"} <= set(row["windows"][0])
    assert row["bytes_before"] == long_trace.stat().st_size
    assert row["bytes_after"] < row["bytes_before"] / 10
    (a, b), (c, d), (e, f) = [(one["start_ns"] - START_NS, one["end_ns"] - START_NS) for one in row["stretches"]]
    assert 398.5 * SECOND <= a <= 399.5 * SECOND
    assert 410.5 * SECOND <= b <= 411.5 * SECOND
    assert 498.5 * SECOND <= c <= 499.5 * SECOND
    assert 510.5 * SECOND <= d <= 511.5 * SECOND
    assert 599.5 * SECOND < e < f <= 600 * SECOND  # how it ends
    assert f - e < SECOND // 4
    reasons = [window["reason"] for window in row["windows"]]
    assert reasons[:1200] == ["reference"] * 1200
    assert reasons.count("silent") >= 38
    assert reasons.count("unusual") >= 38
    kept = [window for window in row["windows"] if window["is_kept"]]
    assert len(kept) <= (12 + 12 + 1) * 4 + 1


def test_the_document_lies_beside_the_trace_and_has_the_counts_of_dropped_seconds(reduced):
    out, row = reduced
    document = json.loads((out / "long" / "perfreg.reduction.json").read_text())
    assert {**document, "path": row["path"]} == row
    assert document["original_sha256"] != document["sha256"]
    second = next(one for one in document["seconds"] if not one["is_kept"])
    own = [w for w in document["windows"] if second["start_ns"] <= w["start_ns"] < second["start_ns"] + SECOND]
    assert sum(second["counts"].values()) == sum(window["events"] for window in own) > 0
    assert document["types"][-1] == "other"


def test_a_reduced_trace_is_never_complete_and_is_not_reduced_again(reduced, tmp_path):
    out, row = reduced
    path = Path(row["path"])
    health = inspect_trace(
        path, app="com.rig.media", exploration=None, time_limit_s=600, settings=Settings(trace_processor="wasm")
    ).health
    assert (health.is_complete, health.reason.code) == (False, "trace_reduced")
    stated = inspect_trace(
        path, app="com.rig.media", exploration=None, time_limit_s=600, settings=Settings(trace_processor="wasm"),
        expected_bytes=row["bytes_before"], expected_sha256=row["original_sha256"],
    ).health  # fmt: skip
    assert stated.reason.code == "trace_reduced"  # what run.json says of the whole one is another matter
    result = run("reduce", path, "--out", tmp_path)
    assert result.exit_code == 1
    assert "[trace_reduced]" in result.stderr
    assert not list(tmp_path.iterdir())
    again = run("reduce", out.parent / "nothing", "--out", tmp_path)
    assert again.exit_code == 1
    assert f"[trace_file_missing] {out.parent / 'nothing'} does not exist: There is no such trace" in again.stderr


def test_a_gzip_trace_stays_gzip_and_the_same_trace_gives_the_same_bytes(long_trace, reduced, tmp_path):
    packed = tmp_path / "long.perfetto-trace.gz"
    packed.write_bytes(gzip.compress(long_trace.read_bytes()))
    for name in ("a", "b"):
        assert run("reduce", packed, "--out", tmp_path / name).exit_code == 0
    first, second = (tmp_path / name / "long" / packed.name for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()) == Path(reduced[1]["path"]).read_bytes()


def test_a_damaged_trace_is_named_and_the_others_are_told_and_drawn(tmp_path):
    bad = SESSIONS.parent / "bad-traces" / "bad_bitflip200.pftrace"
    given = (SESSIONS / "notes-000", bad, "--window", "0.1", "--out", tmp_path)
    result = run("reduce", *given, "--format", "json", "--html")
    assert result.exit_code == 1
    assert [row["trace"] for row in json.loads(result.stdout)] == ["trace.perfetto-trace.gz"]
    assert (tmp_path / "notes-000" / "perfreg.reduction.html").is_file()
    assert f"perfreg: {bad.name} [trace_corrupt] {bad.name}: a bundle of kernel events (" in result.stderr
    assert not (tmp_path / bad.name).exists()


def test_the_seed_mode_keeps_what_the_document_prints(long_trace, tmp_path):
    (row,) = csv.DictReader(
        io.StringIO(run("reduce", long_trace, "--out", tmp_path, "--mode", "seed", "--format", "csv").stdout)
    )
    document = json.loads((tmp_path / "long" / "perfreg.reduction.json").read_text())
    assert (document["mode"], document["alpha"]) == ("seed", 1.2)
    assert int(row["bytes_after"]) < int(row["bytes_before"])


def test_a_trace_that_is_too_short_to_learn_from_is_refused_and_a_stored_reference_helps(tmp_path):
    warehouse = tmp_path / "w.duckdb"
    runs = tmp_path / "runs"
    for name in ("notes-000", "notes-001", "notes-003"):
        shutil.copytree(SESSIONS / name, runs / name)
    result = run("reduce", runs / "notes-000", "--out", tmp_path / "kept")
    assert result.exit_code == 1
    assert "[reference_too_short]" in result.stderr
    assert not (tmp_path / "kept").exists()
    made = run("reference", "add", "notes-usual", runs / "notes-000", runs / "notes-001", warehouse=warehouse)
    assert made.exit_code == 0, made.output
    assert "windows of 0.25 s from 2 traces, 63 types of events" in made.stdout
    again = run("reference", "add", "notes-usual", runs / "notes-000", runs / "notes-001", warehouse=warehouse)
    assert again.exit_code == 1
    assert "There is a reference with this name" in again.stderr
    (listed,) = told(run("reference", "list", "--format", "json", warehouse=warehouse))
    assert (listed["reference_name"], listed["app"], listed["window_s"]) == ("notes-usual", "com.rig.notes", 0.25)
    (row,) = told(
        run(
            *("reduce", runs / "notes-003", "--out", tmp_path / "kept", "--reference", "notes-usual"),
            *("--format", "json"), warehouse=warehouse,
        )
    )  # fmt: skip
    assert row["reference"] == "notes-usual"
    # Of two runs: in this one programs ran beside the app that neither of them had.
    assert row["kept_share"] < 0.7
    assert {one["reason"] for one in row["windows"]} >= {None, "unknown"}
    for name, day in (("notes-000", "monday"), ("notes-001", "tuesday")):
        shutil.copytree(runs / name, tmp_path / day / "run")
    same = (tmp_path / "monday" / "run", tmp_path / "tuesday" / "run", tmp_path / "monday" / ".." / "monday" / "run")
    days = run("reference", "add", "days", *same, warehouse=warehouse)
    assert days.exit_code == 0, days.output
    assert "windows of 0.25 s from 2 traces" in days.stdout
    refused = run("reduce", *same, "--out", tmp_path / "kept-days", "--reference", "days", warehouse=warehouse)
    assert "two of the traces would be written as run" in refused.stderr


def test_a_trace_that_is_all_its_own_reference_is_said_not_to_be_judged(tmp_path):
    result = run("reduce", SESSIONS / "notes-000", "--out", tmp_path / "kept", "--window", "0.1")
    assert result.exit_code == 4, result.output
    assert "nothing was judged: all of its 7" in result.stderr
    assert "reduction_reference_s" in result.stderr


def test_a_reference_of_another_app_device_or_window_or_of_a_run_with_problems_is_refused_by_name(tmp_path):
    warehouse, runs = tmp_path / "w.duckdb", tmp_path / "runs"
    for name in ("notes-000", "notes-001", "notes-003", "notes-004"):
        shutil.copytree(SESSIONS / name, runs / name)
    document = json.loads((runs / "notes-003" / "run.json").read_text())
    document["config"]["device"] = "Another device"
    (runs / "notes-003" / "run.json").write_text(json.dumps(document))
    document = json.loads((runs / "notes-004" / "run.json").read_text())
    document["functional_problems"] = [{"kind": "crash", "message": "…"}]
    (runs / "notes-004" / "run.json").write_text(json.dumps(document))
    usual = runs / "notes-000", runs / "notes-001"
    for name, paths, code in (
        ("crashed", (runs / "notes-004",), "problems were found in this one"),
        ("mixed", (*usual, runs / "notes-003"), "is of another app, device or window"),
        ("short", (runs / "notes-000",), "A reference needs 500 windows"),
    ):
        result = run("reference", "add", name, *paths, warehouse=warehouse)
        assert result.exit_code == 1
        assert code in result.stderr
    assert run("reference", "add", "usual", *usual, warehouse=warehouse).exit_code == 0
    other = run("reduce", runs / "notes-003", "--out", tmp_path / "kept", "--reference", "usual", warehouse=warehouse)
    assert other.exit_code == 1
    assert "[reference_other]" in other.stderr
    window = run(
        *("reduce", runs / "notes-001", "--out", tmp_path / "kept", "--reference", "usual", "--window", "0.04"),
        warehouse=warehouse,
    )
    assert window.exit_code == 1
    assert "has windows of 0.25 s" in window.stderr
    unknown = run("reduce", runs / "notes-001", "--out", tmp_path / "kept", "--reference", "no", warehouse=warehouse)
    assert "There is no reference with this name" in unknown.stderr
    assert not (tmp_path / "kept").exists()


def test_a_disk_that_is_full_leaves_nothing_half_written(long_trace, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("reduce", long_trace, "--out", tmp_path)
    assert result.exit_code == 1
    assert "[host_no_space]" in result.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_page_lies_beside_the_trace_when_it_is_asked_for(long_trace, tmp_path, monkeypatch):
    monkeypatch.setenv("PERFREG_SERVE_PORT", "9123")
    result = run("reduce", long_trace, "--out", tmp_path, "--html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "long" / "perfreg.reduction.html").read_text()
    assert page.count("<rect") == 3 * 3
    assert "sched_switch com.rig.media/decoder" in page
    assert "http://127.0.0.1:9123/perfetto/#!/?url=http://127.0.0.1:9123/reduced/long/" in page


def test_stored_reductions_are_asked_by_sql(long_trace, reduced, tmp_path):
    warehouse = tmp_path / "w.duckdb"
    row = told(
        run("reduce", long_trace, "--out", tmp_path / "kept", "--store", "--format", "json", warehouse=warehouse)
    )[0]

    def ask(sql):
        return told(run("sql", sql, "--format", "json", warehouse=warehouse))

    (stored,) = ask("FROM marts.reductions")
    assert (stored["original_sha256"], stored["bytes_after"]) == (row["original_sha256"], row["bytes_after"])
    assert (stored["run_id"], stored["window_count"]) == (None, len(row["windows"]))
    windows = ask(
        "SELECT start_ns, end_ns, event_count, kl_value, score_value, is_unusual, is_kept, window_reason "
        "FROM marts.trace_windows ORDER BY start_ns"
    )
    assert [(one["start_ns"], one["end_ns"], one["is_kept"], one["window_reason"]) for one in windows] == [
        (one["start_ns"], one["end_ns"], one["is_kept"], one["reason"]) for one in row["windows"]
    ]
    assert [one["score_value"] for one in windows] == pytest.approx([one["score"] for one in row["windows"]], abs=1e-6)
    assert len(ask("SELECT * FROM marts.trace_windows WHERE is_unusual LIMIT 2")) == 2
    (total,) = ask("SELECT sum(event_count)::BIGINT AS events, count(*) AS seconds FROM marts.trace_seconds")
    assert total["events"] == sum(one["events"] for one in row["windows"])
    assert total["seconds"] == len(row["seconds"])
    again = run("reduce", long_trace, "--out", tmp_path / "more", "--store", warehouse=warehouse)
    assert again.exit_code == 0
    assert len(ask("FROM marts.reductions")) == 1


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A warehouse with the reference `usual`, of six normal runs."""
    warehouse = tmp_path_factory.mktemp("usual") / "w.duckdb"
    folders = [SESSIONS / f"notes-00{number}" for number in (0, 1, 3, 4, 6, 9)]
    made = run("reference", "add", "usual", *folders, warehouse=warehouse)
    assert made.exit_code == 0, made.output
    return warehouse


def test_of_a_run_the_exploration_is_judged_as_no_reference_is_of_any_other_time(usual, tmp_path):
    """Start-up and clean-up around it were kept of nearly every run: the app uses more then."""
    for name in ("notes-010", "notes-016"):
        document = json.loads((SESSIONS / name / "run.json").read_text())["exploration"]
        given = ("reduce", SESSIONS / name, "--reference", "usual", "--out", tmp_path, "--format", "json")
        (row,) = told(run(*given, warehouse=usual))
        windows = row["windows"]
        inside = [document["start_ns"] <= one["start_ns"] and one["end_ns"] <= document["end_ns"] for one in windows]
        assert 0 < sum(inside) < len(windows)
        for window, is_inside in zip(windows[:-1], inside, strict=False):
            assert (window["reason"] == "outside") is not is_inside
            assert is_inside or not window["is_anomalous"]
        assert row["stretches"] == []


def test_a_trace_of_something_else_is_not_called_usual(usual, long_trace, tmp_path):
    """Most of its events are of types that the reference has none of, and are one sum to it."""
    result = run("reduce", long_trace, "--reference", "usual", "--out", tmp_path, warehouse=usual)
    assert result.exit_code == 1
    assert "[reference_other]" in result.stderr
    assert "of its events are of types that are not in reference usual" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_stretch_of_something_else_is_kept_though_less_than_half_of_the_trace_is(usual, tmp_path):
    """Ten seconds with 60 % of foreign events: to the score these are one type, whose share varies in the reference."""
    folder = tmp_path / "notes-010"
    shutil.copytree(SESSIONS / "notes-010", folder)
    start = json.loads((folder / "run.json").read_text())["exploration"]["start_ns"] + 20 * SECOND
    (path,) = folder.glob("trace*")
    foreign = [foreign_bundle(start + number * SECOND, 4_800) for number in range(10)]
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b"".join(foreign)))
    given = ("reduce", folder, "--reference", "usual", "--format", "json")
    (row,) = told(run(*given, "--out", tmp_path / "kept", warehouse=usual))
    inside = [one for one in row["windows"] if start <= one["start_ns"] and one["end_ns"] <= start + 10 * SECOND]
    assert len(inside) >= 38
    assert [one["reason"] for one in inside].count("unknown") > len(inside) / 2
    assert all(one["is_kept"] for one in inside)  # between them are some with as many events of the app
    assert {one["reason"] for one in row["windows"] if one["end_ns"] < start} == {None, "outside"}
    with Warehouse.of(Settings(warehouse=usual)).writing() as writer:  # as an earlier release stored it
        reference = find(writer, "usual")
        assert add(writer, replace(reference, reference_name="before", seen_types=None, build_fingerprints=None))
    blind = run(*given[:3], "before", *given[4:], "--out", tmp_path / "blind", warehouse=usual)
    assert "unknown" not in {one["reason"] for one in told(blind)[0]["windows"]}
    assert "was stored by an earlier release, which did not write down all types of its events" in blind.stderr


def test_so_is_one_of_a_thread_that_is_new_in_a_process_which_the_reference_knows(usual, tmp_path):
    """The score does not tell it, nor would the process alone, nor the app's load where it is none of the app's."""
    folder = tmp_path / "notes-010"
    shutil.copytree(SESSIONS / "notes-010", folder)
    document = json.loads((folder / "run.json").read_text())
    start = document["exploration"]["start_ns"] + 20 * SECOND
    (path,) = folder.glob("trace*")
    with Warehouse.of(Settings(warehouse=usual)).reading() as reader:
        known = {process for _, process, _ in find(reader, "usual").event_types}
    found = survey(path, 1 << 34)
    others = [key for key, name in found.process_names.items() if name in known and document["app"] not in name]
    tid = int(np.flatnonzero(found.processes == others[0])[-1])
    foreign = [foreign_bundle(start + number * SECOND, 4_800, tid) for number in range(10)]
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b"".join(foreign)))
    given = ("reduce", folder, "--reference", "usual", "--out", tmp_path / "kept", "--format", "json")
    (row,) = told(run(*given, warehouse=usual))
    inside = [one for one in row["windows"] if start <= one["start_ns"] and one["end_ns"] <= start + 10 * SECOND]
    assert [one["reason"] for one in inside].count("unknown") > len(inside) / 2
    assert all(one["is_kept"] for one in inside)


def foreign_bundle(start_ns, count, tid=4_000_000):
    """Switches within a second, to a thread that no reference has."""
    packet = proto.TracePacket()
    packet.ftrace_events.cpu = 7
    table = packet.ftrace_events.compact_sched
    table.intern_table.append("foreigner")
    table.switch_timestamp.extend([start_ns, *[SECOND // count] * (count - 1)])
    table.switch_prev_state.extend([1] * count)
    table.switch_next_pid.extend([tid] * count)
    table.switch_next_prio.extend([120] * count)
    table.switch_next_comm_index.extend([0] * count)
    return framed(packet.SerializeToString())


def test_a_run_whose_exploration_was_not_recorded_is_refused(usual, tmp_path):
    folder = tmp_path / "notes-010"
    shutil.copytree(SESSIONS / "notes-010", folder)
    document = json.loads((folder / "run.json").read_text())
    document["exploration"] = {"start_ns": 10, "end_ns": 70 * SECOND}
    (folder / "run.json").write_text(json.dumps(document))
    result = run("reduce", folder, "--reference", "usual", "--out", tmp_path / "kept", warehouse=usual)
    assert result.exit_code == 1
    assert "[trace_too_short]" in result.stderr


def test_the_window_that_a_recording_ends_in_is_not_judged_and_kept_as_all_places_tell(tmp_path):
    """What happens at the very end may be why it ended."""
    trace, warehouse = write_long_trace(tmp_path / "long.perfetto-trace", 400, (0, 0)), tmp_path / "w.duckdb"
    given = ("--window", "0.3", "--out", tmp_path / "kept", "--store", "--html", "--format", "json")
    (row,) = told(run("reduce", trace, *given, warehouse=warehouse))
    *others, last = row["windows"]
    assert "unfinished" not in {one["reason"] for one in others}
    assert (last["reason"], last["is_kept"], last["is_anomalous"]) == ("unfinished", True, False)
    assert (last["kl"], last["score"]) == (None, None)
    (stretch,) = row["stretches"]
    assert stretch == {"start_ns": last["start_ns"], "end_ns": row["end_ns"]}
    assert row["kept_share"] == (row["end_ns"] - last["start_ns"]) / (row["end_ns"] - row["start_ns"])
    assert row["bytes_after"] == Path(row["path"]).stat().st_size
    kept = [one["start_ns"] for one in row["seconds"] if one["is_kept"]]
    assert kept == [one["start_ns"] for one in row["seconds"] if one["start_ns"] + SECOND > last["start_ns"]]

    def ask(sql):
        return told(run("sql", sql, "--format", "json", warehouse=warehouse))

    (stored,) = ask("SELECT kept_ratio, bytes_after FROM marts.reductions")
    assert stored == {"kept_ratio": row["kept_share"], "bytes_after": row["bytes_after"]}
    assert ask("SELECT start_ns, reason FROM marts.trace_windows WHERE is_kept") == [
        {"start_ns": last["start_ns"], "reason": "unfinished"}
    ]
    assert ask("SELECT start_ns FROM marts.trace_seconds WHERE is_kept") == [{"start_ns": one} for one in kept]
    page = (tmp_path / "kept" / "long" / "perfreg.reduction.html").read_text()
    assert "unfinished</td>" in page
    whole, cut = switches(trace), switches(Path(row["path"]))
    assert {one for one in whole if one >= last["start_ns"]} <= cut
    assert len(cut) < len(whole) / 20


def switches(path):
    """Times of the switches of threads in a trace."""
    return {
        time
        for packet in proto.Trace.FromString(path.read_bytes()).packet
        for time in accumulate(packet.ftrace_events.compact_sched.switch_timestamp)
    }


def test_a_run_folder_that_is_none_is_named_and_the_others_are_reduced(usual, tmp_path):
    given = tmp_path / "given"
    for source, name in (("notes-010", "a"), ("notes-015", "b"), ("notes-000", "c"), ("notes-001", "d")):
        shutil.copytree(SESSIONS / source, given / name)
    (given / "b" / "run.json").write_text("{")
    next((given / "c").glob("trace*")).unlink()
    arguments = ("reduce", given, "--reference", "usual", "--out", tmp_path / "kept", "--format", "json")
    result = run(*arguments, warehouse=usual)
    assert result.exit_code == 1
    assert {Path(row["path"]).parent.name for row in json.loads(result.stdout)} == {"a", "d"}
    for line in ("perfreg: b [", "perfreg: c [trace_file_missing]"):
        assert line in result.stderr
    # A reference of what is left would be another one than was asked for.
    refused = run("reference", "add", "the-rest", given, warehouse=usual)
    assert refused.exit_code == 1
    assert "the-rest" not in run("reference", "list", warehouse=usual).stdout


def test_what_ends_a_call_leaves_no_trace_without_its_page_and_its_row(usual, tmp_path, monkeypatch):
    from perfreg_assets.model import reduction  # noqa: PLC0415

    whole, calls = reduction.reduce_once, []

    def interrupted(path, *rest, **named):
        if calls:
            raise KeyboardInterrupt
        calls.append(path)
        return whole(path, *rest, **named)

    monkeypatch.setattr(reduction, "reduce_once", interrupted)
    folders = (SESSIONS / "notes-010", SESSIONS / "notes-015")
    asked = ("--reference", "usual", "--out", tmp_path, "--html", "--store")
    assert run("reduce", *folders, *asked, warehouse=usual).exit_code != 0
    assert (tmp_path / "notes-010" / "perfreg.reduction.html").is_file()
    (row,) = told(run("sql", "SELECT trace_file FROM marts.reductions", "--format", "json", warehouse=usual))
    assert "notes-010" in row["trace_file"]


def test_a_folder_that_cannot_be_made_is_named_and_the_others_are_written(usual, tmp_path):
    (tmp_path / "notes-010").touch()
    arguments = ("reduce", SESSIONS / "notes-010", SESSIONS / "notes-015", "--reference", "usual", "--out", tmp_path)
    result = run(*arguments, warehouse=usual)
    assert result.exit_code == 1
    assert "notes-010 [folder_unwritable]" in result.stderr
    assert (tmp_path / "notes-015" / "perfreg.reduction.json").is_file()
