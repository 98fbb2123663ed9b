"""Which pages may come out different since the last build, found without looking at every run.

A run's page is made of its own rows, of its history's series and measurements, and of its neighbours. Its own rows are
told by stamps; whose history or neighbourhood a changed run is in, is asked for the changed ones. All that narrows
down where to look; whether a page is written is decided by the hash of what it is made of
(`loading.run_fingerprints`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from operator import xor
from pathlib import Path

from perfreg_assets.reports import loading
from perfreg_assets.reports.data import Run
from perfreg_assets.reports.files import digest
from perfreg_assets.reports.links import page_name
from perfreg_assets.reports.run_order import RunOrder
from perfreg_assets.reports.site_state import Entry, SiteState
from perfreg_assets.warehouse import run_conditions, run_numbers, stamps
from perfreg_assets.warehouse.connection import Reader

_NOWHERE = ("", "")
SETTLED_NS = 50_000_000
"""A folder that changed less than this ago may change again without its time stamp saying so."""


@dataclass(slots=True)
class Changes:
    """What changed since the last build.

    Attributes:
        totals, general: what the next build compares with.
        is_general: something changed that all pages depend on.
        stamps: run → its new stamp, of the runs that changed; 0 where nothing is stored of it any more.
        candidates: runs whose pages may come out different.
        touched: those of them whose history changed in a run, besides the changed ones.
        strangers: files among the run pages that are no run's.
    """

    totals: stamps.Totals
    general: str
    is_general: bool
    stamps: dict[str, int] = field(default_factory=dict)
    candidates: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    strangers: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Late:
    """A page that is not there or would come out different, with the hash of what it would be made of."""

    run: Run
    page: str
    digest: str


def find(
    reader: Reader, state: SiteState, out_dir: Path, order: RunOrder, *, salt: str, due: Mapping[str, str]
) -> Changes:
    """What changed, and the pages to look at.

    Args:
        salt: of what shapes pages besides the warehouse.
        due: run → what its page is to say about what is out of date.
    """
    totals = stamps.totals(reader)
    general = digest(f"{salt} {stamps.general(reader)!r}")
    found = Changes(totals, general, is_general=general != state.head.general)
    found.stamps = _everything(reader, state) if found.is_general else changed_stamps(reader, state, totals)
    if found.is_general:
        found.candidates = set(found.stamps)
        found.strangers = _strangers(out_dir, {f"{page_name(run_id)}.html" for run_id in found.candidates})
        return found
    found.touched = loading.load_dependents(reader, sorted(found.stamps))
    known = state.head.due
    found.candidates = {
        *found.stamps,
        *found.touched,
        *_beside(reader, state, order, found),
        *(run_id for run_id in {*due, *known} if due.get(run_id) != known.get(run_id)),
    }
    if state.head.runs_changed == 0 or folder_changed(out_dir / "runs") != state.head.runs_changed:
        pages = {f"{page_name(run_id)}.html": run_id for run_id, entry in state.items() if entry.page}
        there = {path.name for path in (out_dir / "runs").glob("*.html")}
        found.candidates |= {run_id for page, run_id in pages.items() if page not in there}
        found.strangers = sorted(there - set(pages))
    return found


def changed_stamps(reader: Reader, state: SiteState, totals: stamps.Totals) -> dict[str, int]:
    """Run → new stamp, of the runs of which something else is stored than at the last build.

    Those written since are asked for their stamps. If these explain the difference between the checksums, nothing
    else changed; if not (something was deleted, or arrived with an earlier time stamp), all stamps are compared.
    """
    if totals.checksum == state.head.checksum:
        return {}
    if state.head.checksum >= 0:
        suspects = stamps.written_since(reader, state.head.latest)
        new = stamps.of_runs(reader, suspects)
        before = {run_id: state.get(run_id).stamp for run_id in suspects}
        explained = reduce(xor, [*new.values(), *before.values()], state.head.checksum)
        if explained == totals.checksum:
            return {run_id: new.get(run_id, 0) for run_id in suspects if new.get(run_id, 0) != before[run_id]}
    return compared_stamps(reader, state)


def compared_stamps(reader: Reader, state: SiteState) -> dict[str, int]:
    """As `changed_stamps`, by comparing all of them: the reference for it."""
    new = stamps.of_runs(reader)
    before = {run_id: entry.stamp for run_id, entry in state.items()}
    return {run_id: new.get(run_id, 0) for run_id in {*new, *before} if new.get(run_id, 0) != before.get(run_id, 0)}


def _everything(reader: Reader, state: SiteState) -> dict[str, int]:
    new = stamps.of_runs(reader)
    return {run_id: new.get(run_id, 0) for run_id in {*new, *(run_id for run_id, _ in state.items())}}


_PLACES = "SELECT run_id, app, started_at FROM core.runs WHERE NOT is_quarantined AND {of}"


def _beside(reader: Reader, state: SiteState, order: RunOrder, changes: Changes) -> set[str]:
    """Runs whose page names a place where a changed run stands or stood."""
    now = {
        run_id: _place(app, started)
        for ids in run_conditions.grouped(reader, sorted(changes.stamps))
        for run_id, app, started in reader.rows(_PLACES.format(of=run_conditions.of(reader, ids)))
    }
    found: set[str] = set()
    for run_id in changes.stamps:
        before = state.get(run_id)
        for app, started in {now.get(run_id, _NOWHERE), (before.app, before.started)}:
            if app:
                found.update(order.touched(app, datetime.fromisoformat(started), run_id))
    return found


def _place_of(run: Run | None) -> tuple[str, str]:
    """(app, when it started) of a run that has neighbours; two empty texts of one that has none."""
    return _NOWHERE if run is None or run.state == "quarantined" else _place(run.app, run.started_at)


def _place(app: str | None, started: datetime | None) -> tuple[str, str]:
    return _NOWHERE if app is None or started is None else (app, started.isoformat())


def late_pages(
    reader: Reader,
    state: SiteState,
    out_dir: Path,
    order: RunOrder,
    changes: Changes,
    *,
    due: Mapping[str, str],
) -> Iterator[tuple[list[Late], list[Run]]]:
    """In groups: the pages that are not there or would come out different, and all runs that were looked at. Those that
    came last are the first: people look at them while the others of a large warehouse are still being written."""
    for known in reversed(list(run_conditions.grouped(reader, changes.candidates))):
        group = known[::-1]
        own = {run_id: changes.stamps.get(run_id, state.get(run_id).stamp) for run_id in group}
        known_runs = loading.load_runs(reader, group)
        runs = {run_id: known_runs[run_id] for run_id in group}
        prints = loading.run_fingerprints(reader, runs, order, own)
        late = []
        for run_id, run in runs.items():
            page = f"runs/{page_name(run_id)}.html"
            wanted = digest(f"{due.get(run_id)} {changes.general} {prints[run_id]}")
            if state.get(run_id).page != wanted or not (out_dir / page).is_file():
                late.append(Late(run, page, wanted))
        yield late, list(runs.values())


def gone(reader: Reader, changes: Changes) -> list[str]:
    """Those of the runs to look at that are not there any more."""
    return sorted(changes.candidates - run_numbers.of(reader, changes.candidates).keys())


def noted(entry: Entry, run: Run) -> Entry:
    """The entry with the run's place as it is now."""
    app, started = _place_of(run)
    return replace(entry, app=app, version=(run.version_name or "") if app else "", started=started)


def folder_changed(folder: Path) -> int:
    """When a page was last added to or taken from a folder of pages, ns; 0 where there is no such folder."""
    try:
        return folder.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _strangers(out_dir: Path, pages: set[str]) -> list[str]:
    return sorted({path.name for path in (out_dir / "runs").glob("*.html")} - pages)
