"""From a bare trace to a run folder: what run.json has to say is taken from the trace and from who imports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perfreg_assets.collection.run_folder import write_run_folder
from perfreg_assets.collection.run_json import SCHEMA_VERSION
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.overview import Overview

IMPORTED = "imported"
"""The strategy of runs that nobody names one for."""
_ALIKE = 0.1  # runs whose lengths differ by less are of one time limit


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What the importer says of all traces of a call; None: taken from each trace."""

    app: str
    version_name: str
    version_code: int | None = None
    device: str | None = None
    strategy: str = IMPORTED
    time_limit_s: float | None = None
    started_at: datetime | None = None


@dataclass(frozen=True)
class TimeLimit:
    """The time limit of a run that is known, with what it stands for."""

    device: str
    strategy: str
    scenario: str | None
    time_limit_s: float


@dataclass(frozen=True)
class ImportedRun:
    """Attributes:
    is_dated_by_file: neither the trace nor the importer said when it began, so the file's own time stands for it.
    """

    run_id: str
    document: dict[str, Any]
    trace: Path
    limit: TimeLimit
    is_dated_by_file: bool

    def write(self, folder: Path) -> Path:
        """The run folder, in `folder`."""
        return write_run_folder(folder / self.run_id, self.document, {self.document["trace"]: self.trace})


def run_of(overview: Overview, origin: Origin, scenario: str | None, known: Sequence[TimeLimit]) -> ImportedRun:
    """The run that a trace is, by its content: the same trace is the same run, however it is called or packed.

    Args:
        known: time limits of earlier runs of the app and of those of the same call, the latest first.

    Raises:
        Rejected: PACKAGE_MISSING with candidates, DEVICE_NOT_TOLD, TRACE_TOO_SHORT.
    """
    name, facts, health = overview.path.name, overview.facts, overview.health
    if health is not None and health.reason is Reason.PACKAGE_MISSING:
        raise Rejected(Reason.PACKAGE_MISSING, f"{name}: {health.detail}")
    start_ns, end_ns = overview.recorded_ns
    if end_ns <= start_ns:
        raise Rejected(Reason.TRACE_TOO_SHORT, f"{name}: its events cover no time")
    device = origin.device or overview.device.description
    if device is None:
        raise Rejected(Reason.DEVICE_NOT_TOLD, name)
    limit_s = origin.time_limit_s
    if limit_s is None:
        limit_s = time_limit_of(overview.duration_s, device, origin.strategy, scenario, known)
    limit = TimeLimit(device, origin.strategy, scenario, limit_s)
    run_id = facts.content_sha256[:16]
    started_at = origin.started_at or overview.started_at
    is_dated_by_file = started_at is None
    if started_at is None:
        started_at = datetime.fromtimestamp(facts.mtime_ns / 1e9, UTC)
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "app": origin.app,
        "version_name": origin.version_name,
        "config": {
            "device": device, "strategy": origin.strategy, "time_limit_s": limit_s, "action_interval_s": 0.0,
        },
        "started_at": started_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "exploration": {"start_ns": start_ns, "end_ns": end_ns},
        "functional_problems": [],
        "trace": "trace.perfetto-trace.gz" if facts.is_gzip else "trace.perfetto-trace",
        "trace_bytes": facts.file_bytes,
        "trace_sha256": facts.sha256,
        "import": {"source": name, "is_dated_by_file": is_dated_by_file},
    }  # fmt: skip
    if origin.version_code is not None:
        document["version_code"] = origin.version_code
    if scenario is not None:
        document["scenario"] = scenario
    return ImportedRun(run_id, document, overview.path, limit, is_dated_by_file)


def time_limit_of(
    duration_s: float, device: str, strategy: str, scenario: str | None, known: Sequence[TimeLimit]
) -> float:
    """Runs are comparable only when their time limits are the same, but recordings are never of the same length.

    A scenario ends when it is done: it has the limit of the latest run of it. Another trace has the limit of a run that
    was as long but for a tenth. The first of its kind has its own length, in two digits.
    """
    alike = [
        one.time_limit_s
        for one in known
        if (one.device, one.strategy, one.scenario) == (device, strategy, scenario)
        and (scenario is not None or abs(one.time_limit_s - duration_s) <= _ALIKE * one.time_limit_s)
    ]
    if not alike:
        return float(f"{duration_s:.2g}")
    return alike[0] if scenario is not None else min(alike, key=lambda limit: abs(limit - duration_s))
