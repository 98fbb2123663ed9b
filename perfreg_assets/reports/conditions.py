"""How queries of pages name the runs that they are of, so that DuckDB looks at those only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfreg_assets.warehouse import stamps


def of(run_ids: Sequence[str], column: str = "run_id") -> str:
    """The condition that a row is of one of these runs, ids to be bound.

    Marks instead of a list: only they reach the tables below a mart; and an equality where it can be one, which reaches
    what a mart joins, too.
    """
    if len(run_ids) == 1:
        return f"{column} = ?"
    return f"{column} IN ({', '.join('?' * len(run_ids))})" if run_ids else "false"


FEW = 6
"""So many runs are asked for one by one in `marts.runs`: sooner than all verdicts are looked at for a list of them."""


def in_groups(run_ids: Sequence[str]) -> Iterator[list[str]]:
    """The ids that a query of `marts.runs` is to name at once."""
    if len(run_ids) <= FEW:
        yield from ([run_id] for run_id in run_ids)
    else:
        yield from (group for group, _ in stamps.grouped(run_ids))
