"""What a warehouse may be called: what lies beside it is called after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfreg_assets.model.warehouse_health import examine_warehouse
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse
from tests.warehouse.noted import note, notes


def named(path: Path) -> Warehouse:
    return Warehouse(path, lock_timeout_s=1)


def test_two_warehouses_of_one_name_but_for_the_suffix_are_not_mixed(tmp_path: Path) -> None:
    first, second = named(tmp_path / "shop-1.4"), named(tmp_path / "shop-1.5")
    note(first, "of 1.4")
    before = {one.name for one in tmp_path.iterdir()}
    with pytest.raises(Rejected, match=r"shop-1\.4 is a warehouse too.*another name") as caught:
        note(second, "of 1.5")
    assert caught.value.reason is Reason.WAREHOUSE_NAME
    assert {one.name for one in tmp_path.iterdir()} == before  # not even its lock, by which the first would be refused
    note(first, "more of 1.4")
    assert notes(first) == ["of 1.4", "more of 1.4"]


def test_a_copy_under_another_suffix_does_not_keep_the_warehouse_from_being_written(tmp_path: Path) -> None:
    own = named(tmp_path / "shop.duckdb")
    note(own, "one")
    (tmp_path / "shop.bak").write_bytes(own.path.read_bytes())
    note(own, "two")
    with pytest.raises(Rejected, match=r"shop\.duckdb is a warehouse too"):
        note(named(tmp_path / "shop.bak"), "into the copy")
    assert notes(own) == ["one", "two"]


def test_looking_after_the_health_of_such_a_copy_says_so_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    own = named(tmp_path / "shop.duckdb")
    note(own, "one")
    (tmp_path / "shop.bak").write_bytes(own.path.read_bytes())
    (found,) = examine_warehouse(Settings(warehouse=tmp_path / "shop.bak"))
    assert found.state == "failed"
    assert "shop.duckdb is a warehouse too" in found.detail
    note(own, "two")  # which the copy's lock would keep from being written


def test_a_warehouse_that_was_renamed_goes_on(tmp_path: Path) -> None:
    note(named(tmp_path / "shop.db"), "one")
    own = named((tmp_path / "shop.db").rename(tmp_path / "shop.duckdb"))
    note(own, "two")
    assert notes(own) == ["one", "two"]


@pytest.mark.parametrize("name", ["what?.duckdb", "wh?t/shop.duckdb"])
def test_a_question_mark_in_the_path_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    with pytest.raises(Rejected, match="question mark") as caught:
        note(named(path), "one")
    assert caught.value.reason is Reason.WAREHOUSE_NAME
    assert not any(path.parent.glob("*shop*"))
    assert not any(tmp_path.glob("what*"))


@pytest.mark.parametrize("name", ["a'b;%c d.duckdb", "g[ab]*c {x,y}.db", "ü#&", "shop-1.4"])
def test_other_characters_are_as_good_as_letters(tmp_path: Path, name: str) -> None:
    own = named(tmp_path / name)
    note(own, "one")
    note(own, "two")
    assert notes(own) == ["one", "two"]
