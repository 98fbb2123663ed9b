"""How long a page of 12 series × 1,800 samples and the index take in a real browser until what is in view is drawn."""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

from measuring import Row, under

from perfreg_assets.reports import run_list, shards, version_list
from perfreg_assets.reports.data import Level, ListedRun, SeriesCell, SeriesPoints, Setup, SetupLevels, VersionRow
from perfreg_assets.reports.index_page import LOADED_AHEAD, IndexFacts, render_index
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.site_assets import write_assets

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
NAMES = ("cpu_app", "cpu_total", "rss_app", *(f"cpu_core_{core}" for core in range(9)))


def rows(quick: bool = False) -> list[Row]:
    """Rendering the page, and opening it; the latter only where Chromium is installed."""
    made = page_builders()
    detail = made.make_detail("anomalous", n=1800)
    states = {"cpu_app": "normal", "cpu_total": "normal", "rss_app": "anomalous"}
    series = tuple(made.make_series(name, n=1800, state=states.get(name)) for name in NAMES)
    begin = time.perf_counter()
    html = render_run_page(replace(detail, series=series))
    rendered = time.perf_counter() - begin
    table = [Row("pages", "12 series x 1800 samples: rendering", rendered)]
    if CHROMIUM.exists():
        first, drawn = _drawn(html, 2 if quick else 5)
        table.append(under("pages", "the same in a browser, until its first chart is painted", first, 0.5))
        table.append(under("pages", "… until its charts can be zoomed", drawn, 1.6))
        for count, most_s in ((1_000, 1.0), (10_000, 1.0), (100_000, 2.0)):
            painted, opened, filtered, size = _index(count, 2 if quick else 5)
            what = f"index of {count:,} runs opened as a file"
            table.append(under("pages", f"{what} ({size / 1e3:.0f} kB): first paint", painted, 0.5))
            table.append(under("pages", f"{what}: trends drawn", opened, most_s))
            name = f"index of {count:,} runs: a filter over all"
            is_ahead = count <= LOADED_AHEAD
            table.append(
                under("pages", name, filtered, 0.05) if is_ahead else Row("pages", f"{name}, loaded", filtered)
            )
    return table


PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
DRAWN = "performance.getEntriesByName('charts-drawn')[0].startTime / 1000"
FILTERED = """() => new Promise((done) => {
  const box = document.querySelector("[data-filters] [name=anomalous]"), begin = performance.now();
  new MutationObserver((_, watcher) => { watcher.disconnect(); done((performance.now() - begin) / 1000); })
    .observe(document.querySelector("[data-count]"), { childList: true });
  box.checked = !box.checked;
  box.dispatchEvent(new Event("input", { bubbles: true }));
})"""
"""Seconds from a click until the rows of the answer stand in the table."""


def _index(count: int, rounds: int) -> tuple[float, float, float, int]:
    """Medians of s until the index of a site of 20 apps is painted, until its trends are drawn and until a filter is
    answered once everything is loaded; bytes of index.html."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (only where a browser is there)

    painted, opened, filtered = [], [], []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as engine:
        site = Path(name)
        write_assets(site)
        (site / "index.html").write_text(_lists(site, count), "utf-8")
        browser = engine.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for _ in range(rounds + 1):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto((site / "index.html").as_uri())
            page.wait_for_selector("body[data-ready=yes]")
            painted.append(page.evaluate(PAINTED))
            opened.append(page.evaluate(DRAWN))
            page.wait_for_selector("body[data-loaded=yes]")
            if count > LOADED_AHEAD:
                page.evaluate(FILTERED)  # loads what it needs
            filtered.append(page.evaluate(FILTERED))
            page.close()
        browser.close()
        size = (site / "index.html").stat().st_size
    # The first one fills caches.
    return *(statistics.median(one[1:]) for one in (painted, opened, filtered)), size  # type: ignore[return-value]


def _lists(site: Path, count: int) -> str:
    """Writes the pieces of the lists of `count` runs of 20 apps, five a version; the index."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    listed = []
    for i in range(count):
        state, ratio, flagged = ("anomalous", 1.87, ("rss_app",)) if i % 23 == 22 else ("normal", 0.4 + i % 7 / 20, ())
        app, moment = f"com.rig.app{i % 20:02d}", start + timedelta(minutes=i)
        axes = {"cpu": "normal", "memory": state}
        run_id, version = f"app{i % 20:02d}-{i // 20:06d}", f"1.{i // 100}.0"
        listed.append(ListedRun(run_id, app, version, moment, state, axes, flagged, ratio, None, 0, i % 9 / 4))
    blocks, apps = [], {}
    for at in range(0, count, run_list.BLOCK_SIZE):
        rows = {run.run_id: run_list.packed(run) for run in listed[at : at + run_list.BLOCK_SIZE]}
        digest = shards.save(site, run_list.name_of(len(blocks)), rows, "")
        blocks.append({"digest": digest, **run_list.facts(rows.values())})
    names = ("cpu_app", "cpu_total", "rss_app")
    setup = Setup("c0ffee", "cold-start", "Pixel 6a", "dfs_greedy", 180.0, 2.0)
    for number in range(20):
        own = listed[number::20]
        versions = [own[at : at + 5] for at in range(0, len(own), 5)]
        found = []
        for at in range(0, len(versions), version_list.BLOCK_SIZE):
            rows = {
                group[0].version_name: version_list.packed(
                    VersionRow(
                        group[0].version_name, len(group), 0, group[0].started_at, group[-1].started_at,
                        tuple(run.run_id for run in group),
                        {name: SeriesCell(0.7, 0, len(group), 0, None) for name in names},
                        {name: SeriesPoints("core-seconds/s", (0.5,) * len(group)) for name in names},
                        (SetupLevels(setup, len(group), dict.fromkeys(names, Level(0.5, 0.4, 0.6))),),
                        (0,) * len(group),
                    )
                )
                for group in versions[at : at + version_list.BLOCK_SIZE]
            }  # fmt: skip
            digest = shards.save(site, version_list.name_of(number, len(found)), rows, "")
            found.append({"digest": digest, **version_list.facts(rows)})
        apps[f"com.rig.app{number:02d}"] = {"number": number, "blocks": found}
    first = [[run.run_id, *run_list.packed(run)] for run in listed[: -run_list.FIRST_ROWS - 1 : -1]]
    return render_index(IndexFacts(blocks, apps, first, 1.5, "default", dict.fromkeys(names, "cpu")))


def _drawn(html: str, rounds: int) -> tuple[float, float]:
    """Medians of s until the page with its stills is painted, and until the charts in view are drawn."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (only where a browser is there)

    painted, taken = [], []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as engine:
        site = Path(name)
        (site / "runs").mkdir()
        write_assets(site)
        page_file = site / "runs" / "page.html"
        page_file.write_text(html, "utf-8")
        browser = engine.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for _ in range(rounds + 1):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(page_file.as_uri())
            page.wait_for_function("() => performance.getEntriesByName('charts-drawn').length > 0")
            painted.append(page.evaluate(PAINTED))
            taken.append(page.evaluate(DRAWN))
            page.close()
        browser.close()
    return statistics.median(painted[1:]), statistics.median(taken[1:])  # the first one fills caches


def page_builders() -> ModuleType:
    """The made-up runs of the pages' tests."""
    path = Path(__file__).parents[1] / "reports" / "conftest.py"
    spec = importlib.util.spec_from_file_location("page_builders", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
