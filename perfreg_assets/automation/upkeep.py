"""Making everything true: what is due is materialised, round by round, until nothing is.

The one function behind `ingest`, `settings set`, `review` and `reevaluate --make-current`; the sensor `upkeep` asks for
the same under Dagster's daemon.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field

import dagster as dg

from perfreg_assets.assets.outstanding import Outstanding, outstanding
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.asking import Asked, digest
from perfreg_assets.automation.command_lock import computing, is_served
from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.jobs import EVERYTHING_JOB
from perfreg_assets.automation.materialise import Materialised, materialise, records_in
from perfreg_assets.automation.progress import Progress
from perfreg_assets.automation.unfinished import at_work
from perfreg_assets.settings import Settings

_ROUNDS = 20  # each settles at least the earliest run whose history depends on verdicts; more is a defect


_LOOK_S = 1.0


@dataclass
class Upkeep:
    """What was done, and what could not be: `left` is empty unless something failed. `elsewhere`: partitions in which
    something is due that a run of Dagster's daemon computes just now."""

    done: Materialised = field(default_factory=Materialised)
    left: Outstanding = field(default_factory=lambda: Outstanding((), {}))
    elsewhere: tuple[str, ...] = ()


def bring_up_to_date(
    defs: dg.Definitions,
    project: Project,
    *,
    with_waiting: bool = True,
    awaited: Collection[str] = (),
    progress: Progress | None = None,
) -> Upkeep:
    """Materialises what is due until nothing is, or until a round changes nothing. What a run of Dagster's daemon is at
    work on is left to it.

    Args:
        with_waiting: whether pages that were put off are written, too.
        awaited: partitions in which that is waited for.
    """
    settings, warehouse = project.settings(), project.open()
    result = Upkeep()
    before: str | None = None
    with computing(settings):
        for _ in range(_ROUNDS):
            busy = _let_end(settings, awaited, progress)
            with warehouse.reading_caught_up(goes_on=True) as reader:
                found = outstanding(reader, settings, with_waiting=with_waiting)
            result.left = found.apart_from(busy)
            result.elsewhere = tuple(key for key in found.keys if key in busy)
            if not result.left.keys or result.left.signature == before:
                break
            before = result.left.signature
            result.done += materialise(
                defs, EVERYTHING_JOB, result.left.keys, settings, assets=result.left.assets, progress=progress
            )
    return result


def versions_at_work(settings: Settings) -> set[str]:
    """The partitions that runs of Dagster's daemon compute just now."""
    if not is_served(settings):
        return set()
    with records_in(prepare_home(settings)) as instance:
        return at_work(instance, EVERYTHING_JOB)


def _let_end(settings: Settings, awaited: Collection[str], progress: Progress | None) -> set[str]:
    """The same, once none of the awaited ones is among them."""
    while waited_for := (busy := versions_at_work(settings)).intersection(awaited):
        if progress is not None:
            progress(f"waiting for Dagster, which computes {min(waited_for)}")
        time.sleep(_LOOK_S)
    return busy


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
