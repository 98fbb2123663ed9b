"""A labelled data set from recorded runs and a file that says what was injected into them.

The label file (only for evaluation, no detector reads it) is JSON: run_id → {"label": "normal" or a name, "injected":
[{"kind": …}], "intervals": [{"kind", "t0_ns", "t1_ns"}], "app", "version"}; times on the trace's clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from perfreg_assets.methods.detectors import kind_of_series
from perfreg_assets.reasons import Reason, Rejected

NORMAL = "normal"
# What an injection of a kind shows in: extra work in the load, leaks in memory.
AFFECTED = {"cpu": "cpu", "leak": "memory", "saw": "memory"}

SCHEMA = pa.schema(
    [
        pa.field("app", pa.string(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("series", pa.string(), nullable=False),
        pa.field("interval_s", pa.float64(), nullable=False),
        pa.field("values", pa.list_(pa.float64()), nullable=False),
        pa.field("is_anomalous", pa.bool_(), nullable=False),
        pa.field("anomaly_kind", pa.string()),
        pa.field("anomaly_start_s", pa.list_(pa.float64()), nullable=False),
        pa.field("anomaly_end_s", pa.list_(pa.float64()), nullable=False),
        pa.field("severity", pa.string()),
        pa.field("version_name", pa.string()),
        pa.field("started_at", pa.timestamp("us", tz="UTC")),
        pa.field("has_functional_problems", pa.bool_()),
        pa.field("step_offset_s", pa.list_(pa.float64())),
        pa.field("step_screen", pa.list_(pa.string())),
        pa.field("step_state_hash", pa.list_(pa.string())),
    ]
)


@dataclass(frozen=True)
class RecordedRun:
    """A run as it was ingested.

    Attributes:
        start_ns: trace time of the first sample.
        interval_s: between samples.
        series: name → values (n,).
        steps: (trace time, screen, state hash) in order of time.
    """

    run_id: str
    app: str
    version_name: str
    started_at: datetime
    start_ns: int
    interval_s: float
    series: Mapping[str, NDArray[np.float64]]
    steps: Sequence[tuple[int, str, str]]
    has_functional_problems: bool


def write_recorded(runs: Sequence[RecordedRun], labels: Path, path: Path) -> int:
    """Writes the data set (public format 2 with the optional columns) and returns its number of rows.

    Only series that an injection shows in are labelled anomalous: extra work does not make memory anomalous. The
    severity is the label, for instance cpu-duty-15.

    Raises:
        Rejected: DATASET_INVALID, the label file is not JSON or does not know a run.
    """
    try:
        truth = json.loads(labels.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Rejected(Reason.DATASET_INVALID, f"label file {labels} ({error})") from error
    rows = []
    for run in sorted(runs, key=lambda one: one.run_id):
        if run.run_id not in truth:
            raise Rejected(Reason.DATASET_INVALID, f"label file {labels} does not name run {run.run_id}")
        rows += [_row(run, name, values, truth[run.run_id]) for name, values in sorted(run.series.items())]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path, compression="zstd")
    return len(rows)


def _row(run: RecordedRun, name: str, values: NDArray[np.float64], truth: dict[str, Any]) -> dict[str, Any]:
    kinds = {injection["kind"] for injection in truth["injected"]}
    shown = {kind for kind in kinds if AFFECTED.get(kind) == kind_of_series(name)}
    intervals = [
        interval
        for one in truth["intervals"]
        if one["kind"] in shown
        for interval in [_within(run, one["t0_ns"], one["t1_ns"], len(values))]
        if interval is not None
    ]
    return {
        "app": run.app,
        "run_id": run.run_id,
        "series": name,
        "interval_s": run.interval_s,
        "values": values.tolist(),
        "is_anomalous": bool(shown),
        "anomaly_kind": "+".join(sorted(shown)) or None,
        "anomaly_start_s": [start for start, _ in intervals],
        "anomaly_end_s": [end for _, end in intervals],
        "severity": truth["label"] if shown else None,
        "version_name": run.version_name,
        "started_at": run.started_at,
        "has_functional_problems": run.has_functional_problems,
        "step_offset_s": [(time_ns - run.start_ns) / 1e9 for time_ns, _, _ in run.steps],
        "step_screen": [screen for _, screen, _ in run.steps],
        "step_state_hash": [state_hash for _, _, state_hash in run.steps],
    }


def _within(run: RecordedRun, start_ns: int, end_ns: int, count: int) -> tuple[float, float] | None:
    """The interval in seconds since the first sample, cut to the recording; None if nothing of it is left."""
    start_s = max((start_ns - run.start_ns) / 1e9, 0.0)
    end_s = min((end_ns - run.start_ns) / 1e9, count * run.interval_s)
    return (start_s, end_s) if end_s > start_s else None
