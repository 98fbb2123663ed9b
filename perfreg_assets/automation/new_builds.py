"""The sensor that notices new builds: an APK in the watched folder becomes collections, one per device and repeat."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import dagster as dg
from pydantic import ValidationError

from perfreg_assets import validation
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.collecting import CollectConfig, job_name, session_run_config, session_tags
from perfreg_assets.automation.cursors import read_cursor
from perfreg_assets.collection.builds import Build, scan_builds
from perfreg_assets.reasons import Reason, Rejected

PLAN = "collection.json"
KEY_PREFIX = "collect-"
"""Of run keys: Dagster knows by its runs which ones were used, so these runs are not forgotten."""
_REPEATS = 3
_KNOWN = {"time_limit_s", "action_interval_s", "explorer", "strategy", "attempt"}
_NOT_IN_PLAN = {"app", "version_name", "apk", "serial", "repeat", "options"}
_MAX_PLAN_BYTES = 1 << 20


@dataclass(frozen=True)
class Seen:
    """The cursor: hash of the plan, and the files with what `scan_builds` knows of each."""

    plan: str = ""
    files: dict[str, list[int]] = field(default_factory=dict)


def read_plan(folder: Path) -> dict[str, Any]:
    """`collection.json` beside the APKs: configuration C and options; empty when there is none.

    Raises:
        Rejected: COLLECTION_CONFIG_INVALID, DATA_SOURCE_UNKNOWN: it is not one, or no session could be made by it.
    """
    path = folder / PLAN
    try:
        if not path.exists():
            return {}
        if path.stat().st_size > _MAX_PLAN_BYTES:
            raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"{path} is larger than {_MAX_PLAN_BYTES:,} bytes")
        plan = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"{path}: {error}") from error
    if not isinstance(plan, dict):
        raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"{path} is not a JSON object")
    try:
        _check(plan)
    except Rejected as refusal:
        raise Rejected(refusal.reason, f"{path}: {refusal.detail}") from refusal
    return plan


def _check(plan: dict[str, Any]) -> None:
    """Refuses what a session would fail by: a run that was asked for has used up its key."""
    if said_elsewhere := sorted(_NOT_IN_PLAN & plan.keys()):
        what = f"{', '.join(said_elsewhere)}: the APK says app and version, PERFREG_DEVICES the devices; take it out"
        raise Rejected(Reason.COLLECTION_CONFIG_INVALID, what)
    repeats = plan.get("repeats", _REPEATS)
    if not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 1:
        raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"repeats = {repeats!r}: expected a whole number above 0")
    kinds = get_type_hints(CollectConfig)
    for name in sorted(_KNOWN & plan.keys()):
        try:
            validation.check(kinds[name], plan[name])
        except ValidationError as error:
            what = f"{name} = {plan[name]!r}: expected {validation.problems(error)[0].expected}"
            raise Rejected(Reason.COLLECTION_CONFIG_INVALID, what) from error
    if plan.get("attempt", 0) < 0:
        raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"attempt = {plan['attempt']}: expected 0 or more")
    from perfreg_assets.collection.explorers import check_options  # noqa: PLC0415  (adbutils: only devices need it)

    check_options(CollectConfig(app="any.app", apk="any.apk", **_op_config(plan)).to_collection(None))


def _op_config(plan: dict[str, Any]) -> dict[str, Any]:
    """What a plan says of every session, as CollectConfig has it."""
    options = {name: value for name, value in plan.items() if name not in _KNOWN | {"repeats"}}
    return {**{name: plan[name] for name in _KNOWN if name in plan}, "options": options}


def requests_for(
    builds: Sequence[Build], plan: dict[str, Any], serials: Sequence[str]
) -> list[tuple[str, str, dict[str, Any]]]:
    """(run key, job name, op config) of every session that the builds ask for; pure.

    The key is the build's content, the plan (with its `attempt`), the device and the number of the repeat. Dagster
    remembers keys for ever: the same build is collected again only when the plan changes, say its `attempt`; more
    `repeats` add sessions to those that were made.
    """
    same = {name: value for name, value in plan.items() if name != "repeats"}
    of_every_session = _op_config(plan)
    requests = []
    devices: list[str | None] = [*serials] or [None]
    for build in builds:
        for serial in devices:
            for repeat in range(plan.get("repeats", _REPEATS)):
                config = {
                    **of_every_session,
                    "app": build.app,
                    "version_name": build.version_name,
                    "apk": build.path,
                    "repeat": repeat,
                }
                identity = json.dumps([build.content_hash, same, serial, repeat], sort_keys=True)
                key = f"{KEY_PREFIX}{hashlib.sha256(identity.encode()).hexdigest()[:32]}"
                requests.append((key, job_name(serial), config))
    return requests


def new_builds_sensor(jobs: Sequence[dg.JobDefinition], serials: Sequence[str]) -> dg.SensorDefinition:
    """The sensor for the devices that the project was set up with."""

    @dg.sensor(
        name="new_builds",
        jobs=list(jobs),
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Collects each new APK of the builds folder; how is said in {PLAN} beside it.",
    )
    def new_builds(context: dg.SensorEvaluationContext, project: Project) -> dg.SensorResult | dg.SkipReason:
        settings = project.settings()
        folder = settings.builds_dir
        if not folder.is_dir():
            return dg.SkipReason(f"there is no folder {folder}")
        plan = read_plan(folder)
        seen = read_cursor(context.cursor, Seen) or Seen()
        plan_hash = hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:16]
        same_plan = seen.plan == plan_hash
        scan = scan_builds(folder, seen.files, settle_s=settings.inbox_settle_s, skip_unchanged=same_plan)
        for name, refusal in scan.refused:
            context.log.warning("%s is not collected: %s", name, refusal)
        requests = requests_for(scan.builds, plan, serials)
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(
                    run_key=key, job_name=job, run_config=session_run_config(config), tags=session_tags(config)
                )
                for key, job, config in requests
            ],
            cursor=json.dumps(asdict(Seen(plan_hash, scan.seen))),
            skip_reason=None if requests else dg.SkipReason(f"no new build in {folder}"),
        )

    return new_builds
