"""A command and Dagster's daemon in one home: what one of them computes the other leaves alone."""

from __future__ import annotations

from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._core.utils import make_new_run_id

from perfreg_assets.automation import upkeep
from perfreg_assets.automation.command_lock import computing, is_command_computing
from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.jobs import EVERYTHING_JOB
from perfreg_assets.automation.materialise import range_tags, records_in
from perfreg_assets.cli.ingesting import take_in
from perfreg_assets.collection import registry
from perfreg_assets.partitions import DIMENSION, to_key
from perfreg_assets.warehouse.lock import file_lock

OLD = to_key("com.rig.notes", "1.4.0")


@pytest.fixture
def served(make_site):
    """A project whose `perfreg ui` runs, and the records of its Dagster."""
    site = make_site()
    home = prepare_home(site.settings)
    with (
        file_lock(site.settings.ui_lock_file, timeout_s=1.0, what="home"),
        records_in(home) as instance,
    ):
        yield site, instance


def began(instance, key):
    """A run of the daemon that covers a partition."""
    instance.add_dynamic_partitions(DIMENSION, [key])
    run = dg.DagsterRun(
        job_name=EVERYTHING_JOB, run_id=make_new_run_id(), tags=range_tags(key, key), status=dg.DagsterRunStatus.STARTED
    )
    instance.add_run(run)
    return run


def measured(site):
    return [row["run_id"] for row in site.rows("SELECT DISTINCT run_id FROM marts.distances ORDER BY 1")]


def test_what_the_daemon_computes_is_left_to_it_and_said(served, run_folder, capsys):
    site, instance = served
    registry.register([run_folder("old", source="notes-000")], site.settings, site.warehouse, to_key)
    run = began(instance, OLD)
    take_in(site.settings, [run_folder("new", source="notes-026")])
    assert measured(site) == ["new"]
    assert f"1 version is being computed by Dagster ({OLD}), and left to it" in capsys.readouterr().err
    instance.delete_run(run.run_id)
    result = site.bring_up_to_date()
    assert (result.elsewhere, measured(site)) == ((), ["new", "old"])


def test_runs_of_a_version_that_the_daemon_computes_are_registered_and_the_rest_waits_for_it(
    served, run_folder, monkeypatch, capsys
):
    site, instance = served
    run = began(instance, OLD)
    folders = [run_folder("old", source="notes-000"), run_folder("new", source="notes-026")]
    waits = []

    def wait(seconds):
        waits.append((measured(site), seconds))
        instance.delete_run(run.run_id)

    monkeypatch.setattr(upkeep, "time", SimpleNamespace(sleep=wait))
    assert take_in(site.settings, folders) == {"old", "new"}
    assert waits == [(["new"], upkeep._LOOK_S)]
    assert measured(site) == ["new", "old"]


def test_without_the_daemon_what_its_dead_runs_cover_is_computed(make_site, run_folder):
    site = make_site()
    with records_in(prepare_home(site.settings)) as instance:
        began(instance, OLD)
    take_in(site.settings, [run_folder("old", source="notes-000")])
    assert measured(site) == ["old"]


def test_a_command_says_that_it_computes_until_it_ends(make_site):
    settings = make_site().settings
    with computing(settings):  # there is no home: nobody listens, and none is made
        assert not settings.dagster_home.exists()
    prepare_home(settings)
    assert not is_command_computing(settings)
    with computing(settings), computing(settings):
        assert is_command_computing(settings)
    assert not is_command_computing(settings)
