"""Making everything true: what is due is materialised, round by round, until nothing is.

The one function behind `ingest`, `settings set`, `review` and `reevaluate --make-current`; the sensor `upkeep` asks for
the same under Dagster's daemon.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

import dagster as dg

from perfreg_assets.assets.outstanding import Outstanding, outstanding
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.asking import Asked, digest
from perfreg_assets.automation.jobs import EVERYTHING_JOB
from perfreg_assets.automation.materialise import Materialised, materialise
from perfreg_assets.automation.progress import Progress

_ROUNDS = 20  # each settles at least the earliest run whose history depends on verdicts; more is a defect


@dataclass
class Upkeep:
    """What was done, and what could not be: `left` is empty unless something failed."""

    done: Materialised = field(default_factory=Materialised)
    left: Outstanding = field(default_factory=lambda: Outstanding((), {}))


def bring_up_to_date(
    defs: dg.Definitions, project: Project, *, with_waiting: bool = True, progress: Progress | None = None
) -> Upkeep:
    """Materialises what is due until nothing is, or until a round changes nothing.

    Args:
        with_waiting: whether pages that were put off are written, too.
    """
    settings, warehouse = project.settings(), project.open()
    result = Upkeep()
    before: str | None = None
    for _ in range(_ROUNDS):
        with warehouse.reading_caught_up(goes_on=True) as reader:
            result.left = outstanding(reader, settings, with_waiting=with_waiting)
        if not result.left.keys or result.left.signature == before:
            break
        before = result.left.signature
        result.done += materialise(
            defs, EVERYTHING_JOB, result.left.keys, settings, assets=result.left.assets, progress=progress
        )
    return result


def due_requests(
    found: Outstanding, asked: Mapping[str, Asked], *, busy: Container[str], now: float
) -> tuple[list[str], float | None]:
    """(partitions to ask for now, when the next of the others may be asked for again; None where none waits for that).

    A partition in which something is due is asked for until nothing is. While a run for it is under way it waits: what
    arrives meanwhile is due afterwards. What was asked for before and is due unchanged (a step failed or was killed) is
    asked for again after a pause that grows.

    Args:
        asked: digest → how it was asked for before (`asking.earlier`).
    """
    wanted: list[str] = []
    pauses: list[float] = []
    for key in found.keys:
        if key in busy:
            continue
        before = asked.get(digest_of(found, key))
        if before is None or now >= before.again_at:
            wanted.append(key)
        else:
            pauses.append(before.again_at)
    return wanted, min(pauses, default=None)


def digest_of(found: Outstanding, key: str) -> str:
    """What a request for a partition with just this due in it is known by."""
    return digest("due", key, found.of(key).signature)
