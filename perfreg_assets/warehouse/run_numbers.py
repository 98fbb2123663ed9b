"""The numbers of runs: what their rows are found by, in every table that grows with the runs.

A run gets its number when it is registered first and keeps it. Ids are hashes or names; numbers are small, and come in
the order in which rows were stored, so that DuckDB passes over the parts of a table in which a run cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from perfreg_assets.warehouse.connection import Reader

_KNOWN: WeakKeyDictionary[Reader, dict[str, int]] = WeakKeyDictionary()


def of(reader: Reader, run_ids: Iterable[str]) -> dict[str, int]:
    """run_id → its number, in the order given, of those that are registered; each is looked up once for a reader."""
    known = _KNOWN.setdefault(reader, {})
    wanted = dict.fromkeys(run_ids)
    missing = [run_id for run_id in wanted if run_id not in known]
    if missing:
        # As one value: with a mark each, 20,000 ids took ten times as long.
        sql = "SELECT run_id, run_no FROM core.runs WHERE run_id IN (SELECT unnest(?::VARCHAR[]))"
        known |= dict(reader.rows(sql, [missing]))
    return {run_id: known[run_id] for run_id in wanted if run_id in known}


def required(reader: Reader, run_ids: Iterable[str]) -> dict[str, int]:
    """As `of`, of all of them.

    Raises:
        ValueError: a run is not registered.
    """
    wanted = list(dict.fromkeys(run_ids))
    found = of(reader, wanted)
    if len(found) < len(wanted):
        raise ValueError(f"not registered: {', '.join(one for one in wanted if one not in found)}")
    return found


def next_one(reader: Reader) -> int:
    """What the next run gets that is registered."""
    return 1 + int(reader.value("SELECT coalesce(max(run_no), 0) FROM core.runs"))
