"""Query results have the declared types, always: the stock client's are objects and round large integers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.columns import SchemaError
from perfreg_assets.traces.engine import QueryError, TraceSession, start_engine

HUGE = 2**53 + 1  # not a float64


@pytest.fixture(scope="module")
def session(settings):
    with start_engine(settings) as session:
        yield session


def test_integers_with_null_keep_every_digit(session: TraceSession):
    frame = session.query(f"SELECT {HUGE} AS a UNION ALL SELECT NULL UNION ALL SELECT -1", {"a": "Int64"})
    assert frame.a.dtype == "Int64"
    assert frame.a.tolist() == [HUGE, pd.NA, -1]


def test_an_empty_result_has_the_declared_types(session: TraceSession):
    schema = {"a": "int64", "b": "Int64", "c": "float64", "d": "string"}
    frame = session.query("SELECT 1 AS a, 2 AS b, 3.0 AS c, 'x' AS d WHERE 0", schema)
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == schema
    assert frame.empty


def test_mixed_columns_come_back_in_their_rows(session: TraceSession):
    frame = session.query(
        "SELECT 1 AS i, 0.5 AS f, 'é' AS s UNION ALL SELECT 2, NULL, NULL UNION ALL SELECT 3, 7, ''",
        {"i": "int64", "f": "float64", "s": "string"},
    )
    assert frame.i.tolist() == [1, 2, 3]
    assert np.array_equal(frame.f, [0.5, np.nan, 7.0], equal_nan=True)
    assert frame.s.tolist() == ["é", pd.NA, ""]


def test_results_of_many_batches_keep_their_order(session: TraceSession):
    count = 300_000
    numbers = f"WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c WHERE x < {count - 1})"
    sql = f"{numbers} SELECT x, -x AS y FROM c"
    columns = session.arrays(sql, {"x": "int64", "y": "int64"})
    assert np.array_equal(columns["x"], np.arange(count))
    assert np.array_equal(columns["y"], -np.arange(count))


@pytest.mark.parametrize(
    ("sql", "schema"),
    [
        ("SELECT NULL AS a", {"a": "int64"}),
        ("SELECT 'x' AS a", {"a": "Int64"}),
        ("SELECT 1.5 AS a", {"a": "Int64"}),
        ("SELECT 1 AS a", {"a": "string"}),
        ("SELECT 1 AS a", {"b": "int64"}),
        ("SELECT 1 AS a, 2 AS b", {"a": "int64"}),
    ],
)
def test_a_result_other_than_declared_is_refused(session: TraceSession, sql, schema):
    with pytest.raises(SchemaError):
        session.query(sql, schema)


def test_wrong_sql_is_told_with_its_place_and_the_session_goes_on(session: TraceSession):
    with pytest.raises(QueryError, match="no such column: nonsense"):
        session.query("SELECT nonsense", {"nonsense": "int64"})
    assert session.query("SELECT 1 AS a", {"a": "int64"}).a.tolist() == [1]


def test_a_closed_session_says_so(settings):
    with start_engine(settings) as session:
        pass
    with pytest.raises(Rejected) as rejected:
        session.query("SELECT 1 AS a", {"a": "int64"})
    assert rejected.value.reason is Reason.ENGINE_UNAVAILABLE
    assert "closed" in str(rejected.value)
    session.close()
