"""What the sensors ask for: one run for many arrivals, nothing twice, and a cursor that does not grow."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.outstanding import Outstanding
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.taking_in import take_in
from perfreg_assets.automation import asking, sensors, versions_without_runs
from perfreg_assets.automation.command_lock import computing
from perfreg_assets.automation.materialise import RANGE_END, RANGE_START
from perfreg_assets.bundled import demo_runs_dir, sql_dir
from perfreg_assets.collection import inbox as inbox_folders
from perfreg_assets.model.freshness import Due, Stage
from perfreg_assets.partitions import DIMENSION, to_key
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import migrations, states
from perfreg_assets.warehouse.connection import Warehouse
from tests.unprivileged import unprivileged

sys.path.insert(0, str(Path(__file__).parents[1] / "warehouse"))

import sample_warehouse


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb")


def tick(sensor, instance, settings, cursor=None):
    context = dg.build_sensor_context(
        instance=instance, cursor=cursor, sensor_name=sensor.name, resources={"project": Project.of(settings)}
    )
    result = sensor(context)
    for request in result.dynamic_partitions_requests or ():
        instance.add_dynamic_partitions(DIMENSION, list(request.partition_keys))
    return result


def asked(instance, sensor, result, status):
    """What the daemon makes of a tick's requests: a run each."""
    for request in result.run_requests:
        instance.add_run(
            dg.DagsterRun(
                job_name=request.job_name or "judge_versions",
                run_id=dg._core.utils.make_new_run_id(),
                tags={**request.tags, "dagster/sensor_name": sensor.name},
                status=status,
            )
        )


def arrive(settings, name, *, version, run="notes-000", minutes_ago=1):
    folder = settings.inbox_dir / name
    shutil.copytree(demo_runs_dir() / run, folder)
    document = json.loads((folder / "run.json").read_text())
    document |= {"version_name": version, "run_id": name}
    (folder / "run.json").write_text(json.dumps(document))
    past = os.stat(folder / "run.json").st_mtime - 60 * minutes_ago
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (past, past))
    return folder


def covered(instance, request):
    order = list(instance.get_dynamic_partitions(DIMENSION))
    first, last = (order.index(request.tags[tag]) for tag in (RANGE_START, RANGE_END))
    return order[first : last + 1]


# ---- the inbox -----------------------------------------------------------------------------------
def test_arrivals_of_many_versions_are_one_run_through_the_whole_chain(instance, settings):
    for number in range(7):
        arrive(settings, f"run-{number}", version=f"2.{number}")
    result = tick(sensors.run_folders, instance, settings)
    (request,) = result.run_requests
    assert request.job_name == "judge_versions"
    assert covered(instance, request) == [to_key("com.rig.notes", f"2.{number}") for number in range(7)]
    assert len(request.run_config["ops"]["runs"]["config"]["folders"]) == 7
    asked(instance, sensors.run_folders, result, dg.DagsterRunStatus.STARTED)
    assert tick(sensors.run_folders, instance, settings, result.cursor).run_requests == []


def test_a_version_that_is_being_judged_gets_its_new_run_registered_only(instance, settings):
    arrive(settings, "run-1", version="2.1")
    asked(instance, sensors.run_folders, tick(sensors.run_folders, instance, settings), dg.DagsterRunStatus.STARTED)
    arrive(settings, "run-2", version="2.1")
    (request,) = tick(sensors.run_folders, instance, settings).run_requests
    assert request.job_name == "ingest_runs"
    assert request.run_config["ops"]["runs"]["config"]["folders"] == [str(settings.inbox_dir / "run-2")]


def test_a_folder_whose_run_failed_is_asked_for_again_after_a_pause(instance, settings, monkeypatch):
    arrive(settings, "run-1", version="2.1")
    asked(instance, sensors.run_folders, tick(sensors.run_folders, instance, settings), dg.DagsterRunStatus.FAILURE)
    assert tick(sensors.run_folders, instance, settings).run_requests == []
    monkeypatch.setattr(asking, "FIRST_PAUSE_S", 0.0)
    assert len(tick(sensors.run_folders, instance, settings).run_requests) == 1


