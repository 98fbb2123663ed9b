"""The one writer under Dagster: takes what workers have handed over into the warehouse.

What follows from it, history to pages, is asked for by `upkeep` as on one machine.
"""

import json
import time

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.automation import asking, spreading
from perfreg_assets.automation.reading import MAX_RUNTIME_TAG, WORK_TAG
from perfreg_assets.automation.unfinished import earlier, recent, unfinished
from perfreg_assets.model import handover, profile_shelf
from perfreg_assets.model.trace_places import found_again
from perfreg_assets.objects import Objects
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.connection import Warehouse

COMMIT_JOB = "commit_results"


@dg.op(name="commit", description="Takes workers' results into the warehouse, a transaction per batch.")
def commit(context: dg.OpExecutionContext, project: Project) -> None:
    settings = project.settings()
    done = spreading.commit(spreading.exchange(settings), settings, project.open(), context.log.info)
    context.add_output_metadata(
        {"runs": len(done.runs), "quarantined": len(done.quarantined), "refused": len(done.refused)}
    )
    done.require_cleared()


@dg.job(name=COMMIT_JOB, tags={WORK_TAG: "results"}, executor_def=dg.in_process_executor)
def commit_results() -> None:
    """Results of workers → warehouse."""
    commit()


@dg.sensor(
    name="results",
    job=commit_results,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks the writer to take results that wait, and to tell workers what is to be read, and with what.",
)
def results(context: dg.SensorEvaluationContext, project: Project) -> dg.SensorResult:
    """One request at a time. Whether traces are to be read again is looked at when warehouse or code are others. The
    same results are asked for again after a pause that grows: what keeps the writer from taking them may last."""
    settings, warehouse = project.settings(), project.open()
    objects = spreading.exchange(settings)
    if unfinished(context.instance, COMMIT_JOB):
        return dg.SensorResult(skip_reason=dg.SkipReason("the writer is at work"), cursor=context.cursor)
    waiting = handover.whole_results(objects)
    state = _state(warehouse, settings)
    if not waiting and (state == context.cursor or not _is_news(warehouse, objects, settings)):
        return dg.SensorResult(skip_reason=dg.SkipReason("no result waits"), cursor=state)
    wanted = asking.digest("commit", state if not waiting else "", *(f"{one.name} {one.tag}" for one in waiting))
    before = earlier(recent(context.instance, "results")).get(wanted)
    if before is not None and time.time() < before.again_at:
        told = f"asked for {before.count} times without success, again later; the last run says why"
        return dg.SensorResult(skip_reason=dg.SkipReason(told), cursor=context.cursor)
    tags = {MAX_RUNTIME_TAG: str(round(settings.worker_timeout_s)), **asking.tags([wanted])}
    return dg.SensorResult(run_requests=[dg.RunRequest(tags=tags)], cursor=context.cursor)


def _state(warehouse: Warehouse, settings: Settings) -> str:
    """Changes whenever traces may have to be read again."""
    if not warehouse.published.exists():
        return ""
    stat = warehouse.published.stat()
    return json.dumps([stat.st_mtime_ns, stat.st_ino, code_version("traces"), sorted(settings.given)])


def _is_news(warehouse: Warehouse, objects: Objects, settings: Settings) -> bool:
    """Whether workers are to be told something."""
    if not warehouse.published.exists():
        return False
    with warehouse.reading() as reader:
        in_force = settings_table.in_force(reader, settings)
        if not handover.has_parameters(objects, in_force, profile_shelf.load(reader, in_force)):
            return True
        if found_again(reader, settings, newest_first=True):
            return True
        return bool(spreading.to_read_again(reader, objects, settings))
