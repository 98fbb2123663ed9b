"""A session under Dagster: what becomes of it is a row of the warehouse, however the run ends."""

from __future__ import annotations

from datetime import UTC, datetime

import dagster as dg
import pytest

from perfreg_assets.assets.project import Project
from perfreg_assets.automation import collecting
from perfreg_assets.collection import collect
from perfreg_assets.collection.errors import CollectionError, CollectionRecord
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb", lock_timeout_s=5)


def failure(reason, number=0):
    record = CollectionRecord(
        collection_id=f"session-{number}", run_id=None, app="com.rig.notes", version_name="1", build_hash=None,
        attempt=0, device_serial=None, state="failed", reason_code=reason.code, reason="as it is", trace_bytes=None,
        duration_s=None, bytes_per_minute=None, leftover_path=None, started_at=NOW, ended_at=NOW,
    )  # fmt: skip
    return CollectionError(reason, "as it is", record=record)


def execute(settings, **options):
    (job,) = collecting.collect_jobs([])
    return job.execute_in_process(
        run_config=collecting.session_run_config({"app": "com.rig.notes", **options}),
        resources={"project": Project.of(settings)},
        raise_on_error=False,
    )


def rows(settings):
    with Warehouse.of(settings).reading() as reader:
        return reader.rows("SELECT collection_id, reason_code FROM core.collections ORDER BY ALL")


def test_a_terminated_session_leaves_its_row_and_the_run_ends_as_terminated(settings, monkeypatch):
    def terminated(*_arguments, **_named):
        raise failure(Reason.COLLECTION_CANCELLED) from dg.DagsterExecutionInterruptedError()

    monkeypatch.setattr(collect, "collect", terminated)
    (failed,) = execute(settings).get_step_failure_events()
    assert failed.step_failure_data.error.cls_name == "DagsterExecutionInterruptedError"
    assert rows(settings) == [("session-0", "collection_cancelled")]


def test_a_session_waits_for_its_device_and_whoever_says_otherwise_is_heeded():
    config = collecting.CollectConfig(app="com.rig.notes")
    assert config.to_collection(None).busy_wait_s > 0 < config.to_collection(None).absent_wait_s
    hurried = collecting.CollectConfig(app="com.rig.notes", options={"busy_wait_s": 0})
    assert hurried.to_collection(None).busy_wait_s == 0
