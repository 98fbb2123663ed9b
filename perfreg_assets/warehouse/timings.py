"""What each phase of the pipeline cost per run, in seconds."""

from __future__ import annotations

from collections.abc import Mapping

from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.rows import now_utc


def record(writer: Writer, run_id: str, seconds: Mapping[str, float]) -> None:
    """Stores phase -> seconds of a run, replacing earlier figures of the same phases."""
    for phase, value in seconds.items():
        writer.execute(
            "INSERT OR REPLACE INTO core.timings (run_id, phase, seconds, measured_at) VALUES (?, ?, ?, ?)",
            [run_id, phase, value, now_utc()],
        )
