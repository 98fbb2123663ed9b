"""What keeps runs from being judged, for the asset checks: counts and examples from marts.data_quality."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from perfreg_assets.warehouse.connection import Reader

_OF_PARTITIONS = """
SELECT findings.run_id, findings.series, findings.reason_code, findings.detail
FROM marts.data_quality AS findings JOIN core.runs AS runs USING (run_id)
WHERE runs.partition_key IN (SELECT unnest($keys::VARCHAR[]))
  AND (
    findings.reason_code IN (SELECT unnest($codes::VARCHAR[])) OR findings.scope IN (SELECT unnest($scopes::VARCHAR[]))
  )
ORDER BY findings.run_id, findings.series, findings.reason_code
"""


@dataclass(frozen=True)
class Finding:
    """One row of marts.data_quality."""

    run_id: str
    series: str | None
    reason_code: str
    detail: str | None


def of_partitions(
    reader: Reader, keys: Iterable[str], *, scopes: Iterable[str] = (), codes: Iterable[str] = ()
) -> list[Finding]:
    """Findings about the runs of some partitions, of whole scopes or of single reason codes."""
    named = {"keys": list(keys), "scopes": list(scopes), "codes": [str(code) for code in codes]}
    return [Finding(*row) for row in reader.rows(_OF_PARTITIONS, named)]


def false_alarms(reader: Reader, latest: int) -> dict[str, Any] | None:
    """Alarms among the latest normal runs (judged, neither confirmed nor accepted) at the current ω.

    None when nothing was judged yet.
    """
    rows = reader.dicts(
        "SELECT count(*) AS runs, count(*) FILTER (is_anomalous) AS alarms FROM ("
        "SELECT is_anomalous FROM marts.runs WHERE is_anomalous IS NOT NULL "
        "AND coalesce(review_status, 'none') NOT IN ('confirmed', 'accepted') ORDER BY started_at DESC LIMIT $latest)",
        {"latest": latest},
    )
    return rows[0] if rows and rows[0]["runs"] else None


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
