"""Workers under Dagster: each run reads some folders of the exchange, and knows no warehouse.

The sensor asks for a folder until it has a result: what a killed worker had not handed over is asked for again.
"""

import time
from collections.abc import Mapping, Sequence

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.automation import asking, spreading
from perfreg_assets.automation.spreading import Task
from perfreg_assets.automation.unfinished import earlier, give_up_without_process, recent, unfinished

READ_JOB, READ_OP = "read_traces", "read_folders"
WORK_TAG = "perfreg/work"
"""What dagster.yaml limits how many runs go on by: `traces` or `results`."""
MAX_RUNTIME_TAG = "dagster/max_runtime"


class ReadConfig(dg.Config):
    """Folders of the exchange, `inbox/…` or `runs/…`."""

    folders: list[str]


@dg.op(
    name=READ_OP,
    description="Looks at runs and their traces as an ingest does, and hands the results to the writer.",
)
def read_folders(context: dg.OpExecutionContext, config: ReadConfig, project: Project) -> None:
    settings = project.settings()
    found = spreading.read_folders(spreading.exchange(settings), settings, config.folders, context.log.info)
    context.add_output_metadata(
        {
            "folders": len(config.folders),
            "read_now": len(found),
            "complete": sum(result.trace is not None and result.trace.is_complete for result in found.values()),
            **{
                f"seconds_{part}": sum(result.seconds.get(part, 0.0) for result in found.values())
                for part in ("file", "engine", "series")
            },
        }
    )


# A step in a process of its own: a trace engine that takes it along leaves the run to say so.
@dg.job(name=READ_JOB, executor_def=dg.multiprocess_executor, tags={WORK_TAG: "traces"})
def read_traces() -> None:
    """Traces → series, in a process that needs the exchange only."""
    read_folders()


@dg.sensor(
    name="arrivals",
    job=read_traces,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Spreads the folders of the exchange that have no result yet over worker runs.",
)
def arrivals(context: dg.SensorEvaluationContext, project: Project) -> dg.SensorResult:
    settings = project.settings()
    if not settings.exchange:
        return dg.SensorResult(skip_reason=dg.SkipReason("no exchange is named"))
    give_up_without_process(context)
    records = unfinished(context.instance, READ_JOB)
    busy = {one for record in records for one in asking.of_tags(record.dagster_run.tags)}
    tasks = spreading.waiting(spreading.exchange(settings))
    requests = spread(
        [task for task in tasks if digest_of(task) not in busy],
        earlier(recent(context.instance, "arrivals")) if tasks else {},
        free=settings.workers - len(records),
        most=settings.worker_folders,
        settle_s=settings.inbox_settle_s,
        now=time.time(),
    )
    limit = str(round(settings.worker_timeout_s))
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_config={"ops": {READ_OP: {"config": {"folders": [task.folder for task in request]}}}},
                tags={MAX_RUNTIME_TAG: limit, **asking.tags(digest_of(task) for task in request)},
            )
            for request in requests
        ],
        skip_reason=None if requests else dg.SkipReason(f"{len(tasks)} folders wait, {len(records)} runs are reading"),
    )


def spread(
    tasks: Sequence[Task],
    asked: Mapping[str, asking.Asked],
    *,
    free: int,
    most: int,
    settle_s: float,
    now: float,
) -> list[list[Task]]:
    """What each worker run is to be asked for now.

    What arrived is shared evenly by the workers that are free. A folder that was asked for before without a result is
    asked for after a pause that grows; from the second time on alone, because what kills its worker is then perhaps the
    folder itself, and takes no other along.

    Args:
        tasks: that no worker run has.
        asked: digest → how it was asked for before.
        free: how many more worker runs there may be.
        most: folders of one run.
    """
    new: list[Task] = []
    again: list[Task] = []
    for task in tasks:
        before = asked.get(digest_of(task))
        if task.is_quiet(settle_s, now) and (before is None or now >= before.again_at):
            (again if before is not None and before.count > 1 else new).append(task)
    free = max(free, 0)
    size = min(most, -(-len(new) // free)) if free and new else 1
    batches = [new[at : at + size] for at in range(0, len(new), size)]
    return [*batches, *([task] for task in again)][:free]


def digest_of(task: Task) -> str:
    """What a request for the folder with just these files is known by."""
    return asking.digest("read", task.folder, task.signature)
