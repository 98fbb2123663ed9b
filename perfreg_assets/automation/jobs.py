"""Jobs: the chain as a whole and the parts that people and sensors start."""

from __future__ import annotations

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

PREPARE = dg.AssetSelection.assets("runs", "traces", "time_series", "thread_times", "energies")
MODEL = dg.AssetSelection.assets("history_sets", "barycenters", "distances")
JUDGE = dg.AssetSelection.assets("verdicts", "discords", "causes", "benchmark_verdicts", "reports")

Job = dg.JobDefinition | UnresolvedAssetJobDefinition

INGEST_JOB = "ingest_runs"
EVERYTHING_JOB = "judge_versions"
BENCHMARKS_JOB = "import_benchmarks"

ingest_runs = dg.define_asset_job(
    INGEST_JOB,
    dg.AssetSelection.assets("runs"),
    description="Registers run folders of one app version. What follows is asked for by the sensor `upkeep`.",
)
import_benchmarks = dg.define_asset_job(
    BENCHMARKS_JOB,
    dg.AssetSelection.assets("benchmark_results"),
    description="Takes in folders of benchmark results of one app version. What follows is asked for by `upkeep`.",
)
judge_versions = dg.define_asset_job(
    EVERYTHING_JOB,
    PREPARE | MODEL | JUDGE,
    description="The whole chain for one or more app versions, from run folders to reports.",
)
