"""Dagster keeps every run and all its events for ever; this forgets the old ones, and never what a partition's state in
the UI rests on.

Deleting a run deletes its materialisations with it: a partition whose latest one goes counts as missing from then on.
So a run that some partition was last materialised by stays, with those events; its log is shortened where it has a file
of its own (SQLite). So does the run of a build's session: without it the session would be asked for again. Runs of
other code locations are left alone, and those that people launched for assets by hand.
"""

import logging
import re
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
from dagster._core.storage.tags import RUN_KEY_TAG

from perfreg_assets.assets.project import Project
from perfreg_assets.assets.telling import TOLD_AGAIN
from perfreg_assets.automation.new_builds import KEY_PREFIX
from perfreg_assets.partitions import DIMENSION, RANGE_END, RANGE_START

JOB = "forget_old_runs"
_AT_ONCE = 500
_SHORT_BYTES = 64 << 10
_WAIT_S = 2.0
_YOUNG_S = 86_400.0
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What Dagster calls runs; its index, and the log of what belongs to no run, lie beside their logs."""
_HOW_IT_WENT = "PIPELINE_%"
_LOG = logging.getLogger(__name__)
_FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


@dataclass
class Forgotten:
    """`runs`: deleted. `logs`: shortened, of runs that stay."""

    runs: int = 0
    logs: int = 0


def forget(instance: dg.DagsterInstance, job_names: Iterable[str], *, days: float, kept: int) -> Forgotten:
    """Forgets finished runs of these jobs that are older than `days`, and the oldest beyond the latest `kept`."""
    records = [
        record
        for name in job_names
        for record in instance.get_run_records(dg.RunsFilter(job_name=name, statuses=_FINISHED))
    ]
    records.sort(key=lambda record: record.create_timestamp, reverse=True)
    oldest = datetime.now(UTC) - timedelta(days=days)
    old = [
        record.dagster_run
        for place, record in enumerate(records)
        if place >= kept or record.create_timestamp.replace(tzinfo=UTC) < oldest
    ]
    of_builds = {run.run_id for run in old if run.tags.get(RUN_KEY_TAG, "").startswith(KEY_PREFIX)}
    made = {run.run_id: _partitions(instance, run) for run in old if run.run_id not in of_builds}
    stay = of_builds | _holding(instance, {key for keys in made.values() for key in keys})
    result = Forgotten()
    for run in old:
        log = _log_file(instance, run.run_id)
        if run.run_id not in stay:
            instance.compute_log_manager.delete_logs(prefix=[run.run_id])
            instance.delete_run(run.run_id)
            if log is not None:
                _unlink(log)
            result.runs += 1
        elif (
            log is not None
            and (_is_of_its_range(run) or run.run_id in of_builds)
            and log.exists()
            and log.stat().st_size > _SHORT_BYTES
            and _shorten(log)
        ):
            result.logs += 1
            instance.compute_log_manager.delete_logs(prefix=[run.run_id])
    for log in _of_no_run(instance):
        _unlink(log)
    return result


def _unlink(log: Path) -> None:
    for path in (log, log.with_name(f"{log.name}-wal"), log.with_name(f"{log.name}-shm")):
        path.unlink(missing_ok=True)


def _of_no_run(instance: dg.DagsterInstance) -> list[Path]:
    """Logs of runs that are gone: where a night is killed between the two. Not young ones, whose run may be about to be
    stored."""
    beside = _log_file(instance, "any")
    if beside is None:
        return []
    quiet = time.time() - _YOUNG_S
    logs = [path for path in beside.parent.glob("*.db") if _UUID.fullmatch(path.stem) and path.stat().st_mtime < quiet]
    known = set(instance.get_run_ids()) if logs else set()
    return [log for log in logs if log.stem not in known]


def _shorten(log: Path) -> bool:
    """Leaves of a run's log how it went, and the tables, small ones. Not while another process has the file open, as
    the web server may for days; whether it was done."""
    with closing(sqlite3.connect(log, timeout=_WAIT_S, isolation_level=None)) as connection:
        try:
            connection.execute(
                "DELETE FROM event_logs WHERE dagster_event_type IS NULL OR dagster_event_type NOT LIKE ?",
                [_HOW_IT_WENT],
            )
            connection.execute("PRAGMA journal_mode = DELETE")  # pages cannot get another size in WAL mode
            connection.execute("PRAGMA page_size = 512")
            connection.execute("VACUUM")
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            _LOG.info("%s is in use: it is shortened another night", log)
            return False
    return True


def _partitions(instance: dg.DagsterInstance, run: dg.DagsterRun) -> set[str]:
    """The partitions that a run may have materialised: by its tags, or by what it logged."""
    if _is_of_its_range(run):
        order = list(instance.get_dynamic_partitions(DIMENSION))
        first, last = run.tags[RANGE_START], run.tags[RANGE_END]
        if first not in order or last not in order:
            return set()
        return set(order[order.index(first) : order.index(last) + 1])
    logged = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    return {entry.dagster_event.partition for entry in logged if entry.dagster_event and entry.dagster_event.partition}


def _is_of_its_range(run: dg.DagsterRun) -> bool:
    """Whether a run's tags say all that it may have materialised, so that its log need not."""
    return RANGE_START in run.tags and TOLD_AGAIN not in run.tags


def _holding(instance: dg.DagsterInstance, partitions: set[str]) -> set[str]:
    """The runs that made the latest materialisation of an asset, or of one of these partitions of it."""
    found: set[str] = set()
    order = sorted(partitions)
    for asset in instance.get_asset_keys():
        latest = instance.get_latest_materialization_event(asset)
        found |= {latest.run_id} if latest is not None else set()
        for some in (order[at : at + _AT_ONCE] for at in range(0, len(order), _AT_ONCE)):
            ids = instance.get_latest_storage_id_by_partition(
                asset, dg.DagsterEventType.ASSET_MATERIALIZATION, partitions=set(some)
            )
            if ids:
                wanted = dg.AssetRecordsFilter(asset_key=asset, storage_ids=list(ids.values()))
                found |= {record.run_id for record in instance.fetch_materializations(wanted, limit=len(ids)).records}
    return found


def _log_file(instance: dg.DagsterInstance, run_id: str) -> Path | None:
    """SQLite's file of a run, which deleting the run's events leaves at its size; None in other storages."""
    path_for_shard = getattr(instance.event_log_storage, "path_for_shard", None)
    return Path(path_for_shard(run_id)) if path_for_shard else None


def forgetting(jobs: Sequence[str]) -> tuple[dg.JobDefinition, dg.ScheduleDefinition]:
    """The job, and the schedule that starts it every night.

    Args:
        jobs: names of the jobs whose runs are forgotten; its own are as well.
    """

    @dg.op(description="Deletes old Dagster runs with their events; settings dagster_days_kept and dagster_runs_kept.")
    def forget_runs(context: dg.OpExecutionContext, project: Project) -> None:
        settings = project.settings()
        done = forget(context.instance, [*jobs, JOB], days=settings.dagster_days_kept, kept=settings.dagster_runs_kept)
        context.log.info("%d runs forgotten, the logs of %d others shortened", done.runs, done.logs)

    @dg.job(name=JOB, description="Forgets old Dagster runs; what the state of a partition rests on stays.")
    def job() -> None:
        forget_runs()

    schedule = dg.ScheduleDefinition(
        name="nightly_forgetting",
        job=job,
        cron_schedule="17 3 * * *",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Starts forget_old_runs every night.",
    )
    return job, schedule
