"""Sensors: the inbox is watched, and automation conditions are evaluated."""

import hashlib
import time

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.automation import inbox
from perfreg_assets.automation.jobs import ingest_runs
from perfreg_assets.automation.quarantine import quarantine_folders
from perfreg_assets.collection.run_folder import read_run_folder
from perfreg_assets.partitions import app_versions, to_key
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
    requests: list[dg.RunRequest] = []
    keys: set[str] = set()
    for sighting in decision.ready:
        folder = settings.inbox_dir / sighting.name
        try:
            run = read_run_folder(folder, settings)
        except Rejected as rejected:
            context.log.warning("%s will be quarantined: %s", sighting.name, rejected)
            requests.append(
                dg.RunRequest(
                    # A key is remembered for ever: the signature makes a changed folder a new request.
                    run_key=_run_key("quarantine", sighting.name, sighting.signature),
                    job_name=quarantine_folders.name,
                    run_config={"ops": {"quarantine": {"config": {"folders": [str(folder)]}}}},
                )
            )
            continue
        key = to_key(run.app, run.version_name)
        keys.add(key)
        requests.append(
            dg.RunRequest(
                run_key=_run_key("ingest", run.run_id, run.content_hash),
                job_name=ingest_runs.name,
                partition_key=key,
                run_config={"ops": {"runs": {"config": {"folders": [str(folder)]}}}},
                tags={"perfreg/run_id": run.run_id, "perfreg/folder": sighting.name[:60]},
            )
        )
    return dg.SensorResult(
        run_requests=requests,
        cursor=decision.cursor,
        dynamic_partitions_requests=[app_versions.build_add_request(sorted(keys))] if keys else [],
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


def _run_key(*parts: str) -> str:
    return f"{parts[0]}-{hashlib.sha256('|'.join(parts).encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
