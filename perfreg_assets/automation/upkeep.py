"""Making everything true: what is due is materialised, round by round, until nothing is.

The one function behind `ingest`, `settings set`, `review` and `reevaluate --make-current`; the sensor `upkeep` asks for
the same under Dagster's daemon.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from perfreg_assets.assets.outstanding import Outstanding, outstanding
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.jobs import EVERYTHING_JOB
from perfreg_assets.automation.materialise import Materialised, materialise
from perfreg_assets.automation.progress import Progress

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 900.0
_ROUNDS = 20  # each settles at least the earliest run whose history depends on verdicts; more is a defect


@dataclass
class Upkeep:
    """What was done, and what could not be: `left` is empty unless something failed."""

    done: Materialised = field(default_factory=Materialised)
    left: Outstanding = field(default_factory=lambda: Outstanding((), {}))


def bring_up_to_date(defs: dg.Definitions, project: Project, *, progress: Progress | None = None) -> Upkeep:
    """Materialises what is due until nothing is, or until a round changes nothing."""
    settings, warehouse = project.settings(), project.open()
    result = Upkeep()
    before: str | None = None
    for _ in range(_ROUNDS):
        with warehouse.reading() as reader:
            result.left = outstanding(reader, settings)
        if not result.left.keys or result.left.signature == before:
            break
        before = result.left.signature
        result.done += materialise(
            defs, EVERYTHING_JOB, result.left.keys, settings, assets=result.left.assets, progress=progress
        )
    return result


@dataclass(frozen=True)
class Asked:
    """The sensor's memory of one partition: what was due when it asked last, how often it asked for just that, when."""

    signature: str
    count: int
    at: float


def due_requests(
    found: Outstanding, memory: Mapping[str, Asked], *, busy: set[str], now: float
) -> tuple[list[str], dict[str, Asked]]:
    """(partitions to ask for now, memory for the next tick).

    A partition in which something is due is asked for until nothing is. While a run for it is under way it waits: what
    arrives meanwhile is due afterwards. What was asked for before and is due unchanged (a step failed or was killed) is
    asked for again after a pause that grows.
    """
    asked: dict[str, Asked] = {}
    wanted: list[str] = []
    for key in found.keys:
        signature = found.of(key).signature
        last = memory.get(key)
        if last is None or last.signature != signature:
            last = Asked(signature, 0, float("-inf"))
        pause = min(FIRST_PAUSE_S * 3.0 ** (last.count - 1), LONGEST_PAUSE_S) if last.count else 0.0
        if key not in busy and now - last.at >= pause:
            wanted.append(key)
            last = Asked(signature, last.count + 1, now)
        asked[key] = last
    return wanted, asked


def read_memory(cursor: str | None) -> dict[str, Asked]:
    return {key: Asked(*value) for key, value in json.loads(cursor).items()} if cursor else {}


def write_memory(memory: Mapping[str, Asked]) -> str:
    finite: dict[str, Any] = {
        key: [one.signature, one.count, one.at] for key, one in sorted(memory.items()) if one.count
    }
    return json.dumps(finite)
