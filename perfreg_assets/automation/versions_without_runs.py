"""Versions that Dagster knows runs of and the warehouse does not any more: their only run was corrected into another.

What was told of such a version stays in Dagster's records; it is told that there is nothing now, and the partition
goes where not even a refused folder or a benchmark's result is left of it. It comes back when a run of it does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import dagster as dg

from perfreg_assets.assets import checks
from perfreg_assets.assets.telling import RUNS, told_before
from perfreg_assets.automation.unfinished import UNFINISHED, under_way
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.warehouse import states
from perfreg_assets.warehouse.connection import Reader

ASSETS = (
    *map(
        dg.AssetKey,
        (
            *("traces", "time_series", "thread_times", "energies", "history_sets", "barycenters", "distances"),
            *("verdicts", "discords", "causes", "reports", "trace_windows", "reduced_traces"),
        ),
    ),
    RUNS,
)
"""The assets that count a version's runs, or what was made of them. By the last one it is known what was told."""


def tell_of_versions_without_runs(instance: dg.DagsterInstance, reader: Reader) -> list[str]:
    """Tells Dagster, and removes partitions; those of which anything was told. None while Dagster is at work: a run
    names its first and last partition."""
    with_runs = states.partitions_of_runs(reader, refused=False)
    order = instance.get_dynamic_partitions(DIMENSION)
    others = [key for key in order if key not in with_runs]
    told = [key for key, metadata in told_before(instance, RUNS, others).items() if _counts(metadata).get("runs")]
    if not told or under_way(instance.get_run_records(dg.RunsFilter(statuses=list(UNFINISHED))), order):
        return []
    _tell(instance, reader, told)
    for key in set(told) - states.partitions_of_runs(reader, refused=True) - set(states.partitions(reader)):
        instance.delete_dynamic_partition(DIMENSION, key)
    return told


def _tell(instance: dg.DagsterInstance, reader: Reader, keys: Collection[str]) -> None:
    for asset in ASSETS:
        before = {key: _counts(metadata) for key, metadata in told_before(instance, asset, keys).items()}
        told = {key: dict.fromkeys(counts, 0) for key, counts in before.items() if any(counts.values())}
        for key, nothing in told.items():
            instance.report_runless_asset_event(dg.AssetMaterialization(asset, partition=key, metadata=nothing))
        if told and asset.path[0] in checks.OF_ASSET:
            checks.tell(instance, reader, asset.path[0], told)


def _counts(metadata: Mapping[str, dg.MetadataValue[Any]]) -> dict[str, int]:
    """What is counted of a partition: whatever else was told of it (means, tables, pictures) is of its runs, too."""
    return {name: one.value or 0 for name, one in metadata.items() if isinstance(one, dg.IntMetadataValue)}
