"""Dagster's own runs: those that are queued or running, and what was asked for with the latest ones."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import dagster as dg

from perfreg_assets.automation import asking
from perfreg_assets.automation.run_launcher import call_failed, gone_worker
from perfreg_assets.partitions import DIMENSION, RANGE_END, RANGE_START

UNFINISHED = (
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


def unfinished(instance: dg.DagsterInstance, job_name: str) -> Sequence[dg.RunRecord]:
    """Runs of the job that are queued or running."""
    return instance.get_run_records(dg.RunsFilter(job_name=job_name, statuses=list(UNFINISHED)))


_BEGUN = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)
_PARTITION = "dagster/partition"
_WAITED_FOR = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.CANCELING]
FUTURE_S = 60.0
"""A run that was launched so much later than now was launched by a clock that has been set back since."""


def give_up_launched_in_the_future(instance: dg.DagsterInstance, *, now: float) -> list[str]:
    """Runs that a clock that was ahead made or launched and that have not begun are called failed, those that it began
    to cancel cancelled; their ids.

    Dagster gives up a run whose process never said anything when it was launched long ago: one that was launched in an
    hour is waited for so long, and holds its versions and one of the few places for runs. A process that does begin
    after all finds that its run is over and ends.

    Args:
        now: Unix seconds.
    """
    records = instance.get_run_records(dg.RunsFilter(statuses=_WAITED_FOR))
    found = [one.dagster_run for one in records if one.update_timestamp.timestamp() > now + FUTURE_S]
    for run in found:
        if run.status is dg.DagsterRunStatus.CANCELING:
            instance.report_run_canceled(run, "It was being cancelled when the clock was set back.")
        else:
            instance.report_run_failed(run, "It was launched in the future: the clock was set back before it began.")
    return [run.run_id for run in found]


def give_up_without_process(context: dg.SensorEvaluationContext) -> None:
    """Runs of this code server that say they go on and have no process any more are called failed.

    Dagster's code server says so itself, from one thread that ends for good when the database does not answer just
    then; it forgets its runs when it is started anew; and the daemon cannot see the processes of another machine. Such
    a run would hold its work until the longest time that it may take.
    """
    instance = context.instance
    for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
        pid = gone_worker(instance, run, here=context.code_location_origin)
        if pid is not None and call_failed(instance, run.run_id, pid):
            context.log.warning("run %s has no process any more (%s) and is given up", run.run_id, pid)


def recent(instance: dg.DagsterInstance, sensor: str) -> Sequence[dg.RunRecord]:
    """The latest runs that the sensor asked for."""
    return instance.get_run_records(dg.RunsFilter(tags={"dagster/sensor_name": sensor}), limit=asking.RECENT_RUNS)


def earlier(records: Iterable[dg.RunRecord]) -> dict[str, asking.Asked]:
    """Digest → how it was asked for with these runs; by a clock that was ahead and was set back since, long ago."""
    latest = time.time() + FUTURE_S
    told = ((record.dagster_run.tags, record.create_timestamp.timestamp()) for record in records)
    return asking.earlier((tags, at if at <= latest else 0.0) for tags, at in told)


def under_way(records: Iterable[dg.RunRecord], order: Sequence[str]) -> set[str]:
    """Partitions that these runs cover."""
    place = {key: position for position, key in enumerate(order)}
    busy: set[str] = set()
    for record in records:
        tags = record.dagster_run.tags
        first, last = tags.get(RANGE_START), tags.get(RANGE_END)
        if first in place and last in place:
            busy.update(order[place[first] : place[last] + 1])
        elif _PARTITION in tags:
            busy.add(tags[_PARTITION])
    return busy


def at_work(instance: dg.DagsterInstance, job_name: str) -> set[str]:
    """Partitions that runs of the job which have begun cover. Queued ones find done what is."""
    records = instance.get_run_records(dg.RunsFilter(job_name=job_name, statuses=list(_BEGUN)))
    return under_way(records, instance.get_dynamic_partitions(DIMENSION)) if records else set()
