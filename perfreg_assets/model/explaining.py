"""Causes of what is due, as rows: from what is stored of runs, and from their traces where these tell more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

from perfreg_assets.advance import Count
from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.window_causes import Cause, Ranking
from perfreg_assets.model import inputs, readiness
from perfreg_assets.model.cause_details import Details, Read, explain_details
from perfreg_assets.model.causes import Explainer, Explanation, explainers
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.model.windows import window_of
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engines import Engines
from perfreg_assets.warehouse import causes as table
from perfreg_assets.warehouse import settings_table, states
from perfreg_assets.warehouse.connection import Reader, Warehouse

BLOCK = 8
"""Runs whose histories are loaded together."""
MOST_LISTED = 50
"""Rows kept of a window and a source; what comes behind has next to no share."""
MOST_STACKS = 2000
"""Stacks kept of a window and a source, those that take most now or before."""
STACKS = (*table.STACKS_OF_TIME, table.HEAP)
"""Sources that tell stacks."""


@dataclass(frozen=True)
class Look:
    """How traces are opened: with these engines; `read`: what reads one instead (tests bring their own)."""

    engines: Engines | None
    read: Read | None


def explain_due(
    warehouse: Warehouse, settings: Settings, keys: Iterable[str], watch: Stopwatch, *, read: Read | None = None
) -> list[str]:
    """Finds the causes of the suspicious windows in some partitions, where that is due; the runs looked at.

    Args:
        read: what reads a trace; tests bring their own.
    """
    found: list[table.Explained] = []
    with warehouse.reading() as reader:
        settings = settings_table.in_force(reader, settings)
        wanted = sorted(readiness.ready(reader, settings, Stage.CAUSE, keys).runs)
        if not wanted:
            return []
        marks = states.explained_from(reader, wanted)
        hashes = inputs.causes_hashes(marks, settings)
        windows = table.suspicious(reader, wanted)
        count = Count(len(hashes), "runs explained")
        with _looking(settings, read, has_runs=bool(hashes)) as look:
            for block in _blocks(list(hashes)):
                with watch.measure("warehouse"):
                    ready = explainers(reader, block, settings)
                for run_id in count.over(block):
                    made_from = table.RunRow(
                        run_id=run_id,
                        input_hash=hashes[run_id],
                        inputs_mark=marks[run_id],
                        code_version=code_version("methods"),
                    )
                    found.append(_explained(reader, made_from, ready[run_id], windows[run_id], settings, look, watch))
    with watch.measure("warehouse"), warehouse.writing() as writer:
        table.replace(writer, wanted, found)
    return wanted


@contextmanager
def _looking(settings: Settings, read: Read | None, *, has_runs: bool) -> Iterator[Look]:
    """Engines for a batch that has runs and brings no reader of its own; they start when a trace is opened."""
    with Engines(settings) if has_runs and read is None else nullcontext() as engines:
        yield Look(engines, read)


def _blocks(run_ids: list[str]) -> list[list[str]]:
    """What is held in memory at once: thread times of so many runs and their histories."""
    return [run_ids[start : start + BLOCK] for start in range(0, len(run_ids), BLOCK)]


def _explained(
    reader: Reader,
    made_from: table.RunRow,
    explainer: Explainer,
    suspicious: Sequence[table.Suspicious],
    settings: Settings,
    look: Look,
    watch: Stopwatch,
) -> table.Explained:
    run_id = made_from.run_id
    windows = [window_of(one, settings) for one in suspicious]
    with watch.measure("model"):
        explanations = [explainer.explain(one) for one in windows]
    with watch.measure("traces"):
        details = explain_details(reader, settings, run_id, windows, read=look.read, engines=look.engines)
    rankings = [dict(one.rankings) for one in details.windows] or [{} for _ in windows]
    found = list(zip(suspicious, explanations, rankings, strict=True))
    causes = [row for window, one, more in found for row in _cause_rows(window, one, more)]
    stacks = [row for window, _, more in found for row in _stack_rows(window, more)]
    return table.Explained(
        replace(made_from, stack_count=len(stacks) or None),
        tuple(_window_row(window, one) for window, one, _ in found),
        tuple(causes),
        tuple(_source_rows(run_id, explainer, details)),
        tuple(replace(row, position=place) for place, row in enumerate(stacks)),
        details.unread_of(run_id),
    )


def _source_rows(run_id: str, explainer: Explainer, details: Details) -> Iterator[table.SourceRow]:
    more = [(source, reason, details.history_counts.get(source, 0)) for source, reason in details.missing.items()]
    for source, reason, count in (*explainer.sources(), *more):
        yield table.SourceRow(
            run_id=run_id, source=source, is_present=reason is None, history_count=count, reason=reason
        )


def _window_row(row: table.Suspicious, one: Explanation) -> table.WindowRow:
    return table.WindowRow(
        run_id=row.run_id,
        series=row.series,
        window_index=row.window_index or 0,
        is_whole_run=row.window_index is None,
        start_s=one.window.start_s,
        end_s=one.window.end_s,
        start_ns=one.window.start_ns,
        end_ns=one.window.end_ns,
        confidence=row.confidence,
        state=one.state,
        state_reason=one.state_reason,
        disturbance=one.disturbance,
        history_count=max((cause.history_count for cause in one.ranking.causes), default=0),
        matched_count=max((cause.matched_count for cause in one.ranking.causes), default=0),
    )


def _cause_rows(window: table.Suspicious, one: Explanation, more: dict[str, Ranking]) -> Iterator[table.CauseRow]:
    """What is listed of a window: threads, waits and kinds of memory first, then what its trace tells, source by
    source, each by its own z."""
    causes = [(SOURCE_OF[cause.kind], cause) for cause in one.ranking.listed[:MOST_LISTED]]
    beside = [(SOURCE_OF[cause.kind], cause) for cause in one.ranking.also_grew[:MOST_LISTED] if cause.rank is not None]
    for source, ranking in more.items():
        for cause in ranking.listed[:MOST_LISTED]:
            (causes if is_explaining(cause, window.series) else beside).append((source, cause))
    for is_cause, rows in ((True, causes), (False, beside)):
        for rank, (source, cause) in enumerate(rows, 1):
            yield _cause_row(window, cause, source, is_cause, rank)


def is_explaining(one: Cause, series: str) -> bool:
    """Whether it explains the series: no wait, and no frame that took long, is what a core was busy with."""
    return not definition_of(series).is_busy_time or one.kind not in ("lock", "frame")


def _cause_row(window: table.Suspicious, one: Cause, source: str, is_cause: bool, rank: int) -> table.CauseRow:
    return table.CauseRow(
        run_id=window.run_id,
        series=window.series,
        window_index=window.window_index or 0,
        is_cause=is_cause,
        rank=rank,
        kind=one.kind,
        scope=one.scope,
        process=one.process,
        thread=one.thread,
        name=one.name,
        path=joined(one.path),
        value=one.value,
        history_median=one.history_median,
        history_mad=one.history_mad,
        growth=one.growth,
        growth_share=one.growth_share,
        z=one.z,
        is_new=one.is_new,
        matched_count=one.matched_count,
        history_count=one.history_count,
        source=source,
    )


def joined(path: Sequence[str]) -> str | None:
    """Names from the outermost on as one text."""
    return ";".join(path) or None


def _stack_rows(window: table.Suspicious, more: dict[str, Ranking]) -> Iterator[table.StackRow]:
    for source, ranking in more.items():
        if source not in STACKS:
            continue
        largest = sorted(ranking.causes, key=lambda one: -max(one.value, one.history_median or 0.0))[:MOST_STACKS]
        for one in sorted(largest, key=lambda one: (one.process, one.thread or "", one.path)):
            yield table.StackRow(
                run_id=window.run_id,
                position=0,
                series=window.series,
                window_index=window.window_index or 0,
                source=source,
                process=one.process,
                thread=one.thread,
                stack=one.path,
                value=one.value,
                history_median=one.history_median,
            )


SOURCE_OF = {"thread": table.SCHED, "wait": table.THREAD_STATE, "memory": table.MEMORY}
"""Kind of a cause that every run keeps → where it comes from."""
