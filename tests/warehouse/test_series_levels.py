"""Levels are stored with the series: the same numbers as the mart once made of the samples at every query."""

from __future__ import annotations

import duckdb
import numpy as np

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse import migrations, series
from perfreg_assets.warehouse.connection import Reader, Warehouse

# The slow reference: marts.series_levels as it was before migration 0003.
_OF_SAMPLES = """
SELECT
    levels.run_id,
    runs.app,
    runs.version_name,
    runs.started_at,
    levels.series,
    levels.unit,
    len(levels.samples) AS sample_count,
    len(levels.samples) * levels.interval_s AS duration_s,
    list_avg(levels.samples) AS mean,
    list_min(levels.samples) AS minimum,
    list_aggregate(levels.samples, 'median') AS median,
    list_aggregate(levels.samples, 'quantile_cont', 0.95) AS percentile_95,
    list_max(levels.samples) AS maximum,
    CASE
        WHEN len(levels.samples) >= 8
        THEN (list_avg(levels.samples[-(len(levels.samples) // 4):])
                - list_avg(levels.samples[:len(levels.samples) // 4]))
            / ((len(levels.samples) - len(levels.samples) // 4) * levels.interval_s)
    END AS growth_per_s
FROM (
    SELECT arrays.* EXCLUDE ("values"), list_filter(arrays."values", lambda sample: isfinite(sample)) AS samples
    FROM marts.series_arrays AS arrays
    WHERE NOT arrays.is_missing
) AS levels
JOIN core.runs AS runs USING (run_id)
WHERE len(levels.samples) > 0
ORDER BY levels.run_id, levels.series
"""
_STORED = "SELECT * EXCLUDE (run_no) FROM marts.series_levels ORDER BY run_id, series"
_ODD = {
    "long": np.sin(np.arange(1801.0)) * 1e6,
    "short": np.array([3.0, 1.0, 2.0]),
    "eight": np.arange(8.0) ** 3,
    "one": np.array([7.0]),
    "with gaps": np.array([1.0, np.nan, np.inf, 2.0, -np.inf, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]),
    "no number": np.array([np.nan, np.inf]),
    "empty": np.empty(0),
    "missing": None,
}
_OLD_ROWS = """
INSERT INTO core.runs (run_id, folder_name, content_hash, app, version_name, config_hash, started_at, is_quarantined,
    registered_at)
VALUES ('run', 'folder', 'hash', 'app', '1', 'c', now(), false, now());
INSERT INTO core.time_series (run_id, series, unit, interval_s, start_ns, "values", is_missing, extracted_at)
SELECT 'run', 's' || i, 'u', 0.5, 0, list_transform(range(i), lambda n: n * 1.5), false, now()
FROM range(20) AS numbers(i)
UNION ALL SELECT 'run', 'odd', 'u', 0.5, 0, [1, 'nan'::DOUBLE], false, now()
UNION ALL SELECT 'run', 'none', 'u', 0.5, NULL, NULL, true, now();
"""


def _rows(run_id: str, values: dict[str, np.ndarray | None]) -> list[series.SeriesRow]:
    return [
        series.SeriesRow(
            run_id=run_id, series=name, unit="u", interval_s=0.5, start_ns=0, values=array, is_missing=array is None
        )
        for name, array in values.items()
    ]


def _assert_same(reader: Reader) -> None:
    assert reader.rows(_STORED) == reader.rows(_OF_SAMPLES)


def test_stored_levels_equal_those_of_the_samples(sample: Warehouse) -> None:
    with sample.reading() as reader:
        assert len(reader.rows(_STORED)) > 100
        _assert_same(reader)


def test_odd_series_have_the_levels_of_their_finite_samples_or_none(sample_copy: Warehouse) -> None:
    with sample_copy.writing() as writer:
        series.upsert(writer, _rows("notes-0000", _ODD))
        _assert_same(writer)
        there = {name for (name,) in writer.rows("SELECT series FROM core.series_levels WHERE run_id = 'notes-0000'")}
        assert there == {"long", "short", "eight", "one", "with gaps"}


def test_levels_follow_their_series(sample_copy: Warehouse) -> None:
    with sample_copy.writing() as writer:
        series.upsert(writer, _rows("notes-0000", {"cpu_app": np.full(10, 2.0)}))
        assert writer.rows("SELECT series, mean FROM marts.series_levels WHERE run_id = 'notes-0000'") == [
            ("cpu_app", 2.0)
        ]
        series.forget(writer, ["notes-0000"])
        assert not writer.rows("SELECT * FROM core.series_levels WHERE run_id = 'notes-0000'")
        assert writer.rows("SELECT * FROM core.series_levels WHERE run_id = 'notes-0001'")
        _assert_same(writer)


def test_a_warehouse_of_the_release_before_gets_its_levels_by_the_migration() -> None:
    files = migrations.migration_files(sql_dir() / "migrations")
    before = {number: file for number, file in files.items() if number < 3}
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    migrations.apply_all(connection, before)
    connection.execute(_OLD_ROWS)
    migrations.migrate(connection)
    reader = Reader(connection)
    assert reader.value("SELECT count(*) FROM core.series_levels") == 20  # all but the empty and the missing one
    _assert_same(reader)
    connection.close()
