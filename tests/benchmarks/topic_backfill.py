"""ω backfilled over the whole history in one Dagster run: what a partition costs beyond Dagster's own events."""

import statistics
import tempfile
import time
from pathlib import Path

import dagster as dg
from measuring import Row
from topic_warehouse import SERIES

from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.verdicts import verdicts
from perfreg_assets.automation.materialise import prepare_home
from perfreg_assets.automation.progress import NAME, progress_logger
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

PROMISED_SHARE = 0.10
RUNS_PER_VERSION = 3

_RUNS = """
INSERT INTO core.runs (run_id, folder_name, content_hash, partition_key, app, version_name, config_hash, started_at,
    functional_problem_count, is_quarantined, registered_at, run_no)
SELECT 'run-' || i, 'run-' || i, md5('run-' || i), 'shop@1.' || i // $per, 'shop', '1.' || i // $per, 'config',
    TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_minutes(i), 0, false, now(), i + 1
FROM range($runs) AS numbers(i)
"""
_DISTANCES = """
INSERT INTO core.distances (distance_id, run_id, series, detector, parameters_hash, is_latest, state, distance, q1, q3,
    history_distances, history_size, evidence_text, input_hash, measured_at, run_no)
SELECT i, 'run-' || i // $count, $series[i % $count + 1], 'default', '0a1b2c3d4e5f60718293a4b5c6d7e8f9', true, 'scored',
    -1.0 * (hash(i) % 1000)::INTEGER / 1000, -0.6745, 0.6745, [1, 2, 3], 12, 'mean ' || i, md5('input' || i), now(),
    i // $count + 1
FROM range($runs * $count) AS numbers(i)
"""


@dg.asset(partitions_def=app_versions, backfill_policy=dg.BackfillPolicy.single_run())
def bare(context: dg.AssetExecutionContext) -> None:
    """As many numbers per partition as `verdicts` shows, and no work."""
    for key in context.partition_keys:
        context.add_asset_metadata({f"number_{i}": float(i) for i in range(10)}, partition_key=key)


def rows(quick: bool = False) -> list[Row]:
    """The step's own time per partition, ours and that of an asset that does nothing, in turns."""
    versions = 60 if quick else 120
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(warehouse=Path(folder) / "perfreg.duckdb")
        _fill(Warehouse(settings.warehouse, lock_timeout_s=10), versions)
        prepare_home(settings)
        defs = dg.Definitions(
            assets=[verdicts, bare],
            resources={"project": Project.of(settings)},
            executor=dg.in_process_executor,
            loggers={NAME: progress_logger},
            jobs=[dg.define_asset_job(name, [name]) for name in ("verdicts", "bare")],
        )
        keys = [f"shop@1.{version}" for version in range(versions)]
        ours, theirs = [], []
        with dg.DagsterInstance.get() as instance:
            instance.add_dynamic_partitions(DIMENSION, keys)
            for turn in range(2 if quick else 5):
                ours.append(_seconds(defs, instance, "verdicts", keys, {"omega": 0.5 + turn / 10}))
                theirs.append(_seconds(defs, instance, "bare", keys, None))
    # The first turn opens files and compiles statements.
    own, event = (statistics.median(taken[1:]) / versions for taken in (ours, theirs))
    share = own / event - 1
    return [
        Row("backfill", f"ω of {versions} versions: a partition", own, "a bare asset's event", event),
        Row(
            "backfill",
            f"beyond Dagster's event: {share:+.0%}",
            max(own - event, 0.0),
            target=f"< {PROMISED_SHARE:.0%}",
            is_met=share < PROMISED_SHARE,
        ),
    ]


def _fill(warehouse: Warehouse, versions: int) -> None:
    runs = versions * RUNS_PER_VERSION
    with warehouse.writing() as writer:
        writer.execute(_RUNS, {"runs": runs, "per": RUNS_PER_VERSION})
        writer.execute(_DISTANCES, {"runs": runs, "count": len(SERIES), "series": list(SERIES)})


def _seconds(
    defs: dg.Definitions, instance: dg.DagsterInstance, name: str, keys: list[str], config: dict[str, float] | None
) -> float:
    started = time.perf_counter()
    run = defs.resolve_job_def(name).execute_in_process(
        instance=instance,
        run_config={
            "loggers": {NAME: {"config": {}}},
            **({"ops": {name: {"config": config}}} if config else {}),
        },
        tags={"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]},
    )
    if not run.success:
        raise RuntimeError(f"the backfill of {name} failed")
    return time.perf_counter() - started
