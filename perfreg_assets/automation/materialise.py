"""Materialising from the command line: the same assets and events as in the UI, in this process."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg

from perfreg_assets import bundled
from perfreg_assets.automation.progress import NAME as PROGRESS
from perfreg_assets.automation.progress import Progress, watched
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.settings import Settings

_RANGE_START, _RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


@dataclass
class Materialised:
    """What a call did: seconds in all, by step, and by part (from the assets' metadata); and what failed."""

    seconds: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)
    parts: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def prepare_home(settings: Settings) -> Path:
    """Makes Dagster's home with its configuration, if there is none, and points this process to it."""
    home = settings.dagster_home
    home.mkdir(parents=True, exist_ok=True)
    settings.inbox_dir.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copyfile(bundled.dagster_yaml(), home / "dagster.yaml")
    os.environ["DAGSTER_HOME"] = str(home)
    return home


def materialise(
    defs: dg.Definitions,
    job_name: str,
    keys: Sequence[str],
    settings: Settings,
    *,
    op_config: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Materialised:
    """Runs a job for some partitions, a Dagster run per contiguous range of keys; new keys are added first.

    Returns what failed instead of raising: the other ranges go on.
    """
    prepare_home(settings)
    result = Materialised()
    begin = time.perf_counter()
    job = defs.resolve_job_def(job_name)
    wanted = {asset.path[-1] for asset in job.asset_layer.executable_asset_keys} if op_config else set()
    config = {
        "loggers": {PROGRESS: {"config": {}}},
        "ops": {name: {"config": value} for name, value in (op_config or {}).items() if name in wanted},
    }
    with dg.DagsterInstance.get() as instance, watched(progress):
        instance.add_dynamic_partitions(DIMENSION, list(keys))
        for first, last in _ranges(list(keys), instance.get_dynamic_partitions(DIMENSION)):
            run = job.execute_in_process(
                instance=instance,
                run_config=config,
                tags={_RANGE_START: first, _RANGE_END: last},
                raise_on_error=False,
            )
            for event in run.all_events:
                if event.is_step_success:
                    spent = event.step_success_data.duration_ms / 1000
                    result.steps[event.step_key or ""] = result.steps.get(event.step_key or "", 0.0) + spent
                if event.is_step_failure:
                    error = event.step_failure_data.error
                    result.failures.append(_innermost(error) if error else f"{event.step_key} failed")
            _add_parts(result.parts, run)
    result.seconds = time.perf_counter() - begin
    return result


def _ranges(wanted: list[str], order: Sequence[str]) -> list[tuple[str, str]]:
    """Contiguous runs of `wanted` within `order`, as (first, last)."""
    positions = sorted(order.index(key) for key in set(wanted))
    ranges: list[tuple[int, int]] = []
    for position in positions:
        if ranges and ranges[-1][1] == position - 1:
            ranges[-1] = (ranges[-1][0], position)
        else:
            ranges.append((position, position))
    return [(order[first], order[last]) for first, last in ranges]


def _add_parts(parts: dict[str, float], run: dg.ExecuteInProcessResult) -> None:
    """Adds up the `seconds_…` that the assets report."""
    for event in run.all_events:
        if event.event_type_value != "ASSET_MATERIALIZATION":
            continue
        for name, value in event.step_materialization_data.materialization.metadata.items():
            if name.startswith("seconds_") and isinstance(value.value, (int, float)):
                part = name.removeprefix("seconds_")
                parts[part] = parts.get(part, 0.0) + float(value.value)


def _innermost(error: Any) -> str:
    """The cause's own sentence, without Dagster's wrapping and stack."""
    while error.cause is not None:
        error = error.cause
    return str(error.message).strip().splitlines()[-1]
