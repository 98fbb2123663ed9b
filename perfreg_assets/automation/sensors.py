"""Sensors: the inbox is watched, and what is due is asked for."""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from perfreg_assets.assets.outstanding import Outstanding, outstanding
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.automation import inbox
from perfreg_assets.automation.jobs import ingest_runs, judge_versions
from perfreg_assets.automation.materialise import RANGE_END, RANGE_START, range_tags, ranges
from perfreg_assets.automation.quarantine import quarantine_folders
from perfreg_assets.automation.upkeep import due_requests, read_memory, write_memory
from perfreg_assets.collection.run_folder import read_run_folder
from perfreg_assets.partitions import DIMENSION, to_key
from perfreg_assets.reasons import Rejected
from perfreg_assets.warehouse.connection import Warehouse

PARTITION = "dagster/partition"
PARTITIONS_PER_RUN = 50
_UNFINISHED = (
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


@dg.sensor(
    name="run_folders",
    jobs=[ingest_runs, quarantine_folders],
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Takes new or changed run folders from the inbox once they are quiet; half-copied ones are left alone.",
)
def run_folders(context: dg.SensorEvaluationContext, project: Project) -> dg.SensorResult:
    settings = project.settings()
    decision = inbox.decide(
        inbox.look(settings.inbox_dir),
        context.cursor,
        now=time.time(),
        settle_s=settings.inbox_settle_s,
        limit=settings.inbox_folders_per_tick,
    )
    arrived: dict[str, list[tuple[str, Path]]] = {}  # partition key → (signature, folder)
    refused: list[tuple[str, Path]] = []
    for sighting in decision.ready:
        folder = settings.inbox_dir / sighting.name
        contents = f"{sighting.name}|{sighting.signature}"
        try:
            run = read_run_folder(folder, settings)
        except Rejected as rejected:
            context.log.warning("%s will be quarantined: %s", sighting.name, rejected)
            refused.append((contents, folder))
        else:
            arrived.setdefault(to_key(run.app, run.version_name), []).append((contents, folder))
    requests = [
        dg.RunRequest(
            run_key=_run_key("ingest", found),
            job_name=ingest_runs.name,
            partition_key=key,
            run_config=_folders("runs", found),
        )
        for key, found in arrived.items()
    ]
    if refused:
        requests.append(
            dg.RunRequest(
                run_key=_run_key("quarantine", refused),
                job_name=quarantine_folders.name,
                run_config=_folders("quarantine", refused),
            )
        )
    return dg.SensorResult(
        run_requests=requests,
        cursor=decision.cursor,
        dynamic_partitions_requests=[app_versions.build_add_request(sorted(arrived))] if arrived else [],
        skip_reason=None if requests else dg.SkipReason(_why_nothing(decision, settings.inbox_dir)),
    )


@dg.sensor(
    name="upkeep",
    job=judge_versions,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks for what is due (new, changed, failed or killed half-way), by its inputs, until nothing is.",
)
def upkeep(context: dg.SensorEvaluationContext, project: Project) -> dg.SensorResult:
    """One request per contiguous range of versions with the same stages due; none while a run for them is under way."""
    settings, warehouse = project.settings(), project.open()
    if not warehouse.published.exists():
        return dg.SensorResult(skip_reason=dg.SkipReason("there is no warehouse yet"))
    _publish_what_was_left(context.instance, warehouse)
    with warehouse.reading() as reader:
        found = outstanding(reader, settings)
    order = list(context.instance.get_dynamic_partitions(DIMENSION))
    unknown = [key for key in found.keys if key not in set(order)]
    order += unknown
    busy = under_way(context.instance, order, judge_versions.name)
    wanted, memory = due_requests(found, read_memory(context.cursor), busy=busy, now=time.time())
    together: dict[tuple[str, ...], list[str]] = {}
    for key in wanted:
        together.setdefault(found.of(key).assets, []).append(key)
    requests = [
        dg.RunRequest(asset_selection=[dg.AssetKey(name) for name in assets], tags=range_tags(first, last))
        for assets, keys in together.items()
        for first, last in ranges(keys, order, longest=PARTITIONS_PER_RUN)
    ]
    return dg.SensorResult(
        run_requests=requests,
        cursor=write_memory(memory),
        dynamic_partitions_requests=[app_versions.build_add_request(unknown)] if unknown else [],
        skip_reason=None if requests else dg.SkipReason(_why_idle(found, busy)),
    )


def _publish_what_was_left(instance: dg.DagsterInstance, warehouse: Warehouse) -> None:
    """A run that failed or was killed before its last step wrote what nobody can read yet."""
    if warehouse.has_unpublished and not instance.get_runs_count(dg.RunsFilter(statuses=list(_UNFINISHED))):
        warehouse.publish()


def under_way(instance: dg.DagsterInstance, order: Sequence[str], job_name: str) -> set[str]:
    """Partitions for which a run of the job is queued or running."""
    records = instance.get_run_records(dg.RunsFilter(job_name=job_name, statuses=list(_UNFINISHED)))
    place = {key: position for position, key in enumerate(order)}
    busy: set[str] = set()
    for record in records:
        tags = record.dagster_run.tags
        first, last = tags.get(RANGE_START), tags.get(RANGE_END)
        if first in place and last in place:
            busy.update(order[place[first] : place[last] + 1])
        elif PARTITION in tags:
            busy.add(tags[PARTITION])
    return busy


def _why_idle(found: Outstanding, busy: set[str]) -> str:
    if not found.keys:
        return "nothing is due"
    waiting = [key for key in found.keys if key in busy]
    if waiting:
        return f"under way: {', '.join(waiting[:5])}"
    return f"asked for before without success, asked again later: {', '.join(found.keys[:5])}"


def _why_nothing(decision: inbox.Decision, folder: object) -> str:
    if decision.waiting:
        return f"still being copied: {', '.join(decision.waiting[:5])}"
    return f"nothing new in {folder}"


def _folders(op: str, found: list[tuple[str, Path]]) -> dict[str, Any]:
    return {"ops": {op: {"config": {"folders": [str(folder) for _, folder in found]}}}}


def _run_key(kind: str, found: list[tuple[str, Path]]) -> str:
    """Dagster remembers a key for ever: it is made of the files' signatures, so a changed folder is a new request."""
    contents = "|".join(sorted(content for content, _ in found))
    return f"{kind}-{hashlib.sha256(contents.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
