"""Sensors: the inbox is watched, and what is due is asked for.

Both wait inside their ticks (`waiting`), keep a cursor of constant size, and read from Dagster's own runs what they
asked for before (`asking`).
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from perfreg_assets.assets.outstanding import STEPS, Outstanding, outstanding, witness
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.taking_in_benchmarks import is_benchmark_folder
from perfreg_assets.automation import asking, inbox, spreading
from perfreg_assets.automation.command_lock import is_command_computing
from perfreg_assets.automation.cursors import read_cursor
from perfreg_assets.automation.jobs import import_benchmarks, ingest_runs, judge_versions
from perfreg_assets.automation.materialise import range_tags, ranges
from perfreg_assets.automation.quarantine import quarantine_folders
from perfreg_assets.automation.unfinished import (
    FUTURE_S,
    UNFINISHED,
    earlier,
    give_up_launched_in_the_future,
    give_up_without_process,
    recent,
    under_way,
    unfinished,
)
from perfreg_assets.automation.upkeep import digest_of, due_requests
from perfreg_assets.automation.versions_without_runs import tell_of_versions_without_runs
from perfreg_assets.automation.waiting import patience, wait_for
from perfreg_assets.benchmarks.taking_in import read_document
from perfreg_assets.collection.inbox import Sighting, look
from perfreg_assets.collection.run_folder import read_run_folder
from perfreg_assets.partitions import DIMENSION, to_key
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import states
from perfreg_assets.warehouse.connection import Warehouse

PARTITIONS_PER_RUN = 50
PARTITIONS_PER_QUICK_RUN = 200
"""Where no trace is to be read."""
REQUESTS_PER_TICK = 20
_LOOK_S = 5.0
_COMMAND = "a command computes what is due; what it leaves is asked for when it has ended"


# ---- the inbox -----------------------------------------------------------------------------------
@dg.sensor(
    name="run_folders",
    jobs=[judge_versions, ingest_runs, import_benchmarks, quarantine_folders],
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Takes new or changed run folders from the inbox once they are quiet; half-copied ones are left alone.",
)
def run_folders(context: dg.SensorEvaluationContext, project: Project) -> dg.SensorResult:
    """One request per contiguous range of versions. Those that are being judged are registered now, and judged by
    `upkeep` afterwards."""
    settings = project.settings()
    watch = _Inbox(context, settings)
    wait_for(watch.has_arrivals, settings, seconds=patience(context))
    decision = watch.decision
    arrived: dict[str, list[Sighting]] = {}
    measured: dict[str, list[Sighting]] = {}
    refused: list[Sighting] = []
    for sighting in decision.ready:
        folder = settings.inbox_dir / sighting.name
        is_benchmark = is_benchmark_folder(folder)
        try:
            key = _partition_of_benchmarks(folder) if is_benchmark else _partition_of_run(folder, settings)
        except Rejected as rejected:
            context.log.warning("%s will be quarantined: %s", sighting.name, rejected)
            refused.append(sighting)
        else:
            (measured if is_benchmark else arrived).setdefault(key, []).append(sighting)
    order = list(context.instance.get_dynamic_partitions(DIMENSION)) if arrived or measured else []
    unknown = sorted((arrived.keys() | measured.keys()) - set(order))
    order += unknown
    busy = under_way(unfinished(context.instance, judge_versions.name), order) if arrived else set[str]()
    requests = [
        _taking(job.name, "runs", [one for key in keys for one in arrived[key]], settings, range_tags(first, last))
        for job, wanted in ((judge_versions, arrived.keys() - busy), (ingest_runs, arrived.keys() & busy))
        for first, last, keys in ranges(wanted, order, longest=PARTITIONS_PER_RUN)
    ]
    requests += [
        _taking(
            import_benchmarks.name,
            "benchmark_results",
            [one for key in keys for one in measured[key]],
            settings,
            range_tags(first, last),
        )
        for first, last, keys in ranges(measured, order, longest=PARTITIONS_PER_RUN)
    ]
    if refused:
        requests.append(_taking(quarantine_folders.name, "quarantine", refused, settings, {}))
    return dg.SensorResult(
        run_requests=requests,
        cursor=decision.cursor,
        dynamic_partitions_requests=[app_versions.build_add_request(unknown)] if unknown else [],
        skip_reason=None if requests else dg.SkipReason(_why_nothing(decision, settings.inbox_dir)),
    )


def _partition_of_run(folder: Path, settings: Settings) -> str:
    run = read_run_folder(folder, settings)
    return to_key(run.app, run.version_name)


def _partition_of_benchmarks(folder: Path) -> str:
    origin = read_document(folder).origin
    return to_key(origin.app or "", origin.version_name or "")


class _Inbox:
    """Looks at the inbox: at its own time stamp each time, at every folder in it when that or a folder changes."""

    def __init__(self, context: dg.SensorEvaluationContext, settings: Settings) -> None:
        self._context, self._settings = context, settings
        self._looked_at, self._stamp = float("-inf"), 0
        self.decision = inbox.Decision((), "{}")

    def has_arrivals(self) -> bool:
        stamp = _stamp(self._settings.inbox_dir)
        if self.decision.waiting or stamp != self._stamp or time.monotonic() - self._looked_at >= _LOOK_S:
            self._stamp, self._looked_at = stamp, time.monotonic()
            self.decision = self._decide()
        return bool(self.decision.ready)

    def _decide(self) -> inbox.Decision:
        folder = self._settings.inbox_dir
        sightings = look(folder)
        is_new = any(not one.is_done for one in sightings)
        may_leave = os.access(folder, os.W_OK | os.X_OK, effective_ids=True)
        return inbox.decide(
            sightings,
            self._context.cursor,
            now=time.time(),
            settle_s=self._settings.inbox_settle_s,
            limit=self._settings.inbox_folders_per_tick,
            asked=_not_yet_again(self._context.instance, "run_folders", also_done=not may_leave)
            if is_new
            else frozenset[str](),
        )


def _stamp(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _not_yet_again(instance: dg.DagsterInstance, sensor: str, *, also_done: bool = False) -> set[str]:
    """Digests of what the sensor asked for that is under way, or waits after runs without success.

    Args:
        also_done: and of what was done, where what was asked for is still there: it can neither leave nor be noted.
    """
    records = recent(instance, sensor)
    settled = {*UNFINISHED, *([dg.DagsterRunStatus.SUCCESS] if also_done else [])}
    pending = {
        one
        for record in records
        if record.dagster_run.status in settled
        for one in asking.of_tags(record.dagster_run.tags)
    }
    now = time.time()
    return pending | {one for one, before in earlier(records).items() if now < before.again_at}


def _taking(
    job_name: str, op: str, found: Sequence[Sighting], settings: Settings, tags: Mapping[str, str]
) -> dg.RunRequest:
    folders = [str(settings.inbox_dir / one.name) for one in found]
    config: dict[str, Any] = {"folders": folders, **({} if op == "quarantine" else {"from_inbox": True})}
    return dg.RunRequest(
        job_name=job_name,
        run_config={"ops": {op: {"config": config}}},
        tags={**tags, **asking.tags(inbox.digest_of(one) for one in found)},
    )


def _why_nothing(decision: inbox.Decision, folder: object) -> str:
    if decision.waiting:
        return f"still being copied: {', '.join(decision.waiting[:5])}"
    return f"nothing new in {folder}"


# ---- what is due ---------------------------------------------------------------------------------
@dataclass(frozen=True)
class Seen:
    """The cursor of `upkeep`: under which circumstances there was nothing to ask for.

    Attributes:
        witness: of warehouse, settings, code and pages (`assets.outstanding.witness`).
        runs: hash of the unfinished runs where something waits for them.
        until: when what failed may be asked for again (Unix seconds).
    """

    witness: str
    runs: str | None = None
    until: float | None = None

    @classmethod
    def read(cls, cursor: str | None) -> Seen | None:
        """None for no cursor, and for one that cannot be read."""
        return read_cursor(cursor, cls)

    def holds(self, instance: dg.DagsterInstance, settings: Settings, warehouse: Warehouse) -> bool:
        """Whether a look now would find nothing else."""
        if is_left(instance, warehouse):
            return False
        if self.witness != witness(settings) or (self.until is not None and not self._is_pause_on()):
            return False
        return self.runs is None or self.runs == _hash_of(unfinished(instance, judge_versions.name))

    def _is_pause_on(self) -> bool:
        """No pause is longer than the longest: one that is was begun by a clock that has been set back since."""
        left_s = (self.until or 0.0) - time.time()
        return 0.0 < left_s <= asking.LONGEST_PAUSE_S + FUTURE_S


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
    give_up_without_process(context)
    for run_id in give_up_launched_in_the_future(context.instance, now=time.time()):
        context.log.warning("run %s was launched in the future and is given up", run_id)
    seen = Seen.read(context.cursor)

    def is_to_look() -> bool:
        if is_command_computing(settings):
            return False
        return seen is None or not seen.holds(context.instance, settings, warehouse)

    if not wait_for(is_to_look, settings, seconds=patience(context)):
        why = _COMMAND if is_command_computing(settings) else "nothing changed since the last look"
        return dg.SensorResult(cursor=context.cursor, skip_reason=dg.SkipReason(why))
    before = witness(settings)
    if not warehouse.published.exists():
        return dg.SensorResult(cursor=_cursor(Seen(before)), skip_reason=dg.SkipReason("there is no warehouse yet"))
    if is_left(context.instance, warehouse):
        warehouse.publish()
    warehouse.catch_up()
    before = witness(settings)
    records = unfinished(context.instance, judge_versions.name)  # one that ends meanwhile was met half done
    with warehouse.reading() as reader:
        tell_of_versions_without_runs(context.instance, reader)
        found, there = outstanding(reader, settings), states.partitions(reader)
        if settings.exchange:  # what lies there is read by workers
            found = found.without({row.run_id for row in spreading.read_elsewhere(reader, settings, found.due)})
    order = list(context.instance.get_dynamic_partitions(DIMENSION))
    # Also those of which nothing is due, and that somebody deleted: whoever asks for all means the whole history.
    known = set(order)
    unknown = [key for key in dict.fromkeys([*there, *sorted(found.keys)]) if key not in known]
    order += unknown
    added = [app_versions.build_add_request(unknown)] if unknown else []
    if not found.keys:
        return dg.SensorResult(
            cursor=_cursor(Seen(before, _hash_of(records) if records else None)),
            dynamic_partitions_requests=added,
            skip_reason=dg.SkipReason("nothing is due"),
        )
    if is_command_computing(settings):  # it began during the look
        return dg.SensorResult(
            cursor=context.cursor, dynamic_partitions_requests=added, skip_reason=dg.SkipReason(_COMMAND)
        )
    begun = unfinished(context.instance, judge_versions.name)
    records = list({one.dagster_run.run_id: one for one in (*records, *begun)}.values())
    busy = under_way(records, order)
    if records:  # each ends by writing pages; those that wait still are asked for afterwards
        busy |= {key for key in found.keys if not found.of(key).due}
    wanted, again_at = due_requests(found, earlier(recent(context.instance, "upkeep")), busy=busy, now=time.time())
    requests = due_runs(found, wanted, order)[:REQUESTS_PER_TICK]
    return dg.SensorResult(
        run_requests=requests,
        # After requests there is another look: what they make busy is not known yet.
        cursor=_cursor(Seen(before, "asked" if requests else _hash_of(records), again_at)),
        dynamic_partitions_requests=added,
        skip_reason=None if requests else dg.SkipReason(_why_idle(found, busy)),
    )


def due_runs(found: Outstanding, wanted: Sequence[str], order: Sequence[str]) -> list[dg.RunRequest]:
    """A request per contiguous range of the wanted partitions with the same steps due; where these are pages alone, for
    the first range only: it writes all pages.

    Args:
        order: all partitions, as Dagster has them.
    """
    together: dict[tuple[str, ...], list[str]] = {}
    for key in wanted:
        together.setdefault(found.of(key).assets, []).append(key)
    return [
        dg.RunRequest(
            asset_selection=[dg.AssetKey(name) for name in assets],
            tags={**range_tags(first, last), **asking.tags(digest_of(found, key) for key in inside)},
        )
        for assets, keys in together.items()
        for first, last, inside in ranges(
            keys, order, longest=PARTITIONS_PER_RUN if "traces" in assets else PARTITIONS_PER_QUICK_RUN
        )[: 1 if assets == STEPS[None] else None]
    ]


def _cursor(seen: Seen) -> str:
    return json.dumps(asdict(seen))


def _why_idle(found: Outstanding, busy: set[str]) -> str:
    waiting = [key for key in found.keys if key in busy]
    if waiting:
        return f"under way: {', '.join(waiting[:5])}"
    return f"asked for before without success, asked again later: {', '.join(found.keys[:5])}"


def is_left(instance: dg.DagsterInstance, warehouse: Warehouse) -> bool:
    """Whether a run that failed or was killed before its last step wrote what nobody can read yet."""
    return warehouse.has_unpublished and not instance.get_runs_count(dg.RunsFilter(statuses=list(UNFINISHED)))


# ---- Dagster's runs ------------------------------------------------------------------------------
def _hash_of(records: Iterable[dg.RunRecord]) -> str:
    ids = sorted(record.dagster_run.run_id for record in records)
    return hashlib.sha256(",".join(ids).encode()).hexdigest()[:16]
