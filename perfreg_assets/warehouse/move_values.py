"""What the migration `values_outside` does before its SQL: arrays of the tables become files of the data folder.

Everything happens in the migration's transaction. Killed at any point it leaves files that no row names, and starts
anew; the same contents get the same names, so nothing is written twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from perfreg_assets.warehouse import value_files
from perfreg_assets.warehouse.data_folder import DataFolder

_LISTS = """
CREATE TEMP TABLE moved_values (kind VARCHAR NOT NULL, key VARCHAR NOT NULL, values_file VARCHAR NOT NULL);
CREATE TEMP TABLE moved_files (
    values_file VARCHAR, kind VARCHAR, app VARCHAR, month VARCHAR, row_count BIGINT, file_bytes BIGINT,
    written_at TIMESTAMPTZ
);
"""
_RUNS_AT_ONCE = 200  # 12 series of 1,800 samples: 35 MB


@dataclass(frozen=True)
class _Source:
    """Where values lie so far: `rows` selects those of the runs (or other keys) `$keys`, `places` all keys."""

    kind: value_files.Kind
    places: str
    rows: str


_SOURCES = (
    _Source(
        value_files.SERIES,
        "SELECT DISTINCT old.run_id, runs.app, strftime(runs.started_at, '%Y-%m') "
        "FROM core.time_series AS old LEFT JOIN core.runs AS runs USING (run_id) WHERE NOT old.is_missing",
        'SELECT run_id, series, "values" FROM core.time_series '
        "WHERE NOT is_missing AND run_id IN (SELECT unnest($keys::VARCHAR[])) ORDER BY run_id, series",
    ),
    _Source(
        value_files.PROFILES,
        "SELECT DISTINCT old.run_id, runs.app, strftime(runs.started_at, '%Y-%m') "
        "FROM core.profiles AS old LEFT JOIN core.runs AS runs USING (run_id)",
        "SELECT run_id, series, profile FROM core.profiles "
        "WHERE run_id IN (SELECT unnest($keys::VARCHAR[])) ORDER BY run_id, series",
    ),
    _Source(
        value_files.BARYCENTERS,
        "SELECT old.barycenter_id, min_by(runs.app, runs.started_at), min(strftime(runs.started_at, '%Y-%m')) "
        "FROM core.barycenters AS old LEFT JOIN core.run_barycenters USING (barycenter_id) "
        "LEFT JOIN core.runs AS runs USING (run_id) GROUP BY old.barycenter_id",
        'SELECT barycenter_id, "values" FROM core.barycenters '
        "WHERE barycenter_id IN (SELECT unnest($keys::VARCHAR[])) ORDER BY barycenter_id",
    ),
    _Source(
        value_files.PATHS,
        "SELECT run_id, app, strftime(started_at, '%Y-%m') FROM core.runs WHERE len(path) > 0",
        "SELECT run_id, position, entry.step, entry.ts_ns, entry.state_hash, entry.screen, entry.action, "
        "entry.screen_after, entry.state_hash_after FROM ("
        "SELECT run_id, unnest(path) AS entry, unnest(range(len(path)))::INTEGER AS position FROM core.runs "
        "WHERE run_id IN (SELECT unnest($keys::VARCHAR[]))) ORDER BY run_id, position",
    ),
)


def before(connection: duckdb.DuckDBPyConnection, folder: DataFolder) -> None:
    """Writes the files, and the tables `moved_values` and `moved_files` for the migration's SQL."""
    connection.execute("DROP TABLE IF EXISTS moved_values; DROP TABLE IF EXISTS moved_files")
    connection.execute(_LISTS)
    for source in _SOURCES:
        places = {
            key: value_files.Place(app, month) for key, app, month in connection.execute(source.places).fetchall()
        }
        # In the order of places: each app and month gets few files.
        ordered = sorted(places, key=lambda key: (str(places[key].app), str(places[key].month), key))
        for start in range(0, len(ordered), _RUNS_AT_ONCE):
            keys = ordered[start : start + _RUNS_AT_ONCE]
            rows = connection.sql(source.rows, params={"keys": keys}).to_arrow_table().cast(source.kind.columns)
            for one in value_files.write(folder, source.kind, rows, places):
                connection.execute(
                    "INSERT INTO moved_files VALUES (?, ?, ?, ?, ?, ?, now())",
                    [one.file, one.kind.name, one.place.app, one.place.month, one.row_count, one.file_bytes],
                )
                connection.execute(
                    "INSERT INTO moved_values SELECT ?, unnest(?::VARCHAR[]), ?",
                    [one.kind.name, list(one.keys), one.file],
                )
