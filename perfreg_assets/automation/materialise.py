"""Materialising from the command line: the same assets and events as in the UI, in this process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.instance.ref import InstanceRef

from perfreg_assets.advance import watched
from perfreg_assets.assets.named_places import given_by_a_command
from perfreg_assets.assets.presentation import REFUSED
from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.progress import NAME as PROGRESS
from perfreg_assets.automation.progress import Progress, planned
from perfreg_assets.automation.run_launcher import host_tags
from perfreg_assets.automation.versions_without_runs import tell_of_versions_without_runs
from perfreg_assets.how_many import how_many
from perfreg_assets.partitions import DIMENSION, RANGE_END, RANGE_START
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

COUNTED = {
    "selected_now": True,
    "averaged_now": False,
    "runs_measured_now": True,
    "localised_now": True,
    "explained_now": True,
    "benchmarks_measured_now": False,
    "pages_written_now": False,
}
"""Metadata that says how much a step did: whether each partition has its own share, or all say the step's."""


@dataclass(frozen=True)
class Refused:
    """A run folder that was quarantined by the step `runs`."""

    folder: str
    reason_code: str
    reason: str


@dataclass
class Materialised:
    """What a call did: seconds in all, by step, and by part; how many of what (both from the assets' metadata,
    `seconds_…` and `…_now`); which folders were refused; and what failed."""

    seconds: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)
    parts: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __iadd__(self, other: Materialised) -> Materialised:
        self.seconds += other.seconds
        self.failures += other.failures
        self.refused += other.refused
        for name, count in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        for mine, theirs in ((self.steps, other.steps), (self.parts, other.parts)):
            for name, seconds in theirs.items():
                mine[name] = mine.get(name, 0.0) + seconds
        return self


def materialise(
    defs: dg.Definitions,
    job_name: str,
    keys: Sequence[str],
    settings: Settings,
    *,
    op_config: dict[str, Any] | None = None,
    assets: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Materialised:
    """Runs a job for some partitions, a Dagster run per contiguous range of keys; new keys are added first.

    Args:
        assets: of the job's, only these.

    Returns what failed instead of raising: the other ranges go on.
    """
    home = prepare_home(settings)
    result = Materialised()
    begin = time.perf_counter()
    job = defs.resolve_job_def(job_name)
    wanted = {asset.path[-1] for asset in job.asset_layer.executable_asset_keys} if op_config else set()
    config = {
        "loggers": {PROGRESS: {"config": {}}},
        "ops": {name: {"config": value} for name, value in (op_config or {}).items() if name in wanted},
    }
    named = [folder for values in (op_config or {}).values() for folder in values.get("folders", ())]
    try:
        with given_by_a_command(named):
            result += _run_ranges(settings, home, job, keys, config, assets, progress)
    finally:  # whatever ended it: what its steps wrote is for everybody to read
        Warehouse.of(settings).publish()
    result.seconds = time.perf_counter() - begin
    return result


def records_in(home: Path) -> dg.DagsterInstance:
    """Dagster's records, without copies of what this process prints: it goes to whoever gave the command, and two
    helpers for each stream would live and die beside us."""
    no_copies = {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
    return dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(home), overrides={"compute_logs": no_copies}))


def _run_ranges(
    settings: Settings,
    home: Path,
    job: dg.JobDefinition,
    keys: Sequence[str],
    config: dict[str, Any],
    assets: Sequence[str] | None,
    progress: Progress | None,
) -> Materialised:
    result = Materialised()
    selection = None if assets is None else [dg.AssetKey(name) for name in assets]
    steps = len((job if selection is None else job.get_subset(asset_selection=set(selection))).nodes)
    with records_in(home) as instance, watched(progress):
        instance.add_dynamic_partitions(DIMENSION, list(keys))
        # One key is a range whatever lies around it: the others are thousands.
        order = keys if len(keys) == 1 else instance.get_dynamic_partitions(DIMENSION)
        for first, last, among in ranges(keys, order):
            with planned(steps, how_many(len(among), "version")):
                run = job.execute_in_process(
                    instance=instance,
                    run_config=config,
                    tags={**range_tags(first, last), **host_tags()},
                    asset_selection=selection,
                    raise_on_error=False,
                )
            for event in run.all_events:
                if event.is_step_success:
                    spent = event.step_success_data.duration_ms / 1000
                    result.steps[event.step_key or ""] = result.steps.get(event.step_key or "", 0.0) + spent
                if event.is_step_failure:
                    error = event.step_failure_data.error
                    result.failures.append(_innermost(error) if error else f"{event.step_key} failed")
            _add_figures(result, run)
        if config["ops"] and Warehouse.of(settings).published.exists():  # what was taken in may have been of another
            with Warehouse.of(settings).reading_caught_up() as reader:
                tell_of_versions_without_runs(instance, reader)
    return result


def range_tags(first: str, last: str) -> dict[str, str]:
    """Tags that make a run cover the partitions from first to last, in Dagster's order."""
    return {RANGE_START: first, RANGE_END: last}


def ranges(
    wanted: Iterable[str], order: Sequence[str], *, longest: int | None = None
) -> list[tuple[str, str, Sequence[str]]]:
    """Contiguous runs of `wanted` within `order`, as (first, last, all of them), none of more than `longest` keys."""
    place = {key: position for position, key in enumerate(order)}
    found: list[tuple[int, int]] = []
    for position in sorted(place[key] for key in set(wanted)):
        if found and found[-1][1] == position - 1 and (longest is None or position - found[-1][0] < longest):
            found[-1] = (found[-1][0], position)
        else:
            found.append((position, position))
    return [(order[first], order[last], order[first : last + 1]) for first, last in found]


def _add_figures(result: Materialised, run: dg.ExecuteInProcessResult) -> None:
    """Adds up the `seconds_…` and the `…_now` that the assets report; the latter once per step where a step says the
    same for all its partitions."""
    steps: dict[tuple[str, str], list[int]] = {}
    for event in run.all_events:
        if event.event_type_value != "ASSET_MATERIALIZATION":
            continue
        for name, value in event.step_materialization_data.materialization.metadata.items():
            if name == REFUSED and isinstance(value, dg.TableMetadataValue):
                result.refused += [Refused(**one.data) for one in value.records]  # type: ignore[arg-type]
            if not isinstance(value.value, (int, float)):
                continue
            if name.startswith("seconds_"):
                part = name.removeprefix("seconds_")
                result.parts[part] = result.parts.get(part, 0.0) + float(value.value)
            elif name in COUNTED:
                steps.setdefault((event.step_key or "", name), []).append(int(value.value))
    for (_, name), values in steps.items():
        count = sum(values) if COUNTED[name] else max(values)
        result.counts[name] = result.counts.get(name, 0) + count


def _innermost(error: Any) -> str:
    """The cause's own sentence, without Dagster's wrapping and stack; a refusal's without its class, and not that of
    what it came of, which does not say what to do."""
    while error.cause is not None and error.cls_name != Rejected.__name__:
        error = error.cause
    told = str(error.message).strip().splitlines()[-1]
    return told.removeprefix(f"{Rejected.__module__}.{Rejected.__qualname__}: ")
