"""A data folder is one warehouse's alone: tidying deletes from it what that warehouse does not name."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from perfreg_assets.model.warehouse_health import examine_warehouse
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.tidying import tidy
from tests.warehouse.noted import note, notes


def on(path: Path, data: Path) -> Warehouse:
    return Warehouse(path, lock_timeout_s=1, data=str(data))


def test_a_second_warehouse_on_a_data_folder_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    first, second = on(tmp_path / "one/w.duckdb", tmp_path / "data"), on(tmp_path / "two/w.duckdb", tmp_path / "data")
    note(first, "one")
    with pytest.raises(Rejected, match=r"holds the values of .*one/w\.duckdb.*of its own") as caught:
        note(second, "two")
    assert caught.value.reason is Reason.DATA_TAKEN
    assert list((tmp_path / "two").iterdir()) == []
    with pytest.raises(Rejected, match="holds the values of"):
        tidy(second)
    note(first, "more")
    assert notes(first) == ["one", "more"]


def test_a_copy_of_a_warehouse_cannot_be_written_to_on_the_others_values(tmp_path: Path) -> None:
    own = on(tmp_path / "w.duckdb", tmp_path / "data")
    note(own, "one")
    shutil.copy(own.path, tmp_path / "try.duckdb")
    with pytest.raises(Rejected, match="holds the values of"):
        note(on(tmp_path / "try.duckdb", tmp_path / "data"), "tried")
    (found,) = examine_warehouse(Settings(warehouse=tmp_path / "try.duckdb", data=str(tmp_path / "data")))
    assert (found.state, "holds the values of" in found.detail) == ("failed", True)


def test_the_folder_beside_a_warehouse_is_that_ones_by_its_name(tmp_path: Path) -> None:
    own = Warehouse(tmp_path / "shop.duckdb", lock_timeout_s=1)
    note(own, "one")
    assert [one.name for one in (tmp_path / "shop.data").iterdir() if one.is_file()] == []
    other = on(tmp_path / "elsewhere/w.duckdb", tmp_path / "shop.data")
    with pytest.raises(Rejected, match=r"holds the values of .*shop\.duckdb"):
        note(other, "two")
    own.path.unlink()
    own.published.unlink()
    note(other, "nobody's now")
    with pytest.raises(Rejected, match=r"holds the values of .*elsewhere/w\.duckdb"):
        note(own, "too late")


def test_a_folder_under_another_name_is_the_same_one(tmp_path: Path) -> None:
    own = on(tmp_path / "w.duckdb", tmp_path / "data")
    note(own, "one")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    with pytest.raises(Rejected, match="holds the values of"):
        note(on(tmp_path / "other.duckdb", tmp_path / "link"), "two")
    note(on(own.path, tmp_path / "link"), "two")
    assert notes(own) == ["one", "two"]


def test_who_moves_or_copies_a_warehouse_with_its_folder_goes_on_with_both(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    note(on(tmp_path / "here/w.duckdb", tmp_path / "here/data"), "one")
    shutil.copytree(tmp_path / "here", tmp_path / "there", dirs_exist_ok=True)
    here, there = (on(tmp_path / name / "w.duckdb", tmp_path / name / "data") for name in ("here", "there"))
    note(there, "two")
    note(here, "other two")
    assert (notes(here), notes(there)) == (["one", "other two"], ["one", "two"])


def test_a_database_that_was_moved_alone_takes_its_folder_along(tmp_path: Path) -> None:
    before = on(tmp_path / "old.duckdb", tmp_path / "data")
    note(before, "one")
    after = on(before.path.rename(tmp_path / "new.duckdb"), tmp_path / "data")
    note(after, "two")
    note(on(tmp_path / "old.duckdb", tmp_path / "elsewhere"), "begins anew")
    with pytest.raises(Rejected, match=r"holds the values of .*new\.duckdb"):
        note(before, "in the old place")
    assert notes(after) == ["one", "two"]


def test_the_note_is_no_stray_file_and_one_that_nobody_can_read_is_written_anew(tmp_path: Path) -> None:
    own = on(tmp_path / "w.duckdb", tmp_path / "data")
    note(own, "one")
    (noted,) = (one for one in (tmp_path / "data").iterdir() if one.is_file())
    content = noted.read_text()
    assert tidy(own, grace=timedelta(days=-1)).deleted == 0
    assert noted.read_text() == content
    noted.write_text("{")
    note(own, "two")
    assert noted.read_text() == content
