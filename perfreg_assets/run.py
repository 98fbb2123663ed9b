"""A test run R = (C, U, F) [thesis 4]: its path, its configuration, and what is known of it wherever it is held."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

RUN_LEVEL = "*"
"""The name in the column `series` under which the verdict on the whole run stands."""

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""What a run id may be: it is a folder name, a page's name and a part of an address."""
REFUSED = "quarantined-"
"""What the id of a folder begins with that was refused and has no id of its own: such rows go once it is a run."""
POWER_PROFILE = "power_profile.xml"
"""What the device's power profile is called in a run folder."""


@dataclass(frozen=True)
class PathStep:
    """One action of the explorer, and the app's state in which it was taken.

    Attributes:
        ts_ns: when the action was sent, on the trace clock (BOOTTIME); None where not known.
        state_hash, screen: what held until then.
        screen_after, state_hash_after: what the action led to, where the tester says it; else the next step tells.
    """

    step: int
    ts_ns: int | None
    state_hash: str
    screen: str | None = None
    action: str | None = None
    screen_after: str | None = None
    state_hash_after: str | None = None


def path_hash(path: Iterable[PathStep]) -> str:
    """SHA-256 over the timed path, as far as states are made of it: equal where detectors see the same states."""
    seen = [(one.ts_ns, one.screen, one.state_hash, one.screen_after, one.state_hash_after) for one in path]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()


def timed_steps(path: Iterable[PathStep]) -> list[tuple[int, PathStep]]:
    """(when its action was sent, step) of the steps whose time is known, in order of time."""
    timed = [(one.ts_ns, one) for one in path if one.ts_ns is not None]
    return sorted(timed, key=lambda one: (one[0], one[1].step))


def timed_screens(path: Iterable[PathStep]) -> tuple[list[tuple[int, str]], str | None]:
    """([(until when, screen)] of the steps whose time is known, in order, what the last action led to).

    A screen held until the step's action was sent; the state stands for one without a name.
    """
    timed = timed_steps(path)
    last = timed[-1][1] if timed else None
    after = (last.screen_after or last.state_hash_after) if last is not None else None
    return [(ts_ns, one.screen or one.state_hash) for ts_ns, one in timed], after


def screens_between(path: Iterable[PathStep], start_ns: int, end_ns: int) -> tuple[str, ...]:
    """Names of the screens shown in [start_ns, end_ns), in order, each once; what has no name is left out."""
    timed = timed_steps(path)
    if not timed:
        return ()
    times = [ts_ns for ts_ns, _ in timed]
    names = [*(one.screen for _, one in timed), timed[-1][1].screen_after]
    shown = [
        name
        for begin, end, name in zip([start_ns, *times], [*times, end_ns], names, strict=True)
        if begin < end_ns and end > start_ns
    ]
    return tuple(dict.fromkeys(name for name in shown if name))


def explored_state_count(path: Iterable[PathStep]) -> int:
    """How many states of the app the path visited [thesis 4.1]."""
    seen = {state for one in path for state in (one.state_hash, one.state_hash_after)}
    return len(seen - {None})


@dataclass(frozen=True)
class Configuration:
    """Test configuration C = (D, S, T, I) [thesis 4]. `device_unit` is the very device (its serial), no part of C."""

    device: str
    strategy: str
    time_limit_s: float
    action_interval_s: float
    device_unit: str | None = None

    @property
    def hash(self) -> str:
        """SHA-256 of the four values: runs are comparable only when it is the same."""
        text = json.dumps([self.device, self.strategy, self.time_limit_s, self.action_interval_s])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is known of a run besides its id and its path, under the names of core.runs and marts.runs.

    A quarantined run may lack all of it. `functional_problems` is None where the tester did not say (F unknown).
    `scenario` names what was done where a script does it, in place of a path or beside one.
    """

    app: str | None = None
    version_name: str | None = None
    version_code: int | None = None
    device: str | None = None
    strategy: str | None = None
    time_limit_s: float | None = None
    action_interval_s: float | None = None
    device_unit: str | None = None
    scenario: str | None = None
    started_at: datetime | None = None
    exploration_start_ns: int | None = None
    exploration_end_ns: int | None = None
    functional_problems: list[dict[str, Any]] | None = None
    trace_bytes: int | None = None
    trace_sha256: str | None = None

    @property
    def exploration(self) -> tuple[int, int] | None:
        """(start_ns, end_ns) on the trace clock."""
        if self.exploration_start_ns is None or self.exploration_end_ns is None:
            return None
        return self.exploration_start_ns, self.exploration_end_ns

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of this class, whatever a subclass adds: what one holder of a run gives to another."""
        return {spec.name: getattr(self, spec.name) for spec in fields(Run)}
