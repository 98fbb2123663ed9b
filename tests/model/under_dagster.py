"""A made-up project whose folders are taken in, and whose steps are made, by Dagster's runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import dagster as dg
from house import House, admissions

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.outstanding import STEPS
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.telling import told_before
from perfreg_assets.automation import upkeep
from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.jobs import EVERYTHING_JOB, INGEST_JOB
from perfreg_assets.automation.materialise import materialise, records_in
from perfreg_assets.collection import registry
from perfreg_assets.model.freshness import Stage
from perfreg_assets.partitions import to_key
from perfreg_assets.warehouse.connection import Warehouse

_OF_COMPUTING = re.compile(r"seconds.*|.*_now|pages_waiting|quarantined_folders")
_READING = STEPS[Stage.TRACE]


class UnderDagster(House):
    """What is due is computed by Dagster's job, pages with it."""

    def register(self, folders: Sequence[Path]) -> list[registry.Registration]:
        """As `perfreg ingest` while Dagster's daemon computes: what follows is due then."""
        by_key, unreadable = registry.sort_out(folders, self.settings, to_key)
        given = [str(run.folder) for runs in by_key.values() for run in runs]
        with admissions() as found:
            if unreadable:
                registry.register(unreadable, self.settings, self.warehouse, to_key)
            if given:
                done = materialise(
                    self._defs(), INGEST_JOB, list(by_key), self.settings, op_config={"runs": {"folders": given}}
                )
                assert not done.failures
        first = {one.folder: one for one in reversed(found)}  # each range of versions takes them all in
        return [first[folder] for folder in folders]

    def steps(self, warehouse: Warehouse | None = None) -> dict[str, Callable[[list[str]], object]]:
        assets = {asset: _READING if asset in _READING else (asset,) for some in STEPS.values() for asset in some}
        return {name: partial(self._make, some) for name, some in assets.items()}

    def read_again(self) -> None:
        super().read_again()
        self._make(_READING, self.versions())  # who reads them again in Dagster's UI does both at once

    def _make(self, assets: Sequence[str], keys: list[str]) -> None:
        assert not materialise(self._defs(), EVERYTHING_JOB, keys, self.settings, assets=assets).failures

    def settle(self) -> None:
        found = upkeep.bring_up_to_date(self._defs(), Project.of(self.settings))
        assert not found.done.failures
        assert not found.left.keys

    def write_pages(self) -> list[str]:
        self.settle()
        return []

    def records(self) -> dict[str, str]:
        """What Dagster was told last of each asset and version, but how long it took and what was new."""
        told = {}
        with records_in(prepare_home(self.settings)) as instance:
            for name in ("runs", *self.steps()):
                for key, metadata in told_before(instance, dg.AssetKey(name), self.versions()).items():
                    kept = {what: one.value for what, one in metadata.items() if not _OF_COMPUTING.fullmatch(what)}
                    told[f"{name} of {key}"] = repr(sorted(kept.items()))
        return told

    def _defs(self) -> dg.Definitions:
        return build_defs(resources={"project": Project.of(self.settings)})


class Recorded(UnderDagster):
    """What it tells is also what Dagster was told."""

    def told(self) -> dict[str, object]:
        return {**super().told(), **self.records()}
