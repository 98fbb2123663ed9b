"""One job publishes once, however many steps write; what ends otherwise is published all the same."""

from __future__ import annotations

import dagster as dg
import pytest

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.project import Project
from perfreg_assets.automation import jobs
from perfreg_assets.automation.materialise import materialise
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.warehouse import connection


@pytest.fixture
def published(monkeypatch) -> list[str]:
    times = []
    real = connection.publish

    def counted(source, target):
        times.append(target.name)
        real(source, target)

    monkeypatch.setattr(connection, "publish", counted)
    # A job that takes long publishes in between; on a busy machine any does.
    monkeypatch.setattr("perfreg_assets.assets.project.PUBLISH_EVERY_S", 1e9)
    return times


def first_run():
    return sorted(demo_runs_dir().iterdir())[0]


def test_an_ingest_publishes_at_its_start_and_at_its_end(make_site, published):
    site = make_site()
    site.ingest(first_run())
    assert len(published) == 2  # the first write of a new warehouse, and the job's end
    assert site.rows("SELECT state FROM marts.runs") == [{"state": "complete"}]
    del published[:]
    site.ingest(sorted(demo_runs_dir().iterdir())[1])
    assert len(published) == 1
    assert not site.warehouse.has_unpublished


def test_a_job_whose_step_fails_publishes_what_the_steps_before_it_wrote(make_site, published, monkeypatch):
    site = make_site()
    site.ingest(first_run())
    del published[:]
    monkeypatch.setattr("perfreg_assets.assets.history_sets.select_due", lambda *_: 1 / 0)
    done, _ = site.ingest(sorted(demo_runs_dir().iterdir())[1])
    assert done.failures
    assert len(published) == 1
    assert len(site.rows("SELECT run_id FROM marts.time_series WHERE series = 'cpu_app' GROUP BY run_id")) == 2


def test_a_run_without_the_last_step_publishes_what_it_writes(make_site, published):
    site = make_site()
    site.ingest(first_run())
    del published[:]
    key = site.rows("SELECT partition_key FROM marts.runs")[0]["partition_key"]
    defs = build_defs(resources={"project": Project.of(site.settings)})
    with dg.DagsterInstance.get() as instance:
        defs.resolve_job_def(jobs.EVERYTHING_JOB).execute_in_process(
            instance=instance,
            partition_key=key,
            asset_selection=[dg.AssetKey("verdicts")],
            run_config={"ops": {"verdicts": {"config": {"omega": 1.25}}}},
        )
    assert published
    assert site.rows("SELECT count(*) AS n FROM marts.verdicts WHERE omega = 1.25")[0]["n"] > 0


def test_materialising_nothing_publishes_nothing(make_site, published):
    site = make_site()
    site.ingest(first_run())
    del published[:]
    defs = build_defs(resources={"project": Project.of(site.settings)})
    materialise(defs, jobs.EVERYTHING_JOB, [], site.settings)
    assert published == []
