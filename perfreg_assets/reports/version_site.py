"""The pages of versions: which of them may come out different, and writing those that do.

A version's page is made of its own runs, of the levels of the versions before it and of its benchmarks. One more run
makes its version's page be looked at and those of the few after it; whether one is written is decided by its text.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfreg_assets.reports.changes import SETTLED_NS, folder_changed
from perfreg_assets.reports.drift_lines import with_drifts
from perfreg_assets.reports.files import digest, write
from perfreg_assets.reports.links import VERSIONS, version_page
from perfreg_assets.reports.loading_version_pages import load_version_views
from perfreg_assets.reports.run_order import Placed, RunOrder
from perfreg_assets.reports.site_state import FOLDER, SiteState, VersionEntry
from perfreg_assets.reports.version_page import render_version_page
from perfreg_assets.warehouse import benchmarks
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Reader

EARLIER = 10
"""Versions before, whose levels a page is set against: to the last one, and slowly since the first of them."""
GROUP = 50
"""Pages loaded together."""
BENCHMARKS = f"{FOLDER}/version-benchmarks.json"
"""(app, version) → stamp of its benchmarks when its page was last looked at."""

Key = tuple[int, str, str]


def is_due(reader: Reader, out_dir: Path, state: SiteState) -> bool:
    """Whether a page is missing or nobody's, or benchmarks changed; what changed of runs, `changes` tells."""
    if digest(benchmarks.stamp(reader)) != state.head.benchmarks:
        return True
    missing, strangers = _astray(out_dir, state)
    return bool(missing or strangers)


def update(
    reader: Reader,
    out_dir: Path,
    state: SiteState,
    order: RunOrder,
    touched: Iterable[tuple[str, str]],
    *,
    drifted: Collection[tuple[str, str]] = (),
    server: str,
) -> list[str]:
    """Brings the pages up to date that these (app, version), or what else changed, may make different.

    Args:
        drifted: of which something else drifts than before: no page but their own shows it.

    Returns:
        The written and removed pages, relative to the site.
    """
    (out_dir / VERSIONS).mkdir(exist_ok=True)
    wanted: dict[str, set[str]] = defaultdict(set)
    for app, version in touched:
        wanted[app].add(version)
    missing, strangers = _astray(out_dir, state)
    for app, version in missing:
        wanted[app].add(version)
    measured = _measured(reader, out_dir, state)
    for app, version in measured.versions:
        wanted[app].add(version)
    written = [f"{VERSIONS}/{name}" for name in strangers]
    for name in strangers:
        (out_dir / VERSIONS / name).unlink(missing_ok=True)
    for app, versions in sorted(wanted.items()):
        alone = {version for of_app, version in drifted if of_app == app}
        written += _update_app(reader, out_dir, state, order, app, versions, alone, server)
    measured.note(out_dir / BENCHMARKS, state)
    state.head.versions_changed = _settled(out_dir / VERSIONS)
    return written


def update_measured(reader: Reader, out_dir: Path, *, server: str) -> list[str]:
    """Brings the pages up to date of versions whose benchmarks changed, where the site's state is whole; else the next
    build of the whole site does."""
    state = SiteState(out_dir)
    if not state.is_whole():
        return []
    written = update(reader, out_dir, state, RunOrder(reader), (), server=server)
    state.save()
    return written


def _settled(folder: Path) -> int:
    """When the folder last changed, once any later change will have another time stamp; 0, which is no such moment,
    where the clock was set back since: waiting could take a day, with the lock of all pages held."""
    changed = folder_changed(folder)
    left_ns = changed + SETTLED_NS - time.time_ns()
    if left_ns > SETTLED_NS:
        return 0
    time.sleep(max(0, left_ns) / 1e9)
    return changed


@dataclass(frozen=True)
class _Measured:
    """Versions whose benchmarks are others than when their pages were last looked at; `now`: the stamps of all."""

    stamp: str
    versions: list[tuple[str, str]]
    now: Mapping[tuple[str, str], str] | None = None

    def note(self, path: Path, state: SiteState) -> None:
        """Remembers them, once their pages are written: what dies before has them to write again."""
        if self.now is not None:
            path.parent.mkdir(exist_ok=True)
            write(path, json.dumps([[*key, one] for key, one in sorted(self.now.items())]))
        state.head.benchmarks = self.stamp


def _measured(reader: Reader, out_dir: Path, state: SiteState) -> _Measured:
    stamp = digest(benchmarks.stamp(reader))
    if stamp == state.head.benchmarks:
        return _Measured(stamp, [])
    path = out_dir / BENCHMARKS
    try:
        before = {(app, version): one for app, version, one in json.loads(path.read_text("utf-8"))}
    except (OSError, ValueError, TypeError):  # not there or damaged: all are looked at
        before = {}
    now = benchmarks.stamps_of_versions(reader)
    return _Measured(stamp, sorted(key for key in {*before, *now} if before.get(key) != now.get(key)), now)


