"""Call stack samples within some stretches of a trace: where threads ran, and where memory was allocated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from perfreg_assets.methods.thread_times import SECOND_NS, UNKNOWN
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.slices import Range, clusters
from perfreg_assets.traces.statements import statement

STACK_SCHEMA = pa.schema(
    [
        ("range", pa.int32()), ("source", pa.string()), ("is_app", pa.bool_()), ("process", pa.string()),
        ("thread", pa.string()), ("path", pa.list_(pa.string())), ("count", pa.int64()), ("self_value", pa.float64()),
        ("unit", pa.string()),
    ]
)  # fmt: skip
_SAMPLES = {
    "source": "string", "ts": "int64", "utid": "Int64", "upid": "Int64", "callsite_id": "Int64", "weight": "int64",
}  # fmt: skip
CLOCKS = {"cpu-clock", "task-clock"}
"""perf's counters that count ns."""
SECONDS = "s"
"""Unit of samples whose period is a time."""


@dataclass(frozen=True)
class StackTimes:
    """Attributes:
    rows: as `STACK_SCHEMA`, a row per range, source (`perf`, `cpu_profile`, `heap`), thread and stack. `path` goes from
        the outermost function to the one that ran; `count` is the samples in which it did, `self_value` what they stand
        for in `unit`: `s` where the period is a time, the name of the counted event, or `bytes` of a heap.
    sample_count, without_stack_count: samples in the ranges, and those of them that have no stack and are in no row.
    """

    rows: pa.Table
    sample_count: int
    without_stack_count: int


def stack_times(session: TraceSession, names: Names, ranges: Sequence[Range]) -> StackTimes:
    """Samples by stack within each range.

    Raises:
        Rejected: ENGINE_…
    """
    found: dict[tuple[int, str, int | None, int | None, int], list[int]] = {}
    sample_count = without_stack_count = 0
    for first_ns, last_ns, members in clusters(ranges):
        table = session.query(statement("stack_samples", start_ns=first_ns, end_ns=last_ns), _SAMPLES)
        ts, site = table["ts"], table["callsite_id"]
        columns = zip(
            table["source"], table["utid"].tolist(), table["upid"].tolist(), site.tolist(), table["weight"].tolist(),
            strict=True,
        )  # fmt: skip
        rows = list(columns)
        for member in members:
            lo, hi = ranges[member]
            for k in np.flatnonzero((ts >= lo) & (ts < hi)).tolist():
                source, utid, upid, callsite, weight = rows[k]
                sample_count += 1
                if callsite is None:
                    without_stack_count += 1
                    continue
                total = found.setdefault((member, source, utid, upid, callsite), [0, 0])
                total[0] += 1
                total[1] += weight
    return StackTimes(_rows(session, names, found), sample_count, without_stack_count)


def _rows(
    session: TraceSession, names: Names, found: dict[tuple[int, str, int | None, int | None, int], list[int]]
) -> pa.Table:
    if not found:
        return STACK_SCHEMA.empty_table()
    sources = {source for _, source, _, _, _ in found}
    periods = {source: period(session, source) for source in sources}
    stacks = _Stacks(session)
    sums: dict[tuple[object, ...], list[int]] = {}
    for (member, source, utid, upid, callsite), (count, weight) in found.items():
        owner = (*names.process(upid), UNKNOWN) if utid is None else names.thread(utid)
        total = sums.setdefault((member, source, *owner, stacks.path(callsite)), [0, 0])
        total[0] += count
        total[1] += weight
    keys = sorted(sums)
    columns = [[key[k] for key in keys] for k in range(len(STACK_SCHEMA) - 3)]
    worth = [periods[str(key[1])] for key in keys]
    return pa.table(
        [
            *columns,
            [sums[key][0] for key in keys],
            [sums[key][1] * each for key, (each, _) in zip(keys, worth, strict=True)],
            [unit for _, unit in worth],
        ],
        schema=STACK_SCHEMA,
    )


def period(session: TraceSession, source: str) -> tuple[float, str]:
    """What one unit of weight stands for, and in which unit: the usual step of perf's counter from sample to sample,
    the usual time between two samples of a thread, or one byte; one sample where nothing tells.

    Raises:
        Rejected: ENGINE_…
    """
    if source == "heap":
        return 1.0, "bytes"
    if source == "cpu_profile":
        table = session.query(statement("profiler_steps"), {"ts": "int64", "utid": "int64"})
        steps = np.diff(table["ts"])[np.diff(table["utid"]) == 0]
        return (float(np.median(steps)) / SECOND_NS, SECONDS) if steps.size else (1.0, "samples")
    schema = {"track": "int64", "counter": "string", "value": "float64"}
    table = session.query(statement("perf_counters"), schema)
    steps = np.diff(table["value"])[np.diff(table["track"]) == 0]
    steps = steps[steps > 0]
    if not steps.size:
        return 1.0, "samples"
    counter = str(table["counter"][0])
    step = float(np.median(steps))
    return (step / SECOND_NS, SECONDS) if counter.partition(":")[0] in CLOCKS else (step, counter)


class _Stacks:
    """Call sites by number, with the names from the outermost caller on."""

    def __init__(self, session: TraceSession) -> None:
        schema = {"id": "int64", "parent_id": "Int64", "name": "string", "mapping": "string"}
        table = session.query(statement("call_sites"), schema)
        names = [name or _file(mapping) for name, mapping in zip(table["name"], table["mapping"], strict=True)]
        above = zip(table["parent_id"].tolist(), names, strict=True)
        self._sites = dict(zip(table["id"].tolist(), above, strict=True))
        self._known: dict[int, tuple[str, ...]] = {}

    def path(self, site: int) -> tuple[str, ...]:
        if site not in self._known:
            names: list[str] = []
            at: int | None = site
            while at is not None and at in self._sites:
                at, name = self._sites[at]
                names.append(name)
            self._known[site] = tuple(reversed(names))
        return self._known[site]


def _file(mapping: str | None) -> str:
    """A function without a symbol is known by its file."""
    return f"[{mapping.rpartition('/')[2]}]" if mapping else UNKNOWN
