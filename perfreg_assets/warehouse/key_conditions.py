"""How a query is told which keys (ids, names of files, partitions) its rows are of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

FEW = 32
"""So many have a mark each: a list that is unnested is a join, which costs milliseconds whatever is in it. Of
thousands the list is quicker: with a mark each, 20,000 took ten times as long."""


def among(keys: Sequence[str], column: str) -> str:
    """The condition that a column has one of these values, to be bound in their order."""
    if len(keys) == 1:
        return f"{column} = ?"
    return f"{column} IN ({', '.join('?' * len(keys))})" if keys else "false"


def among_named(keys: Iterable[str], column: str, name: str) -> tuple[str, dict[str, str]]:
    """The same with marks that have names, for queries that bind other things by name."""
    marks = {f"{name}_{number}": key for number, key in enumerate(keys)}
    return (f"{column} IN ({', '.join(f'${mark}' for mark in marks)})" if marks else "false"), marks


def one_of(keys: Collection[str], column: str) -> tuple[str, list[Any]]:
    """The condition that a column has one of any number of values, and what is bound in its place."""
    if len(keys) <= FEW:
        return among(list(keys), column), list(keys)
    return f"{column} IN (SELECT unnest(?::VARCHAR[]))", [list(keys)]


def one_of_named(keys: Collection[str], column: str, name: str) -> tuple[str, dict[str, Any]]:
    """The same with names."""
    if len(keys) <= FEW:
        return among_named(keys, column, name)
    return f"{column} IN (SELECT unnest(${name}::VARCHAR[]))", {name: list(keys)}


def among_numbers(numbers: Sequence[int], column: str) -> str:
    """The condition that a column has one of some numbers, in order.

    By their range too: it reaches what a mart joins, and DuckDB reads other columns only where it holds; a list alone
    does neither.
    """
    within = f"{column} BETWEEN {numbers[0]} AND {numbers[-1]}"
    return f"({within} AND {column} IN ({', '.join(map(str, numbers))}))"
