"""The resource that every asset and sensor gets: where things are, and the warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from perfreg_assets.partitions import RANGE_END, RANGE_START
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

LAST_STEP = dg.AssetKey("reports")

PUBLISH_EVERY_S = 30.0
"""While a run goes on: people who query see a long backfill advance, and a short one at its end."""


def _place(what: str, variable: str, otherwise: str) -> Any:
    told = f"{what}. Empty: as PERFREG_{variable} says, else {otherwise}."
    return Field("", description=told)


class Project(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Places of one project. Empty values follow the `PERFREG_*` variables and then the defaults."""

    # The launchpad shows them empty, with these words beside each.
    warehouse: str = _place("DuckDB file", "WAREHOUSE", "perfreg.duckdb where it was started")
    home: str = _place("Folder for pages, runs and Dagster's records", "HOME", ".perfreg beside the warehouse")
    inbox: str = _place("Folder that is watched for run folders", "INBOX", "inbox in the folder of the warehouse")
    builds: str = _place("Folder that is watched for builds of apps", "BUILDS", "builds in the folder of the warehouse")

    @classmethod
    def of(cls, settings: Settings) -> Project:
        return cls(
            warehouse=str(settings.warehouse.absolute()),
            home=str(settings.home_dir),
            inbox=str(settings.inbox_dir),
            builds=str(settings.builds_dir),
        )

    def settings(self) -> Settings:
        """Read anew each time: a sensor must see a changed environment without a restart of the process."""
        return Settings.from_environment(
            warehouse=Path(self.warehouse) if self.warehouse else None,
            home=Path(self.home) if self.home else None,
            inbox=Path(self.inbox) if self.inbox else None,
            builds=Path(self.builds) if self.builds else None,
        )

    def open(self) -> Warehouse:
        settings = self.settings()
        return Warehouse.of(settings)

    def open_in(self, context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext) -> Warehouse:
        """The warehouse as a step of a Dagster run uses it: where the run ends with `reports`, it is published there.

        Raises:
            Rejected: see `Warehouse`.
            dagster.Failure: the run is for no version, or for a range of versions in which there is none.
        """
        _require_versions(context)
        if LAST_STEP not in context.job_def.asset_layer.executable_asset_keys:
            return self.open()
        return Warehouse.of(self.settings(), publish_every_s=PUBLISH_EVERY_S)


def _require_versions(context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext) -> None:
    """To Dagster a range whose end comes before its beginning is one of no partition, and a step of none is done; of a
    run that was launched for none at all it says what its own code may not call."""
    if not isinstance(context, dg.AssetExecutionContext):
        return
    if not (context.has_partition_key or context.has_partition_key_range):
        told = "this run is for no version: choose partitions (APP@VERSION, one is a version), and launch again"
        raise dg.Failure(told, allow_retries=False)
    ends = [context.run.tags.get(tag) for tag in (RANGE_START, RANGE_END)]
    if all(ends) and not context.partition_keys:
        told = (
            f"there is no version from {ends[0]} to {ends[1]}: they have the order in which they came first, as the "
            f"asset's page lists them, and {ends[1]} came before; turn the range round, or name the versions one by one"
        )
        raise dg.Failure(told, allow_retries=False)
