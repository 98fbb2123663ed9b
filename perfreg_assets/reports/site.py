"""The report site: a page per run and per version, the index with its lists, the ω page. Only what changed is written.

What a build looks at is what changed since the last one (`changes`), so that one more run costs the same however many
there are. A file is replaced by an atomic rename, so that a reader never sees half of one; one build at a time holds
the lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfreg_assets.reports import (
    benchmark_site,
    energy_site,
    loading,
    loading_lists,
    run_list,
    shards,
    version_list,
    version_site,
    wording,
)
from perfreg_assets.reports import changes as change_finder
from perfreg_assets.reports.benchmark_site import write_benchmark_pages
from perfreg_assets.reports.changes import Changes, Late, noted
from perfreg_assets.reports.energy_site import write_energy_page
from perfreg_assets.reports.files import digest, write
from perfreg_assets.reports.index_page import IndexFacts, known_series, render_index
from perfreg_assets.reports.links import DEFAULT_SERVER, page_name
from perfreg_assets.reports.omega_page import render_omega_page
from perfreg_assets.reports.run_order import RunOrder
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.site_assets import write_assets
from perfreg_assets.reports.site_state import SiteState, TornError
from perfreg_assets.reports.templating import code_hash
from perfreg_assets.warehouse import benchmarks, drifts
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.lock import file_lock

OVERVIEW_PAGES = ("index.html", "omega.html")
OVERVIEW = "overview"
"""Stands for all pages that are no run's, where a run's id stands for its page."""
GROUP_SIZE = 20
"""Run pages loaded at once: about 20 × 12 series × 13 runs of arrays."""
MANY_CHANGED = 200
"""Changed pages that an ingest writes in any case: more of them, half a minute's work, wait like those of which nothing
changed, or it would be up to hours until a new run has its page."""
VERSION_GROUP_SIZE = 50
"""Pages of versions of an app that were put off and are made together; each shows runs of the versions before it."""
SAVED_EVERY_S = 30.0
"""A long build that is killed goes on from here."""
LOCK_TIMEOUT_S = 600.0
TURN_S = 30.0
"""How long one of many turns writes pages that can wait: somebody with a new run may be next."""
PAUSE_S = 0.5
"""Between two turns: whoever waits for the lock looks at it far more often."""


def build_site(
    reader: Reader,
    out_dir: Path,
    *,
    server: str = DEFAULT_SERVER,
    due: Mapping[str, str] | None = None,
    most_s: float | None = None,
) -> list[str]:
    """Brings the site in `out_dir` up to date with the warehouse: every page that would come out different.

    Args:
        server: address of `perfreg serve` that the pages' links name when opened from a file.
        due: run_id → what about it is being brought up to date, which its page then says.
        most_s: pages of runs and versions that are there and of which nothing changed (another release made them
            different), or else too many (another ω, everything decided anew: `MANY_CHANGED`), are written only for so
            long; those that are left wait for the next builds (`waiting`). None: all at once.

    Returns:
        The written and removed pages, relative to `out_dir`.

    Raises:
        Rejected: WAREHOUSE_LOCKED when another build holds the site for too long.
    """
    (out_dir / "runs").mkdir(parents=True, exist_ok=True)
    with file_lock(out_dir / ".lock", timeout_s=LOCK_TIMEOUT_S, what=f"the report site {out_dir}"):
        try:
            written = _Build(reader, out_dir, server, due or {}, most_s).run()
        except TornError:
            written = _Build(reader, out_dir, server, due or {}, most_s, is_anew=True).run()
        return [*written, *write_benchmark_pages(reader, out_dir)]


def build_in_turns(
    reading: Callable[[], AbstractContextManager[Reader]],
    out_dir: Path,
    *,
    server: str = DEFAULT_SERVER,
    due: Callable[[Reader], Mapping[str, str]] = lambda _: {},
    most_s: float | None = None,
) -> list[str]:
    """`build_site` until no page waits, from what is published at each turn; between two turns others have the site.

    Args:
        most_s: after so long no other turn begins.

    Raises:
        Rejected: WAREHOUSE_LOCKED when another build holds the site for too long.
    """
    written: list[str] = []
    begin = time.monotonic()
    while True:
        with reading() as reader:
            written += build_site(reader, out_dir, server=server, due=due(reader), most_s=TURN_S)
        if not waiting(out_dir) or (most_s is not None and time.monotonic() - begin >= most_s):
            return written
        time.sleep(PAUSE_S)


def waiting(out_dir: Path) -> int:
    """How many pages the last build put off."""
    head = SiteState(out_dir).head
    return len(head.waiting) + len(head.waiting_versions)


def build_benchmark_pages(reader: Reader, out_dir: Path, *, server: str = DEFAULT_SERVER) -> list[str]:
    """Brings the pages of benchmarks up to date, of a site that is not there yet the others too; the written ones.

    Raises:
        Rejected: WAREHOUSE_LOCKED when another build holds the site for too long.
    """
    if not (out_dir / OVERVIEW_PAGES[0]).is_file():
        return build_site(reader, out_dir, server=server)
    with file_lock(out_dir / ".lock", timeout_s=LOCK_TIMEOUT_S, what=f"the report site {out_dir}"):
        return [
            *write_benchmark_pages(reader, out_dir),
            *version_site.update_measured(reader, out_dir, server=server),
            *_recount(reader, out_dir),
        ]


def _recount(reader: Reader, out_dir: Path) -> list[str]:
    """Writes index and ω page anew where they would say something else of what is no run's; of a site whose state is
    not whole the next build of it all does."""
    state, overview = SiteState(out_dir), _overview(reader)
    if not state.is_whole() or overview == state.head.overview:
        return []
    written = _write_overview(reader, out_dir, state, ())
    state.head.overview = overview
    state.save()
    return written


def due_pages(
    reader: Reader,
    out_dir: Path,
    *,
    server: str = DEFAULT_SERVER,
    due: Mapping[str, str] | None = None,
    with_waiting: bool = True,
) -> tuple[list[str], bool]:
    """(runs whose page is not there or would come out different, whether one of the other pages may).

    Args:
        with_waiting: whether pages that the last build put off are among them.
    """
    try:
        return _due_pages(reader, out_dir, server, due or {}, with_waiting, is_anew=False)
    except TornError:
        return _due_pages(reader, out_dir, server, due or {}, with_waiting, is_anew=True)


def _due_pages(
    reader: Reader, out_dir: Path, server: str, due: Mapping[str, str], with_waiting: bool, *, is_anew: bool
) -> tuple[list[str], bool]:
    state, order, salt = _state(out_dir, is_anew), RunOrder(reader), _salt(server)
    changes = change_finder.find(reader, state, out_dir, order, salt=salt, due=due)
    late = [
        page.run.run_id
        for pages, _ in change_finder.late_pages(reader, state, out_dir, order, changes, due=due)
        for page in pages
    ]
    if with_waiting:
        late += [run_id for run_id in state.head.waiting if run_id not in changes.candidates]
    is_same = (
        changes.totals.checksum == state.head.checksum
        and changes.general == state.head.general
        and _overview(reader) == state.head.overview
        and all((out_dir / page).is_file() for page in OVERVIEW_PAGES)
        and _pieces(state) <= shards.there(out_dir)
        and not version_site.is_due(reader, out_dir, state)
        and not (with_waiting and state.head.waiting_versions)
        and not benchmark_site.is_due(reader, out_dir)
        and not energy_site.is_lost(out_dir)
    )
    return late, not is_same


def _state(out_dir: Path, is_anew: bool) -> SiteState:
    state = SiteState(out_dir)
    if is_anew or not state.is_whole():
        state.restart()
    return state


def _salt(server: str) -> str:
    return f"{code_hash()} {server}"


def _pieces(state: SiteState) -> set[str]:
    """Names of the pieces that the lists consist of."""
    return run_list.names(state.head.blocks) | version_list.names(state.head.apps)


def _write_overview(reader: Reader, out_dir: Path, state: SiteState, changed: Collection[str]) -> list[str]:
    """Writes index and ω page, where they come out different, from the lists as they are; the written ones.

    Args:
        changed: runs whose rows may be others than at the last build.
    """
    head = state.head
    detector, omega = loading_lists.load_settings(reader)
    facts = IndexFacts(
        blocks=head.blocks,
        apps=head.apps,
        first=run_list.first_rows(reader, out_dir, state, changed),
        omega=omega,
        detector=detector,
        series_axes=loading_lists.load_axes(reader, known_series(head.apps)),
        drifts={app: [line for _, line in known.get("drifts", ())] for app, known in head.apps.items()},
        benchmarks=benchmarks.extent(reader),
    )
    anomalous, measured = run_list.anomalous_at(head.blocks)
    overall = loading_lists.load_omega_overview(reader, anomalous, measured)
    texts = {"index.html": render_index(facts), "omega.html": render_omega_page(overall, head.blocks)}
    written = []
    for page, text in texts.items():
        found = digest(text)
        if head.pages.get(page) != found or not (out_dir / page).is_file():
            write(out_dir / page, text)
            head.pages[page] = found
            written.append(page)
    return written


def _overview(reader: Reader) -> str:
    return digest(repr(loading_lists.overview_facts(reader)))


def _update_drifts(
    reader: Reader, apps: Mapping[str, dict[str, Any]], touched: Iterable[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Notes with each app that has a touched version what its latest versions drift in: (that version, a sentence).

    Returns:
        The (app, version) of which something else is said than before.
    """
    found: set[tuple[str, str]] = set()
    for app in {app for app, _ in touched} & set(apps):
        rows = drifts.of_app(reader, app, known_series({app: apps[app]}))
        before, now = apps[app].get("drifts", []), [[row["version_name"], wording.drift_line(row)] for row in rows]
        changed = [line for line in [*before, *now] if line not in before or line not in now]
        apps[app]["drifts"] = now
        found |= {(app, version) for version, _ in changed}
    return found


