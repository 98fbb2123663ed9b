"""What Dagster tells of the verdicts on a version; and told again where that is no longer what the marts say.

Another ω or detector, a review and an exclusion change what the verdict on a version is, and nothing has to be computed
for it: the step `verdicts` is not asked for. Pages are, and whoever writes the page of a version tells Dagster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import dagster as dg

from perfreg_assets.assets import checks, presentation
from perfreg_assets.partitions import from_key, to_key
from perfreg_assets.reports.links import VERSIONS, version_named_by, version_page
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import settings_table, states, version_verdicts
from perfreg_assets.warehouse import verdicts as table
from perfreg_assets.warehouse.connection import Reader

VERDICTS = dg.AssetKey("verdicts")
TOLD_AGAIN = "perfreg/told_again"
"""Tag of a Dagster run that told of verdicts: how many versions' these were. Its own partitions are not all it made."""
_AT_ONCE = 500

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
Told = dict[str, dict[str, Any]]


def told_of(reader: Reader, run_ids: Mapping[str, Sequence[str]], omega: float, detector: str) -> tuple[Rows, Told]:
    """(rows of the verdicts, metadata) of each partition at ω.

    Args:
        run_ids: partition → its runs.
    """
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    axes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    everyone = [run_id for ids in run_ids.values() for run_id in ids]
    for row in table.figures(reader, everyone, omega, detector):
        rows[to_key(row["app"], row["version_name"])].append(row)
    for row in table.axis_states(reader, everyone, omega, detector):
        axes[to_key(row["app"], row["version_name"])].append(row)
    versions = _versions(reader, run_ids, omega, detector)
    told = {
        key: {
            "dagster/partition_row_count": len(rows[key]),
            **versions[key],
            **_figures(rows[key]),
            **presentation.axis_table(
                {row["run_id"]: row["state"] for row in rows[key] if row["series"] == RUN_LEVEL}, axes[key]
            ),
        }
        for key in run_ids
    }
    return rows, told


def _versions(reader: Reader, keys: Collection[str], omega: float, detector: str) -> Told:
    """What is told of each version as a whole: whatever else is told follows from that and from what was computed."""
    found = version_verdicts.of_versions(reader, map(from_key, keys), omega, detector)
    return {
        key: {"omega": omega, "detector": detector, **presentation.version_table(found.get(from_key(key), []))}
        for key in keys
    }


def _figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Counts of runs, and the worst d / threshold per series: numbers that the UI plots over versions."""
    whole = [row["is_anomalous"] for row in rows if row["series"] == RUN_LEVEL]
    figures: dict[str, float] = {
        "anomalous_runs": whole.count(True),
        "judged_runs": len(whole) - whole.count(None),
        "runs": len(whole),
    }
    for row in rows:
        if row["excess_ratio"] is not None and row["series"] != RUN_LEVEL:
            name = f"excess_ratio_{row['series']}"
            figures[name] = max(figures.get(name, float("-inf")), float(row["excess_ratio"]))
    return figures


def tell_again(context: dg.AssetExecutionContext, reader: Reader, pages: Collection[str]) -> None:
    """Tells Dagster the verdicts on the versions whose pages were written, where it was told others before.

    Args:
        pages: the written ones, relative to the site.
    """
    has_step = VERDICTS in context.job_def.asset_layer.executable_asset_keys
    just_told = set(context.partition_keys) if has_step else set()
    keys = [key for key in _keys_of(reader, pages) if key not in just_told]
    if not keys:
        return
    current = settings_table.current(reader)
    omega, detector = float(current["omega"]), current["detector"]
    again: list[str] = []
    for some in (keys[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE)):
        before = _told_before(context.instance, some)
        now = {key: _event(key, told) for key, told in _versions(reader, before, omega, detector).items()}
        changed = [key for key, event in now.items() if not event.metadata.items() <= before[key].items()]
        told = told_of(reader, run_table.ids_of_partitions(reader, changed), omega, detector)[1] if changed else {}
        for key, metadata in told.items():
            context.log_event(_event(key, metadata))
        again += told
    if again:
        context.instance.add_run_tags(context.run.run_id, {TOLD_AGAIN: str(len(again))})
    if again and not has_step:  # to Dagster those of an earlier materialisation say nothing of the latest
        for one in checks.evaluations(reader, VERDICTS.path[0], again):
            context.log_event(one)


def _keys_of(reader: Reader, pages: Collection[str]) -> list[str]:
    """The partitions whose pages these are; of those that are not named after their version by a look at all."""
    written = {page for page in pages if page.startswith(f"{VERSIONS}/")}
    named = {page: version_named_by(page) for page in written}
    keys = [to_key(*version) for version in named.values() if version is not None]
    if None in named.values():
        keys += [key for key in states.partitions(reader) if named.get(version_page(*from_key(key)), ()) is None]
    return keys


def _event(key: str, metadata: Mapping[str, Any]) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(VERDICTS, partition=key, metadata=metadata)


def _told_before(instance: dg.DagsterInstance, keys: Collection[str]) -> dict[str, Mapping[str, dg.MetadataValue[Any]]]:
    """Partition → what was told of it last, of those of which anything was."""
    ids = instance.get_latest_storage_id_by_partition(
        VERDICTS, dg.DagsterEventType.ASSET_MATERIALIZATION, partitions=set(keys)
    )
    if not ids:
        return {}
    wanted = dg.AssetRecordsFilter(asset_key=VERDICTS, storage_ids=list(ids.values()))
    return {
        record.partition_key: record.asset_materialization.metadata
        for record in instance.fetch_materializations(wanted, limit=len(ids)).records
        if record.partition_key is not None and record.asset_materialization is not None
    }
