"""What Dagster shows of a version's verdict is what the marts say of it, also where nothing had to be computed for it:
after another ω, an exclusion, a review."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets import checks, telling
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.forgetting import forget
from perfreg_assets.automation.jobs import EVERYTHING_JOB
from perfreg_assets.automation.materialise import range_tags
from perfreg_assets.partitions import DIMENSION, to_key
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import reviews, runs, states, verdicts, version_verdicts

sys.path.insert(0, str(Path(__file__).parents[1] / "warehouse"))

import sample_warehouse


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A project of which every version was judged and has its pages, and what Dagster keeps of it."""
    folder = tmp_path_factory.mktemp("told")
    sample_warehouse.build(folder / "perfreg.duckdb", runs=20)
    (folder / "dagster").mkdir()
    project = Project.of(Settings(warehouse=folder / "perfreg.duckdb", lock_timeout_s=10))
    with dg.DagsterInstance.local_temp(str(folder / "dagster")) as instance:
        materialise(instance, project, "verdicts", "discords", "reports")
    return folder


@pytest.fixture
def instance(project, tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path / "project" / "dagster")) as made:
        yield made


def keys_of(project):
    with project.open().reading_caught_up() as reader:
        return states.partitions(reader)


def materialise(instance, project, *assets, keys=None):
    chosen = keys or keys_of(project)
    instance.add_dynamic_partitions(DIMENSION, keys_of(project))
    job = build_defs(resources={"project": project}).resolve_job_def(EVERYTHING_JOB)
    done = job.execute_in_process(
        instance=instance,
        tags=range_tags(chosen[0], chosen[-1]),
        asset_selection=[dg.AssetKey(name) for name in assets],
    )
    assert done.success
    return done.run_id


def told(instance):
    """Partition → what its latest materialisation says: state of the version, alarms, ω."""
    found = {}
    for record in instance.fetch_materializations(dg.AssetKey("verdicts"), limit=1000).records:
        metadata = record.asset_materialization.metadata
        state = metadata["version_state"].value if "version_state" in metadata else None
        figures = state, metadata["anomalous_runs"].value, metadata["omega"].value
        found.setdefault(record.partition_key, figures)
    return found


def in_marts(project):
    with project.open().reading_caught_up() as reader:
        of_version = {
            to_key(row["app"], row["version_name"]): row
            for row in version_verdicts.listing(reader)
            if row["axis"] == version_verdicts.WHOLE
        }
        alarms = {
            to_key(app, version_name): (count, omega)
            for app, version_name, count, omega in reader.rows(
                "SELECT app, version_name, count(*) FILTER (is_anomalous), any_value(omega) FROM marts.verdicts "
                "WHERE is_current AND series = '*' GROUP BY ALL"
            )
        }
    return {key: (of_version[key]["state"], *figures) for key, figures in alarms.items()}


def times_told(instance):
    return len(instance.fetch_materializations(dg.AssetKey("verdicts"), limit=1000).records)


def test_it_is_what_the_marts_say(instance, project):
    assert told(instance) == in_marts(project)


def test_another_omega_is_told_of_every_version(instance, project):
    """As `perfreg settings set omega 0.5` leaves it: all verdicts are there, and pages are asked for."""
    with project.open().writing() as writer:
        verdicts.make_current(writer, omega=0.5)
    before, now = told(instance), in_marts(project)
    assert {state for state, _, _ in before.values()} != {state for state, _, _ in now.values()} or before != now
    materialise(instance, project, "reports", keys=keys_of(project)[:1])
    assert told(instance) == now
    assert {omega for _, _, omega in told(instance).values()} == {0.5}


def test_an_exclusion_is_told_of_its_version_and_of_no_other(instance, project):
    with project.open().writing() as writer:
        last = writer.value("SELECT max_by(run_id, started_at) FROM core.runs WHERE NOT is_quarantined")
        key = writer.value("SELECT partition_key FROM core.runs WHERE run_id = ?", [last])
        for (run_id,) in writer.rows("SELECT run_id FROM core.runs WHERE partition_key = ?", [key]):
            runs.exclude(writer, run_id, "the device was charging")
    before = times_told(instance)
    assert told(instance)[key] != in_marts(project)[key]
    materialise(instance, project, "reports", keys=keys_of(project)[:1])
    assert told(instance) == in_marts(project)
    assert told(instance)[key][0] == "not_judged"
    assert times_told(instance) == before + 1