class _Build:
    """One build, under the lock."""

    def __init__(
        self,
        reader: Reader,
        out_dir: Path,
        server: str,
        due: Mapping[str, str],
        most_s: float | None,
        *,
        is_anew: bool = False,
    ) -> None:
        self._reader, self._out_dir, self._server, self._due = reader, out_dir, server, due
        self._state, self._order = _state(out_dir, is_anew), RunOrder(reader)
        self._is_first = self._state.head.checksum < 0
        self._similarities = loading.PathSimilarities()
        self._saved = time.monotonic()
        self._end = None if most_s is None else self._saved + most_s
        self._written: list[str] = []
        self._are_many = False

    def run(self) -> list[str]:
        out_dir, salt = self._out_dir, _salt(self._server)
        write_assets(out_dir)
        changes = change_finder.find(self._reader, self._state, out_dir, self._order, salt=salt, due=self._due)
        self._are_many = self._changed_pages(changes) > MANY_CHANGED
        touched: set[tuple[str, str]] = set()
        changed: set[tuple[str, str]] = set()
        waiting: list[str] = []
        for late, seen in change_finder.late_pages(
            self._reader, self._state, out_dir, self._order, changes, due=self._due
        ):
            patient = {run.run_id for run in seen if self._can_wait(run.run_id, changes)}
            for start in range(0, len(late), GROUP_SIZE):
                put_off = self._put_off(late[start : start + GROUP_SIZE], patient)
                waiting += [page.run.run_id for page in put_off]
                self._write_pages([page for page in late[start : start + GROUP_SIZE] if page not in put_off])
            for run in seen:
                before = self._state.get(run.run_id)
                now = noted(before, run)
                if run.run_id in changes.stamps or run.run_id in changes.touched:
                    places = {(before.app, before.version), (now.app, now.version)}
                    touched |= places
                    changed |= places if run.run_id not in patient else set()
                self._state.put(run.run_id, now)
        for run_id in change_finder.gone(self._reader, changes):
            before = self._state.get(run_id)
            touched.add((before.app, before.version))
            changed.add((before.app, before.version))
            self._remove(f"{page_name(run_id)}.html")
        for name in changes.strangers:
            self._remove(name)
        if changes.is_general:  # versions that are known and are none any more, too
            touched |= {(app, version) for app, version, _ in self._state.versions()}
        touched = {place for place in touched if place[0]}
        drifted = self._update_lists(changes, touched)
        put_off_versions = self._put_off_versions(touched - changed, changes)
        self._update_versions(touched - put_off_versions, drifted)
        self._write_waiting_versions(touched, put_off_versions)
        self._state.head.waiting = waiting + self._write_waiting(changes)
        # Before what is noted of the build: one that is killed has the same apps to look at again.
        self._written += write_energy_page(
            self._reader, out_dir, None if self._is_first else {app for app, _ in touched}
        )
        self._save(changes)
        return self._written

    def _changed_pages(self, changes: Changes) -> int:
        """Pages that are there of runs of which something else is stored now, or is due: after an update all may be."""
        changed = {
            run_id for run_id, stamp in changes.stamps.items() if self._state.get(run_id).stamp not in (0, stamp)
        }
        changed |= {run_id for run_id in {*self._due, *self._state.head.due} if not self._is_as_due(run_id)}
        return sum(self._state.get(run_id).page != "" for run_id in changed)

    def _can_wait(self, run_id: str, changes: Changes) -> bool:
        """Whether only what all pages depend on made a run's page different, or what made too many others so."""
        entry = self._state.get(run_id)
        is_same = entry.stamp in (0, changes.stamps.get(run_id)) and self._is_as_due(run_id)
        return entry.page != "" and (self._are_many or (changes.is_general and is_same))

    def _is_as_due(self, run_id: str) -> bool:
        return self._due.get(run_id) == self._state.head.due.get(run_id)

    def _put_off(self, late: list[Late], patient: set[str]) -> list[Late]:
        """Those of some pages that wait, once the time is over."""
        if not self._is_over():
            return []
        return [page for page in late if page.run.run_id in patient and (self._out_dir / page.page).is_file()]

    def _put_off_versions(self, patient: set[tuple[str, str]], changes: Changes) -> set[tuple[str, str]]:
        """The same of versions of whose runs all can wait."""
        if not self._is_over() or not (changes.is_general or self._are_many):
            return set()
        return {place for place in patient if self._state.version(*place).page}

    def _update_versions(self, touched: Iterable[tuple[str, str]], drifted: Collection[tuple[str, str]] = ()) -> None:
        self._written += version_site.update(
            self._reader, self._out_dir, self._state, self._order, touched, drifted=drifted, server=self._server
        )

    def _write_waiting_versions(self, touched: set[tuple[str, str]], put_off: set[tuple[str, str]]) -> None:
        """As `_write_waiting`, of versions; notes those that wait now."""
        before = {(app, version) for app, version in self._state.head.waiting_versions} - touched
        left = sorted(before, key=lambda one: self._state.version(*one).first, reverse=True)
        while left:
            app = left[0][0]
            group = {*[one for one in left if one[0] == app][:VERSION_GROUP_SIZE]}
            left = [one for one in left if one not in group]
            self._update_versions(group)
            if self._is_over():
                break
        later = sorted({*left, *put_off}, key=lambda one: self._state.version(*one).first, reverse=True)
        self._state.head.waiting_versions = [list(one) for one in later]

    def _write_waiting(self, changes: Changes) -> list[str]:
        """Writes pages that earlier builds put off, some of them in any case; those that wait still."""
        left = [run_id for run_id in self._state.head.waiting if run_id not in changes.candidates]
        while left:
            group, left = left[:GROUP_SIZE], left[GROUP_SIZE:]
            now = replace(changes, candidates=set(group))
            for late, _ in change_finder.late_pages(
                self._reader, self._state, self._out_dir, self._order, now, due=self._due
            ):
                self._write_pages(late)
            if self._is_over():
                break
        return left

    def _is_over(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end

    def _write_pages(self, late: list[Late]) -> None:
        if not late:
            return
        ids = [page.run.run_id for page in late]
        runs = {page.run.run_id: page.run for page in late}
        details = loading.load_details(self._reader, ids, self._order, self._similarities, runs)
        for page, detail in zip(late, details, strict=True):
            run_id = page.run.run_id
            write(self._out_dir / page.page, render_run_page(detail, server=self._server, due=self._due.get(run_id)))
            # Where it stood before is asked for after this: its former version has one run less.
            self._state.put(run_id, replace(self._state.get(run_id), page=page.digest))
            self._written.append(page.page)
        if time.monotonic() - self._saved > SAVED_EVERY_S:  # without the stamps: the lists are not made yet
            self._state.save_runs()
            self._saved = time.monotonic()

    def _remove(self, name: str) -> None:
        path = self._out_dir / "runs" / name
        if path.is_file():
            path.unlink()
            self._written.append(f"runs/{name}")

    def _update_lists(self, changes: Changes, touched: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Brings index and lists up to date; the (app, version) of which something else drifts than before."""
        reader, out_dir, state = self._reader, self._out_dir, self._state
        overview = _overview(reader)
        is_there = all((out_dir / page).is_file() for page in OVERVIEW_PAGES)
        lost = _pieces(state) - shards.there(out_dir)
        is_same = overview == state.head.overview and is_there and not lost
        if is_same and not changes.stamps and not touched and not changes.is_general:
            return set()
        run_list.update(reader, out_dir, state, changes.stamps, lost)
        version_list.update(reader, out_dir, state, self._order, touched, lost)
        drifted = _update_drifts(reader, state.head.apps, touched)
        for run_id, stamp in changes.stamps.items():
            entry = state.get(run_id)
            if stamp or entry.block >= 0:
                state.put(run_id, replace(entry, stamp=stamp))
            else:
                state.drop(run_id)
        head = state.head
        shards.remove(out_dir, shards.there(out_dir) - _pieces(state))
        self._written += _write_overview(reader, out_dir, state, changes.stamps)
        head.overview = overview
        return drifted

    def _save(self, changes: Changes) -> None:
        head = self._state.head
        head.checksum, head.latest, head.general = changes.totals.checksum, changes.totals.latest, changes.general
        head.due = {run_id: why for run_id, why in self._due.items() if self._state.get(run_id).page}
        changed = change_finder.folder_changed(self._out_dir / "runs")
        head.runs_changed = changed if time.time_ns() - changed > change_finder.SETTLED_NS else 0
        self._state.save()
