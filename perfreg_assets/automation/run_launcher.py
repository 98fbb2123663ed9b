"""Dagster's launcher of runs as processes of the code server, and whether such a process is still there.

Dagster's own cannot say it: a run whose process was killed together with the code server stays "started" until the
longest time that a run may take is over, and keeps its versions from being asked for. With this one the daemon finds
out within `poll_interval_seconds` and calls the run failed; the sensor `upkeep` asks anew for what is due.
"""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from typing import Any

import dagster as dg
from dagster._core.launcher import CheckRunHealthResult, DefaultRunLauncher, WorkerStatus
from dagster._core.launcher.base import LaunchRunContext
from dagster._core.remote_origin import CodeLocationOrigin, GrpcServerCodeLocationOrigin
from dagster._core.storage.tags import GRPC_INFO_TAG

from perfreg_assets.process_life import booted_at, is_alive, neighbourhood

HOST = "perfreg/host"
"""Tag: the machine on which the run's process is."""
BOOT = "perfreg/boot"
"""Tag: which start of that machine it was, and when that was by the clock as it was then."""


def host_tags() -> dict[str, str]:
    """Says of a run that its process is on this machine."""
    tags = {HOST: socket.gethostname()}
    with suppress(OSError, StopIteration):  # no Linux
        tags[BOOT] = f"{neighbourhood()} {booted_at():.0f}"
    return tags


class RunLauncher(DefaultRunLauncher):
    """`run_launcher` in dagster.yaml."""

    def launch_run(self, context: LaunchRunContext) -> None:
        self._instance.add_run_tags(context.dagster_run.run_id, host_tags())
        super().launch_run(context)

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        pid = gone_worker(self._instance, run)
        if pid is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.NOT_FOUND, f"process {pid} is gone")


def gone_worker(
    instance: dg.DagsterInstance, run: dg.DagsterRun, *, here: CodeLocationOrigin | None = None
) -> str | None:
    """The number of the process that worked on a run and is no more; None while it works, and where that is not known:
    it said nothing yet, or is on another machine.

    Args:
        here: the code server that asks, if one does: the processes of runs that it began are on its machine.
    """
    if run.tags.get(HOST) != socket.gethostname() and not _is_begun_by(here, run):
        return None
    signed = [_signed(entry) for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)]
    workers = [one for one in signed if one is not None]
    booted = _booted_at(run)
    if not workers or any(is_alive(pid, since=at, booted=booted) for pid, at in workers):
        return None
    return str(workers[-1][0])


def call_failed(instance: dg.DagsterInstance, run_id: str, pid: str) -> bool:
    """Says of a run whose process is gone that it failed; whether it did not end by itself.

    What the process said before it ended counts: the run is asked for again, now that there is nothing more to come.
    """
    run = instance.get_run_by_id(run_id)
    if run is None or run.is_finished:
        return False
    instance.report_run_failed(run, f"Process {pid} is gone.")
    return True


def _is_begun_by(server: CodeLocationOrigin | None, run: dg.DagsterRun) -> bool:
    told = run.tags.get(GRPC_INFO_TAG)
    if told is None or not isinstance(server, GrpcServerCodeLocationOrigin):
        return False
    address = json.loads(told)
    return all(address.get(part) == getattr(server, part) for part in ("host", "port", "socket"))


def _booted_at(run: dg.DagsterRun) -> float | None:
    """When this machine was started by the clock by which the run's process signed; None where that was another start,
    or is not known."""
    which, _, at = run.tags.get(BOOT, "").partition(" ")
    return float(at) if which == neighbourhood() else None


def _signed(entry: Any) -> tuple[int, float] | None:
    """(pid, Unix seconds) of an event in which a process says who it is."""
    told = entry.dagster_event.engine_event_data.metadata.get("pid")
    return None if told is None else (int(str(told.value)), float(entry.timestamp))
