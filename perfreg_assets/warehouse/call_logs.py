"""Call logs: what was read of each, and everything computed from it, replaced as a whole when a log is stored again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from perfreg_assets import __version__
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, insert, insert_all, load, now_utc, to_arrow


@dataclass(frozen=True, kw_only=True)
class CallLogRow:
    """A row of core.call_logs; `call_log_id` follows from app, version and name, see `call_log_id`."""

    call_log_id: str
    app: str
    version_name: str
    log_name: str
    log_file: str
    sha256: str
    unpacked_bytes: int
    template: str
    first_call_at: datetime | None
    last_call_at: datetime | None
    line_count: int
    call_count: int
    unfit_count: int
    refused_counts: dict[str, Any]
    orphan_count: int
    parallel_count: int
    clipped_count: int
    split_count: int
    reason_code: str | None
    baselines: tuple[str, ...]
    code_version: str = __version__
    stored_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True, kw_only=True)
class ServiceRow:
    """A row of core.call_log_services; no times where the service was seen in orphans only."""

    call_log_id: str
    service: str
    call_count: int
    total_ms: float
    min_ms: float | None
    mean_ms: float | None
    max_ms: float | None
    std_ms: float | None
    tree_count: int


@dataclass(frozen=True, kw_only=True)
class NodeRow:
    """A row of core.call_tree_nodes."""

    call_log_id: str
    node_index: int
    parent_index: int | None
    service: str
    method: str
    depth_count: int
    call_count: int
    parallel_count: int
    is_outermost: bool
    total_ms: float
    self_ms: float
    max_ms: float
    max_self_ms: float


@dataclass(frozen=True, kw_only=True)
class UseRow:
    """A row of core.method_uses."""

    call_log_id: str
    service: str
    method: str
    call_count: int
    self_ms: float
    children_ms: float
    mean_ms: float
    max_ms: float
    self_share: float
    children_share: float


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """A row of core.method_scores."""

    call_log_id: str
    method: str
    seed_score: float
    rms: float
    std: float
    service_count: int
    call_count: int
    mean_ms: float
    max_ms: float


@dataclass(frozen=True, kw_only=True)
class CauseRow:
    """A row of core.method_causes."""

    call_log_id: str
    cause_rank: int
    service: str
    method: str
    before_ms: float
    mad_ms: float
    after_ms: float
    growth_ms: float
    growth_share: float
    z: float
    is_new: bool
    history_count: int


@dataclass(frozen=True, kw_only=True)
class SlowCallRow:
    """A row of core.slow_calls."""

    call_log_id: str
    slow_rank: int
    service: str
    transaction: str
    elapsed_ms: float
    called_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class WindowRow:
    """A row of core.service_windows; `calls_per_s` is NaN where it is not known."""

    call_log_id: str
    service: str
    window_index: int
    window_at: datetime
    window_s: float
    call_count: int
    calls_per_s: float
    mean_ms: float | None
    max_ms: float | None


CALL_LOGS = Table("core.call_logs", CallLogRow, ("call_log_id",))
SERVICES = Table("core.call_log_services", ServiceRow, ("call_log_id",), ("call_log_id", "service"))
NODES = Table("core.call_tree_nodes", NodeRow, ("call_log_id",), ("call_log_id", "node_index"))
USES = Table("core.method_uses", UseRow, ("call_log_id",), ("call_log_id", "service", "method"))
SCORES = Table("core.method_scores", ScoreRow, ("call_log_id",), ("call_log_id", "method"))
CAUSES = Table("core.method_causes", CauseRow, ("call_log_id",), ("call_log_id", "cause_rank"))
SLOW_CALLS = Table("core.slow_calls", SlowCallRow, ("call_log_id",), ("call_log_id", "slow_rank"))
WINDOWS = Table("core.service_windows", WindowRow, ("call_log_id",), ("call_log_id", "service", "window_index"))
_DEPENDENT: tuple[Table[Any], ...] = (SERVICES, NODES, USES, SCORES, CAUSES, SLOW_CALLS, WINDOWS)

BASELINES = 12
"""Earlier logs that a log is compared with at most."""


def call_log_id(app: str, version_name: str, log_name: str) -> str:
    """The key of a log: the same name of the same version is the same log, whatever is in it now."""
    return hashlib.sha256("\0".join((app, version_name, log_name)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def replace(writer: Writer, row: CallLogRow, rows: Mapping[Table[Any], Sequence[Any]]) -> None:
    """Stores a log, in place of what was stored under its name.

    Args:
        rows: those of the tables that hang on it; a table that is not named loses its rows of this log.
    """
    for table in (*_DEPENDENT, CALL_LOGS):
        writer.execute(f"DELETE FROM {table.name} WHERE call_log_id = ?", [row.call_log_id])
    insert(writer, CALL_LOGS, to_arrow([row], CallLogRow))
    insert_all(writer, rows)


def find(reader: Reader, app: str | None, version_name: str | None, log_name: str | None) -> list[CallLogRow]:
    """Stored logs, the newest first by their calls; None: any."""
    condition = (
        "($1 IS NULL OR app = $1) AND ($2 IS NULL OR version_name = $2) AND ($3 IS NULL OR log_name = $3) "
        "ORDER BY coalesce(first_call_at, stored_at) DESC, stored_at DESC, call_log_id"
    )
    return load(reader, CALL_LOGS, condition, [app, version_name, log_name])


def uses_of(reader: Reader, call_log_ids: Sequence[str]) -> list[UseRow]:
    """The inverted index of some logs, by service and method."""
    condition = "call_log_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY call_log_id, service, method"
    return load(reader, USES, condition, [list(call_log_ids)])


def services_of(reader: Reader, call_log_ids: Sequence[str]) -> list[ServiceRow]:
    """Services of some logs."""
    return load(reader, SERVICES, "call_log_id IN (SELECT unnest(?::VARCHAR[]))", [list(call_log_ids)])


def nodes_of(reader: Reader, call_log_id: str) -> list[NodeRow]:
    """Nodes of a log's merged trees, each behind its parent."""
    return load(reader, NODES, "call_log_id = ? ORDER BY node_index", [call_log_id])
