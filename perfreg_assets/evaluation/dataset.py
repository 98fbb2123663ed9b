"""Labelled data sets: one Parquet file, a row per (run, series) (public format 2).

Optional columns beyond the contract: `severity` (text or number), and for the chronological protocol `version_name`,
`started_at`, `has_functional_problems`, `step_offset_s`, `step_screen`, `step_state_hash` (lists, a value per step: the
screen and state that held until then, as in a run folder) and `screen_after` (what the last step led to).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.samples import SHORTEST
from perfreg_assets.methods.states import StatePath
from perfreg_assets.reasons import Reason, Rejected

REQUIRED = {
    "app": pa.types.is_string,
    "run_id": pa.types.is_string,
    "series": pa.types.is_string,
    "interval_s": pa.types.is_floating,
    "values": pa.types.is_list,
    "is_anomalous": pa.types.is_boolean,
    "anomaly_kind": pa.types.is_string,
    "anomaly_start_s": pa.types.is_list,
    "anomaly_end_s": pa.types.is_list,
}


@dataclass(frozen=True)
class Provenance:
    """What the chronological protocol knows of a run beside its series."""

    version_name: str
    started_at: datetime
    has_functional_problems: bool
    steps: tuple[tuple[float, str, str], ...]
    """(until when, in seconds since the first sample, screen, state hash)"""
    screen_after: str | None = None

    @property
    def screens(self) -> StatePath:
        """What the app showed when."""
        return StatePath([(until, screen) for until, screen, _ in self.steps], self.screen_after)


@dataclass(frozen=True)
class LabelledSeries:
    """One series of one run, with the truth about it.

    Attributes:
        values: (n,) finite.
        intervals: injected (start_s, end_s), seconds since the first sample; empty where nothing was injected.
        severity: as given, else estimated from the injected excess (then it begins with "estimated"); None for normal.
    """

    app: str
    run_id: str
    series: str
    interval_s: float
    values: NDArray[np.float64]
    is_anomalous: bool
    anomaly_kind: str | None
    intervals: tuple[tuple[float, float], ...]
    severity: str | None
    provenance: Provenance | None

    @property
    def injected(self) -> NDArray[np.bool_]:
        """Mask (n,) of the samples inside an injected interval."""
        mask = np.zeros(len(self.values), dtype=bool)
        for start_s, end_s in self.intervals:
            mask[round(start_s / self.interval_s) : max(round(end_s / self.interval_s), 0)] = True
        return mask


@dataclass(frozen=True)
class Dataset:
    """Attributes:
    name: of the file, without its suffix.
    rows: app → series → run_id → series of that run; all in sorted order.
    """

    name: str
    rows: Mapping[str, Mapping[str, Mapping[str, LabelledSeries]]]

    @property
    def has_screens(self) -> bool:
        """Whether runs say which screens they showed."""
        return any(
            row.provenance is not None and row.provenance.steps
            for series in self.rows.values()
            for runs in series.values()
            for row in runs.values()
        )

    def normal_runs(self, app: str) -> list[str]:
        """Runs of which no series is labelled anomalous."""
        anomalous = set(self.anomalous_runs(app))
        return [run_id for run_id in self._runs(app) if run_id not in anomalous]

    def anomalous_runs(self, app: str) -> list[str]:
        return sorted({run_id for runs in self.rows[app].values() for run_id, row in runs.items() if row.is_anomalous})

    def _runs(self, app: str) -> list[str]:
        return sorted({run_id for runs in self.rows[app].values() for run_id in runs})


def read_dataset(path: Path) -> Dataset:
    """The data set of a file.

    Raises:
        Rejected: DATASET_UNREADABLE, or DATASET_INVALID naming the column or the row that is wrong.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise Rejected(Reason.DATASET_UNREADABLE, f"{path} ({error})") from error
    for name, is_right in REQUIRED.items():
        if name not in table.column_names:
            raise Rejected(Reason.DATASET_INVALID, f"{path} has no column {name}")
        if not (is_right(table.schema.field(name).type) or pa.types.is_null(table.schema.field(name).type)):
            raise Rejected(Reason.DATASET_INVALID, f"column {name} of {path} is {table.schema.field(name).type}")
    rows: dict[str, dict[str, dict[str, LabelledSeries]]] = {}
    for number, raw in enumerate(table.to_pylist()):
        row = _row(raw, f"row {number} of {path}")
        runs = rows.setdefault(row.app, {}).setdefault(row.series, {})
        if row.run_id in runs:
            raise Rejected(Reason.DATASET_INVALID, f"row {number} of {path} repeats {row.run_id}, {row.series}")
        runs[row.run_id] = row
    if not rows:
        raise Rejected(Reason.DATASET_INVALID, f"{path} has no rows")
    ordered = {
        app: {series: dict(sorted(rows[app][series].items())) for series in sorted(rows[app])} for app in sorted(rows)
    }
    return Dataset(Path(path).stem, ordered)


