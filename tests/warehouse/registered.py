"""Runs that are registered and nothing more: what is stored of a run belongs to a registered one."""

from __future__ import annotations

from datetime import UTC, datetime

from perfreg_assets.warehouse import runs
from perfreg_assets.warehouse.connection import Writer


def register(writer: Writer, *run_ids: str, app: str = "app", version_name: str = "1") -> None:
    """Registers runs of one version, in this order."""
    runs.upsert(
        writer,
        [
            runs.RunRow(
                run_id=run_id, folder_name=run_id, content_hash=run_id, partition_key=f"{app}@{version_name}", app=app,
                version_name=version_name, config_hash="c", started_at=datetime(2026, 1, 1, tzinfo=UTC),
            )
            for run_id in run_ids
        ],
    )  # fmt: skip