def test_a_review_is_told_of_its_version(instance, project):
    with project.open().writing() as writer:
        for (run_id,) in writer.rows("SELECT run_id FROM marts.runs WHERE run_verdict = 'anomalous'"):
            reviews.add(writer, run_id, "rejected")
    assert told(instance) != in_marts(project)
    materialise(instance, project, "reports", keys=keys_of(project)[:1])
    assert told(instance) == in_marts(project)


def test_the_page_of_a_version_that_goes_with_its_runs_tells_nothing(instance, project):
    """As after `perfreg exclude` and a corrected run.json."""
    with project.open().writing() as writer:
        last = writer.value("SELECT max_by(partition_key, started_at) FROM core.runs WHERE NOT is_quarantined")
        found = runs.find(writer, runs.ids_of_partitions(writer, [last])[last])
        to = {"version_name": "99", "partition_key": to_key(found[min(found)].app, "99")}
        runs.upsert(writer, [replace(row, **to) for row in found.values()])
    materialise(instance, project, "verdicts", "reports", keys=[to["partition_key"]])
    before = times_told(instance)
    materialise(instance, project, "reports")
    assert times_told(instance) == before, "it is told elsewhere (test_pipeline.py), of all its assets"
    assert {key: one for key, one in told(instance).items() if key != last} == in_marts(project)


MEASURED = ("runs", "traces", "time_series", "thread_times", "energies")


def measured_told(instance, key):
    """Asset → the whole numbers that its latest materialisation of a version tells."""
    found = {}
    for name in MEASURED:
        metadata = telling.told_before(instance, dg.AssetKey(name), [key])[key]
        found[name] = {of: one.value for of, one in metadata.items() if isinstance(one, dg.IntMetadataValue)}
        found[name].pop("quarantined_now", None)
        found[name].pop("inspected_now", None)
    return found


def test_of_a_version_that_lost_one_of_its_runs_what_was_measured_is_told_again(instance, project):
    """As after a corrected run.json: the version that the run is of now is computed, not the one that it was of."""
    with project.open().reading_caught_up() as reader:
        last, count = reader.rows(
            "SELECT partition_key, count(*) FROM core.runs WHERE NOT is_quarantined GROUP BY ALL "
            "HAVING count(*) > 1 ORDER BY ALL DESC LIMIT 1"
        )[0]
    materialise(instance, project, *MEASURED, "verdicts", "discords", "reports")
    assert measured_told(instance, last)["runs"]["runs"] == count
    with project.open().writing() as writer:
        found = runs.find(writer, runs.ids_of_partitions(writer, [last])[last])
        gone = found[min(found)]
        to = to_key(gone.app, "99")
        runs.upsert(writer, [replace(gone, version_name="99", partition_key=to)])
    materialise(instance, project, *MEASURED, "verdicts", "reports", keys=[to])
    before = measured_told(instance, last)
    assert before["runs"]["runs"] == count - 1
    materialise(instance, project, *MEASURED, keys=[last])
    assert measured_told(instance, last) == before, "as if it was computed"


def test_the_checks_of_verdicts_are_of_what_was_told_last(instance, project):
    """To Dagster a check of an earlier materialisation says nothing of the latest one: it is shown as not evaluated."""
    with project.open().writing() as writer:
        alarms = [run_id for (run_id,) in writer.rows("SELECT run_id FROM marts.runs WHERE run_verdict = 'anomalous'")]
        reviews.add(writer, alarms[0], "rejected")
    run_id = materialise(instance, project, "reports", keys=keys_of(project)[:1])
    latest = instance.get_latest_materialization_event(dg.AssetKey("verdicts"))
    assert latest.run_id == run_id
    keys = [dg.AssetCheckKey(dg.AssetKey("verdicts"), check.__name__) for check in checks.OF_ASSET["verdicts"]]
    found = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    assert {key: found[key].run_id for key in keys} == dict.fromkeys(keys, run_id)
    with project.open().reading_caught_up() as reader:
        expected = [one.description for one in checks.results(reader, "verdicts", keys_of(project))]
    assert [found[key].evaluation.description for key in keys] == expected
    assert "2 false alarms" in expected[0], "the sample has one"


