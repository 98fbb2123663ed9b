"""Warehouses that earlier releases wrote are brought to this one's schema; what they told stays what is told."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import duckdb
import pytest

from perfreg_assets import __version__
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import migrations
from perfreg_assets.warehouse.connection import Warehouse

STORED = Path(__file__).parents[1] / "data" / "warehouses"
RELEASES = sorted(path.name.removesuffix(".duckdb.gz") for path in STORED.glob("*.duckdb.gz"))

# Object → what identifies a row of it. Columns are those that the release had.
OBJECTS = {
    "runs": ("run_id",),
    "time_series": ("run_id", "series", "offset_s"),
    "history_sets": ("run_id", "history_run_id"),
    "verdicts": ("run_id", "series", "detector", "omega"),
    "discords": ("run_id", "series", "start_s"),
}


def _told(path: Path, data_is_moved: bool = False) -> dict[str, tuple[list[str], list[tuple[object, ...]]]]:
    warehouse = Warehouse(path, lock_timeout_s=5)
    if data_is_moved:
        with warehouse.reading() as reader:
            return {name: _rows(reader._connection, name, key) for name, key in OBJECTS.items()}
    with duckdb.connect(str(path), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return {name: _rows(connection, name, key) for name, key in OBJECTS.items()}


def _rows(connection, name, key):
    result = connection.execute(f"SELECT * FROM marts.{name} ORDER BY {', '.join(key)}")
    return [column[0] for column in result.description], result.fetchall()


def _same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-12)
    return one == other


@pytest.mark.parametrize("release", RELEASES)
def test_what_a_release_told_is_what_is_told_now(release: str, new_warehouse: Warehouse) -> None:
    new_warehouse.path.write_bytes(gzip.decompress((STORED / f"{release}.duckdb.gz").read_bytes()))
    before = _told(new_warehouse.path)
    with new_warehouse.writing():
        pass
    after = _told(new_warehouse.path, data_is_moved=True)
    for name, (columns, rows) in before.items():
        new_columns, new_rows = after[name]
        assert set(columns) <= set(new_columns), name
        assert len(new_rows) == len(rows) > 0, name
        for column in set(columns):
            at, now = columns.index(column), new_columns.index(column)
            changed = [(a[at], b[now]) for a, b in zip(rows, new_rows, strict=True) if not _same(a[at], b[now])]
            assert not changed, (name, column, len(changed), changed[:3])


def test_the_first_release_is_among_them() -> None:
    assert "0.1.0" in RELEASES


def test_a_newer_file_is_refused_with_the_version_to_install(new_warehouse: Warehouse) -> None:
    with new_warehouse.writing():
        pass
    before = _comment(new_warehouse)
    assert before.endswith(f"by perfreg {__version__}")
    later = migrations.latest_version() + 1
    with duckdb.connect(str(new_warehouse.path)) as connection:
        connection.execute("INSERT INTO core.schema_version VALUES (?, 'later.sql', 'x', now())", [later])
        connection.execute(f"COMMENT ON TABLE core.schema_version IS '{before.replace(__version__, '7.3.1')}'")
    published = new_warehouse.published.read_bytes()
    with (
        pytest.raises(Rejected, match=r"by perfreg 7\.3\.1: install that or a later one") as caught,
        new_warehouse.writing(),
    ):
        pass
    assert caught.value.reason is Reason.WAREHOUSE_NEWER
    assert new_warehouse.published.read_bytes() == published


def _comment(warehouse: Warehouse) -> str:
    with warehouse.reading() as reader:
        return reader.value(
            "SELECT comment FROM duckdb_tables() WHERE table_name = 'schema_version' AND database_name = 'perfreg'"
        )
