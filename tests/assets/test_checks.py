"""Checks are evaluated by the steps that make the assets; the blocking one stops the chain."""

from __future__ import annotations

import dagster as dg
import pytest
from click.testing import CliRunner

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets import checks
from perfreg_assets.assets.project import Project
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.cli import main
from perfreg_assets.cli.ingesting import take_in


def test_each_check_has_a_result_for_the_run_that_made_its_asset(recorded):
    keys = build_defs().resolve_asset_graph().asset_check_keys
    assert {key.name for key in keys} == {check.__name__ for found in checks.OF_ASSET.values() for check in found}
    with dg.DagsterInstance.from_config(str(recorded.settings.dagster_home)) as instance:
        latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(list(keys))
    evaluated = {key.name: record.evaluation for key, record in latest.items()}
    assert evaluated.keys() == {key.name for key in keys}
    assert evaluated["everything_is_commented"].passed
    assert not evaluated["histories_are_large_enough"].passed  # of the first runs
    assert evaluated["histories_are_large_enough"].metadata["count"].value > 0


def test_a_check_tells_what_was_refused_and_of_which_version(make_site, run_folder):
    site, folder = make_site(), run_folder("broken", version_name="9")
    (trace,) = folder.glob("*trace*")
    trace.write_bytes(b"<html>not found</html>")
    site.ingest(folder)
    key = dg.AssetCheckKey(dg.AssetKey("runs"), "folders_are_taken_in")
    with dg.DagsterInstance.from_config(str(site.settings.dagster_home)) as instance:
        evaluated = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key].evaluation
    assert not evaluated.passed
    (row,) = site.rows("SELECT run_id, app, reason_code FROM marts.runs")
    assert evaluated.description == f"folders in quarantine: 1; of {row['app']}@9"
    assert evaluated.metadata["versions"].value == [f"{row['app']}@9"]
    assert f"`broken`  **{row['reason_code']}**" in evaluated.metadata["findings"].value


def test_what_is_refused_on_its_way_from_the_inbox_is_told_by_the_check_too(make_site, run_folder):
    """As the sensor has it: no asset takes such a folder; it is of a version where its run.json says so."""
    site, folder = make_site(), run_folder("no-trace", version_name="9")
    (trace,) = folder.glob("*trace*")
    trace.unlink()
    site.settings.inbox_dir.mkdir()
    nameless = site.settings.inbox_dir / "nameless"
    nameless.mkdir()
    (nameless / "run.json").write_text("{")
    given = [str(folder.rename(site.settings.inbox_dir / folder.name)), str(nameless)]
    job = build_defs(resources={"project": Project.of(site.settings)}).resolve_job_def("quarantine_folders")
    key = dg.AssetCheckKey(dg.AssetKey("runs"), "folders_are_taken_in")
    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(
            instance=instance, run_config={"ops": {"quarantine": {"config": {"folders": given}}}}
        )
        assert done.success
        evaluated = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key].evaluation
    assert not evaluated.passed
    assert evaluated.description == "folders in quarantine: 2; of com.rig.notes@9, 1 of no version"
    assert "**run_json_not_json**" in evaluated.metadata["findings"].value
    assert "`no-trace`  **trace_file_missing**" in evaluated.metadata["findings"].value


@pytest.mark.parametrize("with_another", [False, True])
def test_a_folder_of_no_version_is_told_whoever_was_given_it(make_site, run_folder, with_another):
    """It belongs to no partition: no evaluation of one held it."""
    site, folder = make_site(), run_folder("good", version_name="9")
    nameless = folder.parent / "nameless"
    nameless.mkdir()
    (nameless / "run.json").write_text("{")
    take_in(site.settings, [nameless, *([folder] if with_another else [])])
    evaluated = folders_are_taken_in(site)
    assert not evaluated.passed
    of_version = "of com.rig.notes@9, " if with_another else ""
    assert evaluated.description == f"folders in quarantine: 1; {of_version}1 of no version"
    (refusal,) = site.rows("SELECT run_id FROM marts.runs WHERE state = 'quarantined'")
    arguments = ["dismiss", refusal["run_id"], "--warehouse", str(site.settings.warehouse)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    assert folders_are_taken_in(site).passed


def folders_are_taken_in(site):
    key = dg.AssetCheckKey(dg.AssetKey("runs"), "folders_are_taken_in")
    with dg.DagsterInstance.from_config(str(site.settings.dagster_home)) as instance:
        return instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key].evaluation


def test_samples_that_are_not_numbers_stop_the_chain(make_site, monkeypatch):
    site = make_site()

    def found(reader, keys):
        return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.ERROR, description="NaN")

    found.__name__ = "samples_are_finite"
    monkeypatch.setitem(checks.OF_ASSET, "time_series", (found, checks.durations_match_the_configuration))
    done, _ = site.ingest(demo_runs_dir() / "notes-000")
    assert done is not None
    assert any("samples_are_finite" in failure for failure in done.failures), done.failures
    assert site.rows("SELECT * FROM marts.history_sets") == []
    assert len(site.rows("SELECT run_id FROM marts.runs WHERE state = 'complete'")) == 1


@pytest.mark.parametrize("check", sorted(checks.BLOCKING, key=str))
def test_blocking_is_said_to_dagster(check):
    assert {spec.name for spec in checks.specs(*checks.OF_ASSET) if spec.blocking} == {check.__name__}
