"""The data folder in an object store, moto's server standing in for S3."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import paths, runs, series
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.queries import run_query
from perfreg_assets.warehouse.tidying import tidy
from perfreg_assets.warehouse.value_files import EMPTY_FILES
from tests.object_store import object_store

pytest.importorskip("s3fs", reason="needs perfreg[cluster]")
pytest.importorskip("moto.server", reason="needs perfreg[test]")

PLACE = "s3://perfreg/values of apps"
START = datetime(2026, 3, 5, tzinfo=UTC)
COUNT = 5
SUMS = "SELECT (SELECT round(sum(value), 6) FROM marts.time_series), (SELECT count(*) FROM marts.run_paths)"
# A reader that knows nothing of this project: DuckDB, and fsspec in place of its extension httpfs.
OUTSIDER = """
import sys, duckdb, fsspec
connection = duckdb.connect()
connection.register_filesystem(fsspec.filesystem("s3"))
connection.execute(f"ATTACH '{sys.argv[1]}' AS theirs (READ_ONLY)")
connection.execute("USE theirs")
print(connection.execute(sys.argv[2]).fetchall())
"""


@pytest.fixture(scope="module")
def _s3() -> Iterator[str]:
    with object_store() as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def store(_s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Warehouse:
    """A warehouse whose values lie in a bucket of the test's own."""
    import s3fs  # noqa: PLC0415  (is looked for above)

    for name, value in {
        "AWS_ENDPOINT_URL": _s3, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    if files.exists("perfreg"):
        files.rm("perfreg", recursive=True)
    files.mkdir("perfreg")
    settings = Settings.from_environment(warehouse=tmp_path / "perfreg.duckdb", data=PLACE, lock_timeout_s=10)
    return Warehouse.of(settings)


def _values(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=100)


def _fill(warehouse: Warehouse) -> None:
    for number in range(COUNT):
        run_id = f"run-{number}"
        with warehouse.writing() as writer:
            path = tuple(runs.PathStep(i, i, f"{number}-{i}") for i in range(2))
            runs.upsert(writer, [
                runs.RunRow(
                    run_id=run_id, folder_name="f", content_hash="h", app=f"app {number % 2}", version_name="1",
                    config_hash="c", started_at=START, step_count=2, path=path,
                )
            ])  # fmt: skip
            series.upsert(writer, [
                series.SeriesRow(
                    run_id=run_id, series="x", unit="u", interval_s=1.0, start_ns=0, values=_values(number),
                    is_missing=False,
                )
            ])  # fmt: skip


def _check(warehouse: Warehouse) -> None:
    ids = [f"run-{number}" for number in range(COUNT)]
    with warehouse.reading() as reader:
        found = series.find(reader, ids)
        assert all(np.array_equal(found[run_id, "x"].values, _values(i)) for i, run_id in enumerate(ids))
        assert [step.state_hash for step in paths.find(reader, paths.files_of(reader, ids))["run-3"]] == ["3-0", "3-1"]
        assert reader.value("SELECT count(*) FROM marts.time_series") == 100 * COUNT
        assert reader.rows("SELECT step FROM marts.run_paths WHERE run_id = 'run-3' ORDER BY step") == [(0,), (1,)]


def test_values_go_there_and_come_back(store: Warehouse, tmp_path: Path) -> None:
    _fill(store)
    _check(store)
    assert not list(tmp_path.rglob("*.parquet"))
    names = {found.name for found in store.data.listing()}
    assert (
        len([name for name in names if name.startswith(("series/app=app%200/month=2026-03", "paths/app=app%201"))]) == 5
    )


def test_files_are_joined_and_deleted_there_too(store: Warehouse) -> None:
    _fill(store)
    assert tidy(store).joined == 2 * COUNT
    _check(store)
    assert tidy(store, grace=timedelta(0)).deleted == 2 * COUNT
    _check(store)
    assert len(store.data.listing()) == 4 + len(EMPTY_FILES)
    store.data.delete([next(found.name for found in store.data.listing() if "app=app" in found.name)])
    assert len(tidy(store).missing) == 1


def test_anybody_reads_the_marts_with_fsspec_and_duckdb(store: Warehouse) -> None:
    _fill(store)
    with store.reading() as reader:
        expected = reader.rows(SUMS)
    done = subprocess.run(
        [sys.executable, "-c", OUTSIDER, str(store.published), SUMS], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == repr(expected)


@pytest.mark.parametrize(
    "query",
    ["SELECT * FROM read_text('s3://other/x')", "SELECT * FROM read_text('/etc/passwd')", "FROM glob('s3://*')"],
)
def test_a_query_reaches_nothing_else_there(store: Warehouse, query: str) -> None:
    _fill(store)
    with store.reading() as reader:
        with pytest.raises(ValueError, match="refused"):
            run_query(reader, query)
        with pytest.raises(duckdb.Error):
            reader.rows(query)


def test_a_place_that_does_not_exist_is_told(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=1, data="nowhere://bucket/x")
    with pytest.raises(Rejected, match="nowhere") as caught, warehouse.writing():
        pass
    assert caught.value.reason is Reason.DATA_UNREACHABLE


def test_a_bucket_that_does_not_exist_is_told(store: Warehouse) -> None:
    warehouse = Warehouse(store.path, lock_timeout_s=1, data="s3://mistyped/x")
    with pytest.raises(Rejected, match=r"^s3://mistyped/x \(") as caught, warehouse.writing():
        pass
    assert caught.value.reason is Reason.DATA_UNREACHABLE
