"""`distances`: how far each run is from its history, by every detector. All that a verdict at any ω needs."""

import dagster as dg

from perfreg_assets.assets import presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.model.comparisons import SCORED
from perfreg_assets.model.measuring import measure_due
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.warehouse import distances as table
from perfreg_assets.warehouse import runs as run_table


@dg.asset(
    group_name="model",
    kinds={"duckdb", "numba"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["barycenters", "time_series"],
    metadata=presentation.of_mart("distances"),
)
@retried
def distances(context: dg.AssetExecutionContext, project: Project) -> None:
    """How far a run is from its history: d, and D(H) with its quartiles [thesis 4.2.2].

    Detector `iqr`: d = DTW(U', B(H)), D(H) = {DTW(u, B(H)) : u in H}. Detector `default`: a calibrated score on
    the standard-normal scale, with its evidence in numbers and in one sentence. All are stored, so that a
    verdict at any ω is one SQL expression: d > q3 + ω (q3 - q1).
    """
    watch = Stopwatch()
    warehouse, keys = project.open_in(context), list(context.partition_keys)
    measured = measure_due(warehouse, project.settings(), keys, watch)
    with warehouse.reading() as reader:
        run_ids = run_table.ids_of_partitions(reader, keys)
        counts = table.counts(reader, [run_id for ids in run_ids.values() for run_id in ids], SCORED)
    now = {row.run_id for row in measured.rows}
    for key, ids in run_ids.items():
        scored, others, rows = (sum(counts.get(run_id, (0, 0, 0))[index] for run_id in ids) for index in (0, 1, 2))
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": rows,
                "scored": scored,
                "not_scored": others,
                "runs_measured_now": len(now & set(ids)),
                **watch.metadata(len(keys)),
            },
            partition_key=key,
        )
