"""What explores the app while Perfetto records: one small interface.

The path is P(R) = hash(S1) … hash(Sm), S = the screen's state [thesis 4.2.3]; state texts are hashed with SHA-256. A
step says in which state its action was sent, as run.json does: what it led to is the next step's state, of the last one
`Exploration.after`. An explorer stamps its steps with the clock it has; `Stamp` says which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from perfreg_assets.collection.clock import TraceClock
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.device import Device
from perfreg_assets.collection.functional_problems import FunctionalProblem
from perfreg_assets.collection.journal import Journal
from perfreg_assets.reasons import Reason, Rejected


@dataclass(frozen=True)
class Stamp:
    """A moment and the clock it was read from; `trace` counts nanoseconds, the others seconds."""

    clock: Literal["trace", "host_boot", "host_wall", "device_wall"]
    value: float

    def to_trace_ns(self, clock: TraceClock) -> int:
        """Raises Rejected(CLOCK_JUMPED) where a wall clock was set during the session."""
        match self.clock:
            case "host_boot":
                return clock.from_host_boot(self.value)
            case "host_wall":
                return clock.from_host_wall(self.value)
            case "device_wall":
                return clock.from_device_wall(self.value)
            case _:
                return int(self.value)


@dataclass(frozen=True)
class State:
    """What the app showed."""

    state_hash: str
    screen: str | None = None


@dataclass(frozen=True)
class Step:
    """An action, when it was sent, and the app's state in which it was sent."""

    stamp: Stamp
    state: State
    action: str | None


@dataclass(frozen=True)
class ExplorerProblem:
    """A functional problem that the explorer itself saw."""

    kind: str
    message: str
    stamp: Stamp | None = None
    pid: int | None = None

    def placed(self, clock: TraceClock) -> FunctionalProblem:
        ts_ns = self.stamp.to_trace_ns(clock) if self.stamp is not None else None
        return FunctionalProblem(self.kind, self.message, ts_ns=ts_ns, pid=self.pid)


@dataclass(frozen=True)
class Exploration:
    """What an explorer leaves."""

    steps: tuple[Step, ...]
    after: State | None = None
    """What the last action led to; None where the explorer did not see it."""
    problems: tuple[ExplorerProblem, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader should know: dropped lines, unreadable screens, …"""


@dataclass(frozen=True)
class ExplorerContext:
    """What an explorer is given."""

    device: Device
    journal: Journal
    config: CollectionConfig
    app: str
    seed: int
    work_dir: Path
    """A folder on this computer for its files; removed after the session."""
    scratch_dir: str
    """A folder on the device for its files; removed after the session."""


class Explorer(Protocol):
    """start → poll about every quarter of a second → stop.

    `poll` returns True when the explorer has seen all states (or ended by itself without an error), and raises
    Rejected(EXPLORER_HUNG | EXPLORER_CRASHED | EXPLORER_OUTPUT_INVALID | DEVICE_…). `start` raises
    Rejected(EXPLORER_NOT_STARTED). `stop` ends whatever runs and returns the path; it is called once, also after
    the time limit.
    """

    def start(self) -> None: ...

    def poll(self) -> bool: ...

    def stop(self) -> Exploration: ...

    def steps(self) -> Sequence[Step]:
        """Those made so far, in their order; what `stop` returns begins with them."""

    @property
    def step_count(self) -> int: ...

    @property
    def state_count(self) -> int: ...


def hash_state(text: str) -> str:
    """SHA-256 of a screen's state text, as hex."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def options_of(config: CollectionConfig, defaults: dict[str, str]) -> dict[str, str]:
    """The explorer's options with the defaults of those not given. One of name `state` says what makes a state of a
    screen, for each explorer that has it.

    Raises:
        Rejected: COLLECTION_CONFIG_INVALID, an option that this explorer does not have, or another `state`.
    """
    for name in config.explorer_options:
        if name not in defaults:
            known = ", ".join(defaults) or "none"
            raise Rejected(
                Reason.COLLECTION_CONFIG_INVALID, f"explorer {config.explorer} has options {known}; not {name[:80]!r}"
            )
    options = {**defaults, **config.explorer_options}
    if options.get("state") not in (None, "structure", "text"):
        raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"{config.explorer}'s option state is structure or text")
    return options
