"""What keeps runs from being judged, for the asset checks: counts and examples from marts.data_quality."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse import run_numbers
from perfreg_assets.warehouse.asked_once import rows_of
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.key_conditions import one_of
from perfreg_assets.warehouse.run_conditions import grouped, of

_IDS = "SELECT run_id FROM core.runs WHERE {of} ORDER BY run_id"
_REFUSED = """
SELECT run_id, NULL, reason_code, reason, 'run'
FROM core.runs
WHERE is_quarantined AND {of}
ORDER BY run_id
"""
_OF_RUNS = """
SELECT run_id, series, reason_code, detail, scope
FROM marts.data_quality
WHERE {of}
ORDER BY run_id, series, reason_code
"""
_LATEST = "SELECT run_id, run_no FROM core.runs WHERE NOT is_excluded ORDER BY started_at DESC, run_id DESC LIMIT ?"
# Of the latest runs only: their number does not grow with the history.
_FALSE_ALARMS = """
SELECT
    count(*) AS runs,
    count(*) FILTER (is_anomalous) AS alarms,
    count(*) FILTER (is_anomalous AND is_rejected) AS rejected
FROM (
    SELECT verdicts.is_anomalous, coalesce(reviews.status, 'none') = 'rejected' AS is_rejected
    FROM marts.run_verdicts AS verdicts
    LEFT JOIN core.reviews_in_force AS reviews ON reviews.run_no = verdicts.run_no
    WHERE verdicts.is_current AND verdicts.is_anomalous IS NOT NULL
        AND {of}
        AND coalesce(reviews.status, 'none') NOT IN ('confirmed', 'accepted')
    ORDER BY verdicts.started_at DESC, verdicts.run_id DESC
    LIMIT $latest
)
"""
_LOOKED_AT = 10  # so many times the runs that are asked for, at first: most are judged and normal


@dataclass(frozen=True)
class Finding:
    """One row of marts.data_quality."""

    run_id: str
    series: str | None
    reason_code: str
    detail: str | None
    scope: str


def of_partitions(
    reader: Reader, keys: Iterable[str], *, scopes: Iterable[str] = (), codes: Iterable[str] = ()
) -> list[Finding]:
    """Findings about the runs of some partitions, of whole scopes or of single reason codes."""
    scopes, codes = set(scopes), {str(code) for code in codes}
    of_keys, bound = one_of(list(keys), "partition_key")
    run_ids = [run_id for (run_id,) in reader.rows(_IDS.format(of=of_keys), bound)]
    return [
        one
        for ids in grouped(reader, run_ids)  # of many no more is held at once
        for found in rows_of(reader, of_partitions, sorted(ids), lambda few: _of_runs(reader, few)).values()
        for one in found
        if one.reason_code in codes or one.scope in scopes
    ]


def of_series(reader: Reader, run_ids: Iterable[str], reason: Reason) -> list[Finding]:
    """Findings about single series of some runs, of one reason."""
    return [
        one
        for ids in grouped(reader, sorted(run_ids))
        for found in _of_runs(reader, ids).values()
        for one in found
        if one.scope == "series" and one.reason_code == reason.code
    ]


def refused(reader: Reader, keys: Iterable[str]) -> list[Finding]:
    """What was given as a run of some partitions and is quarantined. Asked of the table alone: every ingest asks."""
    of_keys, bound = one_of(list(keys), "partition_key")
    return [Finding(*row) for row in reader.rows(_REFUSED.format(of=of_keys), bound)]


def refused_of_no_version(reader: Reader) -> list[Finding]:
    """What is quarantined and did not say of which version it is: it belongs to no partition."""
    return [Finding(*row) for row in reader.rows(_REFUSED.format(of="partition_key IS NULL"))]


def _of_runs(reader: Reader, run_ids: Iterable[str]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for row in reader.rows(_OF_RUNS.format(of=of(reader, run_ids))):
        found[row[0]].append(Finding(*row))
    return found


def false_alarms(reader: Reader, latest: int) -> dict[str, Any] | None:
    """Alarms among the latest normal runs (judged, neither confirmed, accepted nor excluded) at the current ω, and how
    many of them somebody rejected.

    None when there is none of them.
    """
    looked_at = latest * _LOOKED_AT
    while True:
        runs = reader.rows(_LATEST, [looked_at])
        run_numbers.note(reader, runs)
        of_latest = of(reader, [run_id for run_id, _ in runs], "verdicts.run_no")
        (counted,) = reader.dicts(_FALSE_ALARMS.format(of=of_latest), {"latest": latest})
        if counted["runs"] == latest or len(runs) < looked_at:
            return counted if counted["runs"] else None
        looked_at *= _LOOKED_AT


def uncommented(reader: Reader) -> list[str]:
    """Tables, views and columns of core and marts that have no comment."""
    found = reader.rows(
        "SELECT schema_name || '.' || table_name || '.' || column_name FROM duckdb_columns() "
        "WHERE schema_name IN ('core', 'marts') AND coalesce(comment, '') = '' "
        "UNION ALL SELECT schema_name || '.' || table_name FROM duckdb_tables() "
        "WHERE schema_name = 'core' AND coalesce(comment, '') = '' "
        "UNION ALL SELECT schema_name || '.' || view_name FROM duckdb_views() "
        "WHERE schema_name = 'marts' AND coalesce(comment, '') = '' ORDER BY 1"
    )
    return [name for (name,) in found]
