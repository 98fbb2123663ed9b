"""`trace_windows` and `reduced_traces`: what in old traces is unusual, and only that kept of normal runs."""

from collections.abc import Iterator

import dagster as dg

from perfreg_assets.assets import presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.model.archiving import archive_due
from perfreg_assets.warehouse import archive
from perfreg_assets.warehouse import runs as run_table

_WINDOWS = """Windows of the traces that were reduced: how unlike the reference each is, and whether it was kept.

After Emteu Tchagou et al.: Kullback-Leibler divergence from the past as a gate, local outlier factor behind it."""

_REDUCED = """Traces of normal runs, reduced in place some days after they were registered (`reduction_after_days`).

What is unusual stays whole with a second around it. Series and verdicts were computed before and are not computed
again. Anomalous and reviewed runs keep their traces."""


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            name,
            deps=["traces", "verdicts"],
            group_name="reduce",
            kinds={"perfetto", "duckdb"},
            partitions_def=app_versions,
            description=text,
            metadata=presentation.of_mart(mart),
        )
        for name, text, mart in (
            ("trace_windows", _WINDOWS, "trace_windows"),
            ("reduced_traces", _REDUCED, "reductions"),
        )
    ],
    backfill_policy=dg.BackfillPolicy.single_run(),
)
@retried
def trace_windows_and_reduced_traces(
    context: dg.AssetExecutionContext, project: Project
) -> Iterator[dg.MaterializeResult[None]]:
    settings, warehouse, keys = project.settings(), project.open_in(context), list(context.partition_keys)
    archiving = archive_due(warehouse, settings, keys, lambda run_id: context.log.debug("%s", run_id))
    for one in archiving.done:
        said = one.reason or f"{one.bytes_before:,} → {one.bytes_after:,} bytes"
        context.log.info("%s: %s", one.run_id, said)
    with warehouse.reading() as reader:
        found = {key: archive.figures(reader, ids) for key, ids in run_table.ids_of_partitions(reader, keys).items()}
    for key, figures in found.items():
        for name, rows in (("trace_windows", "windows"), ("reduced_traces", "reduced_traces")):
            context.add_asset_metadata(
                {"dagster/partition_row_count": figures[rows], **figures}, asset_key=name, partition_key=key
            )
    yield dg.MaterializeResult(asset_key="trace_windows")
    yield dg.MaterializeResult(asset_key="reduced_traces")
