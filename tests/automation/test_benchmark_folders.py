"""Folders of benchmark results in the inbox: taken in, judged, shown; what is refused stays and says why."""

from __future__ import annotations

import json
import logging
import os
import shutil
from pathlib import Path

import dagster as dg
import pytest

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.outstanding import outstanding
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.taking_in_benchmarks import take_in_folders
from perfreg_assets.automation import jobs, sensors
from perfreg_assets.automation.materialise import materialise
from perfreg_assets.automation.upkeep import bring_up_to_date
from perfreg_assets.collection import inbox
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

LOG = logging.getLogger("benchmarks")
DATA = Path(__file__).parents[1] / "data" / "benchmark-results"


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb", inbox_settle_s=0.0)


def put(settings, name, document, file="pyperf_telco"):
    """A folder in the inbox, an hour old."""
    folder = settings.inbox_dir / name
    folder.mkdir(parents=True)
    (folder / "benchmark.json").write_text(document if isinstance(document, str) else json.dumps(document))
    shutil.copy(DATA / f"{file}.json.gz", folder)
    for path in (*folder.iterdir(), folder):
        os.utime(path, (path.stat().st_mtime - 3600,) * 2)
    return folder


def tick(sensor, instance, settings):
    context = dg.build_sensor_context(
        instance=instance, sensor_name=sensor.name, resources={"project": Project.of(settings)}
    )
    result = sensor(context)
    for request in result.dynamic_partitions_requests or ():
        instance.add_dynamic_partitions(DIMENSION, list(request.partition_keys))
    return result.run_requests


def test_the_inbox_sensor_asks_for_folders_of_benchmarks_and_quarantines_others(settings):
    good = put(settings, "good", {"app": "com.x", "version_name": "1.0"})
    bad = put(settings, "bad", {"app": "com.x"})
    with dg.DagsterInstance.ephemeral() as instance:
        requests = {request.job_name: request for request in tick(sensors.run_folders, instance, settings)}
    assert set(requests) == {"import_benchmarks", "quarantine_folders"}
    taking = requests["import_benchmarks"]
    assert taking.tags["dagster/asset_partition_range_start"] == "com.x@1.0"
    assert taking.run_config["ops"]["benchmark_results"]["config"] == {"folders": [str(good)], "from_inbox": True}
    assert requests["quarantine_folders"].run_config["ops"]["quarantine"]["config"]["folders"] == [str(bad)]


def test_a_folder_becomes_results_verdicts_and_pages(settings):
    folder = put(settings, "good", {"app": "com.x", "version_name": "1.0"})
    project = Project.of(settings)
    defs = build_defs(resources={"project": project})
    done = materialise(
        defs,
        jobs.BENCHMARKS_JOB,
        ["com.x@1.0"],
        settings,
        op_config={"benchmark_results": {"folders": [str(folder)], "from_inbox": True}},
    )
    assert done.failures == []
    assert not folder.exists()
    assert (settings.inbox_dir / inbox.TAKEN / "good").is_dir()
    warehouse = Warehouse.of(settings)
    with warehouse.reading() as reader:
        found = outstanding(reader, settings)
    assert [one.partition_key for one in found.benchmarks] == ["com.x@1.0"]
    assert found.assets == ("benchmark_verdicts", "reports")
    with dg.DagsterInstance.ephemeral() as instance:
        (request,) = tick(sensors.upkeep, instance, settings)
    assert [key.path[-1] for key in request.asset_selection] == ["benchmark_verdicts", "reports"]
    upkeep = bring_up_to_date(defs, project)
    assert (upkeep.done.failures, upkeep.left.keys) == ([], [])
    assert upkeep.done.counts["benchmarks_measured_now"] == 1
    with warehouse.reading() as reader:
        assert reader.value("SELECT state FROM marts.benchmark_verdicts") == "not_enough_history"
    assert "com.x" in (settings.reports_dir / "benchmarks.html").read_text()


def test_a_file_that_is_refused_keeps_its_folder_in_the_inbox_and_the_others_are_taken(settings, caplog):
    folder = put(settings, "half", {"app": "com.x", "version_name": "1.0"})
    (folder / "cut.json").write_text("{")
    warehouse = Warehouse.of(settings)
    with caplog.at_level("INFO"):
        new = take_in_folders([str(folder)], settings, warehouse, LOG, from_inbox=True)
    assert len(new) == 1
    assert "[benchmark_file_unreadable]" in caplog.text
    (seen,) = inbox.look(settings.inbox_dir)
    assert seen.is_done
    (folder / "cut.json").unlink()  # mended: it is looked at again
    (seen,) = inbox.look(settings.inbox_dir)
    assert not seen.is_done
    assert take_in_folders([str(folder)], settings, warehouse, LOG, from_inbox=True) == []
    assert inbox.look(settings.inbox_dir) == []
