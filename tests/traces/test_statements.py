"""SQL from files, values by one quoting function."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets import bundled
from perfreg_assets.traces.engine import QueryError, open_trace, start_engine
from perfreg_assets.traces.statements import literal, statement


@pytest.fixture(scope="module")
def session(settings):
    with start_engine(settings) as session:
        yield session


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "'plain'"),
        ("it's", "'it''s'"),
        ("'; DROP TABLE t; --", "'''; DROP TABLE t; --'"),
        (7, "7"),
        (-(2**63), str(-(2**63))),
        (True, "1"),
        (0.5, "0.5"),
        ([1, 2], "1, 2"),
        ([], "NULL"),
    ],
)
def test_literals(value, text):
    assert literal(value) == text


@pytest.mark.parametrize("value", ["a\0b", 2**63, float("nan"), float("inf")])
def test_values_that_sql_cannot_state_are_refused(value):
    with pytest.raises(ValueError, match="SQL"):
        literal(value)


@pytest.mark.parametrize("value", [None, b"bytes", object()])
def test_other_types_are_refused(value):
    with pytest.raises(TypeError):
        literal(value)


@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_any_text_comes_back_from_the_engine_as_it_went_in(session, text):
    assert session.query(f"SELECT {literal(text)} AS a", {"a": "string"})["a"].tolist() == [text]


def test_a_placeholder_without_value_and_a_value_without_placeholder_are_refused():
    with pytest.raises(KeyError, match="last_ns"):
        statement("sched_slices", first_ns=1)
    with pytest.raises(KeyError, match="other"):
        statement("threads", other=1)


def test_every_statement_in_the_folder_runs(settings, make_trace, tmp_path):
    values = {"first_ns": 0, "last_ns": 1, "upids": [1, 2], "utids": [1, 2], "uids": [10_100]}
    names = sorted(path.stem for path in (bundled.sql_dir() / "perfetto").glob("*.sql"))
    assert {"sched_slices", "process_memory", "stats"} <= set(names)
    path = make_trace().process(10, "app").schedule([(0, 10, 1, 5)]).write(tmp_path / "t.pftrace")
    with open_trace(path, settings) as session:
        refused = {}
        for name in names:
            wanted = set(
                re.findall(
                    r":([a-z_]+)\b", re.sub(r"--.*", "", (bundled.sql_dir() / "perfetto" / f"{name}.sql").read_text())
                )
            )
            known = {key: value for key, value in values.items() if key in wanted}
            if wanted != set(known):
                continue  # a statement of another part of the project; its own tests give it values
            try:
                session._execute(statement(name, **known))
            except QueryError as error:
                refused[name] = str(error)
    assert not refused
