"""Rows of folders that were refused: they go once the folder is a run, or was dismissed, with all that was stored under
their numbers; and a run never goes with them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perfreg_assets.warehouse import runs
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parent))

import sample_warehouse


def _row(run_id: str, **known: object) -> runs.RunRow:
    return runs.RunRow(run_id=run_id, folder_name=run_id, content_hash=run_id, trace_content_sha256="t", **known)


def test_a_run_that_calls_itself_as_refused_folders_are_called_stays(tmp_path) -> None:
    """run.json may say any id. Its trace proved damaged, and another run has the same one."""
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5)
    taken = _row("taken", trace_file="t.perfetto-trace")
    why = {"is_quarantined": True, "reason_code": "trace_corrupt", "reason": "it is"}
    with warehouse.writing() as writer:
        runs.upsert(
            writer,
            [_row("quarantined-run", trace_file="t.perfetto-trace", **why), _row("quarantined-folder", **why)],
        )
        runs.forget_refused(writer, ["quarantined-folder"], [taken])
        left = {run_id for (run_id,) in writer.rows("SELECT run_id FROM core.runs")}
    assert left == {"quarantined-run"}


NUMBERED = (
    "SELECT 'core.' || table_name FROM duckdb_tables() JOIN duckdb_columns() USING (schema_name, table_name) "
    "WHERE schema_name = 'core' AND column_name = 'run_no'"
)


def orphaned(reader):
    """Table → rows of no run."""
    counts = {
        table: reader.value(f"SELECT count(*) FROM {table} WHERE run_no NOT IN (SELECT run_no FROM core.runs)")
        for (table,) in reader.rows(NUMBERED)
    }
    return {table: count for table, count in counts.items() if count}


def dismissed(writer, run_id):
    runs.dismiss(writer, [run_id])


def mended_under_another_id(writer, run_id):
    runs.forget_refused(writer, [run_id], [])


@pytest.mark.parametrize("goes", [dismissed, mended_under_another_id])
def test_what_was_measured_of_a_run_whose_folder_was_refused_later_goes_with_it(tmp_path, goes):
    """Its trace proved damaged, and its folder was no run any more. The next run gets its number, and its rows lay
    there."""
    sample_warehouse.build(tmp_path / "perfreg.duckdb", runs=12)
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5)
    with warehouse.writing() as writer:
        (run_id,) = writer.rows("SELECT run_id FROM core.runs ORDER BY run_no DESC LIMIT 1")[0]
        row = runs.find(writer, [run_id])[run_id]
        runs.quarantine(writer, run_id, "trace_corrupt", "it is damaged")
        refused = replace(row, is_quarantined=True, trace_file=None, reason_code="time_without_zone", reason="no zone")
        runs.upsert(writer, [refused])
        assert orphaned(writer) == {}
    with warehouse.writing() as writer:
        goes(writer, run_id)
        assert runs.find(writer, [run_id]) == {}
        assert orphaned(writer) == {}
