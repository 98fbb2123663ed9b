"""No index sees to it that nothing is said twice of the same thing; the code does."""

from __future__ import annotations

import pytest

from perfreg_assets.warehouse import (
    attachments,
    barycenters,
    benchmarks,
    causes,
    discords,
    distances,
    histories,
    measurements,
    runs,
    series,
    slice_uses,
    thread_times,
    traces,
)
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.rows import Table

TABLES = [
    attachments.ATTACHMENTS, benchmarks.RUNS, benchmarks.RESULTS, benchmarks.LAUNCHES, benchmarks.WARNINGS,
    benchmarks.JUDGED, benchmarks.DISTANCES, barycenters.BARYCENTERS, barycenters.RUN_BARYCENTERS, causes.CAUSES,
    causes.RUNS, causes.WINDOWS, discords.DISCORDS, discords.PROFILES, distances.DISTANCES, histories.CANDIDATES,
    histories.HISTORY_SETS, measurements._MEASUREMENTS,
    runs.RUNS, series._OF_RUN, slice_uses.SLICE_USES, thread_times.THREAD_TIMES, traces.TRACES,
]  # fmt: skip


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_row_is_there_once(sample: Warehouse, table: Table[object]) -> None:
    assert table.keys
    assert set(table.scope) <= set(table.keys)
    keys = ", ".join(table.keys)
    with sample.reading() as reader:
        assert reader.rows(f"SELECT {keys} FROM {table.name} GROUP BY {keys} HAVING count(*) > 1") == []
        indexed = reader.rows(
            "SELECT table_name FROM duckdb_constraints() "
            "WHERE constraint_type = 'PRIMARY KEY' AND schema_name = 'core' AND table_name = ?",
            [table.name.removeprefix("core.")],
        )
    assert indexed == []


def test_the_same_twice_in_one_write_is_refused(warehouse: Warehouse) -> None:
    trace = traces.TraceRow(run_id="a", is_complete=True)
    run = runs.RunRow(run_id="a", folder_name="f", content_hash="h", is_quarantined=True, reason_code="key_missing")
    distance = distances.DistanceRow(
        run_id="a", series="x", detector="d", parameters_hash="p", state="not_enough_history"
    )
    with warehouse.writing() as writer:
        for upsert, row in ((runs.upsert, run), (traces.upsert, trace), (distances.upsert, distance)):
            with pytest.raises(ValueError, match="two rows with the same"):
                upsert(writer, [row, row])
            upsert(writer, [row])
            upsert(writer, [row])
        counts = [writer.value(f"SELECT count(*) FROM core.{name}") for name in ("traces", "runs", "distances")]
    assert counts == [1, 1, 1]
