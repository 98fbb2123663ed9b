"""Moments and their microseconds are those of DuckDB."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.warehouse.moments import epoch_us, of_epoch_us

_ZONES = st.builds(lambda minutes: timezone(timedelta(minutes=minutes)), st.integers(-720, 840))
_MOMENTS = st.datetimes(datetime(1900, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC) | _ZONES)


@given(_MOMENTS)
def test_microseconds_of_a_moment_are_duckdbs_and_lead_back_to_it(moment):
    with duckdb.connect() as connection:
        (found,) = connection.execute("SELECT epoch_us(?::TIMESTAMPTZ)", [moment.isoformat()]).fetchall()
    assert epoch_us(moment) == found[0]
    assert of_epoch_us(found[0]) == moment
