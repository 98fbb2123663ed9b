"""The sides of a comparison of runs: their series and threads, from traces as they are or from the warehouse."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.side_comparison import Courses
from perfreg_assets.methods.thread_times import REST, RUNNING, ThreadTimes
from perfreg_assets.model.inspecting import usable_cores
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.inspection import Inspection, inspect_trace
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse import thread_times as thread_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader

_THREADS_SHOWN = 20


@dataclass(frozen=True)
class TraceOfSide:
    """A trace that was given, and what is known of it: where run.json says nothing, all of it counts."""

    label: str
    path: Path
    app: str
    exploration: tuple[int, int] | None = None
    time_limit_s: float = 0.0


@dataclass(frozen=True)
class RunOfSide:
    """Attributes:
    series: name → samples (n,) of those that the run has.
    threads: None where the trace does not tell.
    load_sources: what it was recorded with that changes the load.
    """

    label: str
    series: Mapping[str, Floats]
    units: Mapping[str, str]
    threads: ThreadTimes | None
    load_sources: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Side:
    """`excluded`: (run, why) of those that cannot be compared."""

    name: str
    runs: tuple[RunOfSide, ...]
    excluded: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True)
class ThreadDifference:
    """Core seconds per second of all threads of a name, mean over the runs of a side."""

    process: str
    thread: str
    mean_a: float
    mean_b: float

    @property
    def difference(self) -> float:
        return self.mean_b - self.mean_a


def of_traces(name: str, traces: Sequence[TraceOfSide], settings: Settings) -> Side:
    """Reads traces; nothing is stored.

    Raises:
        Rejected: ENGINE_UNAVAILABLE.
    """

    def look(one: TraceOfSide) -> Inspection:
        return inspect_trace(
            one.path, app=one.app, exploration=one.exploration, time_limit_s=one.time_limit_s, settings=settings,
            engines=engines,
        )  # fmt: skip

    with Engines(settings) as engines, ThreadPoolExecutor(usable_cores()) as pool:
        found = list(zip(traces, pool.map(look, traces), strict=True))
    runs, excluded = [], []
    for one, inspection in found:
        reason = inspection.health.reason
        if reason is not None:
            excluded.append((one.label, f"{inspection.health.detail}: {reason.sentence}"))
            continue
        own = [series for series in inspection.series if series.values is not None]
        values = {series.name: series.values for series in own if series.values is not None}
        threads = inspection.threads if isinstance(inspection.threads, ThreadTimes) else None
        units = {series.name: series.unit for series in own}
        load_sources = frozenset(inspection.health.load_sources or ())
        runs.append(RunOfSide(one.label, values, units, threads, load_sources))
    return Side(name, tuple(runs), tuple(excluded))


def of_warehouse(reader: Reader, name: str, run_ids: Sequence[str]) -> Side:
    """What is stored of registered runs.

    Raises:
        Rejected: DATA_MISSING.
    """
    threads, traces = thread_table.load(reader, run_ids), trace_table.find(reader, run_ids)
    values: dict[str, dict[str, Floats]] = {run_id: {} for run_id in run_ids}
    units: dict[str, str] = {}
    for (run_id, series), row in series_table.find(reader, run_ids).items():
        units[series] = row.unit
        if row.values is not None:
            values[run_id][series] = row.values
    runs = tuple(
        RunOfSide(one, values[one], units, threads.get(one), frozenset(traces[one].load_sources or ()))
        for one in run_ids
        if values[one]
    )
    return Side(name, runs, tuple((one, "nothing is stored of its series") for one in run_ids if not values[one]))


def courses_of(a: Side, b: Side, settings: Settings) -> dict[str, Courses]:
    """Every series that a run on each side has, finite and not empty; the judged ones first."""
    judged = [re.compile(definition_of(name).pattern) for name in settings.judged_series]
    names = {name for side in (a, b) for run in side.runs for name in run.series}
    found = {}
    for name in sorted(names):
        known = definition_of(name)
        sides = [[run.series[name] for run in side.runs if _is_usable(run.series.get(name))] for side in (a, b)]
        if not (sides[0] and sides[1]):
            continue
        unit = next(run.units[name] for side in (a, b) for run in side.runs if name in run.series)
        found[name] = Courses(
            unit=unit, a=sides[0], b=sides[1], worse=known.worse,
            is_judged=any(one.fullmatch(name) for one in judged), is_memory=known.kind == "memory",
            interval_s=settings.interval_s,
        )  # fmt: skip
    return dict(sorted(found.items(), key=lambda item: not item[1].is_judged))


def _is_usable(values: Floats | None) -> bool:
    return values is not None and bool(values.size) and bool(np.isfinite(values).all())


def threads_grown(a: Side, b: Side) -> list[ThreadDifference]:
    """Threads that run more on the second side, those that grew most first; empty where a side does not tell."""
    means = [_thread_means(side) for side in (a, b)]
    first, second = means
    if first is None or second is None:
        return []
    found = [
        ThreadDifference(*key, mean_a=first.get(key, 0.0), mean_b=mean_b)
        for key, mean_b in second.items()
        if mean_b > first.get(key, 0.0)
    ]
    return sorted(found, key=lambda one: -one.difference)[:_THREADS_SHOWN]


def _thread_means(side: Side) -> dict[tuple[str, str], float] | None:
    told = [run.threads for run in side.runs if run.threads is not None and run.threads.seconds.shape[1]]
    if not told:
        return None
    sums: dict[tuple[str, str], float] = {}
    for times in told:
        for process, thread, state, mean in zip(
            times.process, times.thread, times.state, times.seconds.mean(axis=1), strict=True
        ):
            if state == RUNNING and REST not in (process, thread):
                sums[process, thread] = sums.get((process, thread), 0.0) + float(mean) / len(told)
    return sums


def other_load(a: Side, b: Side) -> set[str]:
    """What runs of one side were recorded with that changes the load, and those of the other were not."""
    first, second = ({name for run in side.runs for name in run.load_sources} for side in (a, b))
    return first ^ second


def mean_course(runs: Sequence[Floats]) -> Floats:
    """The mean (n,) of the courses of several runs, as far as the shortest goes."""
    count = min(len(one) for one in runs)
    mean: Floats = np.mean([one[:count] for one in runs], axis=0)
    return mean
