"""A run without a series that its history has is not called normal, whichever run and series it is."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.catalogue import definition_of, judged_by_default
from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse import series as series_table

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))

from synthetic import Project as Steps

SERIES = judged_by_default()
SOME = list(chain.from_iterable(combinations(SERIES, count) for count in range(1, len(SERIES) + 1)))
VERDICTS = "SELECT run_id, series, state, explanation FROM marts.verdicts WHERE is_current"
AXES = "SELECT run_id, axis, state FROM marts.axis_verdicts WHERE is_current"


def judged_runs(site):
    rows = site.rows("SELECT run_id FROM marts.runs WHERE run_verdict IN ('anomalous', 'normal', 'improved')")
    return {row["run_id"] for row in rows}


def strip(site, run_ids, names):
    """What the warehouse would hold had the recordings not had these series."""
    with site.warehouse.writing() as writer:
        found = series_table.find(writer, run_ids)
        stripped = {(run_id, name) for run_id in run_ids for name in names}
        assert stripped <= found.keys()
        gone = {"values": None, "values_hash": None, "start_ns": None, "is_missing": True}
        why = {"reason_code": Reason.SERIES_MISSING.code, "reason": "it was not recorded"}
        rows = [replace(row, **gone, **why) if key in stripped else row for key, row in found.items()]
        series_table.upsert(writer, rows)


@pytest.mark.parametrize("names", SOME, ids=" and ".join)
def test_no_recorded_run_is_normal_or_improved_without_a_judged_series(demo, demo_copy, names):
    runs = judged_runs(demo)
    assert len(runs) >= 5
    histories = demo.rows("SELECT run_id, history_run_id FROM marts.history_sets")
    # Each of them is stripped as if alone.
    assert not runs & {row["history_run_id"] for row in histories if row["run_id"] in runs}
    whole = {(row["run_id"], row["series"]): row["state"] for row in demo.rows(VERDICTS)}
    strip(demo_copy, runs, names)
    # Its steps without Dagster and pages: the other test has both.
    Steps(demo_copy.settings.warehouse.parent, inspect=None, history_minimum=5, history_size=12).settle()
    verdicts = {(row["run_id"], row["series"]): row for row in demo_copy.rows(VERDICTS)}
    axes = {(row["run_id"], row["axis"]): row["state"] for row in demo_copy.rows(AXES)}
    judged = set(SERIES) - set(names)
    for run_id in runs:
        state, told = (verdicts[run_id, "*"][key] for key in ("state", "explanation"))
        alarms = {name for name in judged if verdicts[run_id, name]["state"] == "anomalous"}
        assert state == ("anomalous" if alarms else "series_missing"), run_id
        assert all(verdicts[run_id, name]["state"] == "series_missing" for name in names)
        for name in names:
            axis = definition_of(name).axis
            others = {other for other in alarms if definition_of(other).axis == axis}
            assert axes[run_id, axis] == ("anomalous" if others else "series_missing")
        if judged:
            assert all(name in told for name in names), told
            assert all(name in told for name in judged) or alarms, told
    # The runs whose only alarm was in what is gone now are those that would have passed for normal.
    lost = {run_id for run_id in runs if any(whole[run_id, name] == "anomalous" for name in names)}
    assert lost or set(names) <= {"cpu_total"}


def without_memory(source):
    """A recorded trace without what it says about memory."""
    trace = Trace.FromString(gzip.decompress(source.read_bytes()))
    count = 0
    for packet in trace.packet:
        if packet.HasField("process_stats"):
            packet.ClearField("process_stats")
            count += 1
        if packet.HasField("ftrace_events"):
            kept = [event for event in packet.ftrace_events.event if not event.HasField("rss_stat")]
            count += len(packet.ftrace_events.event) - len(kept)
            del packet.ftrace_events.event[:]
            packet.ftrace_events.event.extend(kept)
    assert count
    return trace.SerializeToString()


def test_a_leak_whose_memory_was_not_recorded_is_not_normal(demo_copy, run_folder, tmp_path):
    leaking = "notes-020"
    by_series = {row["series"]: row["state"] for row in demo_copy.rows(VERDICTS) if row["run_id"] == leaking}
    assert {name for name, state in by_series.items() if state == "anomalous"} == {"rss_app", "*"}
    document = json.loads((demo_runs_dir() / leaking / "run.json").read_text())
    stripped = tmp_path / "stripped.pftrace"
    stripped.write_bytes(without_memory(demo_runs_dir() / leaking / document["trace"]))
    done, refused = demo_copy.ingest(run_folder("stripped", source=leaking, trace=stripped))
    assert (done.failures, refused) == ([], [])
    assert demo_copy.rows("SELECT state FROM marts.runs WHERE run_id = 'stripped'") == [{"state": "complete"}]
    verdicts = {row["series"]: row for row in demo_copy.rows(VERDICTS) if row["run_id"] == "stripped"}
    assert verdicts["*"]["state"] == "series_missing"
    assert verdicts["rss_app"]["state"] == "series_missing"
    assert {verdicts[name]["state"] for name in ("cpu_app", "cpu_total")} <= {"normal", "improved"}
    assert (
        "missing although the history has it: rss_app; of what was judged (cpu_app, cpu_total)"
        in (verdicts["*"]["explanation"])
    )
    axes = {row["axis"]: row["state"] for row in demo_copy.rows(AXES) if row["run_id"] == "stripped"}
    assert axes["memory"] == "series_missing"
    assert axes["cpu"] in ("normal", "improved")
    page = demo_copy.page("stripped")
    assert '<section class="verdict series_missing"' in page
    top = page.split('id="headline">')[1].split("</section>")[0]
    assert top.startswith("Memory is missing from this run although its history has it"), top
