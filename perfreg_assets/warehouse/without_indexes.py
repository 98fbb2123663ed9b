"""What the migration `without_indexes` does: copies the tables that grow with the runs into ones without a primary key.

As they are, with whatever columns they have by then; DuckDB cannot drop a key.
"""

from __future__ import annotations

import re

import duckdb

from perfreg_assets.warehouse.literals import literal

_TABLES = (
    *("attachments", "barycenters", "discords", "distances", "history_candidates", "history_sets", "measurements"),
    *("profiles", "run_barycenters", "runs", "time_series", "timings", "traces"),
)
_KEY = re.compile(r"(, )?PRIMARY KEY(\([^)]*\))?")


def before(connection: duckdb.DuckDBPyConnection) -> None:
    """Does all of it, in the migration's transaction."""
    for table in _TABLES:
        found = connection.execute(
            "SELECT tables.sql, tables.comment, keys.constraint_column_names FROM duckdb_tables() AS tables "
            "JOIN duckdb_constraints() AS keys USING (schema_name, table_name) WHERE schema_name = 'core' "
            "AND table_name = ? AND keys.constraint_type = 'PRIMARY KEY'",
            [table],
        ).fetchall()
        for definition, comment, columns in found:
            connection.execute(f"ALTER TABLE core.{table} RENAME TO {table}_keyed")
            connection.execute(_KEY.sub("", definition))
            for column in columns:
                connection.execute(f'ALTER TABLE core.{table} ALTER COLUMN "{column}" SET NOT NULL')
            connection.execute(f"INSERT INTO core.{table} BY NAME SELECT * FROM core.{table}_keyed")
            connection.execute(f"DROP TABLE core.{table}_keyed")
            connection.execute(f"COMMENT ON TABLE core.{table} IS {literal(comment)}")
