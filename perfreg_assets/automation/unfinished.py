"""Dagster's own runs: those that are queued or running, and what was asked for with the latest ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import dagster as dg

from perfreg_assets.automation import asking

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


def recent(instance: dg.DagsterInstance, sensor: str) -> Sequence[dg.RunRecord]:
    """The latest runs that the sensor asked for."""
    return instance.get_run_records(dg.RunsFilter(tags={"dagster/sensor_name": sensor}), limit=asking.RECENT_RUNS)


def earlier(records: Iterable[dg.RunRecord]) -> dict[str, asking.Asked]:
    """Digest → how it was asked for with these runs."""
    return asking.earlier((record.dagster_run.tags, record.create_timestamp.timestamp()) for record in records)
