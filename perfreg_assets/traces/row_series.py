"""Series that follow from the rows of one statement by a rule: counts, times and levels.

A series of this kind is a row in `RULES`, its statement in sql/perfetto and its row in the catalogue.

A statement has the columns that its way of reduction wants (`ts`, `dur`, `track`, `value` …; see there). A row whose
`ts` is NULL is no event: it says that the trace has this data source, so that an app without events has the value 0 and
not no value. With no row at all the series is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.traces.columns import Schema, Table
from perfreg_assets.traces.grid import Grid, Series, add_up, split
from perfreg_assets.traces.memory_series import held_by_all, samples_by_process
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.suspends import awake_parts

_UNKNOWN_HEAD_RATIO = 0.1

Values = np.ndarray | str
"""One value per interval, or why there are none."""


@dataclass(frozen=True)
class Reduction:
    """A way from rows to values. `apply` is given the rows with a `ts`, columns as in `schema`."""

    schema: Schema
    apply: Callable[[Table, Scope], Values]


@dataclass(frozen=True)
class RowRule:
    """`series` of the catalogue is made of the rows of `statement`; `absent` says what a trace without rows lacks.

    Where the name is a pattern, the column `track` is its number.
    """

    series: str
    statement: str
    reduction: Reduction
    absent: str

    def extract(self, scope: Scope) -> list[Series]:
        definition, grid = definition_of(self.series), scope.grid
        is_numbered = definition.numbered(0) != definition.name
        table = scope.rows(self.statement, self.reduction.schema)
        if isinstance(table, str) or not len(table):
            why = table if isinstance(table, str) else self.absent
            return [grid.missing(definition.numbered(0), why)]
        events = table.take(~table["ts"].is_null)
        parts = (
            [(definition.numbered(int(number)), rows) for number, rows in events.groups("track")]
            if is_numbered
            else [(definition.name, events)]
        )
        out = []
        for name, rows in parts:
            values = self.reduction.apply(rows, scope)
            out.append(grid.missing(name, values) if isinstance(values, str) else grid.series(name, values))
        return out


# ---- ways of reduction -------------------------------------------------------------------------------
def _events_per_second(rows: Table, scope: Scope) -> Values:
    return count(rows["ts"].values, scope.grid) / scope.grid.interval_s


def _mean_number_awake(rows: Table, scope: Scope) -> Values:
    """How many were under way on average, and none while the device slept; dur -1: until the trace's end. Rows of one
    track do not overlap."""
    grid = scope.grid
    ts, dur = rows["ts"].values, rows["dur"].values
    _, begin, end = awake_parts(ts, np.where(dur < 0, scope.contents.end_ns, ts + dur), scope.contents.asleep)
    limit = begin.size + (grid.count + 1) * np.unique(rows["track"].values).size
    pieces = split(begin, end, grid, pieces_max=limit)
    total: np.ndarray = add_up(
        pieces.duration_ns, np.zeros(pieces.bin.size, dtype=np.int64), pieces.bin, (1, grid.count)
    )[0]
    return total / grid.interval_ns


def _busy_share(rows: Table, scope: Scope) -> Values:
    """How many were under way on average, each counting by the share of its duration in which it was busy, spread
    evenly. Rows of one track do not overlap."""
    grid = scope.grid
    ts, dur = rows["ts"].values, rows["dur"].values
    limit = ts.size + (grid.count + 1) * np.unique(rows["track"].values).size
    pieces = split(ts, ts + dur, grid, pieces_max=limit)
    share = rows["busy_ns"] / np.maximum(dur, 1)
    return np.bincount(pieces.bin, pieces.duration_ns * share[pieces.row], grid.count) / grid.interval_ns


def _level(combine: Literal["sum", "mean", "max"], before: Literal["first", "zero"]) -> Callable[..., Values]:
    """Mean over each interval of what holds until the next row of the same track, over the tracks together.

    Args:
        before: what a track has before its first row: that row's value, or 0. The first is missing where that row
            comes late.
    """

    def apply(rows: Table, scope: Scope) -> Values:
        grid = scope.grid
        tracks = [part for _, part in rows.groups("track")]
        if not tracks:
            return np.zeros(grid.count)
        late_ns = int(rows["ts"].values.min()) - grid.start_ns
        if before == "first" and late_ns > max(grid.interval_ns, _UNKNOWN_HEAD_RATIO * (grid.end_ns - grid.start_ns)):
            return f"its first sample comes {late_ns / 1e9:.1f} s late"
        courses = [(part["ts"].values, part["value"]) for part in tracks]
        if combine == "max":
            courses = [_highest(courses, before == "first")]
        integrals = [_step_integral(ts, values, before == "first", grid) for ts, values in courses]
        total: np.ndarray = np.sum(integrals, axis=0)
        return total / grid.interval_ns / (len(tracks) if combine == "mean" else 1)

    return apply


def _highest(courses: list[tuple[np.ndarray, np.ndarray]], is_first_before: bool) -> tuple[np.ndarray, np.ndarray]:
    """The highest of several step functions, as one."""
    ts = np.unique(np.concatenate([times for times, _ in courses]))
    highest = np.full(ts.size, -np.inf)
    for times, values in courses:
        k = np.searchsorted(times, ts, side="right") - 1
        highest = np.maximum(highest, np.where((k < 0) & (not is_first_before), 0.0, values[np.maximum(k, 0)]))
    return ts, highest


def _step_integral(ts: np.ndarray, values: np.ndarray, is_first_before: bool, grid: Grid) -> np.ndarray:
    """∫ value dt over each interval in nanoseconds of a step function: `values[k]` holds from `ts[k]` on."""
    head = values[0] if is_first_before else 0.0
    steps = np.concatenate([[0.0], np.cumsum(np.diff(ts) * values[:-1])])
    k = np.searchsorted(ts, grid.borders, side="right") - 1
    at = np.where(k < 0, (grid.borders - ts[0]) * head, steps[k] + (grid.borders - ts[k]) * values[k])
    return np.diff(at)


def _held(what: str) -> Callable[..., Values]:
    """Memory of the app's processes, the column `track` being a process's upid."""

    def apply(rows: Table, scope: Scope) -> Values:
        samples = samples_by_process(rows["track"].values, rows["ts"].values, rows["value"], scope.processes)
        if not samples:
            return f"the trace has no {what} of the app"
        return held_by_all(what, samples, scope.processes, scope.grid)

    return apply


def count(ts: np.ndarray, grid: Grid) -> np.ndarray:
    """Number of timestamps in each interval."""
    return sum_at(ts, np.ones(ts.size, dtype=np.int64), grid)


def sum_at(ts: np.ndarray, amounts: np.ndarray, grid: Grid) -> np.ndarray:
    """Sum of int64 amounts in each interval, those outside the grid left out."""
    inside = (ts >= grid.start_ns) & (ts < grid.end_ns)
    bins = (ts[inside] - grid.start_ns) // grid.interval_ns
    total: np.ndarray = add_up(amounts[inside], np.zeros(bins.size, dtype=np.int64), bins, (1, grid.count))[0]
    return total


_LEVELS: Schema = {"ts": "Int64", "track": "Int64", "value": "float64"}
_TIMES: Schema = {"ts": "Int64", "dur": "Int64", "track": "Int64"}
EVENTS_PER_SECOND = Reduction({"ts": "Int64"}, _events_per_second)
MEAN_NUMBER_AWAKE = Reduction(_TIMES, _mean_number_awake)
BUSY_SHARE = Reduction({**_TIMES, "busy_ns": "float64"}, _busy_share)
HIGHEST_LEVEL = Reduction(_LEVELS, _level("max", "first"))
HIGHEST_LEVEL_FROM_ZERO = Reduction(_LEVELS, _level("max", "zero"))
SUM_FROM_ZERO = Reduction(_LEVELS, _level("sum", "zero"))
MEAN_FROM_ZERO = Reduction(_LEVELS, _level("mean", "zero"))
HEAP_HELD = Reduction(_LEVELS, _held("heap sample"))
GPU_MEMORY_HELD = Reduction(_LEVELS, _held("GPU memory"))

RULES = (
    RowRule(
        "runnable_app", "runnable", MEAN_NUMBER_AWAKE,
        "the trace does not tell when threads were woken (sched/sched_waking)",
    ),
    RowRule("syscalls_app", "syscalls", EVENTS_PER_SECOND, "the trace has no system calls (raw_syscalls)"),
    RowRule("heap_app", "heap", HEAP_HELD, "the trace has no heap samples (android.heapprofd)"),
    RowRule(
        "io_wait_app", "io_wait", MEAN_NUMBER_AWAKE,
        "the trace does not tell waits for I/O (sched/sched_blocked_reason)",
    ),
    RowRule(
        "block_io_operations", "block_io", SUM_FROM_ZERO,
        "the trace has no block operations (block/block_io_start, _done)",
    ),
    RowRule("gpu_freq_<n>", "gpu_frequency", HIGHEST_LEVEL, "the trace has no GPU frequencies (power/gpu_frequency)"),
    RowRule(
        "gpu_busy_app", "gpu_work", BUSY_SHARE,
        "the trace has no GPU work (power/gpu_work_period, Android 14 and later)",
    ),
    RowRule("gpu_memory_app", "gpu_memory", GPU_MEMORY_HELD, "the trace has no GPU memory (gpu_mem/gpu_mem_total)"),
    RowRule(
        "temperature_max", "temperature", HIGHEST_LEVEL, "the trace has no temperatures (thermal/thermal_temperature)"
    ),
    RowRule(
        "throttling_level", "throttling", HIGHEST_LEVEL_FROM_ZERO,
        "no cooling device reported a change (thermal/cdev_update)",
    ),
    RowRule("idle_deep_ratio", "idle_deep", MEAN_FROM_ZERO, "the trace has no idle states (power/cpu_idle)"),
)  # fmt: skip
