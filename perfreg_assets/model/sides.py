"""The sides of a comparison of runs: their series and threads, from traces as they are or from the warehouse."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from perfreg_assets.catalogue import definition_of, judged_names
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.side_comparison import Courses
from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.methods.window_causes import Entity
from perfreg_assets.model.inspecting import usable_cores
from perfreg_assets.model.side_stacks import NO_STACKS, NOT_OPENED, has_stacks, stacks_of, whole_seconds
from perfreg_assets.model.told_details import seconds_of
from perfreg_assets.model.trace_places import profiles_of, trace_of
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.inspection import Inspection, inspect_trace
from perfreg_assets.traces.profile_files import ProfileFile
from perfreg_assets.traces.slice_uses import NO_SLICES
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse import slice_uses as slice_table
from perfreg_assets.warehouse import thread_times as thread_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.runs import RunRow

_SLICES_NOT_ASKED = "its slices were not asked for"
_NO_SECONDS_KNOWN = "nothing is known of its seconds, as it has no thread times"


@dataclass(frozen=True)
class TraceOfSide:
    """A trace that was given, and what is known of it: where run.json says nothing, all of it counts. `profiles`: those
    beside it."""

    label: str
    path: Path
    app: str
    exploration: tuple[int, int] | None = None
    time_limit_s: float = 0.0
    profiles: tuple[ProfileFile, ...] = ()


@dataclass(frozen=True)
class RunOfSide:
    """Attributes:
    series: name → samples (n,) of those that the run has.
    threads: None where the trace does not tell.
    load_sources: what it was recorded with that changes the load.
    slices: of the app by screen. stacks: core seconds per second of each call stack. Or why there are none.
    seconds: that were recorded of the exploration.
    known_by: what tells its trace: SHA-256 of the file and of what it unpacks to; of a stored run its id, too.
    exploration: the part of its trace that counts; None where run.json does not say.
    """

    label: str
    series: Mapping[str, Floats]
    units: Mapping[str, str]
    threads: ThreadTimes | None
    load_sources: frozenset[str] = frozenset()
    slices: SliceUses | str = NO_SLICES
    stacks: Mapping[Entity, float] | str = NO_STACKS
    seconds: float = 0.0
    known_by: frozenset[str] = frozenset()
    exploration: tuple[int, int] | None = None


@dataclass(frozen=True)
class Side:
    """`excluded`: (run, why) of those that cannot be compared."""

    name: str
    runs: tuple[RunOfSide, ...]
    excluded: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True)
class SeriesLeftOut:
    """`side`: a or b. `reason`: in words."""

    side: str
    run: str
    series: str
    reason: str


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

    def stacks(one: TraceOfSide, found: Inspection) -> Mapping[Entity, float] | str:
        health = found.health
        if health.window_ns is None or not has_stacks(health.data_sources, one.profiles):
            return NO_STACKS
        return stacks_of(
            nullcontext(one.path), health.sha256 or "", one.app, whole_seconds(*health.window_ns), settings, engines,
            unpacked_bytes=health.unpacked_bytes or 0, profiles=one.profiles,
        )  # fmt: skip

    def read(one: TraceOfSide) -> tuple[Inspection, Mapping[Entity, float] | str]:
        found = look(one)
        return found, stacks(one, found) if found.health.reason is None else NO_STACKS

    with Engines(settings) as engines, ThreadPoolExecutor(usable_cores()) as pool:
        everything = list(zip(traces, pool.map(read, traces), strict=True))
    runs, excluded = [], []
    counted: dict[str | None, str] = {}  # what a trace unpacks to → the first of this side that is it
    for one, (inspection, stacks_told) in everything:
        reason = inspection.health.reason
        if reason is not None:
            excluded.append((one.label, f"{inspection.health.detail}: {reason.sentence}"))
            continue
        health = inspection.health
        if (same := counted.get(health.content_sha256)) is not None:
            excluded.append((one.label, f"it is the same trace as {same}, which counts once"))
            continue
        counted[health.content_sha256] = one.label
        own = [series for series in inspection.series if series.values is not None]
        values = {series.name: series.values for series in own if series.values is not None}
        threads = inspection.threads if isinstance(inspection.threads, ThreadTimes) else None
        units = {series.name: series.unit for series in own}
        load_sources = frozenset(health.load_sources or ())
        runs.append(
            RunOfSide(
                one.label, values, units, threads, load_sources, inspection.slices, stacks_told,
                _longest(values) * settings.interval_s, _marks(health.sha256, health.content_sha256), one.exploration,
            )
        )  # fmt: skip
    return Side(name, tuple(runs), tuple(excluded))


def on_both(first: Side, second: Side) -> list[str]:
    """Labels, on the second side, of runs that are on the first one too: the same run of a warehouse, or the same
    trace, in a file or stored, whatever it is called or packed as there."""
    return [own.label for own in second.runs if any(_is_same(own, other) for other in first.runs)]


def _is_same(one: RunOfSide, other: RunOfSide) -> bool:
    """Two parts of one recording are two runs, where run.json says of both which part is theirs."""
    is_same_part = None in (one.exploration, other.exploration) or one.exploration == other.exploration
    return is_same_part and not one.known_by.isdisjoint(other.known_by)


def _marks(*given: str | None) -> frozenset[str]:
    return frozenset(one for one in given if one is not None)


def of_warehouse(reader: Reader, name: str, run_ids: Sequence[str], settings: Settings, *, opens_traces: bool) -> Side:
    """What is stored of registered runs; call stacks come from their traces, where these have some.

    Args:
        opens_traces: else there are no call stacks, whatever was recorded.

    Raises:
        Rejected: DATA_MISSING; ENGINE_UNAVAILABLE.
    """
    threads, traces = thread_table.load(reader, run_ids), trace_table.find(reader, run_ids)
    slices, rows = slice_table.load_uses(reader, run_ids), run_table.find(reader, run_ids)
    values: dict[str, dict[str, Floats]] = {run_id: {} for run_id in run_ids}
    units: dict[str, str] = {}
    seconds: dict[str, float] = dict.fromkeys(run_ids, 0.0)
    for (run_id, series), row in series_table.find(reader, run_ids).items():
        units[series] = row.unit
        if row.values is not None:
            values[run_id][series] = row.values
            seconds[run_id] = max(seconds[run_id], len(row.values) * row.interval_s)
    having = {one: rows[one] for one in run_ids if values[one]}
    stacks = _stored_stacks(reader, having, settings, opens_traces=opens_traces)
    runs = tuple(
        RunOfSide(
            one, values[one], units, threads.get(one), frozenset(traces[one].load_sources or ()),
            slices.get(one, _SLICES_NOT_ASKED), stacks[one], seconds[one],
            _marks(rows[one].trace_sha256, rows[one].trace_content_sha256, f"run {one}"), rows[one].exploration,
        )
        for one in run_ids
        if values[one]
    )  # fmt: skip
    refused = run_table.quarantined(reader, run_ids)
    why = {one: f"it is incomplete_trace: {trace.reason}" for one, trace in traces.items() if not trace.is_complete}
    why |= {one: f"it is quarantined: {reason}" for one, (_, reason) in refused.items()}
    excluded = [(one, why.get(one, "nothing is stored of its series")) for one in run_ids if not values[one]]
    return Side(name, runs, tuple(excluded))


def _stored_stacks(
    reader: Reader, rows: Mapping[str, RunRow], settings: Settings, *, opens_traces: bool
) -> dict[str, Mapping[Entity, float] | str]:
    """run_id → call stacks of its trace and the profiles beside it, or why there are none."""
    traces = trace_table.find(reader, rows)
    profiles = profiles_of(reader, rows, settings)
    found: dict[str, Mapping[Entity, float] | str] = dict.fromkeys(rows, NO_STACKS)
    having = [one for one in rows if one in traces and has_stacks(traces[one].data_sources or (), profiles[one])]
    if not opens_traces:
        return found | dict.fromkeys(having, NOT_OPENED)
    times = thread_table.load(reader, having)
    with Engines(settings) as engines:
        for one in having:  # one after another: a batch of its own would cost more than the few of a version
            if one not in times:
                found[one] = _NO_SECONDS_KNOWN
                continue
            row = rows[one]
            found[one] = stacks_of(
                trace_of(row, settings), row.trace_sha256 or "", row.app or "", seconds_of(times[one]), settings,
                engines, unpacked_bytes=traces[one].unpacked_bytes or 0, profiles=profiles[one],
            )  # fmt: skip
    return found


def _longest(values: Mapping[str, Floats]) -> int:
    return max((len(one) for one in values.values()), default=0)


def courses_of(a: Side, b: Side, settings: Settings) -> dict[str, Courses]:
    """Every series that a run on each side has, finite and not empty; the judged ones first."""
    judged = [re.compile(definition_of(name).pattern) for name in judged_names(settings.judged_series)]
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
    return values is not None and _why_unusable(values) is None


def _why_unusable(values: Floats) -> str | None:
    if not values.size:
        return "no samples"
    return None if np.isfinite(values).all() else "not all samples are known"


def left_out(a: Side, b: Side) -> list[SeriesLeftOut]:
    """What was recorded and is not compared: a rail has no value where its counter fell, or before it was first read;
    what one side alone has, nothing stands beside."""
    on_a, on_b = ({name for run in side.runs for name in run.series} for side in (a, b))
    return [
        SeriesLeftOut(key, run.label, name, why)
        for key, side, beside in (("a", a, on_b), ("b", b, on_a))
        for run in side.runs
        for name, values in sorted(run.series.items())
        if (why := _why_unusable(values) or (None if name in beside else "no run of the other side has it")) is not None
    ]


def other_load(a: Side, b: Side) -> set[str]:
    """What runs of one side were recorded with that changes the load, and those of the other were not."""
    first, second = ({name for run in side.runs for name in run.load_sources} for side in (a, b))
    return first ^ second


def mean_course(runs: Sequence[Floats]) -> Floats:
    """The mean (n,) of the courses of several runs, as far as the shortest goes."""
    count = min(len(one) for one in runs)
    mean: Floats = np.mean([one[:count] for one in runs], axis=0)
    return mean
