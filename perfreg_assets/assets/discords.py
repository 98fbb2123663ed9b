"""`discords`: where in the session an anomalous series departs from its history, to the second."""

import dagster as dg

from perfreg_assets.assets import presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.assets.telling import told_of_windows
from perfreg_assets.model.localising import localise_due
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.warehouse import runs as run_table


@dg.asset(
    group_name="verdict",
    kinds={"duckdb", "numba"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["verdicts", "barycenters", "time_series"],
    metadata=presentation.of_mart("discords"),
)
@retried
def discords(context: dg.AssetExecutionContext, project: Project) -> None:
    """Suspicious windows of the series that the current verdict calls anomalous, and only of those [thesis 4.3].

    Mode `thesis`: matrix profile AB-join of the series against its barycenter, z-normalised, above its own
    quantiles 0.90 and 0.95. Mode `default`: for load, the seconds in which a model of two states, usual and excess,
    puts the run into excess; for memory, from the onset of a ramp, sawtooth or step. Start and end of the session
    are left out. In seconds and in trace nanoseconds.
    """
    watch = Stopwatch()
    settings, warehouse, keys = project.settings(), project.open_in(context), list(context.partition_keys)
    localised = localise_due(warehouse, settings, keys, watch)
    with warehouse.reading() as reader:
        run_ids = run_table.ids_of_partitions(reader, keys)
        told = told_of_windows(reader, run_ids, settings)
    for one in localised.failures:
        context.log.warning("%s", one.failure)
    for key, ids in run_ids.items():
        context.add_asset_metadata(
            {
                **told[key],
                "localised_now": sum(run_id in set(ids) for run_id, _ in localised.series),
                **watch.metadata(len(keys)),
            },
            partition_key=key,
        )
