"""`distances`: how far each run is from its history, by both detectors. All that a verdict at any ω needs."""

from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

import dagster as dg

from perfreg_assets import detection
from perfreg_assets.assets import comparisons
from perfreg_assets.assets.barycenters import barycenter_id
from perfreg_assets.assets.comparisons import SCORED
from perfreg_assets.assets.history_sets import HISTORY_PARAMETERS
from perfreg_assets.assets.measuring import measure_run
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.stopwatch import Stopwatch
from perfreg_assets.methods.detectors import make_detector
from perfreg_assets.partitions import app_versions
from perfreg_assets.warehouse import barycenters as barycenter_table
from perfreg_assets.warehouse import distances as table
from perfreg_assets.warehouse import runs as run_table

DISTANCE_PARAMETERS = (
    *HISTORY_PARAMETERS,
    *("interval_s", "judged_series", "barycenter_iterations", "dbscan_eps", "dbscan_min_samples"),
)


@dg.asset(
    group_name="model",
    kinds={"duckdb", "numba"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["barycenters", "time_series"],
    metadata={"dagster/table_name": "marts.distances"},
)
def distances(context: dg.AssetExecutionContext, project: Project) -> None:
    """How far a run is from its history: d, and D(H) with its quartiles [thesis 4.2.2].

    Detector `iqr`: d = DTW(U', B(H)), D(H) = {DTW(u, B(H)) : u in H}. Detector `default`: a calibrated score on
    the standard-normal scale, with its evidence in numbers and in one sentence. Both are stored, so that a
    verdict at any ω is one SQL expression: d > q3 + ω (q3 - q1).
    """
    watch = Stopwatch()
    settings, warehouse = project.settings(), project.open()
    with warehouse.reading() as reader:
        run_ids = run_table.ids_of_partitions(reader, context.partition_keys)
        everyone = comparisons.load(reader, [run_id for ids in run_ids.values() for run_id in ids], settings)
        average_ids = {
            (one.run_id, one.series): barycenter_id(one, settings) for one in everyone if one.state == SCORED
        }
        averages = barycenter_table.find(reader, set(average_ids.values()))
        earlier = {
            (row.run_id, row.series, row.detector): row for row in table.find(reader, {one.run_id for one in everyone})
        }
    parameters_hash = settings.hash_of(*DISTANCE_PARAMETERS)
    detectors = [make_detector(name, vars(settings)) for name in detection.detector_names()]

    def measure(ones: list[comparisons.Comparison]) -> list[table.DistanceRow]:
        own = {
            one.series: (average_id, averages[average_id])
            for one in ones
            for average_id in [average_ids.get((one.run_id, one.series))]
            if average_id is not None
        }
        return [
            row
            for detector in detectors
            for row in measure_run(ones, detector, own, earlier, settings, parameters_hash)
        ]

    with watch.measure("model"), ThreadPoolExecutor() as pool:
        runs = [list(group) for _, group in groupby(everyone, key=lambda one: one.run_id)]
        rows = [row for of_run in pool.map(measure, runs) for row in of_run]
    with watch.measure("warehouse"), warehouse.writing() as writer:
        table.upsert(writer, rows)
    for key, ids in run_ids.items():
        mine = [row for row in rows if row.run_id in set(ids)]
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": len(mine),
                "scored": sum(row.state == SCORED and row.series != table.RUN_LEVEL for row in mine),
                "not_scored": sum(row.state != SCORED and row.series != table.RUN_LEVEL for row in mine),
                **watch.metadata(len(run_ids)),
            },
            partition_key=key,
        )
