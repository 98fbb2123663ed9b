"""How a query names the runs that it is of, so that DuckDB looks at those only.

Marks instead of a list: only they reach every table below a mart. An equality where it can be one: it reaches what a
mart joins, too, and passes over the parts of a table in which the run cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

GROUP = 1000
"""Ids named in one query."""


def of(run_ids: Sequence[str], column: str = "run_id") -> str:
    """The condition that a row is of one of these runs, ids to be bound in their order."""
    if len(run_ids) == 1:
        return f"{column} = ?"
    return f"{column} IN ({', '.join('?' * len(run_ids))})" if run_ids else "false"


def grouped(run_ids: Iterable[str]) -> Iterable[tuple[list[str], str]]:
    """Ids in groups with the marks to bind them, for `IN (…)`."""
    ids = list(run_ids)
    for start in range(0, len(ids), GROUP):
        group = ids[start : start + GROUP]
        yield group, ", ".join("?" * len(group))


def named(run_ids: Iterable[str], column: str = "run_id") -> tuple[str, dict[str, Any]]:
    """The condition for a query whose marks have names, and what they stand for; of very many by a list after all."""
    ids = list(run_ids)
    if len(ids) > GROUP:
        return f"list_contains($run_ids::VARCHAR[], {column})", {"run_ids": ids}
    marks = {f"run_{place}": run_id for place, run_id in enumerate(ids)}
    if len(ids) == 1:
        return f"{column} = $run_0", marks
    return f"{column} IN ({', '.join(f'${mark}' for mark in marks)})" if marks else "false", marks
