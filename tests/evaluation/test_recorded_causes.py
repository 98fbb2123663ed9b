"""Protocol causes: recorded runs at the flagged windows, random windows of normal runs, spans with labelled faults."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.evaluation import causes, recorded_causes
from perfreg_assets.evaluation.recorded_causes import (
    Named,
    Result,
    Session,
    clean_of,
    evaluate_sessions,
    read_sessions,
    rows_of,
)
from perfreg_assets.evaluation.span_causes import evaluate_spans, self_times, service_of
from perfreg_assets.evaluation.span_causes import rows_of as rows_of_spans
from perfreg_assets.methods import localisation
from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.methods.window_causes import Recorded
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

DATA = Path(__file__).parents[1] / "data" / "sessions"
NORMAL = ("notes-000", "notes-001", "notes-003", "notes-004", "notes-006", "notes-009", "notes-010")
INJECTED = {"notes-011": ("cpu-duty-40", "cpu"), "notes-020": ("leak-600", "leak")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Recorded runs with their truth beside them."""
    made = tmp_path_factory.mktemp("sessions")
    truth = {run_id: {"label": "normal", "injected": []} for run_id in NORMAL}
    truth |= {run_id: {"label": label, "injected": [{"kind": kind}]} for run_id, (label, kind) in INJECTED.items()}
    for run_id in truth:
        (made / run_id).symlink_to(DATA / run_id)
    (made / "truth.json").write_text(json.dumps(truth))
    return made


@pytest.fixture(scope="module")
def sessions(folder):
    return read_sessions(folder, Settings())


def test_recorded_runs_are_read_with_their_truth_and_main_thread(sessions):
    found = {one.run_id: one for one in sessions}
    assert len(found) == 9
    worse = found["notes-011"]
    assert (worse.label, worse.has_load) == ("cpu-duty-40", True)
    assert worse.main_threads == {("com.rig.notes", "chromium")}
    assert not found["notes-020"].has_load, "a leak is no load of a thread"
    assert worse.load.mean() > 1.5 * found["notes-010"].load.mean()


def test_the_injected_thread_is_first_in_the_flagged_window(sessions):
    found = evaluate_sessions(sessions, history=6, repeats=3, seed=5, minimum=5)
    everything, *_ = rows_of(found)
    assert everything["cases"] == 3
    assert everything["with_windows"] == 3
    assert everything["top_1_app"] == 1.0
    assert clean_of(found)["windows"] == 3


def test_windows_are_those_of_alarms_of_whose_causes_people_ask(sessions, monkeypatch):
    """An alarm has its strongest window even where the run as a whole looks like chance."""
    monkeypatch.setattr(localisation, "LOAD_GATE", np.inf)
    everything, *_ = rows_of(evaluate_sessions(sessions, history=6, repeats=1, seed=5, minimum=5))
    assert (everything["cases"], everything["with_windows"], everything["top_1_app"]) == (1, 1, 1.0)


