"""Paths by time: what the app showed from which moment on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from perfreg_assets.warehouse.connection import Reader

_STEPS = """
SELECT run_id, entry.ts_ns, entry.screen, entry.state_hash
FROM (SELECT run_id, unnest(path) AS entry FROM core.runs WHERE run_id IN (SELECT unnest(?::VARCHAR[])))
WHERE entry.ts_ns IS NOT NULL
ORDER BY run_id, entry.ts_ns, entry.step
"""


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
    found: dict[str, list[TimedStep]] = defaultdict(list)
    for run_id, *step in reader.rows(_STEPS, [list(run_ids)]):
        found[run_id].append(TimedStep(*step))
    return dict(found)
