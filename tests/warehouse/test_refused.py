"""Rows of folders that were refused: they go once the folder is a run, and a run never goes with them."""

from __future__ import annotations

from perfreg_assets.warehouse import runs
from perfreg_assets.warehouse.connection import Warehouse


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
