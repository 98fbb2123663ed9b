"""The nightly job does what `perfreg tidy` does, and says when files are missing."""

from __future__ import annotations

import dagster as dg
import pytest
from click.testing import CliRunner

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.tidying import nightly_tidying, tidy_data_folder
from perfreg_assets.cli import main
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import tidying
from perfreg_assets.warehouse.connection import Warehouse


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb")


def run(settings):
    return tidy_data_folder.execute_in_process(resources={"project": Project.of(settings)}, raise_on_error=False)


def test_it_tidies_the_project_s_warehouse(settings, monkeypatch):
    with Warehouse.of(settings).writing():
        pass
    tidied = []
    real = tidying.tidy
    monkeypatch.setattr("perfreg_assets.automation.tidying.tidy", lambda one: tidied.append(one.path) or real(one))
    assert run(settings).success
    assert tidied == [settings.warehouse.absolute()]


def test_before_the_first_run_there_is_nothing_to_tidy(settings):
    assert run(settings).success
    assert not settings.warehouse.exists()


def test_nor_does_the_command_make_a_warehouse(settings):
    told = CliRunner().invoke(main, ["tidy", "--warehouse", str(settings.warehouse)])
    assert told.exit_code == 1
    assert Reason.WAREHOUSE_MISSING.sentence in told.stderr
    assert list(settings.warehouse.parent.iterdir()) == []


def test_missing_files_fail_the_run_and_are_named(settings, monkeypatch):
    with Warehouse.of(settings).writing():
        pass
    found = tidying.Tidied(joined=0, deleted=0, waiting=0, missing=("series/one.parquet", "series/two.parquet"))
    monkeypatch.setattr("perfreg_assets.automation.tidying.tidy", lambda _: found)
    done = run(settings)
    assert not done.success
    assert "2 files" in str(done.get_step_failure_events()[0].step_failure_data.error)


def test_it_runs_every_night_in_the_project():
    schedules = {one.name: one for one in build_defs().schedules}
    assert schedules["nightly_tidying"] is nightly_tidying
    assert nightly_tidying.default_status is dg.DefaultScheduleStatus.RUNNING
