"""What is said last counts, whatever the clock says: it may have been set back since what was said before."""

from __future__ import annotations


def moment(table: str, column: str, where: str) -> str:
    """SQL for the moment of a new row: `$now`, or just after the latest of those rows of the table that are there.

    Args:
        where: which rows are of the same thing; like the names, from code.
    """
    return f"greatest($now, (SELECT max({column}) + INTERVAL 1 MICROSECOND FROM {table} WHERE {where}))"
