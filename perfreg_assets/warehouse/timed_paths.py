"""Paths by time: what the app showed from which moment on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfreg_assets.warehouse import paths
from perfreg_assets.warehouse.connection import Reader


@dataclass(frozen=True)
class TimedStep:
    """A step whose time on the trace clock is known."""

    ts_ns: int
    screen: str | None
    state_hash: str

    @property
    def state(self) -> str:
        """The screen, or the state where the screen has no name."""
        return self.screen or self.state_hash


def find(reader: Reader, run_ids: Iterable[str]) -> dict[str, list[TimedStep]]:
    """run_id -> its timed steps, in order of time."""
    found = {}
    for run_id, path in sorted(paths.find(reader, paths.files_of(reader, run_ids)).items()):
        timed = [(one.ts_ns, one.step, one.screen, one.state_hash) for one in path if one.ts_ns is not None]
        if timed:
            timed.sort(key=lambda one: one[:2])
            found[run_id] = [TimedStep(ts_ns, screen, state_hash) for ts_ns, _, screen, state_hash in timed]
    return found
