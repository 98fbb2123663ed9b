"""The versions of each app in blocks of equal size: what the heat map and the trends of the index are drawn from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfreg_assets.reports import shards, wording
from perfreg_assets.reports.data import Setup, VersionRow
from perfreg_assets.reports.files import digest
from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.loading_causes import told_version_causes
from perfreg_assets.reports.loading_lists import load_settings, load_versions
from perfreg_assets.reports.run_order import Placed, RunOrder
from perfreg_assets.reports.site_state import SiteState
from perfreg_assets.reports.templating import numbers
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import version_verdicts
from perfreg_assets.warehouse.causes import SEVERAL_RUNS
from perfreg_assets.warehouse.connection import Reader

BLOCK_SIZE = 50

Row = dict[str, Any]


def packed(row: VersionRow) -> Row:
    """A version as the scripts read it; times in s since 1970, levels in the unit that is shown.

    `cells`: series → [ratio, anomalous, judged, lacking, state]. `setups`: [key, in words, runs] of each scenario and
    configuration. `of`: of each of `ids` its place among them, or null. `levels`: series → [of each setup [median,
    low, high] or null, a value for each of `ids`, the unit, distance over limit for each, and a letter for each: a
    anomalous, j judged, u not].
    """
    levels = {}
    for series, points in row.points.items():
        unit = wording.unit_of(series, points.unit)
        marks = "".join("u" if one is None else "a" if one else "j" for one in points.anomalous)
        of_setups = [
            None if (level := one.levels.get(series)) is None
            else _rounded((level.median, level.history_low, level.history_high), unit.factor, 4)
            for one in row.setups
        ]  # fmt: skip
        means, ratios = _rounded(points.means, unit.factor, 4), _rounded(points.ratios, 1.0, 3)
        levels[series] = [of_setups, means, unit.axis, ratios, marks]
    return {
        "runs": row.run_count,
        "anomalous": row.anomalous_count,
        "first": round(row.first_started_at.timestamp()),
        "last": round(row.last_started_at.timestamp()),
        "ids": list(row.run_ids),
        "of": list(row.run_setups),
        "setups": [[_key(one.setup), wording.setup_text(one.setup), one.run_count] for one in row.setups],
        "cells": {
            series: [
                None if cell.ratio is None else float(f"{cell.ratio:.4g}"),
                cell.anomalous,
                cell.judged,
                cell.lacking,
                cell.state,
            ]
            for series, cell in sorted(row.cells.items())
        },
        "levels": dict(sorted(levels.items())),
    }


def _rounded(values: Iterable[float | None], factor: float, digits: int) -> list[float | None]:
    return numbers((float("nan") if one is None else one * factor for one in values), digits=digits) or []


def _key(setup: Setup) -> str:
    """Stands for a setup in the address of the index."""
    return digest(f"{setup.config_hash} {setup.scenario!r}")[:8]


def update(
    reader: Reader,
    out_dir: Path,
    state: SiteState,
    order: RunOrder,
    touched: Iterable[tuple[str, str]],
    lost: Collection[str] = (),
) -> None:
    """Makes the rows of these (app, version) true, takes out those without runs, and writes the blocks it touched.

    Args:
        lost: names of blocks whose files are gone.
    """
    of_app: dict[str, set[str]] = defaultdict(set)
    for app, version in touched:
        of_app[app].add(version)
    for app, known in state.head.apps.items():
        gone = {block for block in range(len(known["blocks"])) if name_of(known["number"], block) in lost}
        if gone:
            versions = {one.version_name for one in order.runs_of(app)}
            of_app[app] |= {version for version in versions if state.version(app, version).block in gone}
    for app, versions in sorted(of_app.items()):
        _update_app(reader, out_dir, state, order, app, versions)


def _update_app(reader: Reader, out_dir: Path, state: SiteState, order: RunOrder, app: str, versions: set[str]) -> None:
    apps = state.head.apps
    known = apps.setdefault(
        app, {"number": 1 + max((one["number"] for one in apps.values()), default=-1), "blocks": []}
    )
    blocks = known["blocks"]
    latest = _latest_of(reader, state, app, versions)
    if latest is not None:
        versions = versions | {latest}  # it may be another one than before, whose row did not change
    runs: dict[str, list[Placed]] = {}
    for one in order.runs_of(app):
        if one.version_name in versions:
            runs.setdefault(one.version_name, []).append(one)
    wanted: dict[int, set[str]] = defaultdict(set)
    for version in (*runs, *sorted(versions - set(runs))):  # new ones by their first run
        entry = state.version(app, version)
        block = entry.block
        if version not in runs:
            state.put_version(app, version, replace(entry, block=-1))
        elif block < 0:
            if not blocks or blocks[-1]["count"] >= BLOCK_SIZE:
                blocks.append({"digest": "", "count": 0})
            block = len(blocks) - 1
            blocks[block]["count"] += 1
            state.put_version(app, version, replace(entry, block=block))
        if block >= 0:
            wanted[block].add(version)
    everything: dict[int, tuple[dict[str, Row], dict[str, VersionRow]]] = {}
    for block, group in wanted.items():
        before = shards.read(out_dir, name_of(known["number"], block), blocks[block]["digest"])
        if before is None:  # new, or damaged
            everyone = _of_block(state, order, app, block)
            before, runs = {}, runs | everyone
            group |= set(everyone)
        fresh = load_versions(reader, {version: runs[version] for version in sorted(group & set(runs))})
        everything[block] = {version: row for version, row in before.items() if version not in group}, fresh
    judged = _judged(reader, app, [version for _, fresh in everything.values() for version in fresh])
    grown = _grown(reader, app, [row for _, fresh in everything.values() for row in fresh.values()])
    for block, (rows, fresh) in everything.items():
        rows |= {
            version: {
                "page": version_page(app, version),
                **packed(row),
                **judged.get(version, {}),
                **grown.get(version, {}),
            }
            for version, row in fresh.items()
        }
        digest = shards.save(out_dir, name_of(known["number"], block), rows, blocks[block]["digest"])
        blocks[block] = {"digest": digest, **facts(rows)}
    known |= _told_of_latest(latest, [rows for rows, _ in everything.values()])
    if not any(one["count"] for one in blocks):
        del apps[app]


def _latest_of(reader: Reader, state: SiteState, app: str, touched: Collection[str]) -> str | None:
    """The last version in the order of marts.version_ranks that the list has, or may get: an old one that is run again
    is not the latest for it. None where there is none, all runs being quarantined."""
    order = [version for _, _, version in run_table.versions_in_order(reader, app)]
    # From the end: what is known of a version stands in one of many files.
    return next((one for one in reversed(order) if one in touched or state.version(app, one).block >= 0), None)


def _of_block(state: SiteState, order: RunOrder, app: str, block: int) -> dict[str, list[Placed]]:
    """Version → its runs, of the versions of one block."""
    found: dict[str, list[Placed]] = defaultdict(list)
    for one in order.runs_of(app):
        if state.version(app, one.version_name).block == block:
            found[one.version_name].append(one)
    return found


def _judged(reader: Reader, app: str, versions: Sequence[str]) -> dict[str, Row]:
    """Version → `state` and `told`: the current verdict on its runs together, of those that have one."""
    detector, omega = load_settings(reader)
    if detector is None or omega is None:
        return {}
    found = version_verdicts.of_versions(reader, [(app, version) for version in versions], omega, detector)
    return {
        version: {"state": rows[0]["state"], "told": rows[0]["explanation"]} for (_, version), rows in found.items()
    }


def _grown(reader: Reader, app: str, versions: Iterable[VersionRow]) -> dict[str, Row]:
    """Version → `grew`: what grew in several of its runs, in words; of those in which something did."""
    known = [one.version_name for one in versions if one.anomalous_count and one.run_count >= SEVERAL_RUNS]
    told = told_version_causes(reader, app, known)
    return {version: {"grew": list(lines)} for version, lines in told.items() if lines}


def name_of(app_number: int, block: int) -> str:
    return f"versions-{app_number}-{block}"


def names(apps: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Of all blocks."""
    return {name_of(app["number"], block) for app in apps.values() for block in range(len(app["blocks"]))}


def facts(rows: Mapping[str, Row]) -> dict[str, Any]:
    """What the index says of a block: counts, and series that were judged."""
    return {
        "count": len(rows),
        "runs": sum(row["runs"] for row in rows.values()),
        "anomalous": sum(row["anomalous"] for row in rows.values()),
        "newest": max((row["last"] for row in rows.values()), default=None),
        "series": sorted({series for row in rows.values() for series in row["cells"]}),
    }


def _told_of_latest(version: str | None, blocks: Iterable[Mapping[str, Row]]) -> dict[str, Any]:
    """What the index says of an app's latest version, whose row is in one of some blocks; None: it has none."""
    row = next((rows[version] for rows in blocks if version in rows), None) if version is not None else None
    if row is None:
        return {}
    return {
        "latest": [version, *(row.get(name) for name in ("runs", "anomalous", "state"))],
        "grew": row.get("grew", []),
    }
