"""Distances: what a detector measured about a run's series, enough for a verdict at any ω."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.catalogue import is_known
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.warehouse import run_conditions, verdicts
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import OF_RUN, Table, load, now_utc, numbered, require_unique, to_arrow


@dataclass(frozen=True, kw_only=True)
class DistanceRow:
    """A row of core.distances. `state` 'scored' needs distance, q1 and q3; any other state has none of them.

    Attributes:
        uncorrected_distance: the series' distance before the correction for the number of series; of the run ('*') the
            largest of its series'; None where the detector corrects nothing.
        missing_series: of the run only: judged series that it lacks although its history has them; None
            or none, stored as NULL.
        evidence: named numbers; of one series by a detector of scores also `score_degrees` and `repeat_correlation`, by
            which marts.version_verdicts_at combines the runs of a build (`methods.repeats`), and where earlier runs of
            the app were asked `theoretical_score` and `past_runs` (`past_scores`).
    """

    run_id: str
    series: str
    detector: str
    parameters_hash: str
    state: str
    state_reason: str | None = None
    distance: float | None = None
    q1: float | None = None
    q3: float | None = None
    improvement: float | None = None
    uncorrected_distance: float | None = None
    missing_series: tuple[str, ...] | None = None
    is_recheck_passed: bool | None = None
    p_value: float | None = None
    direction: str | None = None
    history_distances: np.ndarray | None = None
    history_size: int | None = None
    evidence: dict[str, float] | None = None
    evidence_text: str | None = None
    barycenter_id: str | None = None
    input_hash: str | None = None
    k: int | None = None
    interval_s: float | None = None
    engine_version: str | None = None
    code_version: str = __version__
    measured_at: datetime = field(default_factory=now_utc)


_KEYS = ("run_id", "series", "detector", "parameters_hash")
DISTANCES = Table("core.distances", DistanceRow, _KEYS, keys=_KEYS, numbers=OF_RUN)

_SAME_RUN = "old.run_no = new.run_no AND old.run_id = new.run_id AND old.detector = new.detector"
_SAME_ROW = f"{_SAME_RUN} AND old.series = new.series AND old.parameters_hash = new.parameters_hash"
_STAGE = f"""
CREATE OR REPLACE TEMP TABLE new_distances AS
SELECT
    coalesce(old.distance_id, top.distance_id + row_number() OVER ()) AS distance_id,
    -- None instead of an empty list, see the migration judged_series.
    new.* REPLACE (CASE WHEN len(new.missing_series) > 0 THEN new.missing_series END AS missing_series)
FROM staged_rows AS new
CROSS JOIN (SELECT coalesce(max(distance_id), 0) AS distance_id FROM core.distances) AS top
LEFT JOIN core.distances AS old ON {_SAME_ROW}
"""
# All of a run's rows by the detector: a series that is not judged any more has no latest measurement.
_SUPERSEDE = (
    f"UPDATE core.distances AS old SET is_latest = false FROM new_distances AS new WHERE {_SAME_RUN} AND old.is_latest"
)
_CLEAR = "DELETE FROM core.distances WHERE distance_id IN (SELECT distance_id FROM new_distances)"
_INSERT = f"""
INSERT INTO core.distances (distance_id, is_latest, {DISTANCES.stored_list})
SELECT distance_id, true, {DISTANCES.stored_list} FROM new_distances
"""


def upsert(writer: Writer, rows: Sequence[DistanceRow]) -> int:
    """Stores measurements of whole runs; they become the only latest ones of their run and detector. The number stored.

    A measurement with the parameters of an earlier one replaces it and keeps its number; the verdicts that were
    given on it, at whatever ω, are given again, so that none contradicts its evidence.
    """
    if not rows:
        return 0
    staged = to_arrow(rows, DistanceRow)
    require_unique(DISTANCES, staged)
    writer.execute_with(numbered(writer, DISTANCES, staged), _STAGE)
    writer.execute(_SUPERSEDE)
    writer.execute(_CLEAR)
    count = writer.execute(_INSERT)
    _name(writer, {row.series for row in rows}.union(*(row.missing_series or () for row in rows)) - {RUN_LEVEL})
    verdicts.correct(writer)
    writer.execute("DROP TABLE new_distances")
    return count


def _name(writer: Writer, series: Iterable[str]) -> None:
    """Notes which series are judged, and which of those that the catalogue does not know an app reports of itself."""
    named = dict(writer.rows("SELECT series, is_reported FROM core.judged_series"))
    doubtful = [name for name in series if not is_known(name) and not named.get(name)]
    reported = (
        {
            name
            for (name,) in writer.rows(
                "SELECT DISTINCT metric FROM core.measurements "
                "WHERE subject_kind = 'run' AND metric IN (SELECT unnest(?::VARCHAR[]))",
                [doubtful],
            )
        }
        if doubtful
        else set()
    )
    for name in sorted(series):
        if name not in named:
            writer.execute("INSERT INTO core.judged_series VALUES (?, ?)", [name, name in reported])
        elif name in reported:
            writer.execute("UPDATE core.judged_series SET is_reported = true WHERE series = ?", [name])


def find(reader: Reader, run_ids: Iterable[str], detector: str | None = None) -> list[DistanceRow]:
    """The latest measurements of some runs, run level ('*') included; of all detectors by default."""
    return load(
        reader,
        DISTANCES,
        f"is_latest AND {run_conditions.of(reader, run_ids)} AND (? IS NULL OR detector = ?) "
        "ORDER BY run_id, series, detector",
        [detector, detector],
    )


def scored_series(reader: Reader, run_ids: Iterable[str], detector: str) -> dict[str, list[str]]:
    """run_id → its series with a score by the detector, of those that have any."""
    return dict(
        reader.rows(
            "SELECT run_id, list(series ORDER BY series) FROM core.distances WHERE is_latest AND detector = ? "
            f"AND state = 'scored' AND series <> '*' AND {run_conditions.of(reader, run_ids)} GROUP BY run_id",
            [detector],
        )
    )


def counts(reader: Reader, run_ids: Iterable[str], scored: str) -> dict[str, tuple[int, int, int]]:
    """run_id -> (series that were scored, series that were not) by the latest measurements of all detectors, and how
    many rows there are: those of runs as a whole, and of earlier measurements, too."""
    found = reader.rows(
        "SELECT run_id, count(*) FILTER (state = ? AND is_latest AND series <> '*'), "
        "count(*) FILTER (state <> ? AND is_latest AND series <> '*'), count(*) FROM core.distances "
        f"WHERE {run_conditions.of(reader, run_ids)} GROUP BY run_id",
        [scored, scored],
    )
    return {run_id: (yes, no, rows) for run_id, yes, no, rows in found}
