"""What each phase of the pipeline cost per run, in seconds."""

from __future__ import annotations

from collections.abc import Mapping

from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.rows import now_utc


def record(writer: Writer, run_id: str, seconds: Mapping[str, float]) -> None:
    """Stores phase -> seconds of a run, replacing earlier figures of the same phases."""
    phases, values = list(seconds), list(seconds.values())
    writer.execute(
        "DELETE FROM core.timings WHERE run_id = ? AND phase IN (SELECT unnest(?::VARCHAR[]))", [run_id, phases]
    )
    writer.execute(
        "INSERT INTO core.timings (run_id, phase, seconds, measured_at) "
        "SELECT ?, unnest(?::VARCHAR[]), unnest(?::DOUBLE[]), ?",
        [run_id, phases, values, now_utc()],
    )
