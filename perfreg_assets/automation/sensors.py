"""Sensors: the inbox is watched, and automation conditions are evaluated."""

import hashlib
import time
from pathlib import Path
from typing import Any

import dagster as dg

from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.automation import inbox
from perfreg_assets.automation.jobs import ingest_runs
from perfreg_assets.automation.quarantine import quarantine_folders
from perfreg_assets.collection.run_folder import read_run_folder
from perfreg_assets.partitions import to_key
from perfreg_assets.reasons import Rejected


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


automation = dg.AutomationConditionSensorDefinition(
    "automation",
    target=dg.AssetSelection.all(),
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=5,
)


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
