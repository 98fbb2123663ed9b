"""From registered runs to what their traces hold: gate's finding, series, measurements, thread times
and energies as rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from perfreg_assets.advance import Count
from perfreg_assets.model import profile_shelf, readiness, readings, reduced_in_place
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.profile_shelf import Shelf
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.model.trace_places import folder_of, with_folder
from perfreg_assets.reasons import Reason
from perfreg_assets.run import PathStep, timed_screens
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.gate import FileFacts, TraceHealth
from perfreg_assets.traces.inspection import Inspection, inspect_trace
from perfreg_assets.warehouse import archive, settings_table
from perfreg_assets.warehouse import energies as energy_table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse import thread_times as thread_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader, Warehouse

_BLOCK_RUNS = 64
"""Runs that are read before their results are committed: what a process that is killed has done in vain."""

_EVER_NS = (1 << 63) - 1

Inspect = Callable[[run_table.RunRow, Settings], Inspection]


@dataclass(frozen=True)
class Inspected:
    """What a step did.

    Attributes:
        found: run_id → what the gate says, for the runs whose trace was read now.
        placeless: runs whose folder is in no place that is known here: they are due still.
    """

    found: dict[str, TraceHealth]
    placeless: list[str] = field(default_factory=list)


def inspect_due(
    warehouse: Warehouse,
    settings: Settings,
    keys: Iterable[str],
    watch: Stopwatch,
    *,
    again: bool = False,
    inspect: Inspect | None = None,
) -> Inspected:
    """Reads the traces of some partitions that were not read yet, or by other code or with other parameters.

    Traces are read side by side, as many as this process may use cores and as fit into the memory that is free, each
    with an engine process of its own. Neither order nor number changes a result.

    A trace that was read before and whose file is gone by now keeps what was read of it. That it is gone is noted only
    where the run's folder is seen without it. So does one that was reduced: a warehouse that was restored may be of
    before.

    Args:
        again: read all of them, but those whose trace was reduced since.
        inspect: what reads one trace; tests bring their own.
    """
    keys = list(keys)
    with warehouse.reading() as reader:
        settings = settings_table.in_force(reader, settings)
        shelf = profile_shelf.load(reader, settings)
        wanted = None if again else readiness.ready(reader, settings, Stage.TRACE, keys).runs
        rows = [
            row for key in keys for row in run_table.of_partition(reader, key) if wanted is None or row.run_id in wanted
        ]
        reduced = archive.reduced_runs(reader, [row.run_id for row in rows])
    rows = [row for row in rows if row.run_id not in reduced]
    done = Inspected({})
    count = Count(len(rows), "traces read")
    with Engines(settings) if rows and inspect is None else nullcontext() as engines:
        look = inspect or partial(read_trace, engines=engines, shelf=shelf)
        with ThreadPoolExecutor(usable_cores()) as pool:
            for block in _blocks(rows):
                inspections = pool.map(lambda row: look(row, settings), block)
                kept = _keep(warehouse, settings, shelf, watch, block, list(count.over(inspections)))
                done.found.update(kept.found)
                done.placeless.extend(kept.placeless)
    return done


def _blocks(rows: Iterable[run_table.RunRow]) -> Iterator[list[run_table.RunRow]]:
    rest = iter(rows)
    while block := list(islice(rest, _BLOCK_RUNS)):
        yield block


def usable_cores() -> int:
    """Cores that this process may use, which a container may limit."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _keep(
    warehouse: Warehouse,
    settings: Settings,
    shelf: Shelf,
    watch: Stopwatch,
    rows: Sequence[run_table.RunRow],
    inspections: Sequence[Inspection],
) -> Inspected:
    """Writes what was found in some runs' traces, in one transaction."""
    found = {row.run_id: inspection for row, inspection in zip(rows, inspections, strict=True)}
    missing = [row for row in rows if found[row.run_id].health.reason is Reason.TRACE_FILE_MISSING]
    seen = with_folder(missing, settings)
    placeless = [row.run_id for row in missing if row.run_id not in seen]
    rows = [row for row in rows if row.run_id not in placeless]
    with watch.measure("warehouse"), warehouse.writing() as writer:
        gone = _no_more(writer, rows, found, Reason.TRACE_FILE_MISSING)
        trace_table.note_gone(writer, gone, is_gone=True)
        reduced = _no_more(writer, rows, found, Reason.TRACE_REDUCED)
        for row in rows:
            if row.run_id in reduced:
                trace = settings.runs_dir / row.run_id / (row.trace_file or "")
                reduced_in_place.note(writer, row, trace, found[row.run_id].health.sha256 or "")
        rows = [row for row in rows if row.run_id not in gone | reduced]
        found = {row.run_id: found[row.run_id] for row in rows}
        read = [readings.reading_of(row, found[row.run_id], settings, shelf) for row in rows]
        readings.store(writer, read, settings_table.in_force(writer, settings))
    for inspection in found.values():
        for part, seconds in inspection.health.seconds.items():
            watch.add(part, seconds)
    return Inspected({run_id: inspection.health for run_id, inspection in found.items()}, placeless)


