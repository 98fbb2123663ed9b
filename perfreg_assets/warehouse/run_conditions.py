"""How a query names the runs, or other keys, that it is of, so that DuckDB looks at those only.

Runs by their numbers, which are written into the query: a number hides nothing, and only what stands there itself
reaches every table below a mart. An equality where it can be one: it reaches what a mart joins, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfreg_assets.warehouse import run_numbers
from perfreg_assets.warehouse.connection import Reader

GROUP = 1000
"""Runs named in one query, where it is about each of them."""


def of(reader: Reader, run_ids: Iterable[str], column: str = "run_no") -> str:
    """The condition that a row is of one of these runs; of none where they are not registered.

    Args:
        column: the one with the run's number.
    """
    numbers = sorted(run_numbers.of(reader, run_ids).values())
    if not numbers:
        return "false"
    if len(numbers) == 1:
        return f"{column} = {numbers[0]}"
    # A range reaches what a mart joins, as a list does not.
    within = f"{column} BETWEEN {numbers[0]} AND {numbers[-1]}"
    if len(numbers) > numbers[-1] - numbers[0]:
        return f"({within})"
    return f"({within} AND {column} IN ({', '.join(map(str, numbers))}))"


def among(keys: Sequence[str], column: str) -> str:
    """The condition that a column has one of these values, to be bound in their order."""
    if len(keys) == 1:
        return f"{column} = ?"
    return f"{column} IN ({', '.join('?' * len(keys))})" if keys else "false"


def grouped(run_ids: Iterable[str]) -> Iterable[list[str]]:
    """Ids in groups for a query each."""
    ids = list(run_ids)
    for start in range(0, len(ids), GROUP):
        yield ids[start : start + GROUP]
