"""`barycenters`: the expected course of each series, averaged over the history."""

import dagster as dg

from perfreg_assets.assets import presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.model.averaging import average_due
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import states


@dg.asset(
    group_name="model",
    kinds={"duckdb", "numba"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["history_sets", "time_series"],
    metadata=presentation.of_mart("barycenters"),
)
@retried
def barycenters(context: dg.AssetExecutionContext, project: Project) -> None:
    """DTW barycenter B(H) of each judged series over the run's history (DBA, majorise-minimise) [thesis 4.2.1].

    argmin over B of Σ DTW(u, B)², DTW(x, y) = √(min over paths Σ (xᵢ − yⱼ)²). Keyed by the hash of its inputs:
    an identical history is never averaged twice.
    """
    watch = Stopwatch()
    warehouse, keys = project.open_in(context), list(context.partition_keys)
    averaged = average_due(warehouse, project.settings(), keys, watch)
    context.log.info("%d runs averaged, %d barycenters new", len(averaged.series_count), averaged.new_count)
    with warehouse.reading() as reader:
        run_ids = run_table.ids_of_partitions(reader, keys)
        assigned = states.averaged(reader, [run_id for ids in run_ids.values() for run_id in ids])
    for key, ids in run_ids.items():
        count = sum(len(assigned.get(run_id, {})) for run_id in ids)
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": count,
                "barycenters": count,
                "averaged_now": averaged.new_count,
                **watch.metadata(len(keys)),
            },
            partition_key=key,
        )
