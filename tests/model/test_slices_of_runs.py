"""From a recorded trace and the run's path to what `perfreg impact` says of a slice."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.model import freshness
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.inspecting import inspect_due, screens_of
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.partitions import to_key
from perfreg_assets.run import PathStep
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Warehouse

TRACE = Path(__file__).parents[1] / "data" / "android-traces" / "pixel6a_api32_startup_warm.perfetto-trace.gz"
APP = "androidx.benchmark.integration.macrobenchmark.target"
FIRST_NS, LAST_NS = 157_479_500_000_000, 157_481_200_000_000


def test_a_screen_holds_until_its_action_is_sent():
    steps = [PathStep(2, 300, "h2", None), PathStep(0, 100, "h0", "list"), PathStep(1, None, "h1", "note")]
    assert screens_of(steps) == [(100, "list"), (300, "h2")]
    (*known, (until, name)) = screens_of([*steps, PathStep(3, 400, "h3", "list", screen_after="note")])
    assert known == [(100, "list"), (300, "h2"), (400, "list")]
    assert (name, until > 2**62) == ("note", True)
    assert screens_of([PathStep(0, None, "h0", "list")]) == []


@pytest.fixture
def project(tmp_path):
    """(settings, warehouse, how a run with a path arrives)."""
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb", trace_processor="wasm")
    warehouse = Warehouse.of(settings)
    folder = settings.runs_dir / "start"
    folder.mkdir(parents=True)
    content = TRACE.read_bytes()
    (folder / "trace.gz").write_bytes(content)

    def arrive(*path):
        row = run_table.RunRow(
            run_id="start", folder_name="start", content_hash="c", partition_key=to_key(APP, "1"), app=APP,
            version_name="1", device="d", strategy="s", time_limit_s=1.0, action_interval_s=1.0, config_hash="c",
            started_at=datetime(2026, 1, 1, tzinfo=UTC), exploration_start_ns=FIRST_NS, exploration_end_ns=LAST_NS,
            step_count=len(path), path=path, path_hash=str(path), functional_problem_count=0, functional_problems=[],
            extra={}, trace_file="trace.gz", trace_bytes=len(content), trace_sha256=hashlib.sha256(content).hexdigest(),
        )  # fmt: skip
        with warehouse.writing() as writer:
            run_table.upsert(writer, [row])

    return settings, warehouse, arrive


@pytest.mark.parametrize(("times", "told"), [(1, (True, None)), (2, (False, "engine_killed"))])
def test_a_trace_whose_engine_something_else_ended_is_read_once_more(project, monkeypatch, times, told):
    settings, warehouse, arrive = project
    original, killed = TraceSession.load, []

    def load(self, chunks, **how):
        if len(killed) < times:
            killed.append(self._process.pid)
            os.kill(self._process.pid, signal.SIGKILL)
        original(self, chunks, **how)

    monkeypatch.setattr(TraceSession, "load", load)
    arrive(PathStep(0, LAST_NS, "h0", "launcher"))
    inspect_due(warehouse, settings, [to_key(APP, "1")], Stopwatch())
    with warehouse.reading() as reader:
        assert reader.rows("SELECT is_complete, reason_code FROM core.traces") == [told]


def test_a_slice_is_found_on_the_screens_that_it_ran_on(project):
    settings, warehouse, arrive = project

    def due():
        with warehouse.reading() as reader:
            return [one.why for one in freshness.due_now(reader, settings) if one.stage is Stage.TRACE]

    def impact(*arguments):
        done = CliRunner().invoke(main, ["impact", *arguments, "--warehouse", str(settings.warehouse)])
        assert done.exit_code == 0, done.output
        return done

    def read():
        inspect_due(warehouse, settings, [to_key(APP, "1")], Stopwatch())

    middle = (FIRST_NS + LAST_NS) // 2
    arrive(PathStep(0, middle, "h0", "launcher", screen_after="feed"))
    read()
    assert due() == []
    rows = json.loads(impact("Choreographer#doFrame", "--format", "json").stdout)
    assert {"app", "version_name", "log_name", "method", "service", "self_share", "children_share", "calls"} <= set(
        rows[0]
    )
    assert {row["service"] for row in rows} <= {"launcher", "feed"}
    assert {row["method"] for row in rows} <= {"Choreographer#doFrame", "Choreographer#doFrame #"}
    assert all(row["run_ids"] == ["start"] and row["run_count"] == 1 for row in rows)
    assert all(0 <= row["self_share"] <= 1 for row in rows)
    assert "to test again" in impact("Choreographer#doFrame").stderr
    assert "screen" in impact("Choreographer#doFrame").stderr
    # The same trace with another path: slices are put on its screens, and series stay what they are.
    with warehouse.reading() as reader:
        before = reader.rows("SELECT series, values_hash FROM core.time_series ORDER BY 1")
    arrive(PathStep(0, LAST_NS + 1, "h0", "only"))
    (why,) = due()
    assert "path" in why
    read()
    assert due() == []
    assert {row["service"] for row in json.loads(impact("Choreographer", "--format", "json").stdout)} == {"only"}
    with warehouse.reading() as reader:
        assert reader.rows("SELECT series, values_hash FROM core.time_series ORDER BY 1") == before
