"""Moments as they are stored: in UTC. At the ends of the calendar one with another zone is in no year there."""

from __future__ import annotations

from datetime import UTC, datetime


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC.

    Args:
        moment: with its zone.

    Raises:
        ValueError: in words: it is before the year 1 or after the year 9999.
    """
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{moment.isoformat()!r} is in none of the years 1 to 9999 in UTC") from error
