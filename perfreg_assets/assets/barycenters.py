"""`barycenters`: the expected course of each series, averaged over the history."""

import time
from concurrent.futures import ThreadPoolExecutor

import dagster as dg
import numpy as np

from perfreg_assets.assets import comparisons
from perfreg_assets.assets.comparisons import SCORED, Comparison
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.stopwatch import Stopwatch
from perfreg_assets.methods.barycenter import dba, input_hash
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import barycenters as table
from perfreg_assets.warehouse import runs as run_table


def barycenter_id(comparison: Comparison, settings: Settings) -> str:
    """The key under which a history's average is stored: a hash of what it is computed from."""
    return input_hash(comparison.history_values, max_iterations=settings.barycenter_iterations)


@dg.asset(
    group_name="model",
    kinds={"duckdb", "numba"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["history_sets", "time_series"],
    metadata={"dagster/table_name": "marts.barycenters"},
)
def barycenters(context: dg.AssetExecutionContext, project: Project) -> None:
    """DTW barycenter B(H) of each judged series over the run's history (DBA, majorise-minimise) [thesis 4.2.1].

    argmin over B of Σ DTW(u, B)², DTW(x, y) = √(min over paths Σ (xᵢ − yⱼ)²). Keyed by the hash of its inputs:
    an identical history is never averaged twice.
    """
    watch = Stopwatch()
    settings, warehouse = project.settings(), project.open()
    with warehouse.reading() as reader:
        run_ids = run_table.ids_of_partitions(reader, context.partition_keys)
        of_key = {key: comparisons.load(reader, ids, settings) for key, ids in run_ids.items()}
        scored = {key: [one for one in ones if one.state == SCORED] for key, ones in of_key.items()}
        ids = {(one.run_id, one.series): barycenter_id(one, settings) for ones in scored.values() for one in ones}
        wanted = {ids[one.run_id, one.series]: one.history_values for ones in scored.values() for one in ones}
        known = table.find(reader, wanted)
    with watch.measure("model"), ThreadPoolExecutor() as pool:
        missing = sorted(wanted.keys() - known.keys())
        new = list(pool.map(lambda key: _average(key, wanted[key], settings), missing))
    with watch.measure("warehouse"), warehouse.writing() as writer:
        table.insert_missing(writer, new)
        for ones in scored.values():
            table.assign(
                writer,
                [
                    table.RunBarycenterRow(
                        run_id=one.run_id, series=one.series, barycenter_id=ids[one.run_id, one.series]
                    )
                    for one in ones
                ],
            )
    context.log.info("%d barycenters, %d of them new", len(wanted), len(new))
    for key, ones in scored.items():
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": len(ones),
                "barycenters": len(ones),
                "averaged_now": len(new),
                **watch.metadata(len(scored)),
            },
            partition_key=key,
        )


def _average(key: str, series: list[np.ndarray], settings: Settings) -> table.BarycenterRow:
    begin = time.perf_counter()
    average = dba(series, max_iterations=settings.barycenter_iterations, backend=settings.barycenter_backend)
    return table.BarycenterRow(
        barycenter_id=key,
        values=average.values,
        inertia=average.inertia,
        iteration_count=average.iterations,
        backend=settings.barycenter_backend,
        seconds=time.perf_counter() - begin,
        code_version=code_version("methods"),
    )
