"""Query results have the declared types, always, and equal what protobuf itself reads from the engine's message."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.columns import BrokenResultError, Nullable, QueryResult, SchemaError, Table, varints
from perfreg_assets.traces.engine import QueryError, TraceSession, start_engine
from perfreg_assets.traces.rpc_envelope import field, varint

HUGE = 2**53 + 1  # not a float64


@pytest.fixture(scope="module")
def session(settings):
    with start_engine(settings) as session:
        yield session


def test_integers_with_null_keep_every_digit(session: TraceSession):
    table = session.query(f"SELECT {HUGE} AS a UNION ALL SELECT NULL UNION ALL SELECT -1", {"a": "Int64"})
    assert isinstance(table["a"], Nullable)
    assert table["a"].tolist() == [HUGE, None, -1]


def test_an_empty_result_has_the_declared_types(session: TraceSession):
    schema = {"a": "int64", "b": "Int64", "c": "float64", "d": "string"}
    table = session.query("SELECT 1 AS a, 2 AS b, 3.0 AS c, 'x' AS d WHERE 0", schema)
    assert (table["a"].dtype, table["b"].values.dtype, table["c"].dtype, table["d"].dtype) == ("i8", "i8", "f8", "O")
    assert len(table) == 0


def test_mixed_columns_come_back_in_their_rows(session: TraceSession):
    table = session.query(
        "SELECT 1 AS i, 0.5 AS f, 'é' AS s UNION ALL SELECT 2, NULL, NULL UNION ALL SELECT 3, 7, ''",
        {"i": "int64", "f": "float64", "s": "string"},
    )
    assert table["i"].tolist() == [1, 2, 3]
    assert np.array_equal(table["f"], [0.5, np.nan, 7.0], equal_nan=True)
    assert table["s"].tolist() == ["é", None, ""]


def test_results_of_many_batches_keep_their_order(session: TraceSession):
    count = 300_000
    numbers = f"WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c WHERE x < {count - 1})"
    sql = f"{numbers} SELECT x, -x AS y FROM c"
    columns = session.query(sql, {"x": "int64", "y": "int64"})
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
    assert session.query("SELECT 1 AS a", {"a": "int64"})["a"].tolist() == [1]


def test_a_closed_session_says_so(settings):
    with start_engine(settings) as session:
        pass
    with pytest.raises(Rejected) as rejected:
        session.query("SELECT 1 AS a", {"a": "int64"})
    assert rejected.value.reason is Reason.ENGINE_UNAVAILABLE
    assert "closed" in str(rejected.value)
    session.close()


# ---- the message ---------------------------------------------------------------------------------------
INT64 = st.integers(-(2**63), 2**63 - 1)


def packed(values) -> bytes:
    return b"".join(varint(value % 2**64) for value in values)


@given(st.lists(st.one_of(st.integers(0, 127), st.integers(0, 2**15), st.integers(0, 2**57), INT64)))
def test_packed_integers_are_read_as_they_were_written(values):
    assert varints(packed(values)).tolist() == values


@given(st.integers(0, 9), st.integers(-1, 1), st.integers(0, 3))
def test_packed_integers_at_the_borders_of_their_lengths(groups, off, before):
    value = min(max((1 << 7 * groups) + off, 0), 2**63 - 1)
    values = [5] * before + [value, 1]
    assert varints(packed(values)).tolist() == values


@pytest.mark.parametrize("data", [b"\x80", b"\x01\xff", b"\xff" * 10 + b"\x01"])
def test_an_integer_without_an_end_is_a_broken_result(data):
    with pytest.raises(BrokenResultError, match="without an end"):
        varints(data)


CELL = st.one_of(st.none(), INT64, st.floats(allow_nan=False), st.text(st.characters(exclude_characters="\0")))


@given(st.lists(st.lists(CELL, max_size=30), max_size=4))
def test_cells_equal_what_protobuf_reads(batches):
    factory = ProtoFactory(PlatformDelegate())
    message = factory.QueryResult()
    message.column_names.append("x")
    for cells in batches:
        batch = message.batch.add()
        for cell in cells:
            kind = 1 if cell is None else 2 if isinstance(cell, int) else 3 if isinstance(cell, float) else 4
            batch.cells.append(kind)
            if kind == 2:
                batch.varint_cells.append(cell)
            elif kind == 3:
                batch.float64_cells.append(cell)
        batch.string_cells = "".join(cell + "\0" for cell in cells if isinstance(cell, str))
    message.elapsed_time_ms = 1.5  # a fixed-width field, to be stepped over
    result = QueryResult.of(message.SerializeToString())
    cells = [cell for batch in batches for cell in batch]
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds <= {int}:
        assert result.table({"x": "Int64"})["x"].tolist() == cells
    elif kinds == {str}:
        assert result.table({"x": "string"})["x"].tolist() == cells
    elif kinds <= {int, float}:
        expected = np.array([np.nan if cell is None else float(cell) for cell in cells])
        assert np.array_equal(result.table({"x": "float64"})["x"], expected, equal_nan=True)
    else:
        with pytest.raises(SchemaError):
            result.table({"x": "float64"})


@pytest.mark.parametrize(
    "message",
    [
        b"\x1a\x05\x0a",  # a batch of five bytes of which one is there
        field(3, field(1, b"\x02\x02") + field(2, b"\x01")),  # two integers announced, one there
        field(3, field(1, b"\x02\x02\x02") + field(2, b"\x01\x01\x01")),  # three cells in two columns
        field(3, field(1, b"\x02\x02") + b"\x13"),  # wire type 3
    ],
)
def test_a_message_that_contradicts_itself_is_a_broken_result(message):
    names = field(1, "a") + field(1, "b")
    with pytest.raises(BrokenResultError):
        QueryResult.of(names + message).table({"a": "int64", "b": "int64"})


def test_groups_keep_the_order_of_their_rows_and_leave_out_what_has_no_value():
    rows = np.arange(6)
    by = Nullable(np.array([3, 1, 0, 3, 1, 3]), np.array([0, 0, 1, 0, 0, 0], bool))
    table = Table({"row": rows, "by": by})
    assert [(key, part["row"].tolist()) for key, part in table.groups("by")] == [(1, [1, 4]), (3, [0, 3, 5])]
    names = Table({"row": rows, "by": np.array(["b", None, "a", "b", "a", "c"], object)})
    assert [(key, part["row"].tolist()) for key, part in names.groups("by")] == [
        ("a", [2, 4]), ("b", [0, 3]), ("c", [5]),
    ]  # fmt: skip
