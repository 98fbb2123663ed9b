"""However runs are named, the rows found are theirs."""

from __future__ import annotations

import duckdb
import pytest

from perfreg_assets.warehouse import key_conditions, run_conditions
from perfreg_assets.warehouse.connection import Reader

HELD = {f"run-{number}": place for place, number in enumerate(range(0, 3000, 2), start=1)}


@pytest.fixture(scope="module")
def reader() -> Reader:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA core")
    connection.execute(
        "CREATE TABLE core.runs AS SELECT unnest(?::VARCHAR[]) AS run_id, unnest(?::INTEGER[]) AS run_no",
        [[*HELD], [*HELD.values()]],
    )
    return Reader(connection)


def _found(reader: Reader, condition: str, bound: list[str]) -> list[str]:
    rows = reader.rows(f"SELECT held.run_id FROM core.runs AS held WHERE {condition} ORDER BY held.run_id", bound)
    return [run_id for (run_id,) in rows]


@pytest.mark.parametrize("count", [0, 1, 2, 3, run_conditions.GROUP, run_conditions.GROUP + 1])
@pytest.mark.parametrize("step", [1, 2, 6])
def test_each_way_finds_the_rows_of_these_runs(reader: Reader, count: int, step: int) -> None:
    wanted = [f"run-{number * step}" for number in range(count)]
    expected = sorted({*wanted} & {*HELD})
    assert _found(reader, run_conditions.of(reader, iter(wanted), "held.run_no"), []) == expected
    assert _found(reader, key_conditions.among(wanted, "held.run_id"), wanted) == expected
    of_keys, bound = key_conditions.one_of(wanted, "held.run_id")
    assert len(bound) == (len(wanted) if len(wanted) <= key_conditions.FEW else 1)
    assert _found(reader, of_keys, bound) == expected
    of_named, marks = key_conditions.among_named(wanted, "held.run_id", "one")
    assert _found(reader, of_named, marks) == expected
    groups = list(run_conditions.grouped(reader, iter(wanted)))
    assert [run_id for ids in groups for run_id in ids] == sorted({*wanted} & {*HELD}, key=HELD.__getitem__)
    assert max(map(len, groups), default=0) <= run_conditions.GROUP


def test_runs_that_came_far_from_each_other_are_asked_for_apart(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_conditions, "GAP", 10)
    wanted = ["run-2000", "run-0", "nobody", "run-20", "run-22", "run-42", "run-44"]  # 1001, 1, 11, 12, 22, 23
    groups = list(run_conditions.grouped(reader, wanted))
    assert groups == [["run-0", "run-20", "run-22", "run-42", "run-44"], ["run-2000"]]
    monkeypatch.setattr(run_conditions, "GAP", 9)
    groups = list(run_conditions.grouped(reader, wanted))
    assert groups == [["run-0"], ["run-20", "run-22"], ["run-42", "run-44"], ["run-2000"]]


def test_one_run_is_named_by_an_equality_and_neighbours_by_a_range_alone(reader: Reader) -> None:
    assert run_conditions.of(reader, ["run-4"]) == "run_no = 3"
    assert run_conditions.of(reader, ["run-8", "run-4", "run-6"]) == "(run_no BETWEEN 3 AND 5)"
    assert run_conditions.of(reader, ["run-8", "run-4", "nobody"]) == "(run_no BETWEEN 3 AND 5 AND run_no IN (3, 5))"