def test_taken_folders_leave_and_refused_ones_stay_until_they_are_mended(instance, settings, caplog):
    good, bad = arrive(settings, "good", version="2.1"), arrive(settings, "bad", version="2.2")
    (bad / "run.json").write_text("{")
    os.utime(bad / "run.json", (1, 1))
    result = tick(sensors.run_folders, instance, settings)
    for request in result.run_requests:
        ((_, config),) = request.run_config["ops"].items()
        for _ in range(2):  # a step that is tried again meets folders that left
            take_in(
                config["config"]["folders"],
                settings,
                Project.of(settings).open(),
                dg.get_dagster_logger(),
                from_inbox=True,
            )
    assert not good.exists()
    assert (settings.inbox_dir / inbox_folders.TAKEN / "good" / "run.json").is_file()
    assert (settings.runs_dir / "good" / "trace.pftrace.gz").exists() or any((settings.runs_dir / "good").iterdir())
    assert tick(sensors.run_folders, instance, settings).run_requests == []
    with Warehouse(settings.warehouse, lock_timeout_s=9).reading() as reader:
        assert reader.rows("SELECT is_quarantined FROM core.runs ORDER BY 1") == [(False,), (True,)]
    (bad / "run.json").write_text((demo_runs_dir() / "notes-001" / "run.json").read_text())
    os.utime(bad / "run.json", (2, 2))
    assert len(tick(sensors.run_folders, instance, settings).run_requests) == 1


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_folder_that_may_not_be_read_keeps_no_other_out_and_is_taken_once_it_may(instance, settings, mode):
    shut = arrive(settings, "shut", version="2.2")
    arrive(settings, "good", version="2.1", run="notes-001")

    def taken() -> list[str]:
        names = []
        for request in tick(sensors.run_folders, instance, settings).run_requests:
            ((_, config),) = request.run_config["ops"].items()
            names += config["config"]["folders"]
            take_in(names, settings, Project.of(settings).open(), dg.get_dagster_logger(), from_inbox=True)
        return sorted(Path(name).name for name in set(names))

    def runs() -> list[tuple[str, str | None]]:
        with Warehouse(settings.warehouse, lock_timeout_s=9).reading() as reader:
            return reader.rows("SELECT folder_name, reason_code FROM core.runs ORDER BY 1")

    with unprivileged():
        shut.chmod(mode)
        assert taken() == ["good", "shut"]
        assert runs() == [("good", None), ("shut", "folder_unreadable")]
        assert taken() == []
        shut.chmod(0o755)
        assert taken() == ["shut"]
        assert runs() == [("good", None), ("shut", None)]


def test_a_folder_of_an_inbox_that_cannot_be_written_to_is_read_once(instance, settings, monkeypatch):
    """It can neither leave nor be noted: every 15 minutes all traces were read again, and a Dagster run begun."""
    monkeypatch.setattr(asking, "FIRST_PAUSE_S", 0.0)
    for name, version in (("good", "2.1"), ("bad", "2.2")):
        arrive(settings, name, version=version)
    (settings.inbox_dir / "bad" / "run.json").write_text("{")
    os.utime(settings.inbox_dir / "bad" / "run.json", (1, 1))

    def read() -> list[str]:
        result = tick(sensors.run_folders, instance, settings)
        names = []
        for request in result.run_requests:
            ((_, config),) = request.run_config["ops"].items()
            names += config["config"]["folders"]
        take_in(names, settings, Project.of(settings).open(), dg.get_dagster_logger(), from_inbox=True)
        asked(instance, sensors.run_folders, result, dg.DagsterRunStatus.SUCCESS)
        return sorted(Path(name).name for name in names)

    with unprivileged():
        settings.inbox_dir.chmod(0o555)
        assert read() == ["bad", "good"]
        assert read() == []
        (settings.inbox_dir / "bad" / "run.json").write_text("{}")
        os.utime(settings.inbox_dir / "bad" / "run.json", (1, 1))
        assert read() == ["bad"]
        assert read() == []
        settings.inbox_dir.chmod(0o755)
        assert read() == ["bad", "good"]
        assert read() == []
    assert not (settings.inbox_dir / "good").exists()


