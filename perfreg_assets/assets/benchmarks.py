"""`benchmark_results` and `benchmark_verdicts`: results of benchmarks, and what earlier ones say of them."""

import dagster as dg

from perfreg_assets.assets import presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.assets.taking_in_benchmarks import take_in_folders
from perfreg_assets.assets.telling import told_of_benchmarks
from perfreg_assets.model import benchmarks as model
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.warehouse import benchmarks as table


class BenchmarksConfig(dg.Config):
    """Folders with a benchmark.json to take in; none: the partition's results are listed again.

    `from_inbox`: they lie in the inbox, and leave it once they are stored (setting `inbox_after`).
    """

    folders: list[str] = []
    from_inbox: bool = False


@dg.asset(
    group_name="series",
    kinds={"duckdb"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    metadata=presentation.of_mart("benchmark_results"),
)
@retried
def benchmark_results(context: dg.AssetExecutionContext, config: BenchmarksConfig, project: Project) -> None:
    """Results of Jetpack Benchmark, JMH, Google Benchmark, pyperf and this project's suites, launch by launch.

    A result is a measurement: its score lies with start-up times and the apps' own figures. The same file given twice
    is taken in once.
    """
    watch = Stopwatch()
    settings, warehouse = project.settings(), project.open_in(context)
    with watch.measure("register"):
        new = take_in_folders(config.folders, settings, warehouse, context.log, from_inbox=config.from_inbox)
    with warehouse.reading() as reader:
        figures = table.figures(reader, context.partition_keys)
    for key in context.partition_keys:
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": figures[key]["results"],
                **figures[key],
                "files_now": len(new),
                **watch.metadata(len(context.partition_keys)),
            },
            partition_key=key,
        )


@dg.asset(
    group_name="verdict",
    kinds={"duckdb", "numpy"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["benchmark_results"],
    metadata=presentation.of_mart("benchmark_verdicts"),
)
@retried
def benchmark_verdicts(context: dg.AssetExecutionContext, project: Project) -> None:
    """How far each result is from earlier ones of the same benchmark, device, variant and runner, by every detector.

    On the scale of runs' verdicts, so that ω and detector in force hold for both;
    versions without results cost nothing.
    """
    watch = Stopwatch()
    settings, warehouse, keys = project.settings(), project.open_in(context), list(context.partition_keys)
    if not warehouse.is_there:
        return
    measured = model.measure_due(warehouse, settings, watch, keys)
    with warehouse.reading() as reader:
        told = told_of_benchmarks(reader, keys)
    for key in keys:
        context.add_asset_metadata(
            {**told[key], "benchmarks_measured_now": len(measured), **watch.metadata(len(keys))}, partition_key=key
        )