def _astray(out_dir: Path, state: SiteState) -> tuple[list[tuple[str, str]], list[str]]:
    """Versions whose pages are gone, and files that are no version's page; looked for when the folder changed."""
    folder = out_dir / VERSIONS
    if state.head.versions_changed and folder_changed(folder) == state.head.versions_changed:
        return [], []
    known = {version_page(app, version): (app, version) for app, version, entry in state.versions() if entry.page}
    there = {f"{VERSIONS}/{path.name}" for path in folder.glob("*.html")}
    strangers = sorted(name.removeprefix(f"{VERSIONS}/") for name in there - set(known))
    return [known[name] for name in sorted(set(known) - there)], strangers


def _update_app(
    reader: Reader,
    out_dir: Path,
    state: SiteState,
    order: RunOrder,
    app: str,
    touched: set[str],
    drifted: set[str],
    server: str,
) -> list[str]:
    placed = run_table.versions_in_order(reader, app)
    keys = [_key(code, first.isoformat(), name) for code, first, name in placed]
    names = [name for _, _, name in placed]
    place = {name: number for number, name in enumerate(names)}
    by_code = bool(placed) and placed[0][0] is not None
    known = state.head.apps.get(app, {})
    if (
        known.get("by_code", by_code) != by_code
    ):  # a run without a code came to an app of which all had one: another order
        touched = touched | set(names)
    if known:
        known["by_code"] = by_code
    of_version: dict[str, list[str]] = defaultdict(list)
    for version, line in known.get("drifts", ()):
        of_version[version].append(line)
    looked_at = _candidates(state, app, touched, keys, place)
    # Of these nothing but what drifts is another; in order, as pages are written.
    alone = [name for name in names if name in drifted and place[name] not in looked_at]
    written, anew = _exchange_drifts(out_dir, state, app, alone, of_version)
    candidates = sorted(looked_at | {place[version] for version in anew})
    for version in sorted(touched - set(place)):
        gone = version_page(app, version)
        if (out_dir / gone).is_file():
            (out_dir / gone).unlink()
            written.append(gone)
        state.put_version(app, version, VersionEntry())
    runs: dict[str, list[Placed]] = defaultdict(list)
    for one in order.runs_of(app):
        runs[one.version_name].append(one)
    for start in range(0, len(candidates), GROUP):
        group = [names[number] for number in candidates[start : start + GROUP]]
        earlier = {
            version: {name: runs[name] for name in names[max(0, place[version] - EARLIER) : place[version]]}
            for version in group
        }
        views = load_version_views(reader, app, {version: runs[version] for version in group}, earlier)
        for version in group:
            text = render_version_page(views[version], server=server, drifts=of_version[version])
            page = version_page(app, version)
            found, entry = digest(text), state.version(app, version)
            if entry.page != found or not (out_dir / page).is_file():
                write(out_dir / page, text)
                written.append(page)
            code, first, _ = placed[place[version]]
            state.put_version(app, version, replace(entry, page=found, code=code, first=first.isoformat()))
    return written


def _key(code: int | None, first: str, version: str) -> Key:
    return code or 0, first, version


def _exchange_drifts(
    out_dir: Path, state: SiteState, app: str, versions: Iterable[str], lines: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    """Puts what drifts now into the pages of some versions, that are as they were written; (the written pages, versions
    of which they are not)."""
    written, anew = [], []
    for version in versions:
        page, entry = version_page(app, version), state.version(app, version)
        before = (out_dir / page).read_text("utf-8") if (out_dir / page).is_file() else ""
        now = with_drifts(before, lines.get(version, ())) if digest(before) == entry.page else None
        if now is None:
            anew.append(version)
        elif now != before:
            write(out_dir / page, now)
            written.append(page)
            state.put_version(app, version, replace(entry, page=digest(now)))
    return written, anew


def _candidates(
    state: SiteState,
    app: str,
    touched: set[str],
    keys: Sequence[Key],
    place: Mapping[str, int],
) -> set[int]:
    """Places of the versions to look at: the touched ones, and those that follow where one stands or stood."""
    found: set[int] = set()
    for version in touched:
        entry = state.version(app, version)
        stands = [place[version]] if version in place else []
        stood = [bisect_left(keys, _key(entry.code, entry.first, version))] if entry.first else []
        for at in (*stands, *stood):
            found.update(range(at, min(len(keys), at + EARLIER + 1)))
    return found
