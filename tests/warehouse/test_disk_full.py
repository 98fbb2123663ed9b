"""A full disk: one clear sentence, the data of before readable, and the next write works once there is room."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import series
from perfreg_assets.warehouse.connection import Warehouse
from tests.warehouse.registered import register

DISK_MB = 40


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own of 40 MB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _rows(run_id: str, megabytes: int) -> list[series.SeriesRow]:
    noise = np.random.default_rng(0).normal(size=megabytes * 125_000)  # does not compress
    return [
        series.SeriesRow(
            run_id=run_id, series="x", unit="cores", interval_s=1.0, start_ns=0, values=noise, is_missing=False
        )
    ]


def _write(warehouse: Warehouse, run_id: str, megabytes: int, expected_bytes: int = 0) -> None:
    with warehouse.writing(expected_bytes=expected_bytes) as writer:
        register(writer, run_id)
        series.upsert(writer, _rows(run_id, megabytes))


def _run_ids(warehouse: Warehouse) -> list[str]:
    with warehouse.reading() as reader:
        return [run_id for (run_id,) in reader.rows("SELECT run_id FROM core.time_series ORDER BY run_id")]


def test_a_write_that_is_known_not_to_fit_is_refused_beforehand(small_disk: Path) -> None:
    warehouse = Warehouse(small_disk / "perfreg.duckdb", lock_timeout_s=1)
    with pytest.raises(Rejected, match=r"needs \d+ MB, \d+ MB are free") as caught:
        _write(warehouse, "a", 1, expected_bytes=50 << 20)
    assert caught.value.reason is Reason.WAREHOUSE_DISK_FULL
    assert not warehouse.path.exists()


@pytest.mark.parametrize("free_mb", [0, 2, 5, 6, 7])
def test_a_disk_that_fills_up_during_a_write_leaves_the_state_of_before(small_disk: Path, free_mb: int) -> None:
    warehouse = Warehouse(small_disk / "perfreg.duckdb", lock_timeout_s=1)
    _write(warehouse, "a", 1)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - (free_mb << 20)))
    with pytest.raises(Rejected) as caught:
        _write(warehouse, "b", 6)
    assert caught.value.reason is Reason.WAREHOUSE_DISK_FULL
    assert "\n" not in str(caught.value)
    assert _run_ids(warehouse) == ["a"]

    ballast.unlink()
    _write(warehouse, "c", 1)
    # Whether b was committed before the disk was full is the disk's chance; it is there whole or not at all.
    assert _run_ids(warehouse) in (["a", "c"], ["a", "b", "c"])
    with warehouse.reading() as reader:
        found = series.find(reader, ["a", "b", "c"])
        assert min(len(row.values) for row in found.values() if row.values is not None) == 125_000
