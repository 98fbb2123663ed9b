"""However runs are named, the rows found are theirs."""

from __future__ import annotations

import duckdb
import pytest

from perfreg_assets.warehouse import run_conditions

HELD = [f"run-{number}" for number in range(0, 3000, 2)]


@pytest.mark.parametrize("count", [0, 1, 2, run_conditions.GROUP, run_conditions.GROUP + 1])
def test_each_way_finds_the_rows_of_these_runs(count: int) -> None:
    wanted = [f"run-{number}" for number in range(count)]
    expected = sorted({*wanted} & {*HELD})
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE held AS SELECT unnest(?::VARCHAR[]) AS run_id", [HELD])

        def found(condition: str, bound: object) -> list[str]:
            rows = connection.execute(f"SELECT held.run_id FROM held WHERE {condition} ORDER BY held.run_id", bound)
            return [run_id for (run_id,) in rows.fetchall()]

        condition, marks = run_conditions.named(iter(wanted), "held.run_id")
        assert found(condition, marks) == expected
        assert found(run_conditions.of(wanted, "held.run_id"), wanted) == expected
        groups = list(run_conditions.grouped(iter(wanted)))
        assert [run_id for ids, _ in groups for run_id in ids] == wanted
        assert sorted(one for ids, marks in groups for one in found(f"run_id IN ({marks})", ids)) == expected
