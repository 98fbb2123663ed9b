"""What a run is to the histories of later runs of its app, as one number per run: equal numbers, equal rows.

The numbers are DuckDB's own `hash`: they are compared with earlier ones of the same release of DuckDB and kept nowhere
else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb

from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.past_scores import score_without_transient, theoretical_score
from perfreg_assets.warehouse.recorded import MEMORY_KINDS
from perfreg_assets.warehouse.run_conditions import grouped, of


@dataclass(frozen=True, slots=True)
class Part:
    """The part that a run plays for others.

    Attributes:
        partition_key: None of a quarantined run, which plays none.
        app, started_us: its place, µs since 1970.
        number: hash of all rows that decide whether it may be in a history, and of what it brings there.
    """

    partition_key: str | None
    app: str | None
    started_us: int
    number: int


def release() -> str:
    """Whose numbers can be compared with each other."""
    return f"duckdb {duckdb.__version__}"


# hash() of a row is folded by XOR: rows have keys, so none can cancel another. values_hash and path_hash stand for
# samples and paths, which are not read; where an old row lacks path_hash nothing has rewritten it since.
_SQL = """
WITH
series AS (
    SELECT run_no, bit_xor(hash(series, interval_s, values_hash, is_missing, reason)) AS mark
    FROM core.time_series WHERE series IN (SELECT unnest($judged::VARCHAR[])) AND {of_run} GROUP BY run_no
),
metrics AS (
    SELECT run_no, bit_xor(hash(metric, unit, worse, "value", reason, provenance::VARCHAR)) AS mark
    FROM core.measurements WHERE subject_kind = 'run' AND {of_run} GROUP BY run_no
),
judged AS (
    SELECT latest.run_no, bool_or(given.is_anomalous) AS is_anomalous
    FROM core.distances AS latest
    LEFT JOIN (SELECT * FROM core.verdicts WHERE omega = $omega) AS given USING (distance_id, run_no)
    WHERE $with_verdicts AND latest.is_latest AND latest.detector = $detector AND latest.series = '*' AND {of_latest}
    GROUP BY latest.run_no
),
profiles AS (
    SELECT run_no, bit_xor(hash(file_name, kind, sha256)) AS mark
    FROM core.attachments WHERE kind IN ('method_trace', 'call_stacks') AND {of_run} GROUP BY run_no
),
scores AS (
    SELECT latest.run_no, bit_xor(hash(latest.detector, latest.series, {theory}, {without})) AS mark
    FROM core.distances AS latest
    WHERE latest.is_latest AND list_contains($with_null::VARCHAR[], latest.detector) AND latest.state = 'scored'
    AND latest.series <> '*' AND {of_latest}
    GROUP BY latest.run_no
),
reviewed AS (
    SELECT run_no, status FROM core.reviews_in_force WHERE {of_run}
)
SELECT
    runs.run_id,
    CASE WHEN NOT runs.is_quarantined THEN runs.partition_key END,
    CASE WHEN NOT runs.is_quarantined THEN runs.app END,
    coalesce(epoch_us(runs.started_at), 0),
    hash(
        runs.run_id, runs.app, runs.is_quarantined, runs.version_name, runs.config_hash, list_sort(traces.load_sources),
        epoch_us(runs.started_at), runs.path_hash, runs.content_hash, runs.functional_problem_count > 0,
        traces.is_complete, reviewed.status, runs.is_excluded, judged.is_anomalous, series.mark, metrics.mark,
        scores.mark, times.values_hash, times.reason_code, slices.values_hash, traces.trace_sha256,
        profiles.mark
    )
FROM core.runs AS runs
LEFT JOIN core.traces AS traces USING (run_no)
LEFT JOIN core.thread_times AS times USING (run_no)
LEFT JOIN core.slice_uses AS slices USING (run_no)
LEFT JOIN series USING (run_no)
LEFT JOIN metrics USING (run_no)
LEFT JOIN judged USING (run_no)
LEFT JOIN scores USING (run_no)
LEFT JOIN reviewed USING (run_no)
LEFT JOIN profiles USING (run_no)
WHERE {of_registered}
"""


_RUN_COLUMNS = {"of_run": "run_no", "of_latest": "latest.run_no", "of_registered": "runs.run_no"}


def parts(
    reader: Reader,
    run_ids: Iterable[str] | None = None,
    *,
    judged_series: Sequence[str],
    detector: str,
    omega: float,
    with_verdicts: bool,
    with_null: Sequence[str],
) -> dict[str, Part]:
    """run_id → its part, of those of some runs (None: all) that are there.

    Args:
        detector, omega: those in force.
        with_verdicts: whether the current verdict decides who may be in a history.
        with_null: detectors by whose scores later runs are judged.
    """
    bound = {
        "judged": [*judged_series, *MEMORY_KINDS],
        "detector": detector,
        "omega": omega,
        "with_verdicts": with_verdicts,
        "with_null": list(with_null),
    }
    if run_ids is None:
        return _read(reader, dict.fromkeys(_RUN_COLUMNS, "true"), bound)
    found: dict[str, Part] = {}
    for group in grouped(reader, run_ids):
        found |= _read(reader, {name: of(reader, group, column) for name, column in _RUN_COLUMNS.items()}, bound)
    return found


def _read(reader: Reader, conditions: dict[str, str], bound: dict[str, object]) -> dict[str, Part]:
    theory, without = theoretical_score("latest"), score_without_transient("latest")
    sql = _SQL.format(theory=theory, without=without, **conditions)
    return {run_id: Part(*facts) for run_id, *facts in reader.rows(sql, bound)}
