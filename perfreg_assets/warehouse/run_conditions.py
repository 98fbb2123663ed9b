"""How a query names the runs that it is of, so that DuckDB looks at those only.

By their numbers, which are written into the query: a number hides nothing, and only what stands there itself
reaches every table below a mart. An equality where it can be one: it reaches what a mart joins, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perfreg_assets.warehouse import run_numbers
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.key_conditions import among_numbers

GROUP = 1000
"""Runs named in one query, where it is about each of them."""
GAP = 2000
"""Where that many numbers are not asked for, two queries look at less than one that spans them: a part of a table that
is passed over or read as a whole holds the verdicts of twice as many runs."""


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
    if len(numbers) > numbers[-1] - numbers[0]:
        return f"({column} BETWEEN {numbers[0]} AND {numbers[-1]})"
    return among_numbers(numbers, column)


def grouped(reader: Reader, run_ids: Iterable[str]) -> Iterator[list[str]]:
    """The registered ones of some runs in groups for a query each, by their numbers: what such a query looks at is
    about what stands between the first and the last of them."""
    group: list[str] = []
    before = 0
    for run_id, number in sorted(run_numbers.of(reader, run_ids).items(), key=lambda one: one[1]):
        if group and (len(group) == GROUP or number - before > GAP):
            yield group
            group = []
        group.append(run_id)
        before = number
    if group:
        yield group