def _row(raw: dict[str, Any], where: str) -> LabelledSeries:
    for name in ("app", "run_id", "series", "interval_s", "values", "is_anomalous"):
        if raw[name] is None:
            raise Rejected(Reason.DATASET_INVALID, f"{name} is missing in {where}")
    values = np.array(raw["values"], dtype=np.float64)
    if len(values) < SHORTEST or not np.isfinite(values).all():
        raise Rejected(Reason.DATASET_INVALID, f"values of {where} are fewer than {SHORTEST} or not finite")
    if not (raw["interval_s"] > 0 and math.isfinite(raw["interval_s"])):
        raise Rejected(Reason.DATASET_INVALID, f"interval_s of {where} is {raw['interval_s']}")
    starts, ends = raw["anomaly_start_s"] or [], raw["anomaly_end_s"] or []
    if len(starts) != len(ends) or any(not 0 <= start < end for start, end in zip(starts, ends, strict=False)):
        raise Rejected(Reason.DATASET_INVALID, f"anomaly_start_s and anomaly_end_s of {where} are not intervals")
    plain = LabelledSeries(
        app=raw["app"],
        run_id=raw["run_id"],
        series=raw["series"],
        interval_s=float(raw["interval_s"]),
        values=values,
        is_anomalous=bool(raw["is_anomalous"]),
        anomaly_kind=raw["anomaly_kind"],
        intervals=tuple(zip(map(float, starts), map(float, ends), strict=True)),
        severity=None,
        provenance=_provenance(raw, where),
    )
    return _with_severity(plain, raw.get("severity"))


def _provenance(raw: dict[str, Any], where: str) -> Provenance | None:
    started_at = raw.get("started_at")
    if raw.get("version_name") is None or started_at is None:
        return None
    if not isinstance(started_at, datetime) or started_at.tzinfo is None:
        raise Rejected(Reason.DATASET_INVALID, f"started_at of {where} is not a time with zone")
    names = ("step_offset_s", "step_screen", "step_state_hash")
    steps = [raw.get(name) or [] for name in names]
    if len({len(one) for one in steps}) > 1:
        raise Rejected(Reason.DATASET_INVALID, f"the step columns of {where} differ in length")
    return Provenance(
        raw["version_name"],
        started_at,
        bool(raw.get("has_functional_problems")),
        tuple(zip(*steps, strict=True)),
        raw.get("screen_after"),
    )


def _with_severity(row: LabelledSeries, given: object) -> LabelledSeries:
    if not row.is_anomalous:
        return row
    text = _estimated_severity(row) if given is None else str(given)
    return LabelledSeries(**{**row.__dict__, "severity": text})


def injected_excess(row: LabelledSeries) -> float | None:
    """The injected excess relative to the run without it; None where no interval tells what was injected.

    Load: seconds inside the intervals beyond what the rest of the run would give, over the run's other load. Memory:
    the highest tenth inside beyond the median outside, over that median.
    """
    inside = row.injected
    if not inside.any() or inside.all():
        return None
    outside = row.values[~inside]
    if definition_of(row.series).kind == "memory":
        level = float(np.median(outside))
        return (float(np.quantile(row.values[inside], 0.9)) - level) / level if level > 0 else math.inf
    extra = float(row.values[inside].sum() - outside.mean() * inside.sum())
    rest = float(row.values.sum()) - extra
    return extra / rest if rest > 0 else math.inf


def _estimated_severity(row: LabelledSeries) -> str | None:
    """A class of `injected_excess`."""
    excess = injected_excess(row)
    if excess is None:
        return None
    for limit, text in ((0.05, "below 5"), (0.1, "5 to 10"), (0.2, "10 to 20"), (0.4, "20 to 40")):
        if excess < limit:
            return f"estimated {text} %"
    return "estimated above 40 %"
