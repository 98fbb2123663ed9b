"""`verdicts`: regressed or not, at one ω."""

import dagster as dg
from pydantic import Field

from perfreg_assets.assets import checks, presentation, what_if
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.assets.telling import Told, told_of
from perfreg_assets.model.judging import judge
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.settings import SettingError, Settings


class VerdictConfig(dg.Config):
    """ω and detector for this run or backfill; empty: the current ones of the warehouse's settings.

    Others are a what-if (`perfreg_assets.assets.what_if`): stored, observed, and never the asset's latest state.
    """

    omega: float | None = Field(None, description="0 to 100. Empty: the one in force.")
    detector: str | None = Field(None, description="One that `perfreg settings list` names. Empty: the one in force.")

    def require_usable(self) -> None:
        """Raises dagster.Failure for what no verdict can be given by: Dagster itself checks types, no ranges."""
        try:
            for name, value in (("omega", self.omega), ("detector", self.detector)):
                if value is not None:
                    Settings.checked(name, value)
        except SettingError as error:
            told = f"run config of verdicts: {error}; nothing was judged, correct it and launch again"
            raise dg.Failure(told, allow_retries=False) from error


@dg.asset(
    group_name="verdict",
    kinds={"duckdb", "sql"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["distances"],
    metadata=presentation.of_mart("verdicts"),
    check_specs=checks.specs("verdicts"),
)
@retried
def verdicts(context: dg.AssetExecutionContext, config: VerdictConfig, project: Project) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Whether a run regressed: d > Q3 + ω·(Q3 − Q1), each series alone and the run as a whole [thesis 4.2.2].

    One SQL pass over stored distances: nothing is measured again for another ω, and verdicts at earlier ω stay.
    ω is a setting of the warehouse (`perfreg settings set omega …`). Run config tries another one on some partitions,
    `{"ops": {"verdicts": {"config": {"omega": 0.5}}}}`: such a what-if is observed and tagged, and what is
    materialised stays the state in force.
    """
    watch = Stopwatch()
    config.require_usable()
    warehouse, keys = project.open_in(context), list(context.partition_keys)
    in_force = judge(warehouse, keys, watch)
    tried = in_force
    if config.omega is not None or config.detector is not None:
        tried = judge(warehouse, keys, watch, omega=config.omega, detector=config.detector)
    with watch.measure("warehouse"), warehouse.reading() as reader:
        rows, told = told_of(reader, in_force.run_ids, in_force.omega, in_force.detector)
        what_would_be: Told = {}
        if tried.what_if:
            what_would_be = told_of(reader, tried.run_ids, tried.omega, tried.detector)[1]
        checked = checks.results(reader, "verdicts", keys)
    for key in keys:
        context.add_asset_metadata({**told[key], **watch.metadata(len(keys))}, partition_key=key)
        for row in rows[key]:
            if row["is_anomalous"] and row["series"] != RUN_LEVEL:
                context.log.warning("%s %s: %s", row["run_id"], row["series"], row["explanation"])
    if tried.what_if:
        what_if.tell(context, tried.what_if, what_would_be)
        warehouse.publish()  # people query it now, and no step may come that publishes
    return dg.MaterializeResult(check_results=checked)
