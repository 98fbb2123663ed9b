"""How often the ranking names the service that a fault was injected into: spans of traced requests, minute by minute.

A Parquet file of spans (SpanID, ParentID, PodName, OperationName, Duration in µs, minute `HH_MM`)
with the labelled faults in a JSON file beside it (`…_spans.parquet`, `…_faults.json`), as Nezha's data is kept. The
minute of a fault is ranked against the minutes without one; an entity is a service, or an operation of a service, and
its value its self time per request. Time shows what takes longer, and nothing else: a service that returns wrong
answers does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from perfreg_assets.methods.causes import rank_methods
from perfreg_assets.methods.method_uses import Profile
from perfreg_assets.reasons import Reason, Rejected

COLUMNS = ("SpanID", "ParentID", "PodName", "OperationName", "Duration", "minute")
LIMITS = (1, 3, 5)
_POD = re.compile(r"-[0-9a-f]{6,10}-[0-9a-z]{5}$")


@dataclass(frozen=True)
class Fault:
    """What was injected when (`HH_MM`), and into which service."""

    kind: str
    service: str
    minute: str


@dataclass(frozen=True)
class Hit:
    """The rank of the faulty service, from 1, by services and by their operations."""

    fault: Fault
    by_service: int
    by_operation: int


def service_of(pod: str) -> str:
    """The service that a pod runs: its name without the two hashes at its end."""
    return _POD.sub("", pod)


def read_faults(path: Path) -> list[Fault]:
    """Raises Rejected (DATASET_UNREADABLE)."""
    try:
        told = json.loads(path.read_text("utf-8"))
        return [
            Fault(one["inject_type"], service_of(one["inject_pod"]), one["inject_time"][11:16].replace(":", "_"))
            for faults in told.values()
            for one in faults
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Rejected(Reason.DATASET_UNREADABLE, f"{path} ({error})") from error


def self_times(spans: pa.Table) -> np.ndarray:
    """(n,) Duration of each span without that of its direct children, ms; children that ran at once leave 0."""
    both = pa.chunked_array([*spans.column("SpanID").chunks, *spans.column("ParentID").chunks])
    codes = both.combine_chunks().dictionary_encode().indices.to_numpy()
    own, parent = codes[: spans.num_rows], codes[spans.num_rows :]
    duration = spans.column("Duration").to_numpy() / 1e3
    of_children = np.bincount(parent, duration, minlength=int(codes.max(initial=0)) + 1)
    return np.asarray(np.maximum(duration - of_children[own], 0.0))


def evaluate_spans(path: Path) -> list[Hit]:
    """Ranks the minute of every fault of which there are spans.

    Raises:
        Rejected: DATASET_UNREADABLE.
    """
    try:
        spans = pq.read_table(path, columns=list(COLUMNS))
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        raise Rejected(Reason.DATASET_UNREADABLE, f"{path} ({error})") from error
    faults = read_faults(path.with_name(path.name.replace("_spans.parquet", "_faults.json")))
    services = [service_of(pod) for pod in spans.column("PodName").to_pylist()]
    operations = spans.column("OperationName").to_pylist()
    own = self_times(spans)
    minutes = np.array(spans.column("minute").to_pylist())
    hits = []
    profiles = {
        key: {minute: _profile(services, names, own, minutes == minute) for minute in sorted(set(minutes.tolist()))}
        for key, names in (("service", services), ("operation", operations))
    }
    for fault in faults:
        of_fault = {fault.minute, *(_later(fault.minute, by) for by in (1, 2))}
        now = _later(fault.minute, 1)
        if now in profiles["service"]:
            ranks = [
                _rank(
                    profiles[key][now], [one for minute, one in profiles[key].items() if minute not in of_fault], fault
                )
                for key in ("service", "operation")
            ]
            hits.append(Hit(fault, *ranks))
    return hits


def _later(minute: str, by: int) -> str:
    hours, minutes = divmod(60 * int(minute[:2]) + int(minute[3:]) + by, 60)
    return f"{hours:02d}_{minutes:02d}"


def _profile(services: Sequence[str], names: Sequence[str], own: np.ndarray, chosen: np.ndarray) -> Profile:
    calls: dict[str, int] = {}
    self_ms: dict[str, dict[str, float]] = {}
    for place in np.flatnonzero(chosen).tolist():
        service, name = services[place], names[place]
        calls[service] = calls.get(service, 0) + 1
        of_service = self_ms.setdefault(service, {})
        of_service[name] = of_service.get(name, 0.0) + float(own[place])
    return Profile(calls, self_ms)


def _rank(now: Profile, before: Sequence[Profile], fault: Fault) -> int:
    ordered = list(dict.fromkeys(cause.service for cause in rank_methods(now, before)))
    return ordered.index(fault.service) + 1 if fault.service in ordered else len(ordered) + 1


def rows_of(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """A row per kind of fault: how often its service is among the first 1, 3 and 5."""
    rows = []
    for kind in ("all", *sorted({one.fault.kind for one in hits})):
        some = [one for one in hits if kind in ("all", one.fault.kind)]
        rows.append(
            {
                "kind": kind,
                "faults": len(some),
                **{
                    f"top_{limit}_{by}": sum(getattr(one, f"by_{by}") <= limit for one in some) / len(some)
                    for by in ("service", "operation")
                    for limit in LIMITS
                },
            }
        )
    return rows
