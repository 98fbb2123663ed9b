"""Which process's memory grew within some stretches of a trace, and of which kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from perfreg_assets.traces.columns import Table
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.slices import Range
from perfreg_assets.traces.statements import statement

MEMORY_SCHEMA = pa.schema(
    [
        ("range", pa.int32()), ("is_app", pa.bool_()), ("process", pa.string()), ("kind", pa.string()),
        ("before_bytes", pa.float64()), ("after_bytes", pa.float64()),
    ]
)  # fmt: skip
_COLUMNS = {"ts": "int64", "upid": "int64", "name": "string", "value": "float64"}
_KINDS = {
    "mem.rss.anon": "anon", "mem.rss.file": "file", "mem.rss.shmem": "shmem", "mem.swap": "swap",
    "mem.smaps.pss.anon": "pss_anon", "mem.smaps.pss.file": "pss_file", "mem.smaps.pss.shmem": "pss_shmem",
    "mem.smaps.pss.smem": "pss_shmem",  # so the trace processor 52 spells it
    "mem.smaps.swap.pss": "pss_swap",
}  # fmt: skip
_WHOLE, _WHOLE_KIND = "mem.rss", "rss"

_Life = tuple[int | None, int | None]
"""Begin and end of a process, where the trace saw them."""


def memory_growth(
    session: TraceSession, names: Names, ranges: Sequence[Range], *, of_app_only: bool = False
) -> pa.Table:
    """What processes held at the begin and at the end of each range, as `MEMORY_SCHEMA`, by name of process and kind:
    anon, file, shmem, swap; rss where the parts were not sampled; pss_… where smaps was. Processes that held nothing at
    both ends are left out; one that begins or ends in the range comes from or goes to 0.

    Raises:
        Rejected: ENGINE_…
    """
    last_ns = max((end for _, end in ranges), default=0)
    table = session.query(statement("memory_of_all", end_ns=last_ns), _COLUMNS)
    processes = names.contents.processes
    lives = dict(
        zip(
            processes["upid"].tolist(),
            zip(processes["start_ts"].tolist(), processes["end_ts"].tolist(), strict=True),
            strict=True,
        )
    )
    sums: dict[tuple[int, bool, str, str], list[float]] = {}
    for upid, rows in table.groups("upid"):
        if of_app_only and not names.process(upid)[0]:
            continue
        for kind, ts, values in _courses(rows):
            for k, (start, end) in enumerate(ranges):
                before, after = (_held(ts, values, lives.get(upid, (None, None)), at) for at in (start, end))
                if before or after:
                    total = sums.setdefault((k, *names.process(upid), kind), [0.0, 0.0])
                    total[0] += before
                    total[1] += after
    keys = sorted(sums)
    columns = [[key[k] for key in keys] for k in range(4)]
    return pa.table([*columns, *([sums[key][k] for key in keys] for k in range(2))], schema=MEMORY_SCHEMA)


def _courses(rows: Table) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(kind, times, values) of a process's samples."""
    found = {name: (part["ts"], part["value"]) for name, part in rows.groups("name")}
    parts = [(kind, *found[name]) for name, kind in _KINDS.items() if name in found]
    if "mem.rss.anon" not in found and _WHOLE in found:
        parts.append((_WHOLE_KIND, *found[_WHOLE]))
    return parts


def _held(ts: np.ndarray, values: np.ndarray, life: _Life, at: int) -> float:
    """The last sample before that moment; the first one for a process that was there before it was sampled."""
    begin, end = life
    if (begin is not None and at <= begin) or (end is not None and at > end):
        return 0.0
    return float(values[max(int(np.searchsorted(ts, at, side="left")) - 1, 0)])