def test_the_command_prints_it_beside_what_others_print(folder, sessions, tmp_path, monkeypatch):
    few = partial(
        causes.evaluate_causes, cases=2, kinds=causes.KINDS[:2]
    )  # of call logs: tests/evaluation/test_causes.py
    monkeypatch.setattr(causes, "evaluate_causes", few)
    read = {folder: sessions}  # their traces are read once for all tests here
    monkeypatch.setattr(recorded_causes, "read_sessions", lambda given, settings, progress=None: read[given])
    out = tmp_path / "result.json"
    arguments = ["evaluate", str(folder), "--protocol", "causes", "--repeats", "1", "--history", "6", "--out", str(out)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "Injected thread at rank, in the surest flagged window" in result.stdout
    assert "11 are among the first 30, which is 37 %" in result.stdout
    told = json.loads(out.read_text())
    assert (told["protocol"], told["rows"][0]["label"]) == ("causes", "all")
    assert {one["kind"] for one in told["simulated"]} == {one.name for one in causes.KINDS[:2]}
    kept = CliRunner().invoke(main, [*arguments, "--keep"])
    assert kept.exit_code == 1
    assert "not kept" in kept.stderr


def test_a_folder_without_truth_is_refused(tmp_path):
    with pytest.raises(Rejected) as refused:
        read_sessions(tmp_path, Settings())
    assert refused.value.reason is Reason.DATASET_UNREADABLE


def made_up(run_id, label, main=0.2):
    load = np.full(60, 0.2)
    times = ThreadTimes(0, ("a",), ("m",), ("running",), np.array([True]), np.full((1, 60), main))
    return Session(run_id, label, False, Recorded(times, np.full(60, "s"), {}), frozenset({("a", "m")}), load)


def test_what_is_listed_of_a_normal_run_is_counted_by_run_and_by_z():
    usual = [made_up(f"n{k}", "normal") for k in range(6)]
    found = evaluate_sessions([*usual, made_up("odd", "normal", 0.4)], history=6, repeats=20, seed=0, minimum=5)
    clean = clean_of(found)
    assert clean["windows"] == 20
    assert set(clean["by_run"]) == {"odd"}
    assert clean["listed_ratio"] == sum(clean["by_run"].values()) / 20
    assert clean["curve"][0] == {"z_minimum": 3.0, "listed_ratio": clean["listed_ratio"]}
    assert clean["curve"][-1]["listed_ratio"] == clean["listed_ratio"], "0.2 core more is far out"
    with pytest.raises(Rejected):
        evaluate_sessions(usual, history=6, repeats=1, seed=0, minimum=5)


def test_rows_count_windows_and_ranks():
    found = Result((Named("x", 1, 4), Named("x", 2, 2), Named("y", None, None)), ())
    everything, x, y = rows_of(found)
    assert (everything["cases"], everything["with_windows"]) == (3, 2)
    assert (x["top_1_app"], x["top_3_app"], x["top_1_all"], x["top_3_all"]) == (0.5, 1.0, 0.0, 0.5)
    assert y["top_1_app"] is None


# ---- spans ---------------------------------------------------------------------------------------
def spans(tmp_path):
    """Two services for ten minutes; `b` is slow in the minute after its fault."""
    rows = []
    for minute in range(10):
        for call in range(20):
            slow = 30_000 if minute == 6 else 5_000
            key = f"{minute}/{call}"
            rows.append((f"{key}/a", "root", "ts-a-service-5dc8d4f9fd-46997", "get", 10_000 + slow, f"08_{minute:02d}"))
            rows.append((f"{key}/b", f"{key}/a", "ts-b-service-866bd68c97-xcqfx", "read", slow, f"08_{minute:02d}"))
    names = ("SpanID", "ParentID", "PodName", "OperationName", "Duration", "minute")
    path = tmp_path / "made_spans.parquet"
    table = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
    pq.write_table(table, path)
    fault = {
        "inject_time": "2023-01-29 08:05:04",
        "inject_pod": "ts-b-service-866bd68c97-xcqfx",
        "inject_type": "cpu_contention",
    }
    (tmp_path / "made_faults.json").write_text(json.dumps({"08": [fault]}))
    return path, table


def test_the_slow_service_of_spans_is_named(tmp_path):
    path, table = spans(tmp_path)
    (hit,) = evaluate_spans(path)
    assert (hit.fault.service, hit.fault.minute) == ("ts-b-service", "08_05")
    assert (hit.by_service, hit.by_operation) == (1, 1)
    own = self_times(table)
    assert set(own[0::2].round(6)) == {10.0}
    result = CliRunner().invoke(main, ["evaluate", str(path), "--protocol", "causes"])
    assert result.exit_code == 0, result.output
    assert "cpu_contention" in result.stdout
    assert ".867 / .978 / .978" in result.stdout


def test_recorded_spans_name_services_that_had_to_wait_for_the_cpu():
    """A small piece of Nezha's TrainTicket: the faulty service stands among the first, in most cases."""
    hits = evaluate_spans(DATA.parent / "rca-traces" / "nezha_trainticket_spans.parquet")
    assert [one.fault.kind for one in hits] == ["cpu_contention"] * 4
    ranks = {one.fault.service: (one.by_service, one.by_operation) for one in hits}
    assert ranks["ts-food-service"] == (1, 1)
    (everything, _) = rows_of_spans(hits)
    assert everything["top_1_operation"] == 0.5
    assert everything["top_3_service"] == 0.75
    assert everything["top_5_operation"] == 1.0


def test_a_service_is_a_pod_without_its_hashes():
    assert service_of("ts-food-service-f5756978c-k8vqf") == "ts-food-service"
    assert service_of("plain") == "plain"


def test_bad_spans_are_refused(tmp_path):
    (tmp_path / "x_spans.parquet").write_bytes(b"no parquet")
    with pytest.raises(Rejected):
        evaluate_spans(tmp_path / "x_spans.parquet")
