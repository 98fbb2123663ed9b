"""Verdicts at another ω, started in Dagster: told as what they are, and never taken for the state in force."""

from __future__ import annotations

import sys
from pathlib import Path

import dagster as dg
import pytest

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets import outstanding
from perfreg_assets.automation.jobs import EVERYTHING_JOB
from perfreg_assets.automation.materialise import range_tags
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parents[1] / "warehouse"))

import sample_warehouse

WHAT_IF = {"omega": 0.25}
IN_FORCE = {"omega": 1.5, "detector": "default"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("what-if")
    sample_warehouse.build(folder / "perfreg.duckdb", runs=16)
    return folder


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def keys_of(project):
    with project.open().reading() as reader:
        rows = reader.rows("SELECT DISTINCT partition_key FROM core.runs WHERE NOT is_quarantined ORDER BY ALL")
    return [key for (key,) in rows]


def judge(instance, project, config, *assets):
    keys = keys_of(project)
    instance.add_dynamic_partitions(DIMENSION, keys)
    job = build_defs(resources={"project": project}).resolve_job_def(EVERYTHING_JOB)
    done = job.execute_in_process(
        instance=instance,
        run_config={"ops": {"verdicts": {"config": config}}} if config else {},
        tags=range_tags(keys[0], keys[-1]),
        asset_selection=[dg.AssetKey(name) for name in assets],
    )
    assert done.success
    return instance.get_run_by_id(done.run_id)


def latest(instance, asset):
    event = instance.get_latest_materialization_event(dg.AssetKey(asset))
    return event and event.asset_materialization


@pytest.mark.parametrize(
    ("config", "tag"),
    [
        (WHAT_IF, "omega 0.25"),
        ({"detector": "iqr"}, "detector iqr"),
        ({"omega": 2, "detector": "iqr"}, "omega 2, detector iqr"),
    ],
)
def test_a_run_at_another_omega_or_detector_says_so_in_a_tag(instance, project, config, tag):
    assert judge(instance, project, config, "verdicts").tags["perfreg/what_if"] == tag


@pytest.mark.parametrize("config", [{}, IN_FORCE, {"omega": 1.5}])
def test_a_run_at_what_is_in_force_is_none(instance, project, config):
    assert "perfreg/what_if" not in judge(instance, project, config, "verdicts").tags
    assert latest(instance, "verdicts").metadata["omega"].value == 1.5


def figures(materialization):
    """Its metadata but for how long it took."""
    return {name: value for name, value in materialization.metadata.items() if not name.startswith("seconds_")}


def test_a_what_if_is_observed_and_never_the_latest_state(instance, project):
    judge(instance, project, {}, "verdicts")
    before = latest(instance, "verdicts")
    run = judge(instance, project, WHAT_IF, "verdicts", "discords")
    assert latest(instance, "verdicts").partition == before.partition
    assert figures(latest(instance, "verdicts")) == figures(before)
    failed_or_missing = [
        key
        for name in ("verdicts", "discords")
        for key, status in instance.get_status_by_partition(
            dg.AssetKey(name), keys_of(project), dg.DynamicPartitionsDefinition(name=DIMENSION)
        ).items()
        if status is None or status.name != "MATERIALIZED"
    ]
    assert run.is_success
    assert not failed_or_missing, "Dagster calls a backfill failed that leaves partitions out"
    told = instance.fetch_observations(dg.AssetKey("verdicts"), limit=50).records
    assert {one.partition_key for one in told} == set(keys_of(project))
    metadata = told[0].asset_observation.metadata
    assert metadata["what_if"].value == "omega 0.25"
    assert not metadata.keys() & before.metadata.keys(), "a plot of the state in force takes none of its points"


def test_a_what_if_is_stored_and_makes_nothing_due(instance, project):
    def due():
        with project.open().reading() as reader:
            return outstanding.outstanding(reader, project.settings()).keys

    before = due()
    judge(instance, project, WHAT_IF, "verdicts", "discords", "reports")
    with Warehouse.of(project.settings()).reading() as reader:
        assert reader.value("SELECT count(*) FROM marts.verdicts WHERE omega = 0.25") > 0
        assert reader.value("SELECT count(*) FROM marts.verdicts WHERE omega = 0.25 AND is_current") == 0
        assert reader.value("SELECT value FROM marts.settings WHERE name = 'omega' AND is_current") == "1.5"
    assert due() == before


@pytest.mark.parametrize("name", ["runs", "history_sets", "verdicts", "discords", "benchmark_verdicts"])
def test_a_run_for_no_version_fails_and_says_what_to_choose(project, instance, name):
    """As somebody launches a job who overlooks the choice of partitions."""
    job = build_defs(resources={"project": project}).resolve_job_def(EVERYTHING_JOB)
    done = job.execute_in_process(instance=instance, asset_selection=[dg.AssetKey(name)], raise_on_error=False)
    assert not done.success
    (failed,) = [event for event in done.all_events if event.is_step_failure]
    told = failed.step_failure_data.user_failure_data or failed.step_failure_data.error.cause
    assert "choose partitions" in str(told)


def test_a_range_that_holds_no_version_fails_and_says_why(project, instance):
    keys = keys_of(project)
    instance.add_dynamic_partitions(DIMENSION, keys[::-1])
    job = build_defs(resources={"project": project}).resolve_job_def(EVERYTHING_JOB)
    done = job.execute_in_process(
        instance=instance,
        run_config={"ops": {"verdicts": {"config": WHAT_IF}}},
        tags=range_tags(keys[0], keys[-1]),
        asset_selection=[dg.AssetKey("verdicts")],
        raise_on_error=False,
    )
    assert not done.success
    (failed,) = [event for event in done.all_events if event.is_step_failure]
    told = failed.step_failure_data.user_failure_data or failed.step_failure_data.error.cause
    assert f"there is no version from {keys[0]} to {keys[-1]}" in str(told)
    assert latest(instance, "verdicts") is None


@pytest.mark.parametrize("config", [{"omega": -1.0}, {"omega": 101.0}, {"detector": "defalt"}])
def test_what_no_verdict_can_be_given_by_is_refused_in_a_sentence_before_anything_is_judged(project, instance, config):
    with project.open().reading() as reader:
        before = reader.rows("SELECT * FROM core.verdicts ORDER BY ALL")
    keys = keys_of(project)
    instance.add_dynamic_partitions(DIMENSION, keys)
    job = build_defs(resources={"project": project}).resolve_job_def(EVERYTHING_JOB)
    done = job.execute_in_process(
        instance=instance,
        run_config={"ops": {"verdicts": {"config": config}}},
        tags=range_tags(keys[0], keys[-1]),
        asset_selection=[dg.AssetKey("verdicts")],
        raise_on_error=False,
    )
    (failed,) = [event for event in done.all_events if event.is_step_failure]
    ((name, value),) = config.items()
    told = failed.step_failure_data.user_failure_data.description
    assert f"run config of verdicts: {name} = {value!r}: allowed is" in told
    project.open().publish()
    with project.open().reading() as reader:
        assert reader.rows("SELECT * FROM core.verdicts ORDER BY ALL") == before


def test_the_launchpad_says_what_an_empty_field_means():
    schema = build_defs().resolve_job_def("judge_versions").run_config_schema.config_type
    for node in ("ops", "verdicts", "config"), ("resources", "project", "config"):
        fields = schema
        for name in node:
            fields = fields.fields[name].config_type
        assert [name for name, one in fields.fields.items() if "Empty: " not in (one.description or "")] == []
