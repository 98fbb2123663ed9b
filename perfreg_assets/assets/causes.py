"""`causes`: what grew in the suspicious windows."""

import dagster as dg

from perfreg_assets.assets import presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.model.explaining import explain_due
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.warehouse import causes as table
from perfreg_assets.warehouse import runs as run_table


@dg.asset(
    group_name="cause",
    kinds={"duckdb", "numpy"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["discords", "history_sets", "thread_times", "time_series", "traces"],
    metadata=presentation.of_mart("causes"),
)
@retried
def causes(context: dg.AssetExecutionContext, project: Project) -> None:
    """What took more in each suspicious window than in the run's history on the same screens, ranked by robust z.

    Threads of the app that ran longer, waits, kinds of memory that grew since the onset; threads of other processes
    stand apart: they explain the load of the device and tell of a disturbed run. Slices, locks, frames, call stacks,
    memory by process and allocations where traces tell them: opened for runs with windows only, each once.
    """
    watch = Stopwatch()
    settings, warehouse, keys = project.settings(), project.open_in(context), list(context.partition_keys)
    explained = set(explain_due(warehouse, settings, keys, watch))
    with warehouse.reading() as reader:
        run_ids = run_table.ids_of_partitions(reader, keys)
        figures = {key: table.figures(reader, ids) for key, ids in run_ids.items()}
    for key, ids in run_ids.items():
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": figures[key]["causes"],
                **figures[key],
                "explained_now": len(explained & set(ids)),
                **watch.metadata(len(keys)),
            },
            partition_key=key,
        )