def test_a_process_killed_between_registering_and_moving_loses_nothing(instance, settings, monkeypatch):
    arrive(settings, "run-1", version="2.1")
    result = tick(sensors.run_folders, instance, settings)
    config = result.run_requests[0].run_config["ops"]["runs"]["config"]

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(inbox_folders, "leave", killed)
        with pytest.raises(KeyboardInterrupt):
            take_in(config["folders"], settings, Project.of(settings).open(), dg.get_dagster_logger(), from_inbox=True)
    (again,) = tick(sensors.run_folders, instance, settings).run_requests
    (outcome,) = take_in(
        again.run_config["ops"]["runs"]["config"]["folders"],
        settings,
        Project.of(settings).open(),
        dg.get_dagster_logger(),
        from_inbox=True,
    )
    assert not outcome.is_new
    assert not (settings.inbox_dir / "run-1").exists()


# ---- what is due ---------------------------------------------------------------------------------
def due_in(keys, stage=Stage.HISTORY):
    return Outstanding(tuple(Due(f"run of {key}", key, stage, "why") for key in keys), {})


def test_what_is_due_in_ten_thousand_versions_is_asked_for_in_few_runs_and_a_short_cursor(
    instance, settings, monkeypatch
):
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    keys = [to_key("com.rig.made", f"1.{number}") for number in range(10_000)]
    instance.add_dynamic_partitions(DIMENSION, keys)
    monkeypatch.setattr(sensors, "outstanding", lambda reader, settings: due_in(keys))
    cursor, runs = None, 0
    for _ in range(5):
        result = tick(sensors.upkeep, instance, settings, cursor)
        asked(instance, sensors.upkeep, result, dg.DagsterRunStatus.STARTED)
        runs += len(result.run_requests)
        cursor = result.cursor
        assert len(cursor) < 200
    assert runs == 10_000 // sensors.PARTITIONS_PER_QUICK_RUN
    assert result.run_requests == []


def test_nothing_is_looked_at_until_something_changes(instance, settings, monkeypatch):
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    looks = []

    def outstanding(reader, settings):
        looks.append(1)
        return Outstanding((), {})

    monkeypatch.setattr(sensors, "outstanding", outstanding)
    first = tick(sensors.upkeep, instance, settings)
    again = tick(sensors.upkeep, instance, settings, first.cursor)
    assert (len(looks), again.cursor) == (1, first.cursor)
    os.utime(settings.published_warehouse, (1, 1))
    published = tick(sensors.upkeep, instance, settings, again.cursor)
    monkeypatch.setenv("PERFREG_REPORTS_URL", "http://reports.rig")
    changed = tick(sensors.upkeep, instance, settings, published.cursor)
    (settings.reports_dir / "runs").mkdir(parents=True)
    pages = tick(sensors.upkeep, instance, settings, changed.cursor)
    assert len(looks) == 4
    tick(sensors.upkeep, instance, settings, pages.cursor)
    assert len(looks) == 4


def test_versions_that_somebody_deleted_in_dagster_come_back_though_nothing_is_due(instance, settings, monkeypatch):
    sample_warehouse.build(settings.warehouse, runs=6, samples=10)
    monkeypatch.setattr(sensors, "outstanding", lambda reader, settings: Outstanding((), {}))
    with Warehouse(settings.warehouse, lock_timeout_s=9).reading() as reader:
        keys = states.partitions(reader)
    result = tick(sensors.upkeep, instance, settings)
    (request,) = result.dynamic_partitions_requests
    assert (list(request.partition_keys), result.run_requests) == (keys, [])
    instance.add_dynamic_partitions(DIMENSION, keys)
    os.utime(settings.published_warehouse, (1, 1))
    assert not tick(sensors.upkeep, instance, settings, result.cursor).dynamic_partitions_requests
    instance.delete_dynamic_partition(DIMENSION, keys[0])
    os.utime(settings.published_warehouse, (2, 2))
    (request,) = tick(sensors.upkeep, instance, settings, result.cursor).dynamic_partitions_requests
    assert list(request.partition_keys) == keys[:1]


def test_a_warehouse_of_an_earlier_release_is_brought_to_this_ones_schema(instance, settings):
    files = migrations.migration_files(sql_dir() / "migrations")
    with duckdb.connect(str(settings.warehouse)) as connection:
        migrations.apply_all(connection, {1: files[1]})
    shutil.copyfile(settings.warehouse, settings.published_warehouse)
    assert tick(sensors.upkeep, instance, settings).skip_reason.skip_message == "nothing is due"
    warehouse = Warehouse(settings.warehouse, lock_timeout_s=9)
    assert not warehouse.catch_up()
    with warehouse.reading() as reader:
        assert reader.value("SELECT max(version) FROM core.schema_version") == max(files)


