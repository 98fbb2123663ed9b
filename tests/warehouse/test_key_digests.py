"""What is found by the digest of its key is what is found by the key."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse import barycenters, key_digests, migrations
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.key_conditions import FEW


def _center(key: str) -> barycenters.BarycenterRow:
    return barycenters.BarycenterRow(
        barycenter_id=key, values=np.arange(3.0), inertia=1.0, iteration_count=5, backend="numba", seconds=0.1
    )


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 3 * FEW])
def test_few_and_many_are_found_by_their_digests(warehouse: Warehouse, count: int) -> None:
    keys = [f"center-{number}" for number in range(4 * FEW)]
    asked = {*keys[:count], "nobody"}
    with warehouse.writing() as writer:
        barycenters.insert_missing(writer, [_center(key) for key in keys])
    with warehouse.reading() as reader:
        assert barycenters.stored(reader, asked) == {*keys[:count]}
        assert {*barycenters.find(reader, asked)} == {*keys[:count]}
        assert barycenters.stored(reader, []) == set() == {*barycenters.find(reader, [])}


def test_keys_that_share_a_digest_are_told_apart(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_digests, "of", lambda key: 7)
    with warehouse.writing() as writer:
        assert barycenters.insert_missing(writer, [_center("one")]) == 1
        assert barycenters.insert_missing(writer, [_center("one"), _center("two")]) == 1
        assert barycenters.stored(writer, ["two", "three"]) == {"two"}
        assert {*barycenters.find(writer, ["two", "three"])} == {"two"}


def test_an_earlier_warehouse_gets_the_digests_that_are_asked_for(tmp_path: Path) -> None:
    files = migrations.migration_files(sql_dir() / "migrations")
    (own,) = (number for number, file in files.items() if file.name.endswith("barycenter_digests.sql"))
    path = tmp_path / "perfreg.duckdb"
    keys = [f"Schlüssel-{number}" for number in range(300)]
    with duckdb.connect(str(path)) as connection:
        migrations.apply_all(connection, {number: file for number, file in files.items() if number < own})
        connection.execute(
            "INSERT INTO core.barycenters "
            "(barycenter_id, inertia, iteration_count, backend, seconds, code_version, computed_at, values_file) "
            "SELECT unnest(?::VARCHAR[]), 1, 2, 'numba', .1, '0.1', now(), 'barycenters/none.parquet'",
            [keys],
        )
    with Warehouse(path, lock_timeout_s=5).writing() as writer:
        assert barycenters.stored(writer, [*keys, "other"]) == {*keys}
        stored = dict(writer.rows("SELECT barycenter_id, barycenter_digest FROM core.barycenters"))
        assert stored == {key: key_digests.of(key) for key in keys}
