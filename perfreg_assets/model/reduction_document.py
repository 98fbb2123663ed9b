"""What is told of a reduction: perfreg.reduction.json, and the row of the warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfreg_assets import __version__
from perfreg_assets.methods.app_load import LoadLimits
from perfreg_assets.model.reduced_before import ReducedBefore
from perfreg_assets.model.window_judging import Windows
from perfreg_assets.traces import event_types, reduced
from perfreg_assets.traces.cutting import Cut
from perfreg_assets.traces.gate import FileFacts
from perfreg_assets.traces.second_use import SECOND_NS
from perfreg_assets.warehouse.reductions import ReductionRow

SCHEMA_VERSION = 2

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reduced:
    """A reduced trace.

    Attributes:
        path: of the trace that was written. facts: of the original.
        sha256: of what was written; `bytes_after`: its size on disk.
        parameters: see `reduced_before.parameters_of`.
    """

    path: Path
    facts: FileFacts
    windows: Windows
    cut: Cut
    sha256: str
    bytes_after: int
    parameters: Mapping[str, Any]

    @property
    def original(self) -> Path:
        """That it was made of."""
        return self.facts.path

    @property
    def kl(self) -> Floats:
        """(windows,)."""
        return self.windows.kl

    @property
    def score(self) -> Floats:
        """(windows,)."""
        return self.windows.score

    @cached_property
    def told(self) -> dict[str, Any]:
        """What perfreg.reduction.json holds."""
        return _document(self)


Reduction = Reduced | ReducedBefore
"""A reduced trace of this call or of an earlier one: path, original, told, kl and score are asked of both."""


def _document(made: Reduced) -> dict[str, Any]:
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
        "fit": None if windows.fit is None else {"app": windows.fit.app, "device": windows.fit.device},
        "load_limits": _limits(learned.limits) if reference.mode.has_load else None,
        "parameters": dict(made.parameters),
        "code_version": __version__,
        "start_ns": events.start_ns,
        "end_ns": events.end_ns + 1,
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


def row_of(made: Reduction) -> ReductionRow:
    """What the warehouse keeps of a reduction; names of types stand in place of their numbers."""
    told = made.told
    types, windows = told["types"], told["windows"]
    return ReductionRow(
        original_sha256=told["original_sha256"],
        reduced_sha256=told["sha256"],
        trace_file=str(made.original.absolute()),
        reduced_file=str(made.path.absolute()),
        reference_name=told["reference"],
        reduction_mode=told["mode"],
        window_s=told["window_s"],
        kl_maximum=told["theta"],
        score_minimum=told["alpha"],
        bytes_before=told["bytes_before"],
        bytes_after=told["bytes_after"],
        kept_ratio=told["kept_share"],
        window_count=len(windows),
        start_ns=told["start_ns"],
        event_types=types,
        window_events=tuple(one["events"] for one in windows),
        kls=made.kl,
        scores=made.score,
        anomalous=tuple(one["is_anomalous"] for one in windows),
        kept=tuple(one["is_kept"] for one in windows),
        reasons=tuple(one["reason"] or "" for one in windows),
        second_events=[
            {**second, "counts": {types[int(number)]: count for number, count in second["counts"].items()}}
            for second in told["seconds"]
        ],
        code_version=told["code_version"],
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