def test_pages_wait_for_the_runs_under_way_which_write_them_all(instance, settings, monkeypatch):
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    instance.add_dynamic_partitions(DIMENSION, ["app@1", "app@2"])
    monkeypatch.setattr(sensors, "outstanding", lambda reader, settings: due_in(["app@1"]))
    judging = tick(sensors.upkeep, instance, settings)
    pages = Outstanding((), {"run": "app@2"})
    monkeypatch.setattr(sensors, "outstanding", lambda reader, settings: pages)
    asked(instance, sensors.upkeep, judging, dg.DagsterRunStatus.STARTED)
    waits = tick(sensors.upkeep, instance, settings)
    assert waits.run_requests == []
    (record,) = instance.get_run_records()
    instance.delete_run(record.dagster_run.run_id)
    (request,) = tick(sensors.upkeep, instance, settings, waits.cursor).run_requests
    assert [key.to_user_string() for key in request.asset_selection] == ["reports"]


def test_pages_of_many_versions_are_asked_for_once_because_one_run_writes_them_all(instance, settings, monkeypatch):
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    keys = [f"app@{number}" for number in range(1000)]
    instance.add_dynamic_partitions(DIMENSION, keys)
    pages = Outstanding((), {f"run of {key}": key for key in keys[::3]})
    monkeypatch.setattr(sensors, "outstanding", lambda reader, settings: pages)
    result = tick(sensors.upkeep, instance, settings)
    (request,) = result.run_requests
    asked(instance, sensors.upkeep, result, dg.DagsterRunStatus.STARTED)
    assert tick(sensors.upkeep, instance, settings, result.cursor).run_requests == []
    assert covered(instance, request) == keys[:1]


def test_what_is_under_way_is_looked_at_again_when_its_run_ends(instance, settings, monkeypatch):
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    looks = []

    def outstanding(reader, settings):
        looks.append(1)
        return due_in(["app@1"])

    monkeypatch.setattr(sensors, "outstanding", outstanding)
    result = tick(sensors.upkeep, instance, settings, '{"app@1": ["signature", 2, 12.5]}')  # of an earlier release
    asked(instance, sensors.upkeep, result, dg.DagsterRunStatus.STARTED)
    waits = tick(sensors.upkeep, instance, settings, result.cursor)
    assert "under way" in waits.skip_reason.skip_message
    assert len(looks) == 2
    tick(sensors.upkeep, instance, settings, waits.cursor)
    assert len(looks) == 2
    (record,) = instance.get_run_records()
    instance.delete_run(record.dagster_run.run_id)
    asked(instance, sensors.upkeep, result, dg.DagsterRunStatus.FAILURE)
    paused = tick(sensors.upkeep, instance, settings, waits.cursor)
    assert "asked again later" in paused.skip_reason.skip_message
    monkeypatch.setattr(asking, "FIRST_PAUSE_S", 0.0)
    later = json.loads(paused.cursor) | {"until": 0.0}
    assert len(tick(sensors.upkeep, instance, settings, json.dumps(later)).run_requests) == 1


def test_nothing_is_asked_for_while_a_command_computes_it(instance, settings, monkeypatch):
    """Between two of its runs Dagster knows of none: what was asked for then was computed twice, and its checks shown
    as not evaluated."""
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    settings.dagster_home.mkdir(parents=True)
    monkeypatch.setattr(sensors, "outstanding", lambda reader, settings: due_in(["app@1"]))
    with computing(settings):
        waits = tick(sensors.upkeep, instance, settings)
        assert (waits.run_requests, waits.cursor) == ([], None)
        assert "a command computes" in waits.skip_reason.skip_message
    assert len(tick(sensors.upkeep, instance, settings).run_requests) == 1


def test_nothing_is_asked_for_where_a_command_began_during_the_look(instance, settings, monkeypatch):
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    settings.dagster_home.mkdir(parents=True)
    with contextlib.ExitStack() as command:

        def outstanding(reader, settings):
            command.enter_context(computing(settings))
            return due_in(["app@1"])

        monkeypatch.setattr(sensors, "outstanding", outstanding)
        waits = tick(sensors.upkeep, instance, settings)
        assert (waits.run_requests, waits.cursor) == ([], None)


