"""Bare traces: which are found, what test recorded them, and what run each of them is."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perfreg_assets.collection.bare_traces import find_bare_traces
from perfreg_assets.collection.importing import Origin, TimeLimit, run_of, time_limit_of
from perfreg_assets.collection.run_folder import read_run_folder
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.gate import FileFacts, TraceHealth
from perfreg_assets.traces.overview import DeviceTold, Overview

ORIGIN = Origin(app="com.rig.shop", version_name="1.5.0")


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"\x0a\x00")


def overview(path: Path, **changes) -> Overview:
    path.write_bytes(b"\x0a\x00")
    facts = FileFacts(path, 2, "ab" * 32, "cd" * 32, False, 2, 1, 1_700_000_000 * 10**9)
    return replace(
        Overview(
            path, facts, DeviceTold("bluejay", "13", 33), datetime(2026, 11, 20, 9, 12, tzinfo=UTC),
            (10, 7_260_000_010),
            3, (), None, None, (),
        ),
        **changes,
    )  # fmt: skip


def test_files_folders_and_patterns(tmp_path):
    touch(tmp_path, "a/1.pftrace", "a/deep/2.perfetto-trace.gz", "a/notes.txt", "b/iter1.pb", "b/other.pb", "odd.bin")
    found = find_bare_traces([tmp_path / "a", tmp_path / "odd.bin", tmp_path / "a" / "1.pftrace"])
    assert [one.path.name for one in found.traces] == ["1.pftrace", "2.perfetto-trace.gz", "odd.bin"]
    assert found.refused == []
    by_pattern = find_bare_traces([tmp_path / "b"], "iter*.pb")
    assert [one.path.name for one in by_pattern.traces] == ["iter1.pb"]


def test_what_gives_no_trace_says_why_and_stops_no_other(tmp_path):
    touch(tmp_path, "run/run.json", "run/t.pftrace", "empty/notes.txt", "good/t.pftrace")
    found = find_bare_traces([tmp_path / name for name in ("run", "empty", "gone", "good")])
    assert len(found.traces) == 1
    assert [one.reason for one in found.refused] == [Reason.NO_TRACE_FOUND] * 3
    below = find_bare_traces([tmp_path])
    assert [one.path.parent.name for one in below.traces] == ["good"]
    assert ["run is a run folder" in str(one) for one in below.refused] == [True]
    assert ["perfreg ingest" in str(found.refused[0]), "--pattern" in str(found.refused[1])] == [True, True]


def test_traces_of_macrobenchmark_get_the_test_that_recorded_them(tmp_path):
    touch(
        tmp_path, "StartupBenchmark_startup_iter000_2026.perfetto-trace", "named.perfetto-trace",
        "StartupBenchmark_startupCold_iter000_2026.perfetto-trace", "other.perfetto-trace",
    )  # fmt: skip
    tests = [
        {"name": "EMULATOR_startup", "className": "com.rig.StartupBenchmark"},
        {"name": "startupCold", "className": "com.rig.StartupBenchmark"},
        {"name": "scroll", "className": "com.rig.ListBenchmark",
         "profilerOutputs": [{"type": "PerfettoTrace", "filename": "named.perfetto-trace"}]},
    ]  # fmt: skip
    (tmp_path / "com.rig-benchmarkData.json").write_text(json.dumps({"context": {}, "benchmarks": tests}))
    found = find_bare_traces([tmp_path])
    assert {one.path.name.partition("_2026")[0]: one.scenario for one in found.traces} == {
        "StartupBenchmark_startup_iter000": "StartupBenchmark.startup",
        "StartupBenchmark_startupCold_iter000": "StartupBenchmark.startupCold",
        "named.perfetto-trace": "ListBenchmark.scroll",
        "other.perfetto-trace": None,
    }
    assert [one.name for one in found.results] == ["com.rig-benchmarkData.json"]


def test_a_run_folder_is_made_of_what_the_trace_says(tmp_path):
    run = run_of(overview(tmp_path / "t.bin"), replace(ORIGIN, version_code=150), "cold-start", [])
    assert run.run_id == "cd" * 8
    folder = run.write(tmp_path / "out")
    read = read_run_folder(folder, Settings())
    assert (read.app, read.version_name, read.version_code) == ("com.rig.shop", "1.5.0", 150)
    assert (read.config.device, read.config.strategy, read.time_limit_s) == ("bluejay / Android 13", "imported", 7.3)
    assert (read.scenario, read.functional_problems, read.path) == ("cold-start", [], ())
    assert read.exploration == (10, 7_260_000_010)
    assert read.started_at == datetime(2026, 11, 20, 9, 12, tzinfo=UTC)
    assert not run.is_dated_by_file


def test_what_the_importer_says_goes_before_the_trace(tmp_path):
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    origin = replace(ORIGIN, device="s1", strategy="scripted", time_limit_s=9.0, started_at=moment)
    document = run_of(overview(tmp_path / "t"), origin, None, []).document
    assert document["config"] == {
        "device": "s1", "strategy": "scripted", "time_limit_s": 9.0, "action_interval_s": 0.0,
    }  # fmt: skip
    assert document["started_at"] == "2026-01-01T00:00:00Z"
    assert "scenario" not in document


def test_a_trace_without_a_clock_is_dated_by_its_file_and_says_so(tmp_path):
    run = run_of(overview(tmp_path / "t", started_at=None), ORIGIN, None, [])
    assert run.document["started_at"] == "2023-11-14T22:13:20Z"
    assert run.is_dated_by_file
    assert run.document["import"]["is_dated_by_file"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"device": DeviceTold(None, None, None)}, Reason.DEVICE_NOT_TOLD),
        ({"recorded_ns": (5, 5)}, Reason.TRACE_TOO_SHORT),
        ({"health": TraceHealth(False, Reason.PACKAGE_MISSING, "none of 3")}, Reason.PACKAGE_MISSING),
    ],
)
def test_what_cannot_become_a_run_is_refused_by_name(tmp_path, changes, reason):
    with pytest.raises(Rejected) as refused:
        run_of(overview(tmp_path / "t.bin", **changes), ORIGIN, None, [])
    assert refused.value.reason is reason
    assert "t.bin" in str(refused.value)


def test_runs_of_a_scenario_share_a_time_limit_and_others_only_those_of_their_length():
    known = [
        TimeLimit("d", "s", "cold-start", 5.0), TimeLimit("d", "s", "cold-start", 9.0), TimeLimit("d", "s", None, 70.0),
        TimeLimit("d", "s", None, 74.0), TimeLimit("other", "s", None, 72.0),
    ]  # fmt: skip
    assert time_limit_of(3.11, "d", "s", "cold-start", known) == 5.0  # the latest
    assert time_limit_of(72.6, "d", "s", None, known) == 74.0
    assert time_limit_of(100.4, "d", "s", None, known) == 100.0
    assert time_limit_of(0.0349, "d", "s", "tap", known) == 0.035
