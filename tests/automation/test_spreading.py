"""Workers and the one writer, without Dagster: what comes out is what a local ingest gives, whoever dies and when."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from types import SimpleNamespace

import dagster as dg
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.assets.project import Project
from perfreg_assets.automation import committing, reading, spreading
from perfreg_assets.automation.asking import Asked
from perfreg_assets.automation.reading import digest_of, spread
from perfreg_assets.automation.spreading import Task
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.cli import main
from perfreg_assets.cli import spreading as spreading_command
from perfreg_assets.collection import registry
from perfreg_assets.model import freshness, handover, inspecting, readings
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.places_health import signed_scratch
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.model.warehouse_health import examine_warehouse
from perfreg_assets.objects import Objects
from perfreg_assets.partitions import to_key
from perfreg_assets.process_life import neighbourhood
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports import serve
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Warehouse

RUNS = ("notes-000", "notes-011", "notes-020")
TABLES = {
    "runs": "SELECT * EXCLUDE (registered_at) FROM core.runs",
    "attachments": "SELECT * FROM core.attachments",
    "traces": "SELECT * EXCLUDE (checked_at, engine_seconds, is_trace_gone) FROM core.traces",
    "series": "SELECT * EXCLUDE (extracted_at) FROM core.time_series",
    "threads": "SELECT * EXCLUDE (extracted_at) FROM core.thread_times",
    "thread_times": "SELECT * FROM marts.thread_times",
    "slices": "SELECT * EXCLUDE (extracted_at) FROM core.slice_uses",
    "energies": "SELECT * EXCLUDE (extracted_at) FROM core.energy_runs",
    "charges": "SELECT * FROM core.energies",
    "methods": "SELECT * FROM core.method_energies",
    "impact": "SELECT * FROM marts.change_impact",
    "measurements": "SELECT * EXCLUDE (measured_at) FROM core.measurements",
    "timed": "SELECT run_id, phase FROM core.timings",
}


def rows(warehouse):
    with warehouse.reading() as reader:
        return {name: reader.rows(f"{sql} ORDER BY ALL") for name, sql in TABLES.items()}


def quiet(_):
    """Nothing is told."""


@pytest.fixture(scope="module")
def read_once():
    """The real reading of each trace, once per content and parameters."""
    known = {}
    real = inspecting.read_trace

    def read_trace(row, settings, engines=None, **where):
        key = (row.trace_sha256, settings.interval_s, row.exploration)
        if key not in known:
            known[key] = real(row, settings, engines, **where)
        return known[key]

    return read_trace


class Two:
    """A worker and a writer that share an exchange and nothing else."""

    def __init__(self, tmp_path, url):
        self.objects = Objects(url)
        self.worker = Settings(warehouse=tmp_path / "nowhere" / "x.duckdb", exchange=url)
        self.writer = Settings(warehouse=tmp_path / "writer" / "perfreg.duckdb", exchange=url)
        self.warehouse = Warehouse(self.writer.warehouse, lock_timeout_s=5)

    def arrive(self, *folders):
        for folder in folders:
            for path in folder.rglob("*"):
                if path.is_file():
                    name = f"inbox/{folder.name}/{path.relative_to(folder).as_posix()}"
                    self.objects.write(name, path.read_bytes())

    def read(self, *folders):
        wanted = folders or [task.folder for task in spreading.waiting(self.objects)]
        return spreading.read_folders(self.objects, self.worker, wanted, quiet)

    def commit(self):
        return spreading.commit(self.objects, self.writer, self.warehouse, quiet)

    def below(self, folder):
        return [one.name for one in self.objects.listing(folder)]


@pytest.fixture
def two(tmp_path, read_once, monkeypatch):
    monkeypatch.setattr(inspecting, "read_trace", read_once)
    (tmp_path / "exchange").mkdir()
    return Two(tmp_path, str(tmp_path / "exchange"))


@pytest.fixture
def placed(place, tmp_path, read_once, monkeypatch):
    """As `two`, through a folder and through an object store."""
    monkeypatch.setattr(inspecting, "read_trace", read_once)
    return Two(tmp_path, place)


def sample(tmp_path, name="notes-000", *, as_folder=None, **changes):
    """A bundled run folder, copied; `changes` to its run.json."""
    folder = tmp_path / "given" / (as_folder or name)
    shutil.copytree(demo_runs_dir() / name, folder)
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, **changes}))
    return folder


@pytest.fixture(scope="module")
def at_home(tmp_path_factory):
    """Folders: whole runs, one with screenshots, one whose trace is cut short, and one that is no run; and the rows
    that a local ingest of them gives."""
    folder = tmp_path_factory.mktemp("home")
    folders = [sample(folder, name) for name in RUNS]
    (folders[0] / "screens").mkdir()
    (folders[0] / "screens" / "0003.png").write_bytes(b"a picture")
    cut = sample(folder, "notes-003", trace_sha256=None, trace_bytes=None)
    trace = cut / "trace.perfetto-trace.gz"
    trace.write_bytes(trace.read_bytes()[:-1000])
    broken = sample(folder, "notes-004")
    (broken / "run.json").write_text("{")

    local = Settings(warehouse=folder / "local" / "perfreg.duckdb")
    warehouse = Warehouse(local.warehouse, lock_timeout_s=5)
    registry.register([*folders, cut, broken], local, warehouse, to_key)
    with warehouse.reading() as reader:
        keys = [key for (key,) in reader.rows("SELECT DISTINCT partition_key FROM core.runs WHERE NOT is_quarantined")]
    inspecting.inspect_due(warehouse, local, keys, Stopwatch())
    return [*folders, cut, broken], rows(warehouse)


def test_the_warehouse_is_that_of_a_local_ingest(place, tmp_path, at_home):
    folders, expected = at_home
    two = Two(tmp_path, place)
    two.arrive(*folders)
    assert len(two.read()) == len(folders)
    assert two.read() == {}, "what has a result is not read again"
    done = two.commit()
    assert sorted(done.runs) == sorted(RUNS)
    assert {folder for folder, _ in done.quarantined} == {"inbox/notes-003", "inbox/notes-004"}
    assert rows(two.warehouse) == expected
    assert two.below("inbox") == two.below("results") == []
    kept = two.below("runs")
    assert sum(name.endswith("/run.json") for name in kept) == len(RUNS)
    assert sum(name.endswith("/screens/0003.png") for name in kept) == 1
    assert sum(name.endswith("/run.json") for name in two.below("refused")) == 2
    assert not two.worker.warehouse.parent.exists()


def test_a_result_that_is_taken_twice_is_taken_once(two, tmp_path):
    two.arrive(*(demo_runs_dir() / name for name in RUNS))
    two.read()
    kept = {name: two.objects.read(name) for name in two.below("results")}
    two.commit()
    before = rows(two.warehouse)
    for name, content in kept.items():
        two.objects.write(name, content)
    assert sorted(two.commit().runs) == sorted(RUNS)
    assert rows(two.warehouse) == before
    assert two.below("results") == []


class Killed(BaseException):
    """As if the process had ended here."""


def dies(*_, **__):
    raise Killed


@pytest.mark.parametrize(
    ("where", "name", "is_in"),
    [(readings, "store", False), (spreading, "_clear", True), (handover, "discard", True)],
    ids=["in the transaction", "after it", "after the folder is deleted"],
)
def test_a_writer_that_dies_loses_nothing_and_repeats_nothing(two, where, name, is_in):
    two.arrive(*(demo_runs_dir() / run for run in RUNS))
    two.read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, dies)
        with pytest.raises(Killed):
            two.commit()
    assert two.warehouse.published.exists() is is_in
    assert len(handover.pending(two.objects)) == len(RUNS)
    assert spreading.waiting(two.objects) == [], "the folders are not read again"
    assert sorted(two.commit().runs) == sorted(RUNS)
    assert two.below("inbox") == two.below("results") == []
    assert len(rows(two.warehouse)["traces"]) == len(RUNS)


def test_what_cannot_be_deleted_is_told_and_holds_up_nothing_else(two, monkeypatch):
    two.arrive(*(demo_runs_dir() / run for run in RUNS))
    two.read()
    remove = two.objects.filesystem.rm_file

    def refuse(path):
        if "/inbox/notes-000/" in path:
            raise PermissionError(13, "Permission denied", path)
        remove(path)

    with monkeypatch.context() as patch:
        patch.setattr(two.objects.filesystem, "rm_file", refuse)
        done = two.commit()
    assert sorted(done.runs) == sorted(RUNS)
    assert [folder for folder, _ in done.kept] == ["inbox/notes-000"]
    with pytest.raises(Rejected, match=r"notes-000.*Permission denied") as told:
        done.require_cleared()
    assert told.value.reason is Reason.EXCHANGE_NOT_CLEARED
    assert handover.pending(two.objects) == ["inbox/notes-000"]
    assert spreading.waiting(two.objects) == [], "it is not read again"
    assert two.commit().kept == []
    assert two.below("inbox") == two.below("results") == []


def test_results_that_the_writer_fails_on_are_asked_for_again_after_pauses_that_grow(two, tmp_path, monkeypatch):
    two.arrive(demo_runs_dir() / RUNS[0])
    two.read()
    monkeypatch.setenv("PERFREG_EXCHANGE", two.writer.exchange)
    begin, asked = float(int(time.time())), []  # whole seconds: a time in the storage is rounded to microseconds
    with dg.DagsterInstance.ephemeral() as instance:
        for second in range(70):
            monkeypatch.setattr(committing.time, "time", lambda second=second: begin + second)
            resources = {"project": Project.of(two.writer)}
            context = dg.build_sensor_context(instance=instance, sensor_name="results", resources=resources)
            for request in committing.results(context).run_requests:
                asked.append(second)
                tags = {**request.tags, "dagster/sensor_name": "results"}
                run = dg.DagsterRun(committing.COMMIT_JOB, status=dg.DagsterRunStatus.FAILURE, tags=tags)
                instance.run_storage.add_historical_run(run, datetime.fromtimestamp(begin + second, UTC))
            if second == 60:
                two.arrive(sample(tmp_path, RUNS[1]))
                two.read()
    assert asked == [0, 5, 20, 61, 66], "what is new waits for nobody"


def test_the_jobs_do_what_their_sensors_ask_for(two, monkeypatch):
    """As Dagster has it, in this process; with its daemon, and with what dies: test_rehearsal.py."""
    two.arrive(*(demo_runs_dir() / run for run in RUNS))
    monkeypatch.setenv("PERFREG_EXCHANGE", two.writer.exchange)
    monkeypatch.setenv("PERFREG_INBOX_SETTLE_S", "0")
    monkeypatch.setenv("PERFREG_WORKERS", "2")
    with dg.DagsterInstance.ephemeral() as instance:

        def tick(sensor, settings, job):
            """How many runs a sensor asks for, which are done."""
            resources = {"project": Project.of(settings)}
            context = dg.build_sensor_context(instance=instance, sensor_name=sensor.name, resources=resources)
            requests = sensor(context).run_requests or []
            for one in requests:
                done = job.execute_in_process(
                    run_config=one.run_config,
                    tags={**one.tags, "dagster/sensor_name": sensor.name},
                    instance=instance,
                    resources=resources,
                )
                assert done.success
            return len(requests)

        assert tick(reading.arrivals, two.worker, reading.read_traces) == 2, "shared by the workers that are free"
        assert sorted(handover.pending(two.objects)) == [f"inbox/{run}" for run in RUNS]
        assert tick(reading.arrivals, two.worker, reading.read_traces) == 0
        assert tick(committing.results, two.writer, committing.commit_results) == 1
    assert len(rows(two.warehouse)["traces"]) == len(RUNS)
    assert two.below("inbox") == two.below("results") == []
    assert not two.worker.warehouse.parent.exists()


def test_a_worker_that_dies_before_it_hands_over_leaves_a_folder_that_waits(two):
    two.arrive(demo_runs_dir() / RUNS[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handover, "write", dies)
        with pytest.raises(Killed):
            two.read()
    assert two.commit().runs == []
    assert [task.folder for task in spreading.waiting(two.objects)] == ["inbox/notes-000"]
    two.read()
    assert two.commit().runs == ["notes-000"]


def spoil(two, change):
    """Changes the only result."""
    (name,) = (name for name in two.below("results") if name.endswith("result.json"))
    two.objects.write(name, json.dumps(change(json.loads(two.objects.read(name)))).encode())


DO_NOT_HOLD = [
    (lambda found: {**found, "code_version": "0.0.0+abc"}, Reason.RESULT_OUTDATED),
    (lambda found: {**found, "parameters_hash": "abc"}, Reason.RESULT_OUTDATED),
    (lambda found: {**found, "format": 2}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "folder": "inbox/another"}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "run": None}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "trace": {**found["trace"], "run_id": "another"}}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "seconds": {"engine": "long"}}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "run": {**found["run"], "trace_file": "../../x"}}, Reason.RESULT_UNREADABLE),
    (lambda _: [], Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "series_file": {"name": "gone.parquet", "sha256": ""}}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "threads_file": {"name": "gone.parquet", "sha256": ""}}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "threads_file": found["series_file"]}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "threads_file": None}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "threads": {**found["threads"], "run_id": "another"}}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "threads": {**found["threads"], "start_ns": 1}}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "slices_file": found["threads_file"]}, Reason.RESULT_UNREADABLE),
    (lambda found: {**found, "slices": {**found["slices"], "run_id": "another"}}, Reason.RESULT_UNREADABLE),
]


def test_a_result_that_does_not_hold_is_refused_and_the_folder_read_again(two):
    two.arrive(demo_runs_dir() / RUNS[0])
    for number, (change, reason) in enumerate(DO_NOT_HOLD):
        two.read()
        spoil(two, change)
        done = two.commit()
        assert done.runs == [], number
        ((folder, sentence),) = done.refused
        assert folder == "inbox/notes-000", number
        assert reason.sentence in sentence, number
        assert [task.folder for task in spreading.waiting(two.objects)] == ["inbox/notes-000"], number
    two.read()
    assert two.commit().runs == ["notes-000"]


@pytest.mark.parametrize("kind", ["series", "threads"])
def test_a_file_that_was_damaged_on_the_way_is_refused(two, kind):
    two.arrive(demo_runs_dir() / RUNS[0])
    two.read()
    (name,) = (name for name in two.below("results") if f"/{kind}-" in name)
    two.objects.write(name, two.objects.read(name)[:-9] + b"x" * 9)
    ((_, sentence),) = two.commit().refused
    assert Reason.RESULT_UNREADABLE.sentence in sentence
    assert not two.below("results")


def due_traces(two):
    with two.warehouse.reading() as reader:
        return [one.run_id for one in freshness.due(reader, two.writer, upto=Stage.TRACE) if one.stage is Stage.TRACE]


def test_other_parameters_reach_the_workers_and_all_traces_are_read_again(two):
    two.arrive(*(demo_runs_dir() / name for name in RUNS))
    two.read()
    two.commit()
    assert due_traces(two) == []
    with two.warehouse.writing() as writer:
        settings_table.change(writer, "interval_s", "2", note="")
    assert sorted(due_traces(two)) == sorted(RUNS)
    two.commit()
    assert json.loads(two.objects.read("parameters.json"))["interval_s"] == 2
    asked = [task.folder for task in spreading.waiting(two.objects)]
    assert len(asked) == len(RUNS)
    assert all(folder.startswith("runs/notes-") for folder in asked)
    two.commit()
    assert [task.folder for task in spreading.waiting(two.objects)] == asked, "asked for once"
    two.read()
    assert sorted(two.commit().runs) == sorted(RUNS)
    assert due_traces(two) == []
    assert {row[3] for row in rows(two.warehouse)["series"]} == {2.0}
    assert two.below("wanted") == two.below("results") == []
    assert sum(name.endswith("/run.json") for name in two.below("runs")) == len(RUNS)


def test_what_is_read_here_by_the_way_comes_from_the_exchange(two):
    """`perfreg settings set` on the warehouse's machine reads what is due itself: traces are not there, nor gone."""
    two.arrive(demo_runs_dir() / RUNS[0])
    two.read()
    two.commit()
    with two.warehouse.reading() as reader:
        ((row,),) = reader.rows("SELECT partition_key FROM core.runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.undo()
        found = inspecting.inspect_due(two.warehouse, two.writer, [row], Stopwatch(), again=True)
    assert found.found["notes-000"].is_complete
    assert not (two.writer.runs_dir / "notes-000").exists()


def test_a_trace_that_is_gone_from_the_exchange_keeps_what_was_read_of_it(two):
    two.arrive(demo_runs_dir() / RUNS[0])
    two.read()
    two.commit()
    before = rows(two.warehouse)
    (trace,) = (name for name in two.below("runs") if name.endswith("trace.perfetto-trace.gz"))
    two.objects.copy(trace, "elsewhere")
    two.objects.delete([trace])
    read_otherwise(two)
    two.commit()
    two.read()
    assert two.commit().runs == []
    assert due_traces(two) == [], "nothing more can be read"
    assert have_trace(two) == []
    assert rows(two.warehouse) == before
    assert two.below("wanted") == two.below("results") == []
    two.objects.copy("elsewhere", trace)
    two.commit()
    assert have_trace(two) == ["notes-000"], "it is there again"
    two.read()
    assert two.commit().runs == ["notes-000"]
    assert due_traces(two) == []


def read_otherwise(two):
    """All traces are to be read again."""
    with two.warehouse.writing() as writer:
        settings_table.change(writer, "interval_s", "2", note="")


def have_trace(two):
    with two.warehouse.reading() as reader:
        return [run_id for (run_id,) in reader.rows("SELECT run_id FROM marts.runs WHERE has_trace ORDER BY run_id")]


def partition_keys(two):
    with two.warehouse.reading() as reader:
        return [key for (key,) in reader.rows("SELECT DISTINCT partition_key FROM core.runs")]


@pytest.mark.parametrize("named", [None, "another"])
def test_runs_that_no_known_place_has_are_not_gone_and_stay_due(two, tmp_path, monkeypatch, named):
    """A command without PERFREG_EXCHANGE, or with another one, said that all traces are gone, for good."""
    two.arrive(*(demo_runs_dir() / run for run in RUNS))
    two.read()
    two.commit()
    read_otherwise(two)
    (tmp_path / "another").mkdir()
    monkeypatch.undo()  # traces are read where they are
    elsewhere = two.writer.with_values(exchange=named and str(tmp_path / named))
    found = inspecting.inspect_due(two.warehouse, elsewhere, partition_keys(two), Stopwatch())
    assert (found.found, sorted(found.placeless)) == ({}, sorted(RUNS))
    assert have_trace(two) == sorted(due_traces(two)) == sorted(RUNS)
    two.commit()
    two.read()
    assert sorted(two.commit().runs) == sorted(RUNS)


def test_a_run_whose_folder_the_exchange_has_not_is_asked_of_no_worker(two, tmp_path):
    two.arrive(*(demo_runs_dir() / run for run in RUNS))
    two.read()
    two.commit()
    read_otherwise(two)
    asked = [name for name in two.below("runs") if "notes-000" in name]
    two.objects.delete(asked)
    told = []
    spreading.commit(two.objects, two.writer, two.warehouse, told.append)
    assert len(two.below("wanted")) == len(RUNS) - 1
    assert any("notes-000" in line and Reason.TRACE_PLACE_MISSING.sentence in line for line in told)
    two.objects.write(asked[0].replace("runs/", "wanted/").rpartition("/")[0], b"")  # asked for before it went
    two.read()
    done = two.commit()
    assert sorted(done.runs) == sorted(RUNS[1:])
    assert [folder.startswith("runs/notes-000.") for folder, _ in done.refused] == [True]
    assert due_traces(two) == ["notes-000"]
    assert have_trace(two) == sorted(RUNS)
    assert two.below("wanted") == two.below("results") == []


def test_traces_that_were_noted_as_gone_by_mistake_come_back(two):
    """Of a release that took a missing variable for missing files."""
    two.arrive(*(demo_runs_dir() / run for run in RUNS))
    two.read()
    two.commit()
    with two.warehouse.writing() as writer:
        trace_table.note_gone(writer, RUNS, is_gone=True)
    read_otherwise(two)
    assert have_trace(two) == due_traces(two) == []
    (found,) = (one for one in examine_warehouse(two.writer) if one.check == "traces noted as gone")
    assert (found.state, found.detail.startswith("3 of 3 ")) == ("notice", True)
    assert found.row(is_fixing=True)["state"] == "mended"
    assert have_trace(two) == sorted(due_traces(two)) == sorted(RUNS)
    with two.warehouse.writing() as writer:
        trace_table.note_gone(writer, RUNS, is_gone=True)
    two.commit()
    assert have_trace(two) == sorted(due_traces(two)) == sorted(RUNS), "or by itself, with the next results"


def test_a_command_without_the_exchange_says_why_traces_are_due_still(two, monkeypatch):
    two.arrive(demo_runs_dir() / RUNS[0])
    two.read()
    two.commit()
    monkeypatch.undo()  # traces are read where they are
    monkeypatch.setenv("PERFREG_WAREHOUSE", str(two.writer.warehouse))
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.delenv("PERFREG_EXCHANGE", raising=False)
    done = CliRunner().invoke(main, ["settings", "set", "interval_s", "2"])
    assert done.exit_code == 1
    assert f"1 run to be read again, the first is notes-000: {Reason.TRACE_PLACE_MISSING.sentence}" in done.stderr
    assert have_trace(two) == ["notes-000"]


def test_another_run_with_the_same_id_is_quarantined_and_the_first_keeps_its_files(two, tmp_path):
    two.arrive(demo_runs_dir() / RUNS[0], sample(tmp_path, "notes-011", as_folder="other", run_id="notes-000"))
    two.read()
    done = two.commit()
    assert len(done.runs) == 1
    ((_, sentence),) = done.quarantined
    assert Reason.RUN_ID_CONFLICT.sentence in sentence
    assert sum(name.endswith("/run.json") for name in two.below("runs")) == 2
    assert len(rows(two.warehouse)["traces"]) == 1


def test_what_arrives_in_a_folder_after_it_was_read_is_not_deleted(two):
    two.arrive(demo_runs_dir() / RUNS[0])
    two.read()
    two.objects.write("inbox/notes-000/screens/1.png", b"late")
    two.commit()
    assert len(two.below("inbox")) == 3, "part of a folder is none that can be read"
    two.read()
    assert two.commit().runs == ["notes-000"]
    assert two.below("inbox") == []
    with two.warehouse.reading() as reader:
        assert reader.rows("SELECT file_name FROM core.attachments") == [("screens/1.png",)]


@pytest.mark.parametrize("again", ["all of it", "run.json"])
def test_a_folder_that_is_mended_while_its_refusal_waits_loses_nothing(placed, tmp_path, again):
    """The trace was deleted with the refusal that it was read for: it had the same content as the mended one's."""
    two = placed
    folder = sample(tmp_path)
    mended = (folder / "run.json").read_bytes()
    (folder / "run.json").write_text(json.dumps({**json.loads(mended), "app": 5}))
    two.arrive(folder)
    (result,) = two.read().values()
    assert result.run is None
    (folder / "run.json").write_bytes(mended)
    if again == "all of it":
        time.sleep(1.1)  # an object store tells whole seconds
        two.arrive(folder)
    else:
        two.objects.write("inbox/notes-000/run.json", mended)
    told = []
    done = spreading.commit(two.objects, two.writer, two.warehouse, told.append)
    assert [folder for folder, _ in done.quarantined] == ["inbox/notes-000"]
    assert any("inbox/notes-000 changed after it was read" in line for line in told)
    assert len(two.below("inbox")) == 2
    two.read()
    assert two.commit().runs == ["notes-000"]
    assert two.below("inbox") == two.below("results") == []


def test_a_trace_that_is_put_there_once_more_is_not_deleted_with_what_was_read(placed, tmp_path):
    two = placed
    folder = sample(tmp_path, app=5)
    two.arrive(folder)
    two.read()
    time.sleep(1.1)  # an object store tells whole seconds
    (trace,) = (path for path in folder.iterdir() if path.name != "run.json")
    two.objects.write(f"inbox/notes-000/{trace.name}", trace.read_bytes())
    two.commit()
    assert len(two.below("inbox")) == 2


@pytest.mark.parametrize("first", ["run.json", "trace"])
def test_a_folder_that_was_refused_half_arrived_is_a_run_once_the_rest_is_there(placed, tmp_path, first):
    two = placed
    folder = sample(tmp_path)
    files = sorted(folder.iterdir(), key=lambda path: (path.name == "run.json") is not (first == "run.json"))
    for number, path in enumerate(files):
        two.objects.write(f"inbox/notes-000/{path.name}", path.read_bytes())
        two.read()
        done = two.commit()
        assert done.runs == (["notes-000"] if number else [])
        assert len(two.below("refused")) == (0 if number else 1)
    assert two.below("inbox") == []
    assert len(two.below("runs")) == 2
    with two.warehouse.reading() as reader:
        assert reader.rows("SELECT run_id, is_quarantined FROM core.runs") == [("notes-000", False)]


def test_a_half_folder_is_put_together_with_no_whole_one_of_its_name(two, tmp_path):
    broken = sample(tmp_path, app=5)
    two.arrive(broken)
    two.read()
    two.commit()
    (trace,) = (path for path in broken.iterdir() if path.name != "run.json")
    two.objects.write(f"inbox/notes-000/{trace.name}", trace.read_bytes())
    ((reason),) = [result.reason_code for result in two.read().values()]
    assert reason == "run_json_missing"


@pytest.mark.parametrize("named", ["frame", "zshot"])
def test_more_attachments_than_are_allowed_cost_the_run_nothing_and_are_kept(two, tmp_path, named):
    folder = sample(tmp_path)
    for number in range(6):
        (folder / f"{named}{number}.png").write_bytes(str(number).encode())
    given = {path.name: path.read_bytes() for path in folder.iterdir()}
    two.arrive(folder)
    two.worker = two.worker.with_values(attachments_max_count=3)
    (result,) = two.read().values()
    assert result.reason_code is None
    assert len(result.attachments) == 3
    assert two.commit().runs == ["notes-000"]
    assert two.below("inbox") == []
    kept = {name.rpartition("/")[2]: two.objects.read(name) for name in two.below("runs") if "/results/" not in name}
    assert kept.items() >= given.items()


def worker(two, monkeypatch, *arguments):
    for name, value in (("WAREHOUSE", two.worker.warehouse), ("EXCHANGE", two.worker.exchange)):
        monkeypatch.setenv(f"PERFREG_{name}", str(value))
    return CliRunner().invoke(main, ["worker", *arguments])


def test_the_command_leaves_a_folder_alone_whose_run_json_is_still_to_come(two, tmp_path, monkeypatch):
    folder = sample(tmp_path)
    document = (folder / "run.json").read_bytes()
    (folder / "run.json").unlink()
    two.arrive(folder)
    monkeypatch.setenv("PERFREG_INBOX_SETTLE_S", "30")
    early = worker(two, monkeypatch)
    assert (early.exit_code, early.stdout.strip()) == (0, "0 folders read")
    assert "1 folder left alone until nothing changed there for 30 s" in early.stderr
    two.objects.write("inbox/notes-000/run.json", document)
    monkeypatch.setenv("PERFREG_INBOX_SETTLE_S", "0.5")
    done = worker(two, monkeypatch)
    assert "trace complete" in done.stdout
    assert two.commit().runs == ["notes-000"]


@pytest.mark.parametrize("name", ["notes-001", "inbox/notes-001", "inbox", "results/inbox/notes-000", "inbox/../inbox"])
def test_a_name_that_is_not_in_the_exchange_is_an_error_and_nothing_is_handed_over(two, monkeypatch, name):
    two.arrive(demo_runs_dir() / RUNS[0])
    done = worker(two, monkeypatch, RUNS[0], name)
    assert done.exit_code == 1
    assert f"'{name}' is not in {two.objects.url}" in done.stderr
    assert Reason.EXCHANGE_FOLDER_UNKNOWN.sentence in done.stderr
    assert not two.below("results")
    assert not two.below("refused")


@pytest.mark.parametrize("name", ["notes-000", "inbox/notes-000", "inbox/notes-000/"])
def test_a_folder_is_named_as_in_the_inbox(two, monkeypatch, name):
    two.arrive(*(demo_runs_dir() / one for one in RUNS))
    done = worker(two, monkeypatch, name)
    assert "1 folder read" in done.stdout
    assert two.commit().runs == ["notes-000"]


@pytest.mark.parametrize("command", ["worker", "commit"])
def test_a_place_that_does_not_exist_is_not_one_with_nothing_to_do(place, tmp_path, monkeypatch, command):
    kind, _, rest = place.rpartition("//")
    wrong = f"{kind}//other-{rest}" if kind else f"{place}-other"
    for name, value in (("WAREHOUSE", tmp_path / "x.duckdb"), ("EXCHANGE", wrong)):
        monkeypatch.setenv(f"PERFREG_{name}", str(value))
    done = CliRunner().invoke(main, [command])
    assert done.exit_code == 1
    assert Reason.EXCHANGE_UNAVAILABLE.sentence in done.stderr
    assert wrong in done.stderr


def test_a_run_that_is_wanted_again_is_named_by_its_id(two, monkeypatch):
    two.arrive(demo_runs_dir() / RUNS[0])
    two.read()
    two.commit()
    with two.warehouse.writing() as writer:
        settings_table.change(writer, "interval_s", "2", note="")
    two.commit()
    assert "1 folder read" in worker(two, monkeypatch, RUNS[0]).stdout
    assert two.commit().runs == [RUNS[0]]


def test_a_folder_that_another_worker_read_meanwhile_is_no_refused_run(two):
    assert two.read("inbox/notes-000") == {}
    assert two.commit().quarantined == []


@pytest.mark.parametrize("at", ["fetch 1", "fetch 2", "copy 1", "copy 2"])
def test_a_folder_that_is_finished_while_another_worker_reads_it_is_no_refused_run(two, monkeypatch, at):
    two.arrive(demo_runs_dir() / RUNS[0])
    what, _, number = at.partition(" ")
    late, met = Objects(two.writer.exchange), []
    real = getattr(late, what)

    def overtaken(*where):
        met.append(where)
        if len(met) == int(number):
            two.read()
            assert two.commit().runs == ["notes-000"]
        real(*where)

    monkeypatch.setattr(late, what, overtaken)
    assert spreading.read_folder(late, two.worker, "inbox/notes-000") is None
    assert len(met) >= int(number)
    done = two.commit()
    assert (done.runs, done.quarantined) == ([], [])
    assert two.below("inbox") == two.below("refused") == two.below("results") == []
    assert len(two.below("runs")) == 2


def test_a_folder_that_never_gets_a_run_json_is_refused_once_it_is_quiet():
    (waits,) = [Task("inbox/a", "s", 100.0, has_run_json=False)]
    assert [waits.is_ready(5.0, now) for now in (100.0, 104.9, 105.0)] == [False, False, True]
    assert waits.is_ready(5.0, 100.0 - 3600)  # by a clock that goes wrong
    whole = Task("inbox/a", "s", 100.0)
    assert [whole.is_ready(5.0, now) for now in (104.9, 105.0)] == [False, True]
    assert Task("runs/a.0", "s", 100.0).is_ready(5.0, 100.0), "what is registered is whole"
    assert whole.is_as(whole)
    assert not replace(whole, signature="t").is_as(whole)
    assert not waits.is_as(waits)


def test_the_command_reads_what_has_just_arrived_once_two_looks_are_the_same(two, tmp_path, monkeypatch):
    """With run.json first, as `tar` and most copies go by name."""
    folder = sample(tmp_path)
    (trace,) = (path for path in folder.iterdir() if path.name != "run.json")
    content = trace.read_bytes()
    trace.unlink()
    two.arrive(folder, demo_runs_dir() / RUNS[1])
    monkeypatch.setenv("PERFREG_INBOX_SETTLE_S", "30")

    def pause(seconds):
        assert 0.0 < seconds <= 30.0
        two.objects.write(f"inbox/notes-000/{trace.name}", content)

    monkeypatch.setattr(spreading_command, "time", SimpleNamespace(sleep=pause, time=time.time))
    done = worker(two, monkeypatch)
    assert "1 folder read" in done.stdout
    assert "1 folder left alone" in done.stderr
    assert two.commit().runs == [RUNS[1]]
    assert len(two.below("inbox")) == 2
    assert "refused" not in done.stdout


def test_what_killed_workers_fetched_is_removed_by_the_next_and_that_of_living_ones_kept(two, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with signed_scratch(spreading._SCRATCH) as lives:
        for _ in range(2):
            subprocess.run(
                [sys.executable, "-c", KILLED_WORKER], env={**os.environ, "TMPDIR": str(temporary)}, check=False
            )
        left, other = (path for path in temporary.iterdir() if path != lives)
        assert [path.name for path in left.iterdir()] == ["trace"]
        elsewhere = other.rename(other.with_name(other.name.replace(neighbourhood(), "00000000")))
        two.arrive(demo_runs_dir() / RUNS[0])
        two.read()
        assert set(temporary.iterdir()) == {lives, elsewhere}, "another container's numbers say nothing here"
        os.utime(elsewhere, (time.time() - 3600,) * 2)
        two.arrive(demo_runs_dir() / RUNS[1])
        two.read()
        assert list(temporary.iterdir()) == [lives]


KILLED_WORKER = """
import os, signal
from perfreg_assets.automation import spreading
from perfreg_assets.model.places_health import signed_scratch

with signed_scratch(spreading._SCRATCH) as folder:
    (folder / "trace").write_bytes(b"1")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_names_that_lead_out_of_the_folder_lead_nowhere(bucket, tmp_path, read_once, monkeypatch):
    monkeypatch.setattr(inspecting, "read_trace", read_once)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "here" / "below"))
    (tmp_path / "here" / "below").mkdir(parents=True)
    two = Two(tmp_path, bucket)
    two.arrive(demo_runs_dir() / RUNS[0])
    two.objects.write("inbox/notes-000/../../../escaped", b"1")
    found = two.read("inbox/notes-000")
    assert any("escaped" in note for note in found["inbox/notes-000"].notes)
    assert found["inbox/notes-000"].run is not None
    assert list(tmp_path.rglob("escaped")) == []


def test_names_that_no_file_can_have_are_their_folders_own_affair(bucket, tmp_path, read_once, monkeypatch):
    """Keys of an object store: one that another begins with, and one that is too long."""
    monkeypatch.setattr(inspecting, "read_trace", read_once)
    two = Two(tmp_path, bucket)
    two.objects.write("inbox/aaa-bad/shots", b"1")
    two.objects.write("inbox/aaa-bad/shots/1.png", b"1")
    two.objects.write(f"inbox/notes-000/{'x' * 300}.png", b"1")
    two.arrive(*(demo_runs_dir() / run for run in RUNS))
    found = two.read()
    assert found["inbox/aaa-bad"].reason_code == "run_json_missing"
    assert any("shots" in note for note in found["inbox/aaa-bad"].notes)
    assert [note[-18:] for note in found["inbox/notes-000"].notes] == [": File name too long"[-18:]]
    assert sorted(two.commit().runs) == sorted(RUNS)
    assert two.below("inbox") == []
    assert sum("xxx" in name for name in two.below("runs")) == 1


def test_markers_of_folders_and_keys_that_are_no_names_make_no_run_a_refused_one(
    bucket, tmp_path, read_once, monkeypatch
):
    """As consoles of object stores write them, and a joined path with a slash too many."""
    monkeypatch.setattr(inspecting, "read_trace", read_once)
    two = Two(tmp_path, bucket)
    for name, content in {
        "": b"", "notes-000/": b"", "notes-000/screens/": b"", "notes-000//shot.png": b"1", "notes-000/../up.png": b"2",
        "made-in-advance/": b"", "/nameless": b"",
    }.items():  # fmt: skip
        two.objects.filesystem.call_s3(
            "put_object", Bucket=bucket.split("/")[2], Key=f"perfreg/inbox/{name}", Body=content
        )
    two.arrive(demo_runs_dir() / RUNS[0])
    assert [task.folder for task in spreading.waiting(two.objects)] == ["inbox/notes-000"]
    assert two.read("inbox/made-in-advance") == {}
    two.read()
    done = two.commit()
    assert (done.runs, done.quarantined) == (["notes-000"], [])
    assert two.below("inbox") == ["inbox/", "inbox//nameless", "inbox/made-in-advance/"]
    assert spreading.waiting(two.objects) == []
    assert [two.objects.read(name) for name in two.below("runs") if "/odd_names/" in name] == [b"1", b"2"]
    assert spreading.fetch_run(two.objects, two.writer, two.warehouse, "notes-000")


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), Rejected(Reason.HOST_NO_SPACE, "/tmp")])
def test_a_folder_that_fails_is_told_and_holds_up_no_other(two, monkeypatch, error):
    two.arrive(*(demo_runs_dir() / run for run in RUNS))
    read = spreading.read_folder

    def read_folder(objects, settings, folder, *others):
        if folder == "inbox/notes-000":
            raise error
        return read(objects, settings, folder, *others)

    monkeypatch.setattr(spreading, "read_folder", read_folder)
    with pytest.raises(Rejected, match=r"1 of 3 folders not read, the first is inbox/notes-000") as told:
        two.read()
    assert told.value.reason in (Reason.FOLDER_FAILED, Reason.HOST_NO_SPACE)
    assert sorted(two.commit().runs) == sorted(RUNS[1:])
    assert [task.folder for task in spreading.waiting(two.objects)] == ["inbox/notes-000"]


def test_an_exchange_that_stops_to_answer_is_not_asked_for_every_folder(two, monkeypatch):
    two.arrive(*(demo_runs_dir() / run for run in RUNS))
    monkeypatch.setattr(inspecting, "usable_cores", lambda: 1)
    asked = []
    find = two.objects.filesystem.find

    def away(path, **how):
        asked.append(path)
        if len(asked) > 2:
            raise OSError(111, "Connection refused")
        return find(path, **how)

    wanted = [task.folder for task in spreading.waiting(two.objects)]
    monkeypatch.setattr(two.objects.filesystem, "find", away)
    with pytest.raises(Rejected) as told:
        two.read(*wanted)
    assert told.value.reason is Reason.EXCHANGE_UNAVAILABLE
    assert sum("/inbox/" in path for path in asked) == 2


def test_what_killed_processes_left_beside_no_result_is_swept_a_day_later(two, monkeypatch):
    two.objects.write("results/inbox/a/series-0.parquet", b"x")
    two.commit()
    assert two.below("results") == ["results/inbox/a/series-0.parquet"]
    monkeypatch.setattr(handover, "_LEFTOVER_S", -1.0)
    two.commit()
    assert two.below("results") == []


def test_a_trace_that_somebody_opens_is_fetched(two):
    two.arrive(demo_runs_dir() / RUNS[0])
    two.read()
    two.commit()
    fetch = functools.partial(spreading.fetch_run, two.objects, two.writer, two.warehouse)
    with serve.open_socket(0) as listener:
        server = serve.make_server(two.writer, listener, fetch=fetch)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            assert status(f"{address}/traces/notes-999") == 404
            assert status(f"{address}/traces/notes-000", host="evil.example") >= 400
            assert not two.writer.runs_dir.exists()
            with urllib.request.urlopen(f"{address}/traces/notes-000", timeout=30) as answer:
                content = answer.read()
        finally:
            server.should_exit = True
            thread.join(30)
    assert content == (demo_runs_dir() / "notes-000" / "trace.perfetto-trace.gz").read_bytes()
    assert [path.name for path in two.writer.runs_dir.iterdir()] == ["notes-000"]


def status(address, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_without_an_exchange_it_is_said_so(tmp_path):
    with pytest.raises(Rejected) as caught:
        spreading.exchange(Settings(warehouse=tmp_path / "x.duckdb"))
    assert caught.value.reason is Reason.EXCHANGE_UNSET


@given(st.lists(st.text(max_size=8), unique=True), st.integers(1, 5))
def test_shares_are_a_partition(folders, count):
    parts = [spreading.share(folders, number, count) for number in range(1, count + 1)]
    assert sorted(chain.from_iterable(parts)) == sorted(folders)


# ---- what the sensor asks for --------------------------------------------------------------------
def asked(tasks, before=None, *, free=2, most=20, now=1000.0):
    """Names of the folders of each run."""
    requests = spread(tasks, before or {}, free=free, most=most, settle_s=5, now=now)
    return [[task.folder for task in request] for request in requests]


def tasks(*names, changed_at=0.0):
    return [Task(name, "s", changed_at) for name in names]


def test_what_arrived_is_shared_evenly_by_the_workers_that_are_free():
    assert asked(tasks(*"abcdef"), free=2) == [["a", "b", "c"], ["d", "e", "f"]]
    assert asked(tasks(*"abcdef"), free=2, most=2) == [["a", "b"], ["c", "d"]]
    assert asked(tasks(*"ab"), free=0) == []
    assert asked(tasks(*"ab"), free=-1) == []
    assert asked([]) == []


def test_a_folder_that_changed_just_now_waits_and_a_clock_far_in_the_future_keeps_nothing_out():
    assert asked(tasks("a", changed_at=997.0)) == []
    assert asked(tasks("a", changed_at=1001.0)) == []
    assert asked(tasks("a", changed_at=994.0)) == [["a"]]
    assert asked(tasks("a", changed_at=99_999.0)) == [["a"]]


def test_what_a_worker_lost_is_asked_for_again_after_a_pause_and_later_alone():
    a, b = tasks(*"ab")
    once = {digest_of(one): Asked(1, 1000.0) for one in (a, b)}
    assert asked([a, b], once, now=1001.0) == []
    assert asked([a, b], once, free=1, now=1010.0) == [["a", "b"]]
    twice = {digest_of(one): Asked(2, 1000.0) for one in (a, b)}
    assert asked([a, b], twice, free=3, now=1010.0) == []
    assert asked([a, b, *tasks("c")], twice, free=3, now=1020.0) == [["c"], ["a"], ["b"]]


def test_another_content_is_another_folder():
    (a,) = tasks("a")
    assert asked([replace(a, signature="other")], {digest_of(a): Asked(7, 999.0)}) == [["a"]]
