"""Versions that Dagster knows runs of and the warehouse does not any more: their only run was corrected into another.

What was told of such a version stays in Dagster's records; it is told that there is nothing now, and the partition
goes where not even a refused folder is left of it. It comes back when a run of it does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import dagster as dg

from perfreg_assets.assets.telling import VERDICTS, told_before, told_of
from perfreg_assets.automation.unfinished import UNFINISHED, under_way
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.warehouse import settings_table, states
from perfreg_assets.warehouse.connection import Reader

_RUNS = dg.AssetKey("runs")


def tell_of_versions_without_runs(instance: dg.DagsterInstance, reader: Reader) -> list[str]:
    """Tells Dagster, and removes partitions; those of which anything was told. None while Dagster is at work: a run
    names its first and last partition."""
    known = set(states.partitions(reader))
    order = instance.get_dynamic_partitions(DIMENSION)
    others = [key for key in order if key not in known]
    told = {key: metadata for key, metadata in told_before(instance, _RUNS, others).items() if _has_runs(metadata)}
    if not told or under_way(instance.get_run_records(dg.RunsFilter(statuses=list(UNFINISHED))), order):
        return []
    _tell(instance, reader, list(told))
    for key in set(told) - states.refused_partitions(reader):
        instance.delete_dynamic_partition(DIMENSION, key)
    return list(told)


def _has_runs(metadata: Mapping[str, dg.MetadataValue[Any]]) -> bool:
    return "runs" in metadata and bool(metadata["runs"].value)


def _tell(instance: dg.DagsterInstance, reader: Reader, keys: Collection[str]) -> None:
    current = settings_table.current(reader)
    # Whoever removed the version's page may have told of its verdicts already (`assets/telling.py`).
    judged: dict[str, list[str]] = {
        key: [] for key, metadata in told_before(instance, VERDICTS, keys).items() if _has_runs(metadata)
    }
    verdicts = told_of(reader, judged, float(current["omega"]), current["detector"])[1]
    for asset, told in ((VERDICTS, verdicts), (_RUNS, dict.fromkeys(keys, _NOTHING))):
        for key, metadata in told.items():
            instance.report_runless_asset_event(dg.AssetMaterialization(asset, partition=key, metadata=metadata))


_NOTHING = {"dagster/partition_row_count": 0, "runs": 0}
