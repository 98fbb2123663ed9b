"""run.json of a collected run, and in it under `collection` how it came about."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import perfreg_assets
from perfreg_assets.collection.clock import TraceClock
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.device import DeviceFacts
from perfreg_assets.collection.exploration import Exploration
from perfreg_assets.collection.functional_problems import FunctionalProblem, LogReport, merge_problems
from perfreg_assets.collection.perfetto_session import FetchedTrace
from perfreg_assets.collection.power_profile import FetchedProfile
from perfreg_assets.collection.state_times import StateTimes, described
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.storable_text import storable

TRACE_NAME = "trace.perfetto-trace"
_OUTSIDE_TOLERANCE_S = 10.0
_PROBLEM_KINDS_OF_DEATH = frozenset({"crash", "native_crash", "anr"})


@dataclass(frozen=True)
class Session:
    """Everything that one finished session found out."""

    collection_id: str
    attempt: int
    repeat: int
    seed: int
    config: CollectionConfig
    device: DeviceFacts
    device_settings: Sequence[str]
    version_name: str
    version_code: int | None
    build_hash: str | None
    started_at: datetime
    exploration_start_boot_s: float
    exploration_end_boot_s: float
    clock: TraceClock
    exploration: Exploration
    log: LogReport
    trace: FetchedTrace
    stop_reason: str
    is_plain_config: bool
    battery_celsius: float | None
    power_profile: FetchedProfile | str | None = None
    """Or why there is none; None: not asked for."""
    state_times: tuple[StateTimes | None, StateTimes | None] = (None, None)
    """Before and after the exploration."""


def run_id_of(app: str, version_name: str, started_at: datetime, collection_id: str) -> str:
    """A run id that is also a folder name, whatever the version is called."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{app}-{version_name}")[:80].rstrip("._-")
    return f"{slug}-{started_at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{collection_id[:6]}"


def run_document(run_id: str, session: Session) -> dict[str, Any]:
    """The content of run.json.

    Raises:
        Rejected: EXPLORER_NOT_STARTED (no step at all), EXPLORER_OUTPUT_INVALID (steps far outside the session),
            CLOCK_JUMPED.
    """
    config = session.config
    start_ns = session.clock.from_host_boot(session.exploration_start_boot_s)
    end_ns = session.clock.from_host_boot(session.exploration_end_boot_s)
    problems = _problems(session)
    settings = f" ({', '.join(session.device_settings)})" if session.device_settings else ""
    document: dict[str, Any] = {
        "schema_version": 1,
        "run_id": run_id,
        "app": config.app,
        "version_name": storable(session.version_name),
        "version_code": session.version_code,
        "config": {
            "device": storable(session.device.description + settings),
            "strategy": storable(config.strategy_name),
            "time_limit_s": config.time_limit_s,
            "action_interval_s": config.action_interval_s,
            "unit": storable(session.device.unit),
        },
        "started_at": session.started_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "exploration": {"start_ns": start_ns, "end_ns": end_ns},
        "path": _path(session, start_ns, end_ns),
        "functional_problems": problems,
        "trace": TRACE_NAME,
        "trace_bytes": session.trace.size,
        "trace_sha256": session.trace.sha256,
        **described(*session.state_times),
        "collection": {
            "collection_id": session.collection_id,
            "attempt": session.attempt,
            "repeat": session.repeat,
            "seed": session.seed,
            "explorer": config.explorer,
            "explorer_notes": [storable(note) for note in session.exploration.notes],
            "stop_reason": session.stop_reason,
            "device_sdk": session.device.sdk,
            "device_settings": list(session.device_settings),
            "battery_celsius": session.battery_celsius,
            "build_sha256": session.build_hash,
            "data_sources": list(config.data_sources),
            "perfetto_config": "plain" if session.is_plain_config else "full",
            "bytes_per_minute": round(session.trace.bytes_per_minute),
            **_power_profile(session.power_profile),
            "clock": session.clock.describe(),
            "log": {"is_complete": session.log.is_complete, "lost_buffers": list(session.log.lost)},
            "perfreg_version": perfreg_assets.__version__,
        },
    }
    if not problems and not session.log.is_complete:
        del document["functional_problems"]  # unknown is not none
    if session.version_code is None:
        del document["version_code"]
    return document


def _power_profile(found: FetchedProfile | str | None) -> dict[str, Any]:
    """What is said of the device's power profile, which stands beside run.json where it could be read."""
    if found is None:
        return {}
    if isinstance(found, str):
        return {"power_profile": {"reason": storable(found)}}
    sha256 = hashlib.sha256(found.path.read_bytes()).hexdigest()
    return {"power_profile": {"source": storable(found.source), "sha256": sha256}}


def _path(session: Session, start_ns: int, end_ns: int) -> list[dict[str, Any]]:
    steps = session.exploration.steps
    if not steps:
        raise Rejected(Reason.EXPLORER_NOT_STARTED, f"{session.config.explorer} made no step in the whole session")
    tolerance_ns = round(_OUTSIDE_TOLERANCE_S * 1e9)
    path = []
    for number, step in enumerate(steps):
        ts_ns = step.stamp.to_trace_ns(session.clock)
        if not start_ns - tolerance_ns <= ts_ns <= end_ns + tolerance_ns:
            off_s = (ts_ns - start_ns) / 1e9
            raise Rejected(
                Reason.EXPLORER_OUTPUT_INVALID, f"step {number} lies {off_s:.1f} s after the exploration's start"
            )
        item: dict[str, Any] = {"step": number, "ts_ns": ts_ns, "state_hash": storable(step.state.state_hash)}
        if step.state.screen is not None:
            item["screen"] = storable(step.state.screen)
        if step.action is not None:
            item["action"] = storable(step.action)
        path.append(item)
    after = session.exploration.after
    if after is not None:
        path[-1]["state_hash_after"] = storable(after.state_hash)
        if after.screen is not None:
            path[-1]["screen_after"] = storable(after.screen)
    return path


def _problems(session: Session) -> list[dict[str, Any]]:
    clock = session.clock
    from_explorer = tuple(_placed(session))
    merged = merge_problems(session.log.problems, from_explorer)
    dead = {problem.pid for problem in merged if problem.kind in _PROBLEM_KINDS_OF_DEATH}
    documents = []
    for problem in merged:
        if problem.kind == "process_vanished" and problem.pid in dead:
            continue  # it vanished because it crashed
        item: dict[str, Any] = {"kind": storable(problem.kind), "message": storable(problem.message)}
        ts_ns = problem.ts_ns
        if ts_ns is None and problem.device_wall_s is not None:
            ts_ns = _log_time(clock, problem.device_wall_s)
        if ts_ns is not None and ts_ns >= 0:
            item["ts_ns"] = ts_ns
        documents.append(item)
    return documents


def _placed(session: Session) -> list[FunctionalProblem]:
    placed = []
    for problem in session.exploration.problems:
        try:
            placed.append(problem.placed(session.clock))
        except Rejected:  # a clock was set: that it happened is known, when is not
            placed.append(FunctionalProblem(problem.kind, problem.message, pid=problem.pid))
    return placed


def _log_time(clock: TraceClock, device_wall_s: float) -> int | None:
    try:
        return clock.from_device_wall(device_wall_s)
    except Rejected:
        return None
