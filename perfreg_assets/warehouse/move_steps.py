"""What the migration `method_energies` does before its SQL: steps' charges become files of the data folder.

Everything happens in the migration's transaction, as in move_values.
"""

from __future__ import annotations

import duckdb

from perfreg_assets.warehouse import value_files
from perfreg_assets.warehouse.data_folder import DataFolder

_LISTS = """
DROP TABLE IF EXISTS moved_steps;
DROP TABLE IF EXISTS moved_step_files;
CREATE TEMP TABLE moved_steps (run_id VARCHAR NOT NULL, values_file VARCHAR NOT NULL);
CREATE TEMP TABLE moved_step_files (
    values_file VARCHAR, kind VARCHAR, app VARCHAR, month VARCHAR, row_count BIGINT, file_bytes BIGINT,
    written_at TIMESTAMPTZ
);
"""
_PLACES = (
    "SELECT costs.run_id, runs.app, strftime(runs.started_at, '%Y-%m') "
    "FROM core.energy_runs AS costs LEFT JOIN core.runs AS runs USING (run_id) WHERE len(costs.steps) > 0"
)
_ROWS = (
    "SELECT run_id, position, entry.step_index, entry.screen, entry.duration_s, entry.app_mah, entry.total_mah FROM ("
    "SELECT run_id, unnest(steps) AS entry, unnest(range(len(steps)))::INTEGER AS position FROM core.energy_runs "
    "WHERE run_id IN (SELECT unnest($keys::VARCHAR[]))) ORDER BY run_id, position"
)
_RUNS_AT_ONCE = 2000  # 900 steps each: 130 MB


def before(connection: duckdb.DuckDBPyConnection, folder: DataFolder) -> None:
    """Writes the files, and the tables `moved_steps` and `moved_step_files` for the migration's SQL."""
    connection.execute(_LISTS)
    places = {key: value_files.Place(app, month) for key, app, month in connection.execute(_PLACES).fetchall()}
    ordered = sorted(places, key=lambda key: (str(places[key].app), str(places[key].month), key))
    kind = value_files.ENERGY_STEPS
    for start in range(0, len(ordered), _RUNS_AT_ONCE):
        keys = ordered[start : start + _RUNS_AT_ONCE]
        rows = connection.sql(_ROWS, params={"keys": keys}).to_arrow_table().cast(kind.columns)
        for one in value_files.write(folder, kind, rows, places):
            connection.execute(
                "INSERT INTO moved_step_files VALUES (?, ?, ?, ?, ?, ?, now())",
                [one.file, kind.name, one.place.app, one.place.month, one.row_count, one.file_bytes],
            )
            connection.execute("INSERT INTO moved_steps SELECT unnest(?::VARCHAR[]), ?", [list(one.keys), one.file])
