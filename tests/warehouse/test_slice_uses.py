"""Slices by screen: stored and told as they were read, and put together over the runs of a version."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.warehouse import runs, slice_uses
from perfreg_assets.warehouse.connection import Warehouse, Writer

START = datetime(2026, 3, 5, tzinfo=UTC)
MS = 1_000_000


def uses_of(*rows: tuple[str, str, int, int, int], threads: tuple[str, ...] = ()) -> SliceUses:
    """(screen, slice, calls, own ms, ms with everything below), all of one thread or each of its own."""
    calls, own, total = (np.array([row[k] for row in rows], dtype=np.int64) for k in (2, 3, 4))
    whole = {screen: sum(row[3] for row in rows if row[0] == screen) for screen, *_ in rows}
    return SliceUses(
        screen=tuple(row[0] for row in rows), process=("app",) * len(rows), thread=threads or ("main",) * len(rows),
        slice=tuple(row[1] for row in rows), call_count=calls, called_ns=total * MS, max_ns=total * MS // calls,
        self_ns=own * MS, total_ns=total * MS,
        screen_ns=np.array([whole[row[0]] for row in rows], dtype=np.int64) * MS,
    )  # fmt: skip


def store(writer: Writer, number: int, uses: SliceUses | None, version: str = "1", app: str = "app") -> None:
    run_id = f"run-{number}"
    row = runs.RunRow(
        run_id=run_id, folder_name="f", content_hash="h", app=app, version_name=version, config_hash="c",
        started_at=START + timedelta(hours=number), step_count=0, path=(), path_hash="p",
    )  # fmt: skip
    runs.upsert(writer, [row])
    stored = (
        slice_uses.missing(run_id, "p", "series_missing", "none", code_version="1")
        if uses is None
        else slice_uses.described(run_id, "p", uses, code_version="1")
    )
    slice_uses.upsert(writer, [stored])


def test_the_mart_tells_shares_of_the_screen(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        store(writer, 0, uses_of(("list", "stale", 1, 1, 1)))
        store(writer, 0, uses_of(("list", "draw", 4, 30, 90), ("list", "load#", 2, 70, 70), ("", "draw", 1, 5, 5)))
        store(writer, 1, None)
    with warehouse.reading() as reader:
        rows = reader.rows(
            "SELECT run_id, service, method, process, thread, calls, self_share, children_share, self_ms, children_ms, "
            "mean_ms, max_ms, call_log_id FROM marts.change_impact ORDER BY service, method"
        )
    assert rows == [
        ("run-0", "", "draw", "app", "main", 1, 1.0, 0.0, 5.0, 0.0, 5.0, 5.0, None),
        ("run-0", "list", "draw", "app", "main", 4, 0.3, 0.6, 30.0, 60.0, 22.5, 22.5, None),
        ("run-0", "list", "load#", "app", "main", 2, 0.7, 0.0, 70.0, 0.0, 35.0, 35.0, None),
    ]


def test_runs_of_the_newest_version_are_put_together(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        store(writer, 0, uses_of(("list", "old", 1, 1, 1)))
        store(writer, 1, uses_of(("list", "draw", 1, 10, 30), ("list", "x", 1, 10, 10)), "2")
        store(writer, 2, uses_of(("list", "draw", 3, 10, 10), ("note", "draw", 1, 4, 4)), "2")
        store(writer, 3, None, "3")
        store(writer, 4, uses_of(("list", "draw", 1, 1, 1)), "7", "other")
    with warehouse.reading() as reader:
        found = {(row["app"], row["service"], row["method"]): row for row in slice_uses.impact(reader, None, None)}
        older = slice_uses.impact(reader, "app", "1")
        assert slice_uses.impact(reader, "app", "3") == []
        assert slice_uses.impact(reader, "nobody", None) == []
    assert set(found) == {
        ("app", "list", "draw"), ("app", "list", "x"), ("app", "note", "draw"), ("other", "list", "draw"),
    }  # fmt: skip
    both = found["app", "list", "draw"]
    assert (both["version_name"], both["run_ids"], both["calls"]) == ("2", ["run-1", "run-2"], 4)
    assert (both["self_share"], both["self_ms"], both["children_ms"]) == (0.75, 20.0, 20.0)
    assert (both["mean_ms"], both["max_ms"]) == (10.0, 30.0)
    assert found["app", "list", "x"]["self_share"] == 0.25, "a run with the screen and without the slice counts as 0"
    assert sum(row["self_share"] for key, row in found.items() if key[:2] == ("app", "list")) == 1
    assert [row["method"] for row in older] == ["old"]


def test_a_slice_has_the_shares_of_all_its_threads(warehouse: Warehouse) -> None:
    of_three = uses_of(
        ("list", "bind", 1, 20, 30), ("list", "bind", 1, 10, 30), ("list", "draw", 2, 70, 70), threads=("a", "b", "a")
    )
    with warehouse.writing() as writer:
        store(writer, 0, of_three)
        store(writer, 1, uses_of(("list", "bind", 1, 50, 50), ("list", "draw", 1, 50, 50)))
    with warehouse.reading() as reader:
        bind, draw = slice_uses.impact(reader, None, None)
    assert (bind["self_share"], bind["children_share"]) == pytest.approx(((0.3 + 0.5) / 2, 0.3 / 2))
    assert (bind["self_ms"], bind["children_ms"], bind["calls"]) == (80.0, 30.0, 3)
    assert (bind["run_ids"], draw["self_share"]) == (["run-0", "run-1"], pytest.approx(0.6))


def test_another_number_is_another_hash() -> None:
    def hash_of(*row: object) -> str | None:
        return slice_uses.described("r", "p", uses_of(row), code_version="1").row.values_hash  # type: ignore[arg-type]

    plain = ("list", "draw", 4, 30, 90)
    changed = [("note", *plain[1:]), ("list", "x", 4, 30, 90), ("list", "draw", 4, 31, 90), ("list", "draw", 4, 30, 91)]
    assert hash_of(*plain) == hash_of(*plain)
    assert len({hash_of(*plain), *(hash_of(*one) for one in changed)}) == 5


@pytest.mark.parametrize("count", [0, 3])
def test_nothing_named_twice(warehouse: Warehouse, count: int) -> None:
    with warehouse.writing() as writer:
        for _ in range(2):
            store(writer, 0, uses_of(*(("s", f"m{k}", 1, 1, 1) for k in range(count))) if count else None)
    with warehouse.reading() as reader:
        assert reader.value("SELECT count(*) FROM core.slice_uses") == 1
        assert reader.value("SELECT count(*) FROM marts.change_impact") == count
