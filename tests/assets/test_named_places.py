"""A Dagster run takes folders from the inbox and from places that the user named, whoever launches it."""

from __future__ import annotations

import logging

import pytest

from perfreg_assets.assets.named_places import given_by_a_command, require_named
from perfreg_assets.assets.taking_in import take_in
from perfreg_assets.assets.taking_in_benchmarks import take_in_folders
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb", run_places=(str(tmp_path / "nightly"),))


@pytest.mark.parametrize("place", ["/etc", "../elsewhere", "inbox/../secret", "inbox", "inbox2/run", "nightly"])
@pytest.mark.parametrize("from_inbox", [False, True])
def test_a_folder_elsewhere_is_refused_and_nothing_is_taken_in(settings, tmp_path, place, from_inbox):
    good, folder = tmp_path / "inbox" / "good", tmp_path / place
    good.mkdir(parents=True)
    warehouse = Warehouse.of(settings)
    for taking in (take_in, take_in_folders):
        with pytest.raises(Rejected) as caught:
            taking([str(good), str(folder)], settings, warehouse, logging.getLogger(), from_inbox=from_inbox)
        assert caught.value.reason is Reason.FOLDER_ELSEWHERE
    assert not warehouse.is_there


def test_the_inbox_named_places_and_what_a_command_is_given_are_taken(settings, tmp_path):
    folders = [str(tmp_path / "inbox" / "run"), str(tmp_path / "nightly" / "deep" / "run")]
    require_named(folders, settings)
    given = str(tmp_path / "given" / "run")
    with given_by_a_command([given]):
        require_named([*folders, given], settings)
        with pytest.raises(Rejected):
            require_named([str(tmp_path / "given" / "another")], settings)
    with pytest.raises(Rejected):
        require_named([given], settings)
