"""The numbers of runs: what their rows are found by, in every table that grows with the runs.

A run gets its number when it is registered first and keeps it. Ids are hashes or names; numbers are small, and come in
the order in which rows were stored, so that DuckDB passes over the parts of a table in which a run cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from perfreg_assets.how_many import how_many
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.key_conditions import FEW, among_numbers, one_of

_KNOWN: WeakKeyDictionary[Reader, dict[str, int]] = WeakKeyDictionary()


def of(reader: Reader, run_ids: Iterable[str]) -> dict[str, int]:
    """run_id → its number, in the order given, of those that are registered; each is looked up once for a reader."""
    known = _KNOWN.setdefault(reader, {})
    wanted = dict.fromkeys(run_ids)
    missing = [run_id for run_id in wanted if run_id not in known]
    if missing:
        found = _confirmed(reader, missing)
        unknown = [run_id for run_id in missing if run_id not in found]
        if unknown:
            of_ids, bound = one_of(unknown, "run_id")
            found |= dict(reader.rows(f"SELECT run_id, run_no FROM core.runs WHERE {of_ids}", bound))
        known |= found
        _remember(found)
    return {run_id: known[run_id] for run_id in wanted if run_id in known}


def note(reader: Reader, numbers: Iterable[tuple[str, int]]) -> None:
    """Keeps (run_id, its number) that a query of this reader told, so that they need not be looked up."""
    if not isinstance(reader, Writer):  # what it wrote could be taken back
        _KNOWN.setdefault(reader, {}).update(numbers)


_SEEN: dict[str, int] = {}
"""run_id → the number that it was seen with, in whatever warehouse: a guess."""
_SEEN_MOST = 10_000


def _confirmed(reader: Reader, run_ids: Sequence[str]) -> dict[str, int]:
    """Of a few runs, the numbers that they had when they were seen last and still have: to look a number up takes a
    millisecond in any warehouse, to look for an id as long as there are many."""
    if len(run_ids) > FEW:
        return {}
    guessed = {run_id: number for run_id in run_ids if (number := _SEEN.get(run_id)) is not None}
    if not guessed:
        return {}
    of_numbers = among_numbers(sorted(guessed.values()), "run_no")
    found = dict(reader.rows(f"SELECT run_id, run_no FROM core.runs WHERE {of_numbers}"))
    return {run_id: number for run_id, number in guessed.items() if found.get(run_id) == number}


def _remember(found: Mapping[str, int]) -> None:
    if len(found) <= FEW:
        if len(_SEEN) > _SEEN_MOST:
            _SEEN.clear()
        _SEEN.update(found)


def required(reader: Reader, run_ids: Iterable[str]) -> dict[str, int]:
    """As `of`, of all of them.

    Raises:
        Rejected: WAREHOUSE_REPLACED, a run is not registered; whoever writes rows of runs registered them before.
    """
    wanted = list(dict.fromkeys(run_ids))
    found = of(reader, wanted)
    if len(found) < len(wanted):
        gone = [run_id for run_id in wanted if run_id not in found]
        named = ", ".join(gone[:3]) + (", …" if len(gone) > 3 else "")
        raise Rejected(Reason.WAREHOUSE_REPLACED, f"the warehouse does not have {how_many(len(gone), 'run')}: {named}")
    return found


def next_one(reader: Reader) -> int:
    """What the next run gets that is registered."""
    return 1 + int(reader.value("SELECT coalesce(max(run_no), 0) FROM core.runs"))
