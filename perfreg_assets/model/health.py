"""Is this installation sound? Kernels against the libraries they stand for, the trace engine, the warehouse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfreg_assets.methods.self_check import check_kernels
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engine import start_engine
from perfreg_assets.warehouse.connection import Warehouse


def examine(settings: Settings, *, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """A row per check: what was checked, 'ok' or 'failed', and in which figures that shows."""
    progress("kernels against tslearn and stumpy")
    rows = [
        {
            "check": f"kernel {one.name}",
            "state": "ok" if one.is_ok else "failed",
            "detail": f"largest difference {one.largest_difference:.2g}, allowed {one.tolerance:.2g}",
        }
        for one in check_kernels()
    ]
    progress("trace engine")
    rows.append(_row("trace engine", lambda: _engine(settings)))
    progress("warehouse")
    rows.append(_row(f"warehouse {settings.published_warehouse.name}", lambda: _warehouse(settings)))
    return rows


def _row(check: str, examine: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"check": check, "state": "ok", "detail": examine()}
    except Rejected as rejected:
        return {"check": check, "state": "failed", "detail": str(rejected)}


def _engine(settings: Settings) -> str:
    session = start_engine(settings)
    try:
        return f"{session.kind}, {session.version}"
    finally:
        session.close()


def _warehouse(settings: Settings) -> str:
    with Warehouse.of(settings).reading() as reader:
        runs, version = reader.rows(
            "SELECT (SELECT count(*) FROM core.runs), (SELECT max(version) FROM core.schema_version)"
        )[0]
    return f"{runs} runs, schema version {version}"
