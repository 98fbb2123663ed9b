"""`perfreg doctor --fix`: what is wrong is named, and mended where that loses nothing."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from types import SimpleNamespace

import dagster as dg
import duckdb
import pytest

from perfreg_assets.automation import doctor
from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.run_launcher import RunLauncher, host_tags
from perfreg_assets.collection import told_sessions
from perfreg_assets.collection.journal import device_lock, open_journal
from perfreg_assets.collection.sweep import journal_dir
from perfreg_assets.model import health
from perfreg_assets.model.finding import Finding
from perfreg_assets.model.warehouse_health import examine_warehouse
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.whole_files import part_beside

RUN = """
INSERT INTO core.runs (
    run_id, folder_name, content_hash, trace_file, is_quarantined, reason_code, reason, registered_at
)
VALUES ($1, $1, '', 't', true, 'trace_corrupt', 'a packet', now())
"""
OLD_S = 100_000


@pytest.fixture(scope="module")
def ended():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """A folder with a warehouse of two runs and a home, to be copied."""
    folder = tmp_path_factory.mktemp("installation")
    made = Settings(warehouse=folder / "perfreg.duckdb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", "")  # prepare_home sets it
        prepare_home(made)
    add(made, "one", "two")
    return folder


@pytest.fixture
def settings(installation, tmp_path, monkeypatch):
    shutil.copytree(installation, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(health, "check_kernels", list)
    monkeypatch.setattr(health, "_engine", lambda settings: Finding("trace engine", "ok", "not started"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    (tmp_path / "temporary").mkdir()
    return Settings(warehouse=tmp_path / "perfreg.duckdb", lock_timeout_s=5)


def add(settings, *run_ids):
    with Warehouse.of(settings).writing() as writer:
        for run_id in run_ids:
            writer.execute(RUN, [run_id])


def runs(settings):
    with Warehouse.of(settings).reading() as reader:
        return [run_id for (run_id,) in reader.rows("SELECT run_id FROM core.runs ORDER BY run_id")]


def examined(settings, *, fix=False):
    rows = doctor.examine(settings, is_fixing=fix, progress=lambda _: None)
    return {row["check"]: row for row in rows}


def states(rows, state):
    return {check for check, row in rows.items() if row["state"] == state}


def mended(settings, check):
    """Mends, and looks again: nothing is left of it."""
    assert states(examined(settings, fix=True), "mended") == {check}
    assert not states(examined(settings), "failed") | states(examined(settings), "notice") - {"device tools"}


def test_a_sound_installation_has_nothing_to_mend(settings):
    rows = examined(settings, fix=True)
    assert states(rows, "ok") >= {
        "warehouse perfreg.duckdb", "warehouse perfreg.read.duckdb", "values", "Dagster's home", "Dagster's runs",
        "home", "inbox", "caches", "scratch", "locks", "collections",
    }  # fmt: skip
    assert not states(rows, "mended") | states(rows, "failed")


def test_a_file_that_lies_in_the_inbox_is_told(settings):
    """A bare trace was never taken, and nothing said so."""
    settings.inbox_dir.mkdir(parents=True, exist_ok=True)
    for name in (".hidden", "still.part"):
        (settings.inbox_dir / name).touch()
    assert examined(settings)["folders in the inbox"]["state"] == "ok"
    (settings.inbox_dir / "shop.perfetto-trace").touch()
    row = examined(settings)["folders in the inbox"]
    assert (row["state"], row["detail"]) == ("notice", "0; 1 file in no folder, such as shop.perfetto-trace")
    assert "perfreg import" in row["advice"]


def test_runs_that_are_dated_in_the_future_are_told(settings):
    """Until then they are the latest: each history begins with them."""
    taken = """
    INSERT INTO core.runs BY NAME SELECT $1 AS run_id, $1 AS folder_name, '' AS content_hash, 'app' AS app,
        '1' AS version_name, 'c' AS config_hash, false AS is_quarantined, $2 AS started_at, now() AS registered_at
    """
    with Warehouse.of(settings).writing() as writer:
        for run_id, started_at in (("now", datetime.now(UTC)), ("ahead", datetime(2126, 11, 20, 9, tzinfo=UTC))):
            writer.execute(taken, [run_id, started_at])
    row = examined(settings)["dates of runs"]
    assert (row["state"], row["detail"]) == (
        "notice",
        "1 run is dated in the future, such as ahead: 2126-11-20 09:00 UTC",
    )
    assert row["advice"] == Reason.DATED_AHEAD.sentence
    with Warehouse.of(settings).writing() as writer:
        writer.execute("UPDATE core.runs SET is_excluded = true WHERE run_id = 'ahead'")
    assert examined(settings)["dates of runs"]["state"] == "ok"


def test_results_that_are_dated_in_the_future_are_told(settings):
    taken = """
    INSERT INTO core.benchmark_runs BY NAME SELECT $1 AS benchmark_run_id, '' AS partition_key, 'app' AS app,
        '1' AS version_name, 'd' AS device, '' AS variant, 'jmh' AS runner, $1 AS source_name, '' AS source_sha256,
        '{}' AS environment, $2 AS started_at, now() AS imported_at
    """
    with Warehouse.of(settings).writing() as writer:
        for name, started_at in (("now", datetime.now(UTC)), ("ahead.json", datetime(2126, 11, 20, 9, tzinfo=UTC))):
            writer.execute(taken, [name, started_at])
    told = "1 file of benchmark results is dated in the future, such as ahead.json: 2126-11-20 09:00 UTC"
    row = examined(settings)["dates of benchmarks"]
    assert (row["state"], row["detail"], row["advice"]) == ("notice", told, Reason.DATED_AHEAD.sentence)


@pytest.mark.parametrize(("name", "earlier"), [("perfreg", "perfreg.read"), ("perfreg.db", "perfreg.read.db")])
def test_the_copy_that_release_0_1_0_published_under_another_name_goes(settings, name, earlier):
    """It stayed for ever, as large as the warehouse, and whoever opened it read what was true then."""
    here = Settings(warehouse=settings.warehouse.rename(settings.warehouse.with_name(name)), lock_timeout_s=5)
    copy = shutil.copy(here.warehouse, here.warehouse.with_name(earlier))
    add(here, "three")
    row = examined(here)["copy of release 0.1.0"]
    assert (row["state"], row["detail"].startswith(f"{earlier}, 2 runs")) == ("notice", True)
    mended(here, "copy of release 0.1.0")
    assert not copy.exists()
    assert runs(here) == ["one", "three", "two"]


def test_a_file_of_that_name_that_is_something_else_stays(settings):
    here = Settings(warehouse=settings.warehouse.rename(settings.warehouse.with_name("perfreg")), lock_timeout_s=5)
    other = here.warehouse.with_name("perfreg.read")
    for content in (b"notes", b""):
        other.write_bytes(content)
        assert "copy of release 0.1.0" not in examined(here, fix=True)
    add(here, "three")
    shutil.copy(here.warehouse, other)
    here.warehouse.unlink()  # of two copies the one with more runs is not thrown away
    here.published_warehouse.unlink()
    assert "copy of release 0.1.0" not in examined(here, fix=True)
    assert other.exists()


def test_what_was_left_half_written_of_a_long_name_is_found(settings, ended):
    """Names of parts keep 40 characters of what they become."""
    here = Settings(warehouse=settings.warehouse.rename(settings.warehouse.with_name(f"{'w' * 50}.duckdb")))
    parts = [part_beside(path) for path in (here.warehouse, here.published_warehouse)]
    parts = [path.with_name(path.name.replace(f".{os.getpid()}.", f".{ended}.")) for path in parts]
    for path in parts:
        path.write_bytes(b"half")
        os.utime(path, (time.time() - OLD_S,) * 2)
    assert examined(here, fix=True)["scratch"]["state"] == "mended"
    assert not [path for path in parts if path.exists()]


def test_a_folder_that_cannot_be_written_to_has_failed(settings, monkeypatch):
    def refuse(*arguments, **named):
        raise PermissionError(errno.EACCES, "Permission denied", "perfreg.duckdb.lock")

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    row = examined(settings)["warehouse perfreg.duckdb"]
    assert (row["state"], str(settings.warehouse.parent) in row["detail"]) == ("failed", True)
    assert "check its permissions" in row["advice"]


@pytest.mark.parametrize("content", [None, b"", b"no database" * 999])
def test_a_lost_or_damaged_file_is_brought_back_and_a_damaged_one_kept(settings, content):
    settings.warehouse.unlink()
    if content is not None:
        settings.warehouse.write_bytes(content)
    rows = examined(settings)
    assert "warehouse perfreg.duckdb" in states(rows, "failed")
    assert "perfreg doctor --fix" in rows["warehouse perfreg.duckdb"]["advice"]
    mended(settings, "warehouse perfreg.duckdb")
    assert runs(settings) == ["one", "two"]
    kept = [path.read_bytes() for path in settings.warehouse.parent.glob("perfreg.duckdb.damaged-*")]
    assert kept == ([content] if content else [])


def test_a_damaged_published_copy_is_published_again(settings):
    file = settings.published_warehouse
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    mended(settings, "warehouse perfreg.read.duckdb")
    assert runs(settings) == ["one", "two"]


def test_one_flipped_bit_in_a_block_is_found(settings):
    whole = settings.warehouse.read_bytes()
    for at in range(12288 + 9000, len(whole), 16384):  # some blocks are free, and nobody's
        changed = bytearray(whole)
        changed[at] ^= 4
        settings.published_warehouse.write_bytes(changed)
        if any(one.state == "failed" for one in examine_warehouse(settings)):
            return
    raise AssertionError("no flipped bit was found in any block")


def test_what_is_unpublished_is_published(settings):
    with Warehouse.of(settings, publish_every_s=1e6).writing() as writer:
        writer.execute(RUN, ["three"])
    assert runs(settings) == ["one", "two"]
    mended(settings, "warehouse perfreg.read.duckdb")
    assert runs(settings) == ["one", "three", "two"]


def test_fewer_runs_than_are_published_are_left_to_a_person(settings, tmp_path):
    other = Settings(warehouse=tmp_path / "other" / "perfreg.duckdb")
    add(other, "another")
    settings.warehouse.write_bytes(other.warehouse.read_bytes())
    for fix in (False, True):
        row = examined(settings, fix=fix)["warehouse perfreg.duckdb"]
        assert (row["state"], row["detail"]) == ("failed", "1 run, 2 are published")
    assert runs(settings) == ["one", "two"]


def test_a_migration_that_is_not_this_releases_is_told_before_somebody_writes(settings):
    """The check was that of every write alone, which it refuses."""
    with duckdb.connect(str(settings.warehouse)) as connection:
        connection.execute("UPDATE core.schema_version SET sha256 = 'f' || sha256 WHERE version = 2")
    for fix in (False, True):
        row = examined(settings, fix=fix)["warehouse perfreg.duckdb"]
        assert (row["state"], row["advice"]) == ("failed", Reason.WAREHOUSE_ALTERED.sentence)
        assert row["detail"].startswith("migration 0002_")
    with pytest.raises(Rejected) as caught:
        add(settings, "three")
    assert caught.value.reason is Reason.WAREHOUSE_ALTERED


def test_a_half_made_home_is_made_whole(settings):
    with closing(sqlite3.connect(settings.dagster_home / "history" / "runs" / "index.db")) as connection:
        connection.execute("DROP TABLE alembic_version")
    mended(settings, "Dagster's home")


def test_a_damaged_home_is_named_and_left(settings):
    (settings.dagster_home / "history" / "runs.db").write_bytes(b"no database" * 999)
    rows = examined(settings, fix=True)
    assert states(rows, "failed") == {"Dagster's home"}
    assert "move" in rows["Dagster's home"]["advice"]


def test_scratch_and_names_of_dead_processes_are_removed_and_those_of_living_ones_kept(settings, ended, tmp_path):
    settings.runs_dir.mkdir()
    temporary = tmp_path / "temporary"
    gone = [
        settings.published_warehouse.with_name(f"perfreg.read.duckdb.part-{ended}"),
        settings.runs_dir / f".notes-001.{ended}.part",
        settings.dagster_home / f"dagster.yaml.part-{ended}",
        *(temporary / f"perfreg-{kind}-abc" for kind in ("read", "data", "ui", "bench", "trace", "file")),
    ]
    kept = [
        settings.runs_dir / f".notes-002.{os.getpid()}.part",
        tmp_path / f"another.duckdb.part-{ended}",
        temporary / "somebody-elses",
    ]
    for path in [*gone, *kept]:
        path.mkdir()
        (path / "file").touch()
        os.utime(path, (path.stat().st_mtime - OLD_S,) * 2)
    fresh = settings.runs_dir / f".notes-003.{ended}.part"
    fresh.touch()
    mended(settings, "scratch")
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in [*kept, fresh])


def test_a_registered_trace_that_is_gone_is_told(settings):
    with Warehouse.of(settings).writing() as writer:
        writer.execute(RUN, ["three"])
        writer.execute(
            "UPDATE core.runs SET is_quarantined = false, reason_code = NULL, reason = NULL, trace_file = 'trace', "
            "app = 'a', version_name = '1', partition_key = 'a@1', started_at = now(), config_hash = 'c' "
            "WHERE run_id = 'three'"
        )
    row = examined(settings, fix=True)["registered traces"]
    assert (row["state"], row["detail"]) == ("notice", f"1 of 1 are not in {settings.runs_dir}, such as three")
    assert "PERFREG_EXCHANGE" not in row["advice"]
    settings.exchange_note_file.write_text("s3://traces\n", "utf-8")  # results of workers were taken in
    assert examined(settings)["registered traces"]["advice"].startswith("set PERFREG_EXCHANGE, where workers keep them")
    (settings.runs_dir / "three").mkdir(parents=True)
    (settings.runs_dir / "three" / "trace").touch()
    assert examined(settings)["registered traces"]["state"] == "ok"


def test_registered_folders_that_the_warehouse_does_not_know_are_told(settings):
    """As after an older backup was restored."""
    for name in ("one", "later", ".later.1.part"):
        (settings.runs_dir / name).mkdir(parents=True)
        (settings.runs_dir / name / "run.json").touch()
    (settings.runs_dir / "no run").mkdir()
    with Warehouse.of(settings).writing() as writer:
        writer.execute(RUN, ["one"])
    row = examined(settings, fix=True)["registered folders"]
    assert (row["state"], row["detail"]) == (
        "notice",
        f"1 run of {settings.runs_dir} is not in the warehouse, such as later",
    )
    assert f"perfreg ingest {settings.runs_dir / 'later'}" in row["advice"]
    with Warehouse.of(settings).writing() as writer:
        writer.execute(RUN, ["later"])
    assert examined(settings)["registered folders"]["state"] == "ok"


def test_the_name_of_a_dead_process_is_taken_off_the_lock(settings, ended):
    lock = settings.warehouse.with_name("perfreg.duckdb.lock")
    lock.write_text(json.dumps({"pid": ended, "command": "perfreg", "since": ""}))
    mended(settings, "locks")


def test_a_token_that_others_can_read_is_closed(settings):
    token = settings.dagster_home / "token"
    token.write_text("secret")
    token.chmod(0o644)
    mended(settings, "token")
    assert token.stat().st_mode & 0o777 == 0o600


def started(instance, pid, **tags):
    """A run of which a process said that it works on it."""
    run = dg.DagsterRun(
        job_name="judge_versions", run_id=dg._core.utils.make_new_run_id(), status=dg.DagsterRunStatus.STARTED,
        tags=tags,
    )  # fmt: skip
    instance.add_run(run)
    data = dg._core.events.EngineEventData.in_process(pid)
    instance.report_engine_event("Started process for run", run, data)
    return run


def test_a_run_whose_process_is_gone_is_called_failed(settings, ended):
    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as instance:
        assert isinstance(instance.run_launcher, RunLauncher)
        gone = started(instance, ended, **host_tags())
        working = started(instance, os.getpid(), **host_tags())
        elsewhere = started(instance, ended, **{"perfreg/host": "another"})
        health_of = instance.run_launcher.check_run_worker_health
        assert [health_of(one).status.value for one in (gone, working, elsewhere)] == [
            "NOT_FOUND",
            "RUNNING",
            "RUNNING",
        ]
    mended(settings, "Dagster's runs")
    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as instance:
        found = [instance.get_run_by_id(one.run_id).status.value for one in (gone, working, elsewhere)]
    assert found == ["FAILURE", "STARTED", "STARTED"]


def test_a_collection_under_way_is_none_that_was_cut_short(settings):
    folder = journal_dir(settings)
    open_journal(folder, "one", "R5CT30").owe("app", "com.rig.notes")
    with device_lock(folder, "R5CT30"):
        row = examined(settings)["collections"]
        assert (row["state"], row["detail"]) == ("ok", "1 device in use by a collection")
        open_journal(folder, "two", "R5CT31").owe("app", "com.rig.notes")
        row = examined(settings)["collections"]
        assert (row["state"], "R5CT31" in row["detail"]) == ("notice", True)
    assert examined(settings)["collections"]["detail"].startswith("2 were cut short")


def test_a_row_that_is_not_stored_does_not_hide_what_a_device_is_owed(settings, monkeypatch):
    open_journal(journal_dir(settings), "one", "R5CT30").owe("app", "com.rig.notes")
    left = SimpleNamespace(collection_id="two")
    monkeypatch.setattr(told_sessions, "orphans", lambda settings: [left])
    rows = examined(settings)
    assert {"collections", "rows of collections"} <= states(rows, "notice")
    assert "two" in rows["rows of collections"]["detail"]
