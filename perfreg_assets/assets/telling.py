"""What Dagster tells of the verdicts on a version; and told again where that is no longer what the marts say.

Another ω or detector, a review and an exclusion change what the verdict on a version is, and nothing has to be computed
for it: the step `verdicts` is not asked for. Pages are, and whoever writes the page of a version tells Dagster; of
what was measured, too, where the version lost one of its runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import dagster as dg

from perfreg_assets.assets import checks, presentation
from perfreg_assets.assets.markdown_image import PNG, markdown_image
from perfreg_assets.model.inspecting import summaries
from perfreg_assets.partitions import from_key, to_key
from perfreg_assets.reports import benchmark_site
from perfreg_assets.reports.benchmark_pictures import draw_means
from perfreg_assets.reports.links import VERSIONS, version_named_by, version_page
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks, discords, settings_table, states, version_verdicts
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import verdicts as table
from perfreg_assets.warehouse.connection import Reader

RUNS, VERDICTS, DISCORDS, BENCHMARK_VERDICTS = map(dg.AssetKey, ("runs", "verdicts", "discords", "benchmark_verdicts"))
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


def told_of_windows(reader: Reader, run_ids: Mapping[str, Sequence[str]], settings: Settings) -> Told:
    """Metadata of each partition: its windows by the verdicts in force, and the picture of its worst series.

    Args:
        run_ids: partition → its runs.
    """
    shown = presentation.pictures(reader, {key: list(ids) for key, ids in run_ids.items()}, settings)
    return {key: {**told, **shown.get(key, {})} for key, told in _windows(reader, run_ids).items()}


def _windows(reader: Reader, run_ids: Mapping[str, Sequence[str]]) -> Told:
    """Without the picture, which is another one only where these figures are, or the rule."""
    omega, detector = _rule(reader)
    return {
        key: {"dagster/partition_row_count": found["discords"], **found, "omega": omega, "detector": detector}
        for key, found in discords.figures(reader, run_ids).items()
    }


def _rule(reader: Reader) -> tuple[float, str]:
    """ω and detector in force."""
    current = settings_table.current(reader)
    return float(current["omega"]), current["detector"]


def told_of_benchmarks(reader: Reader, keys: Collection[str]) -> Told:
    """Metadata of each partition: its results by their state in force, and the picture of their means."""
    told: Told = {}
    for key, states_of in benchmarks.states(reader, keys).items():
        picture = draw_means(reader, key) if states_of else None
        caption = f"geometric means by version, up to {key}"
        preview = {"preview": dg.MetadataValue.md(markdown_image(picture, caption, PNG))} if picture else {}
        told[key] = {**_by_state(states_of), **preview}
    return told


def _by_state(states_of: Mapping[str, int]) -> dict[str, int]:
    return {"dagster/partition_row_count": sum(states_of.values()), **states_of}


def tell_again(context: dg.AssetExecutionContext, reader: Reader, pages: Collection[str], settings: Settings) -> None:
    """Tells Dagster the verdicts on the versions whose pages were written, where it was told others before.

    Args:
        pages: the written ones, relative to the site.
    """
    run_ids = _runs_of(reader, pages)
    keys = list(run_ids)
    again = {
        *_tell_of_fewer_runs(context, reader, run_ids),
        *_tell_of_verdicts(context, reader, _without_just_told(context, VERDICTS, keys)),
        *_tell_of_windows(context, reader, _without_just_told(context, DISCORDS, keys), settings),
        *_tell_of_benchmarks(context, reader, pages),
    }
    if again:
        context.instance.add_run_tags(context.run.run_id, {TOLD_AGAIN: str(len(again))})


def _without_just_told(context: dg.AssetExecutionContext, asset: dg.AssetKey, keys: Sequence[str]) -> list[str]:
    just_told = set(context.partition_keys) if _makes(context, asset) else set()
    return [key for key in keys if key not in just_told]


def _tell_of_fewer_runs(
    context: dg.AssetExecutionContext, reader: Reader, run_ids: Mapping[str, list[str]]
) -> list[str]:
    """Of versions that lost some of their runs, which were corrected into others: what is computed from those that are
    left is asked for, what was measured of them is not."""

    def figures(some: Collection[str]) -> Told:
        return {key: {"runs": len(run_ids[key])} for key in some}

    def everything(changed: Collection[str]) -> Told:
        return {key: presentation.of_runs(run_table.of_partition(reader, key)) for key in changed}

    again = _again(context, RUNS, _without_just_told(context, RUNS, list(run_ids)), figures, everything)
    measured = {key: summaries(reader, run_ids[key]) for key in again}
    for name in dict.fromkeys(name for told in measured.values() for name in told):
        asset = dg.AssetKey(name)
        for key in told_before(context.instance, asset, again):
            context.log_event(_event(asset, key, measured[key][name]))
        _tell_checks(context, reader, asset, again)
    _tell_checks(context, reader, RUNS, again)
    return again


def _tell_of_verdicts(context: dg.AssetExecutionContext, reader: Reader, keys: Sequence[str]) -> list[str]:
    if not keys:
        return []
    omega, detector = _rule(reader)

    def everything(changed: Collection[str]) -> Told:
        return told_of(reader, run_table.ids_of_partitions(reader, changed), omega, detector)[1]

    again = _again(context, VERDICTS, keys, lambda some: _versions(reader, some, omega, detector), everything)
    _tell_checks(context, reader, VERDICTS, again)
    return again


def _tell_checks(context: dg.AssetExecutionContext, reader: Reader, asset: dg.AssetKey, again: Collection[str]) -> None:
    """Evaluates the checks of an asset that was told again: to Dagster those of an earlier materialisation say nothing
    of the latest."""
    name = asset.path[0]
    if again and name in checks.OF_ASSET and not _makes(context, asset):
        for one in checks.evaluations(reader, name, again):
            context.log_event(one)


def _tell_of_windows(
    context: dg.AssetExecutionContext, reader: Reader, keys: Sequence[str], settings: Settings
) -> list[str]:
    def figures(some: Collection[str]) -> Told:
        return _windows(reader, run_table.ids_of_partitions(reader, some))

    def everything(changed: Collection[str]) -> Told:
        return told_of_windows(reader, run_table.ids_of_partitions(reader, changed), settings)

    return _again(context, DISCORDS, keys, figures, everything)


def _tell_of_benchmarks(context: dg.AssetExecutionContext, reader: Reader, pages: Collection[str]) -> list[str]:
    """A page is of many versions: all are looked at."""
    if not any(page.startswith(f"{benchmark_site.FOLDER}/") for page in pages):
        return []
    keys = _without_just_told(context, BENCHMARK_VERDICTS, benchmarks.partitions(reader))

    def figures(some: Collection[str]) -> Told:
        return {key: _by_state(found) for key, found in benchmarks.states(reader, some).items() if found}

    everything = partial(told_of_benchmarks, reader)
    return _again(context, BENCHMARK_VERDICTS, keys, figures, everything)


def _again(
    context: dg.AssetExecutionContext,
    asset: dg.AssetKey,
    keys: Sequence[str],
    figures: Callable[[Collection[str]], Told],
    everything: Callable[[Collection[str]], Told],
) -> list[str]:
    """The partitions of an asset of which something else was told before, once they are told again.

    Args:
        figures: what is compared, of those partitions of which anything is to tell.
        everything: what is told.
    """
    again: list[str] = []
    for some in (keys[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE)):
        now = {key: _event(asset, key, told) for key, told in figures(some).items()}
        before = told_before(context.instance, asset, now)
        changed = [key for key in before if not now[key].metadata.items() <= before[key].items()]
        for key, metadata in (everything(changed) if changed else {}).items():
            context.log_event(_event(asset, key, metadata))
        again += changed
    return again


def _makes(context: dg.AssetExecutionContext, asset: dg.AssetKey) -> bool:
    """Whether a step of the same Dagster run does."""
    return asset in context.job_def.asset_layer.executable_asset_keys


def _runs_of(reader: Reader, pages: Collection[str]) -> dict[str, list[str]]:
    """Partition → its runs, of those whose pages these are; of pages that are not named after their version by a look
    at all. None of a version whose page went with its last run: that is told by
    `automation/versions_without_runs.py`."""
    written = {page for page in pages if page.startswith(f"{VERSIONS}/")}
    named = {page: version_named_by(page) for page in written}
    keys = [to_key(*version) for version in named.values() if version is not None]
    if None in named.values():
        keys += [key for key in states.partitions(reader) if named.get(version_page(*from_key(key)), ()) is None]
    return {key: run_ids for key, run_ids in run_table.ids_of_partitions(reader, keys).items() if run_ids}


def _event(asset: dg.AssetKey, key: str, metadata: Mapping[str, Any]) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(asset, partition=key, metadata=metadata)


def told_before(
    instance: dg.DagsterInstance, asset: dg.AssetKey, keys: Collection[str]
) -> dict[str, Mapping[str, dg.MetadataValue[Any]]]:
    """Partition → what was told of it last, of those of which anything was."""
    if not keys:
        return {}
    ids = instance.get_latest_storage_id_by_partition(
        asset, dg.DagsterEventType.ASSET_MATERIALIZATION, partitions=set(keys)
    )
    if not ids:
        return {}
    wanted = dg.AssetRecordsFilter(asset_key=asset, storage_ids=list(ids.values()))
    return {
        record.partition_key: record.asset_materialization.metadata
        for record in instance.fetch_materializations(wanted, limit=len(ids)).records
        if record.partition_key is not None and record.asset_materialization is not None
    }
