"""A run whose worker was killed is given up by the daemon, whatever else was, and asked for again within a minute."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
import time

import dagster as dg
import pytest
from dagster._core.events import EngineEventData
from dagster._core.remote_origin import GrpcServerCodeLocationOrigin
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._core.utils import make_new_run_id
from dagster._daemon.monitoring.run_monitoring import execute_run_monitoring_iteration

from perfreg_assets import process_life
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.taking_in import take_in
from perfreg_assets.automation import run_launcher, sensors
from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.run_launcher import host_tags
from perfreg_assets.automation.unfinished import FUTURE_S, give_up_launched_in_the_future
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

POLL_AND_TICK_S = 15 + 41
"""The daemon polls, then a tick that waits inside may have to end."""


class Workspace:
    """What the daemon's monitor is given; it asks a launcher that needs no code location."""

    def __init__(self, instance):
        self.instance = instance

    def create_request_context(self):
        return None


def settings_in(folder):
    return Settings(warehouse=folder / "perfreg.duckdb", run_places=(str(demo_runs_dir()),))


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """A folder with a warehouse of one registered run and a home, to be copied."""
    folder = tmp_path_factory.mktemp("installation")
    made = settings_in(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", "")  # prepare_home sets it
        prepare_home(made)
    run = str(demo_runs_dir() / "notes-000")
    (taken,) = take_in([run], made, Warehouse.of(made), logging.getLogger(), from_inbox=False)
    assert taken.rejected is None
    return folder


@pytest.fixture
def settings(installation, tmp_path):
    shutil.copytree(installation, tmp_path, dirs_exist_ok=True)
    return settings_in(tmp_path)


def tick(instance, settings):
    project = Project.of(settings)
    context = dg.build_sensor_context(instance=instance, sensor_name="upkeep", resources={"project": project})
    result = sensors.upkeep(context)
    for request in result.dynamic_partitions_requests or ():
        instance.add_dynamic_partitions(DIMENSION, list(request.partition_keys))
    return result.run_requests


def begun(instance, request, pid, **tags):
    """What the daemon makes of a request, with a worker that said who it is."""
    tags = {**request.tags, "dagster/sensor_name": "upkeep", **(tags or host_tags())}
    run = dg.DagsterRun(
        job_name=sensors.judge_versions.name, run_id=make_new_run_id(), status=dg.DagsterRunStatus.STARTED, tags=tags
    )
    instance.add_run(run)
    instance.report_engine_event("Started process for run", run, EngineEventData.in_process(pid))
    return run


def test_what_a_killed_worker_left_is_asked_for_again_within_a_minute(settings, monkeypatch):
    worker = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as instance:
        monkeypatch.setattr(sensors, "patience", lambda context: 0.0)
        assert instance.run_monitoring_poll_interval_seconds <= 15
        (request,) = tick(instance, settings)
        run = begun(instance, request, worker.pid)

        def monitored():
            assert list(execute_run_monitoring_iteration(Workspace(instance), logging.getLogger())) == [None]
            return instance.get_run_by_id(run.run_id).status

        assert monitored() is dg.DagsterRunStatus.STARTED
        assert tick(instance, settings) == []
        worker.kill()  # nobody has asked for its status: it is a zombie, as below a code server that was killed, too
        while monitored() is dg.DagsterRunStatus.STARTED:
            pass
        assert instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.FAILURE
        now = time.time()
        monkeypatch.setattr(sensors.time, "time", lambda: now + 60 - POLL_AND_TICK_S + 2)
        (again,) = tick(instance, settings)
        assert again.tags["perfreg/asked"] == request.tags["perfreg/asked"]
    worker.wait()


@pytest.mark.parametrize(("ahead_s", "is_booted_since", "expected"), [
    (86_400.0, False, "STARTED"),  # the clock was wrong when the machine was started, and was set since
    (-86_400.0, False, "STARTED"),
    (86_400.0, True, "FAILURE"),  # the number is another process's by now
])  # fmt: skip
def test_a_run_goes_on_where_the_clock_was_set_meanwhile(settings, monkeypatch, ahead_s, is_booted_since, expected):
    """When the machine was started is told by its clock: a worker seemed younger than what it had said."""
    worker = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    monkeypatch.setattr(sensors, "patience", lambda context: 0.0)
    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as instance:
        (request,) = tick(instance, settings)
        run = begun(instance, request, worker.pid)
        booted_at = process_life.booted_at()
        monkeypatch.setattr(process_life, "booted_at", lambda: booted_at + ahead_s)
        if is_booted_since:
            monkeypatch.setattr(run_launcher, "neighbourhood", lambda: "another one")
        list(execute_run_monitoring_iteration(Workspace(instance), logging.getLogger()))
        assert instance.get_run_by_id(run.run_id).status.value == expected
    worker.kill()
    worker.wait()


def server_with(port):
    return GrpcServerCodeLocationOrigin(host="writer", port=port, location_name="perfreg_assets.definitions")


@pytest.mark.parametrize(
    ("port", "since_s", "expected"), [(4000, 0, "FAILURE"), (4000, -3600, "FAILURE"), (4001, 0, "STARTED")]
)
def test_a_code_server_gives_up_its_own_runs_whose_process_is_gone(settings, monkeypatch, port, since_s, expected):
    """Found by the rehearsal: Dagster's thread for that had ended, because the database was away when it looked."""
    worker = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    monkeypatch.setattr(sensors, "patience", lambda context: 0.0)
    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as instance:

        def ticked():
            resources = {"project": Project.of(settings)}
            context = dg.SensorEvaluationContext(
                None, None, None, None, None, instance=instance, sensor_name="upkeep",
                resources={name: dg.ResourceDefinition.hardcoded_resource(one) for name, one in resources.items()},
                code_location_origin=server_with(4000),
            )  # fmt: skip
            sensors.upkeep(context)
            return instance.get_run_by_id(run.run_id).status.value

        (request,) = tick(instance, settings)
        told = json.dumps({"host": "writer", "port": port})
        now = time.time()
        monkeypatch.setattr("dagster._time.time.time", lambda: now + since_s)
        run = begun(instance, request, worker.pid, **{GRPC_INFO_TAG: told})
        monkeypatch.undo()
        monkeypatch.setattr(sensors, "patience", lambda context: 0.0)
        if since_s == 0:  # else the number is another process's by now: the machine was started anew
            assert ticked() == "STARTED"
            worker.kill()
            worker.wait()
        assert ticked() == expected
    worker.kill()
    worker.wait()


@pytest.mark.parametrize(
    ("status", "expected"), [("STARTING", "FAILURE"), ("NOT_STARTED", "FAILURE"), ("CANCELING", "CANCELED")]
)
def test_a_run_that_was_launched_before_the_clock_was_set_back_and_never_began_is_given_up(
    settings, monkeypatch, status, expected
):
    """Found by the soak: its worker was killed before it said anything, and Dagster waited for the clock. It does so
    for runs that the daemon had made and not handed on when it was killed, and for those that are being cancelled."""
    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as instance:
        monkeypatch.setattr(sensors, "patience", lambda context: 0.0)
        (request,) = tick(instance, settings)
        tags = {**request.tags, "dagster/sensor_name": "upkeep"}
        run = dg.DagsterRun(
            job_name=sensors.judge_versions.name,
            run_id=make_new_run_id(),
            status=dg.DagsterRunStatus(status),
            tags=tags,
        )
        instance.add_run(run)
        now = time.time()
        assert give_up_launched_in_the_future(instance, now=now - FUTURE_S / 2) == []
        assert tick(instance, settings) == []
        monkeypatch.setattr(sensors.time, "time", lambda: now - 5000)
        tick(instance, settings)
        assert instance.get_run_by_id(run.run_id).status.value == expected
        monkeypatch.setattr(sensors.time, "time", lambda: now + 3600)
        (again,) = tick(instance, settings)
        assert again.tags["perfreg/asked"] == request.tags["perfreg/asked"]
