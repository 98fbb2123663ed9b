"""Moments of many rows: DuckDB's client takes 20 µs to make a `datetime` of each, as long as all else of a row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def of_epoch_us(microseconds: int) -> datetime:
    """The moment that `epoch_us(…)` is of."""
    return _EPOCH + timedelta(microseconds=microseconds)


def epoch_us(moment: datetime) -> int:
    """What `epoch_us(…)` says of a moment with a time zone."""
    return (moment - _EPOCH) // timedelta(microseconds=1)
