"""A warehouse whose steps' charges lie in the DuckDB file keeps them when they move to the data folder."""

from __future__ import annotations

from pathlib import Path

import duckdb

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse import migrations
from perfreg_assets.warehouse.connection import Warehouse

NAME = "method_energies"
_ROWS = """
INSERT INTO core.runs (run_id, folder_name, content_hash, app, version_name, config_hash, started_at, step_count,
    path_hash, is_quarantined, registered_at)
SELECT 'run-' || i, 'folder', 'hash', 'app/' || i % 3, '1', 'c', TIMESTAMPTZ '2026-01-30 00:00:00+00', 2, 'p', false,
    now()
FROM range(30) AS numbers(i);
INSERT INTO core.energy_runs (run_id, duration_s, profile_id, profile_origin, nominal_voltage_v, is_outdated, threads,
    steps, code_version, extracted_at)
SELECT 'run-' || i, 60, 'sha', if(i < 3, 'run_folder', 'bundled'), 3.85, false, [],
    [{'step_index': j, 'screen': if(j = 1, '', 'list'), 'duration_s': 1.5, 'app_mah': i + j, 'total_mah': 2 * i + j}
     FOR j IN range(i % 4)], '1', now()
FROM range(30) AS numbers(i);
"""
_BEFORE = """
SELECT run_id, own.step_index, nullif(own.screen, ''), own.duration_s, own.app_mah, own.total_mah
FROM (SELECT run_id, unnest(steps) AS own FROM core.energy_runs) ORDER BY run_id, own.step_index
"""
_AFTER = """
SELECT run_id, step_index, screen, duration_s, app_mah, total_mah FROM marts.energy_by_step ORDER BY run_id, step_index
"""


def test_what_steps_cost_is_the_same_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "perfreg.duckdb"
    files = migrations.migration_files(sql_dir() / "migrations")
    (last,) = (number for number, file in files.items() if file.name.endswith(f"_{NAME}.sql"))
    warehouse = Warehouse(path, lock_timeout_s=10)
    with duckdb.connect(str(path)) as connection:
        migrations.apply_all(connection, {number: file for number, file in files.items() if number < last})
        connection.execute(_ROWS)
        before = connection.execute(_BEFORE).fetchall()
    with warehouse.writing() as writer:
        assert writer.rows(_AFTER) == before
        assert len(before) > 30
        counts = dict(writer.rows("SELECT run_id, priced_step_count FROM core.energy_runs"))
        assert counts == {f"run-{i}": i % 4 for i in range(30)}
        own = writer.rows("SELECT run_id FROM core.energy_runs WHERE own_profile_sha256 = 'sha' ORDER BY run_id")
        assert own == [("run-0",), ("run-1",), ("run-2",)]