def test_what_is_told_already_is_not_told_again(instance, project):
    before = times_told(instance)
    materialise(instance, project, "reports")
    shutil.rmtree(project.settings().reports_dir)  # all pages are written anew, and say the same
    materialise(instance, project, "reports")
    assert times_told(instance) == before
    materialise(instance, project, "verdicts", "reports")
    assert times_told(instance) == before + len(keys_of(project))


def test_a_run_that_told_of_other_versions_than_its_own_stays_while_that_is_the_latest(instance, project):
    """Deleting it would delete what it told, and with that the state of these versions."""
    with project.open().writing() as writer:
        verdicts.make_current(writer, omega=0.5)
    materialise(instance, project, "reports", keys=keys_of(project)[:1])
    materialise(instance, project, "verdicts", "reports", keys=keys_of(project)[:1])
    now = told(instance)
    for _ in range(2):
        forget(instance, [EVERYTHING_JOB], days=30, kept=1)
        assert told(instance) == now
        assert instance.get_materialized_partitions(dg.AssetKey("verdicts")) == set(keys_of(project))


def windows_told(instance):
    """Partition → what its latest materialisation says of windows: series, windows, rows, ω."""
    found = {}
    for record in instance.fetch_materializations(dg.AssetKey("discords"), limit=1000).records:
        metadata = record.asset_materialization.metadata
        names = ("anomalous_series", "discords", "dagster/partition_row_count", "omega")
        found.setdefault(record.partition_key, tuple(metadata[name].value for name in names))
    return found


def windows_in_marts(project, omega):
    with project.open().reading_caught_up() as reader:
        counted = dict(reader.rows("SELECT (app, version_name), count(*) FROM marts.discords GROUP BY ALL"))
        series = dict(
            reader.rows(
                "SELECT (verdicts.app, verdicts.version_name), count(*) FROM marts.verdicts AS verdicts "
                "JOIN core.profiles AS profiles USING (run_no, series) "
                "WHERE verdicts.is_current AND verdicts.is_anomalous GROUP BY ALL"
            )
        )
    by_key = {to_key(*place): (series.get(place, 0), counted.get(place, 0)) for place in {*series, *counted}}
    return {key: (*by_key.get(key, (0, 0)), by_key.get(key, (0, 0))[1], omega) for key in keys_of(project)}


def test_windows_are_told_by_the_verdicts_in_force_and_again_after_another_omega(instance, project):
    """Those that another ω calls normal are stored still, and no row of the mart; the picture was the earlier one."""
    with project.open().reading_caught_up() as reader:
        omega = reader.value("SELECT any_value(omega) FROM marts.verdicts WHERE is_current")
    assert windows_told(instance) == windows_in_marts(project, omega)
    assert any(count for _, count, *_ in windows_told(instance).values())
    with project.open().writing() as writer:
        verdicts.make_current(writer, omega=6.0)
    materialise(instance, project, "reports", keys=keys_of(project)[:1])
    assert windows_told(instance) == windows_in_marts(project, 6.0)
    assert sum(count for _, count, *_ in windows_told(instance).values()) < sum(
        record.asset_materialization.metadata["discords"].value
        for record in instance.fetch_materializations(dg.AssetKey("discords"), limit=1000).records
    )
    times = len(instance.fetch_materializations(dg.AssetKey("discords"), limit=1000).records)
    materialise(instance, project, "reports", keys=keys_of(project)[:1])
    assert len(instance.fetch_materializations(dg.AssetKey("discords"), limit=1000).records) == times
