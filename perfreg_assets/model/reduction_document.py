"""What is told of a reduction: perfreg.reduction.json, and the row of the warehouse."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.methods.app_load import LoadLimits
from perfreg_assets.model.window_judging import Windows
from perfreg_assets.traces import event_types, reduced
from perfreg_assets.traces.cutting import Cut
from perfreg_assets.traces.gate import FileFacts
from perfreg_assets.traces.second_use import SECOND_NS
from perfreg_assets.warehouse.reductions import ReductionRow

SCHEMA_VERSION = 2


@dataclass(frozen=True)
class Reduced:
    """A reduced trace.

    Attributes:
        path: of the trace that was written. facts: of the original.
        sha256: of what was written; `bytes_after`: its size on disk.
    """

    path: Path
    facts: FileFacts
    windows: Windows
    cut: Cut
    sha256: str
    bytes_after: int


def document(made: Reduced) -> dict[str, Any]:
    """What perfreg.reduction.json holds."""
    windows, learned = made.windows, made.windows.learned
    reference, events = learned.reference, windows.events
    starts = events.starts_ns().tolist()
    return {
        "schema_version": SCHEMA_VERSION,
        "trace": made.path.name,
        "original_sha256": made.facts.sha256,
        "sha256": made.sha256,
        "bytes_before": made.facts.file_bytes,
        "bytes_after": made.bytes_after,
        "unpacked_bytes_before": made.facts.unpacked_bytes,
        "unpacked_bytes_after": made.cut.bytes_after + len(reduced.mark()),
        "kept_share": share_kept(windows),
        "packets": {"all": made.cut.packet_count, "kept": made.cut.kept_count, "stripped": made.cut.stripped_count},
        "unknown_packets": {str(number): count for number, count in sorted(made.cut.unknown.items())},
        "unplaced_events": events.unplaced_count,
        "mode": reference.mode.name,
        "window_s": learned.window_ns / 1e9,
        "theta": reference.theta,
        "alpha": reference.alpha,
        "reference": learned.name,
        "reference_windows": reference.window_count,
        "load_limits": _limits(learned.limits) if reference.mode.has_load else None,
        "code_version": __version__,
        "stretches": [{"start_ns": begin, "end_ns": end} for begin, end in windows.stretches],
        "windows": [
            {
                "start_ns": start,
                "end_ns": start + learned.window_ns,
                "is_kept": bool(kept),
                "is_anomalous": bool(anomalous),
                "reason": reason,
                "events": int(size),
                "kl": _number(kl),
                "score": _number(score),
            }
            for start, kept, anomalous, reason, size, kl, score in zip(
                starts, windows.is_kept, windows.is_anomalous, windows.reason,
                events.counts.sum(axis=1, dtype=np.int64), windows.kl, windows.score, strict=True,
            )
        ],
        "types": [str(one) for one in (*learned.types, event_types.OTHER)],
        "seconds": per_second(windows),
    }  # fmt: skip


def per_second(windows: Windows) -> list[dict[str, Any]]:
    """Of each second of the trace, dropped ones as well, whatever the length of windows: start_ns, is_kept (any of it),
    counts (type, by its number → events), running_s (process → seconds that its threads ran) and rss_bytes (process →
    resident memory when it was polled last in that second)."""
    use = windows.events.use
    kept = np.zeros(len(use), np.bool_)
    for begin, end in windows.stretches:
        kept[(begin - use.start_ns) // SECOND_NS : -(-(end - use.start_ns) // SECOND_NS)] = True
    return [
        {
            "start_ns": use.start_ns + number * SECOND_NS,
            "is_kept": bool(is_kept),
            "counts": {str(column): int(counts[column]) for column in np.flatnonzero(counts).tolist()},
            "running_s": running_s,
            "rss_bytes": rss_bytes,
        }
        for number, (is_kept, counts, running_s, rss_bytes) in enumerate(
            zip(kept, use.counts, use.running_s, use.rss_bytes, strict=True)
        )
    ]


def row_of(made: Reduced) -> ReductionRow:
    """What the warehouse keeps of a reduction; names of types stand in place of their numbers."""
    windows, learned = made.windows, made.windows.learned
    types = [str(one) for one in (*learned.types, event_types.OTHER)]
    return ReductionRow(
        original_sha256=made.facts.sha256,
        reduced_sha256=made.sha256,
        trace_file=str(made.facts.path.absolute()),
        reduced_file=str(made.path.absolute()),
        reference_name=learned.name,
        reduction_mode=learned.reference.mode.name,
        window_s=learned.window_ns / 1e9,
        kl_maximum=learned.reference.theta,
        score_minimum=learned.reference.alpha,
        bytes_before=made.facts.file_bytes,
        bytes_after=made.bytes_after,
        kept_ratio=share_kept(windows),
        window_count=len(windows.reason),
        start_ns=windows.events.start_ns,
        event_types=types,
        window_events=tuple(windows.events.counts.sum(axis=1, dtype=np.int64).tolist()),
        kls=windows.kl,
        scores=windows.score,
        anomalous=tuple(windows.is_anomalous.tolist()),
        kept=tuple(windows.is_kept.tolist()),
        reasons=tuple(reason or "" for reason in windows.reason),
        second_events=[
            {**second, "counts": {types[int(number)]: count for number, count in second["counts"].items()}}
            for second in per_second(windows)
        ],
    )


def share_kept(windows: Windows) -> float:
    """Kept time of all time."""
    total = windows.events.end_ns + 1 - windows.events.start_ns
    return sum(end - begin for begin, end in windows.stretches) / total


def _limits(limits: LoadLimits | None) -> dict[str, Any] | None:
    if limits is None:
        return None
    return {
        "app": limits.app, "core_seconds": _number(limits.core_seconds), "rise_bytes": _number(limits.rise_bytes)
    }  # fmt: skip


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
