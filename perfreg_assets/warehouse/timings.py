"""What each phase of the pipeline cost per run, in seconds."""

from __future__ import annotations

from collections.abc import Mapping

from perfreg_assets.warehouse import run_numbers
from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.rows import now_utc


def record(writer: Writer, run_id: str, seconds: Mapping[str, float]) -> None:
    """Stores phase -> seconds of a run, replacing earlier figures of the same phases.

    Raises:
        Rejected: WAREHOUSE_REPLACED, the run is not registered.
    """
    phases, values = list(seconds), list(seconds.values())
    run_no = run_numbers.required(writer, [run_id])[run_id]
    writer.execute(
        "DELETE FROM core.timings WHERE run_no = ? AND phase IN (SELECT unnest(?::VARCHAR[]))", [run_no, phases]
    )
    writer.execute(
        "INSERT INTO core.timings (run_id, run_no, phase, seconds, measured_at) "
        "SELECT ?, ?, unnest(?::VARCHAR[]), unnest(?::DOUBLE[]), ?",
        [run_id, run_no, phases, values, now_utc()],
    )