def _no_more(
    reader: Reader, rows: Iterable[run_table.RunRow], found: Mapping[str, Inspection], why: Reason
) -> set[str]:
    """Runs that cannot be read any more for this reason, though the same trace was read before."""
    now = {row.run_id: row.trace_sha256 for row in rows if found[row.run_id].health.reason is why}
    before = trace_table.find(reader, now) if now else {}
    return {
        run_id
        for run_id, trace in before.items()
        if trace.trace_sha256 == now[run_id] and trace.reason_code != why.code
    }


def read_trace(
    row: run_table.RunRow,
    settings: Settings,
    engines: Engines | None = None,
    *,
    folder: Path | None = None,
    known: FileFacts | None = None,
    shelf: Shelf | None = None,
) -> Inspection:
    """Gate, series, measurements and thread times of a run's trace.

    Args:
        engines: see `inspect_trace`.
        folder: where the trace lies; default: see `folder_of`.
        known: what was found in the trace's bytes before.
        shelf: power profiles; default: those of the installation.

    Raises:
        Rejected: ENGINE_UNAVAILABLE, EXCHANGE_UNAVAILABLE.
    """
    assert row.app is not None
    assert row.trace_file is not None
    assert row.time_limit_s is not None
    with folder_of(row, settings, folder) as where:
        return inspect_trace(
            where / row.trace_file,
            app=row.app,
            exploration=row.exploration,
            time_limit_s=row.time_limit_s,
            expected_bytes=row.trace_bytes,
            expected_sha256=row.trace_sha256,
            settings=settings,
            known=known,
            engines=engines,
            screens=screens_of(row.path or ()),
            profiles=(shelf or Shelf()).for_run(row, where, settings),
        )


def screens_of(path: Sequence[PathStep]) -> list[tuple[int, str]]:
    """(until when, screen) of a run's steps; what the last action led to holds to the end."""
    steps, after = timed_screens(path)
    return [*steps, (_EVER_NS, after)] if after else steps


def summaries(reader: Reader, run_ids: list[str]) -> dict[str, dict[str, float]]:
    """Asset → figures about the traces and series of some runs."""
    traces = trace_table.find(reader, run_ids).values()
    series = series_table.figures(reader, run_ids)
    threads = thread_table.figures(reader, run_ids)
    costs = energy_table.figures(reader, run_ids)
    return {
        "traces": {
            "dagster/partition_row_count": len(traces),
            "complete": sum(trace.is_complete for trace in traces),
            "incomplete": sum(not trace.is_complete for trace in traces),
            "trace_bytes": sum(trace.trace_bytes or 0 for trace in traces),
        },
        "time_series": {
            "dagster/partition_row_count": series["samples"],  # as marts.time_series has them
            "series": series["series"] - series["missing_series"],
            "missing_series": series["missing_series"],
            "samples": series["samples"],
        },
        "thread_times": {
            "dagster/partition_row_count": threads["entities"],
            "runs": threads["runs"],
            "missing_runs": threads["missing"],
        },
        "energies": {
            "dagster/partition_row_count": costs.pop("rows"),
            "missing_runs": costs.pop("missing"),
            **costs,
        },
    }
