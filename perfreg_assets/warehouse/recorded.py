"""What is known of runs when windows are explained: thread times, screens by second, kinds of the app's memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perfreg_assets.methods.screens import screens_by_second
from perfreg_assets.methods.window_causes import Recorded
from perfreg_assets.run import timed_screens
from perfreg_assets.warehouse import paths, series, thread_times
from perfreg_assets.warehouse.connection import Reader

MEMORY_KINDS = {"rss_anon_app": "anon", "rss_file_app": "file", "swap_app": "swap"}
"""Series -> the kind of memory that it is, of all processes of the app together."""


def load(reader: Reader, run_ids: Iterable[str]) -> dict[str, Recorded]:
    """run_id -> what is known of it, of every run asked for.

    Raises:
        Rejected: DATA_MISSING.
    """
    ids = sorted(set(run_ids))
    times = thread_times.load(reader, ids)
    walked = paths.find(reader, paths.files_of(reader, ids))
    memory = series.find(reader, ids, MEMORY_KINDS)
    found = {}
    for run_id in ids:
        own = times.get(run_id)
        rows = {
            kind: row
            for name, kind in MEMORY_KINDS.items()
            for row in [memory.get((run_id, name))]
            if row is not None and row.values is not None and np.isfinite(row.values).all() and len(row.values)
        }
        grid = next(iter(rows.values()), None)
        found[run_id] = Recorded(
            times=own,
            screens=screens_by_second(*timed_screens(walked.get(run_id, ())), own.start_ns, own.seconds.shape[1])
            if own is not None
            else np.empty(0, np.str_),
            memory={kind: row.values for kind, row in rows.items() if row.values is not None},
            memory_start_ns=(grid.start_ns or 0) if grid else 0,
            memory_interval_s=grid.interval_s if grid else 1.0,
        )
    return found
