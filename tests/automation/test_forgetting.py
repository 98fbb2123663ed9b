"""Old Dagster runs are forgotten; which partitions are materialised is not."""

import os
import sqlite3
import time
from contextlib import closing

import dagster as dg
import pytest
from dagster._core.storage.tags import RUN_KEY_TAG

from perfreg_assets.automation import forgetting
from perfreg_assets.automation.forgetting import forget
from perfreg_assets.automation.materialise import range_tags
from perfreg_assets.automation.new_builds import requests_for
from perfreg_assets.collection.builds import Build
from perfreg_assets.partitions import DIMENSION

VERSIONS = dg.DynamicPartitionsDefinition(name=DIMENSION)
KEYS = ["1", "2", "3"]


@dg.asset(partitions_def=VERSIONS, backfill_policy=dg.BackfillPolicy.single_run())
def made(context: dg.AssetExecutionContext) -> None:
    context.log.info("made")


@pytest.fixture
def instance(tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path)) as one:
        one.add_dynamic_partitions(DIMENSION, KEYS)
        yield one


def materialise(instance, first, last=None):
    job = dg.Definitions(assets=[made], jobs=[dg.define_asset_job("make", [made])]).resolve_job_def("make")
    return job.execute_in_process(instance=instance, tags=range_tags(first, last or first)).run_id


def run_ids(instance):
    return {record.dagster_run.run_id for record in instance.get_run_records()}


def test_superseded_runs_go_and_the_state_of_every_partition_stays(instance, tmp_path):
    superseded = {materialise(instance, key) for key in KEYS}
    current = {materialise(instance, key) for key in KEYS}
    latest = instance.fetch_materializations(dg.AssetKey("made"), limit=3).records
    done = forget(instance, ["make"], days=30, kept=1)
    assert (done.runs, done.logs) == (3, 2)
    assert run_ids(instance) == current
    assert instance.get_materialized_partitions(dg.AssetKey("made")) == set(KEYS)
    assert instance.fetch_materializations(dg.AssetKey("made"), limit=10).records == latest
    files = {path.stem: path.stat().st_size for path in tmp_path.rglob("*.db") if path.stem in superseded | current}
    assert files.keys() == current
    assert sorted(files.values())[1] < 64_000 < sorted(files.values())[2]
    for run_id in current:
        assert [entry.dagster_event_type for entry in instance.all_logs(run_id)][-1] is dg.DagsterEventType.RUN_SUCCESS
    again = forget(instance, ["make"], days=30, kept=1)
    assert (again.runs, again.logs) == (0, 0)
    whole = materialise(instance, "1", "3")
    assert forget(instance, ["make"], days=30, kept=1).runs == 3
    assert run_ids(instance) == {whole}
    assert instance.get_materialized_partitions(dg.AssetKey("made")) == set(KEYS)


def test_what_a_killed_night_left_of_a_run_goes_the_next_one(instance, tmp_path, monkeypatch):
    """The run was deleted, its log not yet: nothing knew of the file any more."""
    left, stays = materialise(instance, "1"), materialise(instance, "1")

    class Killed(BaseException):
        pass

    def killed(run_id):
        delete(run_id)
        raise Killed

    delete = instance.delete_run
    with monkeypatch.context() as patch:
        patch.setattr(instance, "delete_run", killed)
        with pytest.raises(Killed):
            forget(instance, ["make"], days=30, kept=1)
    assert run_ids(instance) == {stays}
    (log,) = tmp_path.rglob(f"{left}.db")
    others = {path for path in tmp_path.rglob("*.db") if path != log}
    forget(instance, ["make"], days=30, kept=1)
    assert log.exists(), "it is young: its run may be on its way"
    for path in (log, *others):
        os.utime(path, (time.time() - 2 * 86_400,) * 2)
    forget(instance, ["make"], days=30, kept=1)
    assert not list(tmp_path.rglob(f"*{left}*"))
    assert set(tmp_path.rglob("*.db")) == others


def test_young_runs_within_the_number_and_runs_of_others_are_left_alone(instance):
    mine = [materialise(instance, "1") for _ in range(3)]
    assert forget(instance, ["make"], days=30, kept=10).runs == 0
    assert forget(instance, ["other"], days=0, kept=0).runs == 0
    assert run_ids(instance) == set(mine)
    assert forget(instance, ["make"], days=0, kept=10).runs == 2


def test_a_run_that_is_under_way_is_never_forgotten(instance):
    started = dg.DagsterRun(job_name="make", run_id="1" * 8, status=dg.DagsterRunStatus.STARTED)
    instance.add_run(started)
    assert forget(instance, ["make"], days=0, kept=0).runs == 0
    assert instance.has_run("1" * 8)


def test_a_log_that_another_process_has_open_is_left_for_another_night(instance, tmp_path, monkeypatch):
    """As the web server keeps the file of a run that was started there."""
    monkeypatch.setattr(forgetting, "_WAIT_S", 0.05)
    current = [materialise(instance, key) for key in KEYS]
    held = next(path for path in tmp_path.rglob("*.db") if path.stem == current[0])
    with closing(sqlite3.connect(held)) as other:
        other.execute("SELECT count(*) FROM event_logs").fetchall()
        assert forget(instance, ["make"], days=30, kept=1).logs == 1  # of the other one that is old
    assert run_ids(instance) == set(current)
    assert forget(instance, ["make"], days=30, kept=1).logs == 1


def test_a_build_that_was_collected_is_not_asked_for_again_when_its_runs_are_old(instance, tmp_path):
    build = Build("/builds/shop.apk", "com.rig.shop", "1.5.0", 150, "aa" * 32)
    ((key, _, _),) = requests_for([build], {"repeats": 1}, [])

    @dg.op
    def talkative(context):
        for _ in range(300):
            context.log.info("explored")

    @dg.job
    def collect():
        talkative()

    run_id = collect.execute_in_process(instance=instance, tags={RUN_KEY_TAG: key}).run_id
    by_hand = collect.execute_in_process(instance=instance).run_id
    done = forget(instance, ["collect"], days=0, kept=0)
    assert (done.runs, done.logs) == (1, 1)
    assert run_ids(instance) == {run_id} != {by_hand}
    (kept,) = instance.get_runs(dg.RunsFilter(tags={RUN_KEY_TAG: key}))  # as the daemon looks for it
    assert kept.run_id == run_id
    (log,) = [path for path in tmp_path.rglob("*.db") if path.stem == run_id]
    assert log.stat().st_size < 64_000
