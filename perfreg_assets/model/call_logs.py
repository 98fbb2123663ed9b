"""From a call log to what is told of it: trees, times of services, scores, what grew; and to and from the warehouse."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.call_trees import INCOMPLETE_RATIO, CallTrees, build_trees, incomplete_ratio
from perfreg_assets.methods.causes import MethodCause, rank_methods
from perfreg_assets.methods.line_fields import NO_TIME
from perfreg_assets.methods.method_uses import MethodScore, MethodUse, Profile, method_scores, method_uses, profile_of
from perfreg_assets.methods.service_times import (
    WINDOW_S,
    ServiceTimes,
    SlowCall,
    TimeWindow,
    service_times,
    slowest_calls,
    time_windows,
)
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.call_log import LineCounts, read_call_log
from perfreg_assets.traces.call_log_template import Template
from perfreg_assets.warehouse import call_logs as table
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.moments import of_epoch_us
from perfreg_assets.warehouse.rows import Table


@dataclass(frozen=True)
class Analysis:
    """All that is told of a log.

    Attributes:
        sha256: None when it was not asked for.
        first_unfit, first_refused: see `traces.call_log.CallLog`.
        span_ms: time of the first and the last call, since 1970; None without times.
        reason: CALL_LOG_INCOMPLETE when too much of it has no parent or was refused.
        outside_count: calls of services that no window counts, see `methods.service_times.TimeWindows`.
        causes: every method beside its baselines, listed ones first; empty without baselines.
        baselines: what it was compared with, by name.
        itself: names of those baselines that hold the same calls as the log.
    """

    path: Path
    template: str
    counts: LineCounts
    byte_count: int
    sha256: str | None
    first_unfit: tuple[int, str] | None
    first_refused: tuple[int, str] | None
    span_ms: tuple[int, int] | None
    reason: Reason | None
    trees: CallTrees
    uses: list[MethodUse]
    scores: list[MethodScore]
    services: list[ServiceTimes]
    slowest: list[SlowCall]
    windows: list[TimeWindow]
    outside_count: int
    window_s: float
    causes: list[MethodCause]
    baselines: dict[str, Profile]
    itself: list[str]

    @property
    def listed(self) -> list[MethodCause]:
        """What grew notably."""
        return [cause for cause in self.causes if cause.rank is not None]


def analyse(
    path: Path,
    template: Template,
    baselines: dict[str, Profile] | None = None,
    *,
    window_s: float = WINDOW_S,
    with_sha256: bool = False,
) -> Analysis:
    """Reads and analyses one log.

    Raises:
        Rejected: see `read_call_log`. ValueError: see `time_windows`.
    """
    log = read_call_log(path, template, with_sha256=with_sha256)
    span_ms = _span(log.calls.time_ms)
    trees = build_trees(log.calls)
    uses = method_uses(trees)
    windows = time_windows(trees, window_s)
    ratio = incomplete_ratio(trees.counts, sum(log.counts.refused.values()))
    profile, earlier = profile_of(trees), baselines or {}
    return Analysis(
        path=path,
        template=template.text,
        counts=log.counts,
        byte_count=log.byte_count,
        sha256=log.sha256,
        first_unfit=log.first_unfit,
        first_refused=log.first_refused,
        span_ms=span_ms,
        reason=Reason.CALL_LOG_INCOMPLETE if ratio > INCOMPLETE_RATIO else None,
        trees=trees,
        uses=uses,
        scores=method_scores(uses),
        services=service_times(trees),
        slowest=slowest_calls(trees),
        windows=windows.windows,
        outside_count=windows.outside_count,
        window_s=window_s,
        causes=rank_methods(profile, list(earlier.values())),
        baselines=earlier,
        itself=[name for name, one in earlier.items() if one == profile],
    )


def _span(time_ms: NDArray[np.int64]) -> tuple[int, int] | None:
    """First and last time, in any order of the lines; None without any."""
    is_timed = time_ms != NO_TIME
    if not is_timed.any():
        return None
    last = int(np.max(time_ms))  # NO_TIME is below all times
    return int(np.min(time_ms, where=is_timed, initial=last)), last


def profile_of_file(path: Path, template: Template) -> Profile:
    """What of a log others are compared with."""
    return profile_of(build_trees(read_call_log(path, template).calls))


def without_copies(profiles: dict[str, Profile]) -> tuple[dict[str, Profile], list[tuple[str, str]]]:
    """(those that count, [(name, the one that holds the same calls)]): a log that is given twice, packed or stored
    perhaps, is one earlier log. Two logs have the same profile where every sum of times is the same to the last bit."""
    kept: dict[str, Profile] = {}
    copies = []
    for name, profile in profiles.items():
        same = next((known for known, one in kept.items() if one == profile), None)
        if same is None:
            kept[name] = profile
        else:
            copies.append((name, same))
    return kept, copies


def profile_of_stored(reader: Reader, call_log_id: str) -> Profile:
    """The same of a stored log."""
    self_ms: dict[str, dict[str, float]] = {}
    for use in table.uses_of(reader, [call_log_id]):
        self_ms.setdefault(use.service, {})[use.method] = use.self_ms
    calls = {row.service: row.call_count for row in table.services_of(reader, [call_log_id])}
    paths: dict[int, tuple[str, ...]] = {}
    path_self_ms: dict[tuple[str, ...], float] = {}
    for node in table.nodes_of(reader, call_log_id):
        above = (node.service,) if node.parent_index is None else paths[node.parent_index]
        paths[node.node_index] = (*above, node.method)
        path_self_ms[paths[node.node_index]] = node.self_ms
    return Profile(calls, self_ms, path_self_ms)


def named_log(reader: Reader, name: str) -> table.CallLogRow:
    """A stored log by its name, or by APP/VERSION/NAME.

    Raises:
        Rejected: CALL_LOG_MISSING, CALL_LOG_AMBIGUOUS.
    """
    parts = name.split("/", 2)
    found = table.find(reader, *parts) if len(parts) == 3 else table.find(reader, None, None, name)
    if not found:
        raise Rejected(Reason.CALL_LOG_MISSING, f"'{name}' is no file and no stored log")
    if len(found) > 1:
        told = ", ".join(f"{row.app}/{row.version_name}/{row.log_name}" for row in found[:5])
        raise Rejected(Reason.CALL_LOG_AMBIGUOUS, f"'{name}': {told}")
    return found[0]


def earlier_logs(reader: Reader, app: str, version_name: str) -> list[table.CallLogRow]:
    """Stored logs of other versions of an app that are whole: the newest ones, what a new log is compared with."""
    found = table.find(reader, app, None, None)
    return [row for row in found if row.version_name != version_name and row.reason_code is None][: table.BASELINES]


def store(writer: Writer, analysis: Analysis, app: str, version_name: str, log_name: str) -> str:
    """Stores a log and all that was found, in place of what had its name. Its key.

    Raises:
        ValueError: the analysis has no SHA-256, or a name is empty.
    """
    if analysis.sha256 is None:
        raise ValueError("a log is stored with its SHA-256; analyse it so")
    if not (app and version_name and log_name):
        raise ValueError("app, version and name of a log are not empty")
    key = table.call_log_id(app, version_name, log_name)
    start, end = analysis.span_ms or (None, None)
    counts = analysis.trees.counts
    refused = dict(analysis.counts.refused)
    if counts.refused_call_count:
        refused[Reason.CALL_LOG_LABEL_TWICE.code] = counts.refused_call_count
    row = table.CallLogRow(
        call_log_id=key,
        app=app,
        version_name=version_name,
        log_name=log_name,
        log_file=analysis.path.name,
        sha256=analysis.sha256,
        unpacked_bytes=analysis.byte_count,
        template=analysis.template,
        first_call_at=_moment(start),
        last_call_at=_moment(end),
        line_count=analysis.counts.line_count,
        call_count=analysis.counts.call_count,
        unfit_count=analysis.counts.unfit_count + analysis.counts.cut_last_line_count,
        refused_counts=refused,
        orphan_count=counts.orphan_count,
        parallel_count=counts.parallel_count,
        clipped_count=counts.clipped_count,
        split_count=counts.split_transaction_count,
        reason_code=None if analysis.reason is None else analysis.reason.code,
        baselines=tuple(analysis.baselines),
    )
    table.replace(writer, row, _rows(analysis, key))
    return key


def _rows(analysis: Analysis, key: str) -> dict[Table[Any], list[Any]]:
    trees, nodes = analysis.trees, analysis.trees.nodes
    times = {one.service: one for one in analysis.services}
    services = []
    for service, calls, total in zip(trees.services, trees.service_call_count, trees.service_total_ms, strict=True):
        own = times.get(service)
        services.append(
            table.ServiceRow(
                call_log_id=key,
                service=service,
                call_count=int(calls),
                total_ms=float(total),
                **{name: getattr(own, name, None) for name in ("min_ms", "mean_ms", "max_ms", "std_ms")},
                tree_count=own.tree_count if own else 0,
            )
        )
    columns = [
        getattr(nodes, one.name).tolist() for one in fields(nodes)
    ]  # parent, service, method, depth, outermost, calls, parallel, total, self, largest total, largest self
    node_rows = [
        table.NodeRow(
            call_log_id=key,
            node_index=number,
            parent_index=None if parent < 0 else parent,
            service=trees.services[service],
            method=trees.methods[method],
            depth_count=depth,
            is_outermost=is_outermost,
            call_count=calls,
            parallel_count=parallel,
            total_ms=total,
            self_ms=own_ms,
            max_ms=largest,
            max_self_ms=largest_self,
        )
        for number, (
            parent, service, method, depth, is_outermost, calls, parallel, total, own_ms, largest, largest_self,
        ) in enumerate(zip(*columns, strict=True))
    ]  # fmt: skip
    return {
        table.SERVICES: services,
        table.NODES: node_rows,
        table.USES: [table.UseRow(call_log_id=key, **vars(use)) for use in analysis.uses],
        table.SCORES: [
            table.ScoreRow(
                call_log_id=key,
                method=one.method,
                seed_score=one.score.score,
                rms=one.score.rms,
                std=one.score.std,
                service_count=one.score.service_count,
                call_count=one.call_count,
                mean_ms=one.mean_ms,
                max_ms=one.max_ms,
            )
            for one in analysis.scores
        ],
        table.CAUSES: [
            table.CauseRow(
                call_log_id=key,
                cause_rank=cause.rank or 0,
                **{name: value for name, value in vars(cause).items() if name != "rank"},
            )
            for cause in analysis.listed
        ],
        table.SLOW_CALLS: [
            table.SlowCallRow(
                call_log_id=key,
                slow_rank=call.rank,
                service=call.service,
                transaction=call.transaction,
                elapsed_ms=call.elapsed_ms,
                called_at=_moment(call.time_ms),
            )
            for call in analysis.slowest
        ],
        table.WINDOWS: [
            table.WindowRow(
                call_log_id=key,
                service=window.service,
                window_index=window.window_index,
                window_at=of_epoch_us(1000 * window.start_ms),
                window_s=analysis.window_s,
                call_count=window.call_count,
                calls_per_s=math.nan if window.calls_per_s is None else window.calls_per_s,
                mean_ms=window.mean_ms,
                max_ms=window.max_ms,
            )
            for window in analysis.windows
        ],
    }


def _moment(time_ms: int | None) -> datetime | None:
    return None if time_ms is None else of_epoch_us(1000 * time_ms)
