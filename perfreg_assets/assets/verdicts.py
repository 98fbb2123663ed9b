"""`verdicts`: regressed or not, at one ω."""

from collections import defaultdict
from typing import Any

import dagster as dg

from perfreg_assets.assets import presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.stopwatch import Stopwatch
from perfreg_assets.partitions import to_key
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse import verdicts as table
from perfreg_assets.warehouse.distances import RUN_LEVEL

JUDGED = ("anomalous", "normal", "improved")


class VerdictConfig(dg.Config):  # type: ignore[misc]
    """ω and detector for this run or backfill; empty: the current ones of the warehouse's settings."""

    omega: float | None = None
    detector: str | None = None


@dg.asset(
    group_name="verdict",
    kinds={"duckdb", "sql"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["distances"],
    metadata={"dagster/table_name": "marts.verdicts"},
)
def verdicts(context: dg.AssetExecutionContext, config: VerdictConfig, project: Project) -> None:
    """Whether a run regressed: d > Q3 + ω·(Q3 − Q1), each series alone and the run as a whole [thesis 4.2.2].

    One SQL pass over stored distances: nothing is measured again for another ω, and verdicts at earlier ω stay.
    ω is a setting of the warehouse (`perfreg settings set omega …`); run config overrides it for one backfill:
    `{"ops": {"verdicts": {"config": {"omega": 0.5}}}}`.
    """
    watch = Stopwatch()
    settings, warehouse = project.settings(), project.open()
    keys = list(context.partition_keys)
    with watch.measure("warehouse"):
        with warehouse.writing() as writer:
            current = settings_table.current(writer)
            omega = float(current["omega"]) if config.omega is None else config.omega
            detector = config.detector or current["detector"]
            run_ids = run_table.ids_of_partitions(writer, keys)
            table.evaluate(writer, omega, detector, [run_id for ids in run_ids.values() for run_id in ids])
        with warehouse.reading() as reader:
            rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for row in table.figures(reader, [run_id for ids in run_ids.values() for run_id in ids], omega, detector):
                rows[to_key(row["app"], row["version_name"])].append(row)
            shown = presentation.of_verdicts(reader, run_ids, settings)
    for key in keys:
        states = [row["state"] for row in rows[key] if row["series"] == RUN_LEVEL]
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": len(rows[key]),
                "omega": omega,
                "detector": detector,
                "anomalous_runs": states.count("anomalous"),
                "judged_runs": sum(state in JUDGED for state in states),
                "runs": len(states),
                **_excess_by_series(rows[key]),
                **shown.get(key, {}),
                **watch.metadata(len(keys)),
            },
            partition_key=key,
        )
        for row in rows[key]:
            if row["state"] == "anomalous" and row["series"] != RUN_LEVEL:
                context.log.warning("%s %s: %s", row["run_id"], row["series"], row["explanation"])


def _excess_by_series(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Worst d / threshold per series: one number per partition, so that the UI plots it over versions."""
    worst: dict[str, float] = {}
    for row in rows:
        if row["excess_ratio"] is not None and row["series"] != RUN_LEVEL:
            name = f"excess_ratio_{row['series']}"
            worst[name] = max(worst.get(name, float("-inf")), float(row["excess_ratio"]))
    return worst
