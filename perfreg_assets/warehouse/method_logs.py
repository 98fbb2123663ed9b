"""Imported logs of methods' entries and exits: a row per log and per method; each content once for a version."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from perfreg_assets import __version__
from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.rows import Table, insert, now_utc, to_arrow


@dataclass(frozen=True)
class RefusedThread:
    """An entry of core.method_logs.refused."""

    test: str
    thread: str
    reason_code: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class MethodLogRow:
    """A row of core.method_logs."""

    method_log_id: str
    app: str
    version_name: str
    log_name: str
    device_name: str | None
    profile_id: str
    nominal_voltage_v: float
    test_count: int
    thread_count: int
    refused_count: int
    refused: tuple[RefusedThread, ...]
    code_version: str = __version__
    stored_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True, kw_only=True)
class MethodLogChargeRow:
    """A row of core.method_log_charges."""

    method_log_id: str
    test: str
    process: str
    thread: str
    method: str
    call_count: int
    method_self_mah: float
    method_mah: float


_LOGS = Table("core.method_logs", MethodLogRow, ("method_log_id",), ("method_log_id",))
_CHARGES = Table(
    "core.method_log_charges", MethodLogChargeRow, ("method_log_id",),
    ("method_log_id", "test", "process", "thread", "method"),
)  # fmt: skip


def store(writer: Writer, log: MethodLogRow, charges: list[MethodLogChargeRow]) -> None:
    """In place of what was stored of the same log."""
    for table in (_LOGS, _CHARGES):
        writer.execute(f"DELETE FROM {table.name} WHERE method_log_id = ?", [log.method_log_id])
    insert(writer, _LOGS, to_arrow([log], MethodLogRow))
    if charges:
        insert(writer, _CHARGES, to_arrow(charges, MethodLogChargeRow))
