"""What a run's trace tells of its windows beyond threads: slices, locks, call stacks, memory by process.

Each beside the history's traces, on the same screens. Traces are opened only for this, and what was read of them is
kept by content (`traces.window_details`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from perfreg_assets.methods.screens import matching_weights, stretches, window_weights
from perfreg_assets.methods.thread_times import SECOND_NS
from perfreg_assets.methods.window_causes import (
    MEMORY_FLOOR_BYTES,
    THREAD_FLOOR_CORES,
    Entity,
    Kind,
    Ranking,
    Recorded,
    rank_named,
)
from perfreg_assets.model.causes import Window
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.slices import Range
from perfreg_assets.traces.window_details import WindowDetails, window_details
from perfreg_assets.warehouse import histories, recorded
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Reader

Values = dict[Entity, float]


@dataclass(frozen=True)
class Detailed:
    """Of one window: `slices` (locks among them), `stacks` and `memory` that grew, each ranked by itself."""

    window: Window
    slices: Ranking
    stacks: Ranking
    memory: Ranking


@dataclass(frozen=True)
class Details:
    """Attributes:
    windows: in the order asked for; empty where the run's own trace cannot be read.
    left_out: (run, why) of traces that could not be read.
    sample_count, without_stack_count: call stack samples of the run in its windows, and those without a stack.
    """

    windows: list[Detailed]
    left_out: list[tuple[str, str]]
    sample_count: int
    without_stack_count: int


def explain_details(
    reader: Reader,
    settings: Settings,
    run_id: str,
    windows: Sequence[Window],
    *,
    read: Callable[..., WindowDetails] = window_details,
    progress: Callable[[str], None] = lambda _: None,
) -> Details:
    """Reads the run's trace and those of its history where nothing is kept of these seconds.

    Args:
        settings: those in force.
        read: what reads a trace; tests bring their own.
    """
    members = histories.members(reader, [run_id]).get(run_id, ())
    rows = run_table.find(reader, [run_id, *members])
    known = recorded.load(reader, rows)
    own = known[run_id]
    left_out: list[tuple[str, str]] = []

    def opened(name: str, ranges: Sequence[Range]) -> WindowDetails | None:
        row = rows[name]
        progress(name)
        try:
            path = Path(settings.runs_dir / name / (row.trace_file or ""))
            return read(path, row.trace_sha256 or "", row.app, ranges, settings)
        except (Rejected, OSError) as error:
            left_out.append((name, str(error)))
            return None

    told = opened(run_id, [(one.start_ns, one.end_ns) for one in windows])
    if told is None:
        return Details([], left_out, 0, 0)
    plans = {name: [_plan(one, own, known[name]) for one in windows] for name in members if name in rows}
    earlier: dict[str, WindowDetails] = {}
    for name, planned in plans.items():
        found = opened(name, [place for plan in planned for place in (*plan.ranges, plan.session)])
        if found is not None:
            earlier[name] = found
    detailed = []
    for number, window in enumerate(windows):
        share = 1e9 / max(window.end_ns - window.start_ns, 1)
        of_history = [_values(earlier[name], plans[name], number) for name in earlier]
        now = _Values.of(told, {number: share}, number)
        matched_count = sum(plans[name][number].is_matched for name in earlier)
        detailed.append(
            Detailed(
                window,
                *(
                    rank_named(
                        getattr(now, part),
                        [getattr(one, part) for one in of_history],
                        floor=MEMORY_FLOOR_BYTES if part == "memory" else THREAD_FLOOR_CORES,
                        matched_count=matched_count,
                        minimum=settings.history_minimum,
                    )
                    for part in ("slices", "stacks", "memory")
                ),
            )
        )
    return Details(detailed, left_out, told.sample_count, told.without_stack_count)


@dataclass(frozen=True)
class _Plan:
    """Which stretches of an earlier run's trace are compared with a window.

    Attributes:
        ranges, weights: stretches on the window's screens, and what a second of each weighs.
        session: the same seconds of its session.
    """

    ranges: list[Range]
    weights: list[float]
    session: Range
    is_matched: bool


def _plan(window: Window, own: Recorded, other: Recorded) -> _Plan:
    if own.times is None or other.times is None or not len(other.screens):
        return _Plan([], [], (0, 0), False)
    seconds = own.times.seconds.shape[1]
    weights = window_weights(window.start_ns, window.end_ns, own.times.start_ns, seconds)
    like, is_matched = matching_weights(weights, own.screens, other.screens)
    first = other.times.start_ns
    parts = stretches(like)
    moved = first - own.times.start_ns
    return _Plan(
        [(first + begin * SECOND_NS, first + end * SECOND_NS) for begin, end, _ in parts],
        [weight for _, _, weight in parts],
        (window.start_ns + moved, window.end_ns + moved),
        is_matched,
    )


@dataclass(frozen=True)
class _Values:
    """Entity → its value: seconds per second; of memory bytes that it grew."""

    slices: Values
    stacks: Values
    memory: Values

    @classmethod
    def of(cls, details: WindowDetails, weights: Mapping[int, float], session: int) -> _Values:
        """Args: weights: position of a range → what a second in it weighs. session: position of that of memory."""
        found = cls({}, {}, {})
        for row in _app_rows(details.slices):
            if row["range"] in weights:
                kind: Kind = "lock" if row["is_lock"] else "slice"
                entity = Entity(kind, row["process"], row["thread"], row["path"][-1], tuple(row["path"]))
                _add(found.slices, entity, row["self_s"] * weights[row["range"]])
        for row in _app_rows(details.stacks):
            if row["range"] in weights and row["unit"] == "s":
                entity = Entity("stack", row["process"], row["thread"], row["path"][-1], tuple(row["path"]))
                _add(found.stacks, entity, row["self_value"] * weights[row["range"]])
        for row in _app_rows(details.memory):
            if row["range"] == session:
                _add(
                    found.memory,
                    Entity("memory", row["process"], None, row["kind"]),
                    row["after_bytes"] - row["before_bytes"],
                )
        return found


def _values(details: WindowDetails, plans: Sequence[_Plan], number: int) -> _Values:
    first = sum(len(plan.ranges) + 1 for plan in plans[:number])
    plan = plans[number]
    return _Values.of(details, {first + k: one for k, one in enumerate(plan.weights)}, first + len(plan.ranges))


def _app_rows(rows: pa.Table) -> list[dict[str, Any]]:
    return [row for row in rows.to_pylist() if row["is_app"]]


def _add(values: Values, entity: Entity, amount: float) -> None:
    values[entity] = values.get(entity, 0.0) + amount