def test_what_a_run_was_at_that_ended_during_the_look_is_looked_at_again(instance, settings, monkeypatch):
    """It was met half done: asked for, it came to nothing that was to be done."""
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    instance.add_dynamic_partitions(DIMENSION, ["app@1"])
    run_id = dg._core.utils.make_new_run_id()
    tags = {RANGE_START: "app@1", RANGE_END: "app@1"}
    instance.add_run(
        dg.DagsterRun(job_name="judge_versions", run_id=run_id, tags=tags, status=dg.DagsterRunStatus.STARTED)
    )
    looks = []

    def outstanding(reader, settings):
        looks.append(1)
        if len(looks) == 1:
            instance.delete_run(run_id)
            return due_in(["app@1"])
        return Outstanding((), {})

    monkeypatch.setattr(sensors, "outstanding", outstanding)
    waits = tick(sensors.upkeep, instance, settings)
    assert waits.run_requests == []
    tick(sensors.upkeep, instance, settings, waits.cursor)
    assert len(looks) == 2


def test_a_version_without_runs_goes_unless_a_run_covers_it_or_a_session_was_begun_for_it(
    instance, settings, monkeypatch
):
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    monkeypatch.setattr(sensors, "outstanding", lambda reader, settings: Outstanding((), {}))
    with Warehouse(settings.warehouse, lock_timeout_s=9).reading() as reader:
        keys = states.partitions(reader)
    instance.add_dynamic_partitions(DIMENSION, [*keys, "app@left", "app@collected"])
    told = {"app@left": ("runs", {"runs": 1}), "app@collected": ("collections", {"run_id": "none"})}
    for key, (asset, metadata) in told.items():
        instance.report_runless_asset_event(dg.AssetMaterialization(asset, partition=key, metadata=metadata))
    run_id = dg._core.utils.make_new_run_id()
    tags = {RANGE_START: "app@left", RANGE_END: "app@left"}
    instance.add_run(
        dg.DagsterRun(job_name="judge_versions", run_id=run_id, tags=tags, status=dg.DagsterRunStatus.STARTED)
    )
    busy = tick(sensors.upkeep, instance, settings)
    assert instance.get_dynamic_partitions(DIMENSION) == [*keys, "app@left", "app@collected"]
    instance.delete_run(run_id)
    tick(sensors.upkeep, instance, settings, busy.cursor)
    assert instance.get_dynamic_partitions(DIMENSION) == [*keys, "app@collected"]
    assert len(instance.fetch_materializations(dg.AssetKey("runs"), limit=9).records) == 2


def test_a_version_of_which_results_of_benchmarks_are_left_is_told_to_have_no_run_and_stays(
    instance, settings, monkeypatch
):
    sample_warehouse.build(settings.warehouse, runs=3, samples=10)
    with Warehouse(settings.warehouse, lock_timeout_s=9).writing() as writer:
        writer.execute("UPDATE core.benchmark_runs SET partition_key = 'app@measured'")
    monkeypatch.setattr(sensors, "outstanding", lambda reader, settings: Outstanding((), {}))
    instance.add_dynamic_partitions(DIMENSION, ["app@measured"])
    runs = dg.AssetKey("runs")
    for asset, metadata in ((runs, {"runs": 1}), (dg.AssetKey("benchmark_results"), {"results": 1})):
        event = dg.AssetMaterialization(asset, partition="app@measured", metadata=metadata)
        instance.report_runless_asset_event(event)
    tick(sensors.upkeep, instance, settings)
    assert instance.has_dynamic_partition(DIMENSION, "app@measured")
    assert instance.get_latest_materialization_event(runs).asset_materialization.metadata["runs"].value == 0
    assert len(instance.fetch_materializations(dg.AssetKey("benchmark_results"), limit=9).records) == 1


def test_every_asset_of_runs_is_told_of_a_version_without_runs():
    """A new one is added to the list, unless what it counts is not of runs."""
    graph = build_defs().resolve_asset_graph()
    per_version = {key for key in graph.get_all_asset_keys() if graph.get(key).partitions_def is not None}
    of_others = map(dg.AssetKey, ("collections", "benchmark_results", "benchmark_verdicts"))
    assert set(versions_without_runs.ASSETS) == per_version - set(of_others)
