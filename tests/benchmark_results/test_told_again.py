"""What Dagster shows of a version's benchmarks is what the mart says of them, also after another ω, for which nothing
has to be computed."""

from __future__ import annotations

import dagster as dg
import pytest

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.jobs import EVERYTHING_JOB
from perfreg_assets.automation.materialise import range_tags
from perfreg_assets.partitions import DIMENSION, to_key
from perfreg_assets.warehouse import states
from perfreg_assets.warehouse import verdicts as verdict_table

ASSET = dg.AssetKey("benchmark_verdicts")
SLOW = to_key("com.x", "9")


@pytest.fixture
def instance(history, settings, tmp_path):
    for version in range(1, 9):
        history.add(str(version), {"sort": 100.0, "search": 5.0})
    history.add("9", {"sort": 112.0, "search": 5.0})
    history.measure(settings)
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as made:
        yield made


def materialise(instance, settings, *assets, of=None):
    project = Project.of(settings)
    with project.open().reading() as reader:
        keys = states.partitions(reader)
    instance.add_dynamic_partitions(DIMENSION, keys)
    first = [of] if of else keys if "benchmark_verdicts" in assets else keys[:1]
    done = build_defs(resources={"project": project}).resolve_job_def(EVERYTHING_JOB).execute_in_process(
        instance=instance, tags=range_tags(first[0], first[-1]), asset_selection=[dg.AssetKey(name) for name in assets]
    )  # fmt: skip
    assert done.success


def told(instance):
    """Partition → (results by state, whether there is a picture), by its latest materialisation."""
    found = {}
    for record in instance.fetch_materializations(ASSET, limit=1000).records:
        metadata = record.asset_materialization.metadata
        by_state = {name: one.value for name, one in metadata.items() if name in ("anomalous", "normal")}
        found.setdefault(record.partition_key, (by_state, "preview" in metadata))
    return found


def test_another_omega_is_told(instance, warehouse, settings):
    materialise(instance, settings, "benchmark_verdicts", "reports")
    assert told(instance)[SLOW] == ({"anomalous": 1, "normal": 1}, True)
    times = len(instance.fetch_materializations(ASSET, limit=1000).records)
    with warehouse.writing() as writer:
        verdict_table.make_current(writer, omega=90.0, detector="iqr", note=None)
    materialise(instance, settings, "reports")
    assert told(instance)[SLOW] == ({"normal": 2}, True)
    materialise(instance, settings, "reports")
    assert len(instance.fetch_materializations(ASSET, limit=1000).records) == times + 1


def test_another_omega_is_told_of_other_versions_too_by_a_run_that_measures_one(instance, history, warehouse, settings):
    materialise(instance, settings, "benchmark_verdicts", "reports")
    with warehouse.writing() as writer:
        verdict_table.make_current(writer, omega=90.0, detector="iqr", note=None)
    history.add("10", {"sort": 100.0, "search": 5.0})
    history.store()
    materialise(instance, settings, "benchmark_verdicts", "reports", of=to_key("com.x", "10"))
    assert told(instance)[SLOW] == ({"normal": 2}, True)
