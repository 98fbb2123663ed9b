"""Where a collection is: its stages, how long each took, and what is told of it meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from perfreg_assets.collection.exploration import Explorer
from perfreg_assets.how_many import how_many


@dataclass(frozen=True)
class Progress:
    """Where a collection is; handed to the `progress` callback at each stage and every few seconds in it."""

    stage: str
    """device, sweep, prepare, install, cool_down, record, launch, explore, stop, pull, log, write or restore"""
    message: str
    elapsed_s: float
    trace_bytes: int = 0
    step_count: int = 0
    state_count: int = 0

    def __str__(self) -> str:
        if self.stage != "explore":
            return f"{self.elapsed_s:6.1f} s  {self.stage}: {self.message}"
        return (
            f"{self.elapsed_s:6.1f} s  {self.message}: {self.trace_bytes:,} bytes recorded, "
            f"{how_many(self.step_count, 'step')}, {how_many(self.state_count, 'state')}"
        )


ProgressCallback = Callable[[Progress], None]


class Stages:
    """The stages of one collection.

    Attributes:
        now: the stage it is in.
        seconds: how long each took that has ended.
        started_at: when the session began.
    """

    def __init__(self, progress: ProgressCallback, check: Callable[[], None]) -> None:
        """
        Args:
            check: called before anything is told; raises where the collection is to end.
        """
        self.now = "device"
        self.seconds: dict[str, float] = {}
        self.started_at = datetime.now(UTC)
        self._progress, self._check = progress, check
        self._began = self._entered = time.monotonic()

    def begin_again(self) -> None:
        """The session begins now, after a device was waited for: histories are in this order."""
        self._began, self.started_at = time.monotonic(), datetime.now(UTC)

    def enter(self, stage: str, message: str) -> None:
        """The next stage."""
        self._leave(stage)
        self.tell(message)

    def end(self) -> None:
        """There is no further stage."""
        self._leave("")

    def tell(self, message: str, trace_bytes: int = 0, explorer: Explorer | None = None) -> None:
        """What happens in this stage."""
        self._check()
        self._progress(
            Progress(
                stage=self.now,
                message=message,
                elapsed_s=round(time.monotonic() - self._began, 1),
                trace_bytes=trace_bytes,
                step_count=explorer.step_count if explorer else 0,
                state_count=explorer.state_count if explorer else 0,
            )
        )

    def _leave(self, following: str) -> None:
        now = time.monotonic()
        self.seconds[self.now] = round(self.seconds.get(self.now, 0.0) + now - self._entered, 3)
        self.now, self._entered = following, now
