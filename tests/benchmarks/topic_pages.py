"""How long a page of 12 series × 1,800 samples takes in a real browser until all charts in view are drawn."""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from measuring import Row, under

from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.templating import asset_files

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
NAMES = ("cpu_app", "cpu_total", "rss_app", *(f"cpu_core_{core}" for core in range(9)))


def rows(quick: bool = False) -> list[Row]:
    """Rendering the page, and opening it; the latter only where Chromium is installed."""
    made = _builders()
    detail = made.make_detail("anomalous", n=1800)
    states = {"cpu_app": "normal", "cpu_total": "normal", "rss_app": "anomalous"}
    series = tuple(made.make_series(name, n=1800, state=states.get(name)) for name in NAMES)
    begin = time.perf_counter()
    html = render_run_page(replace(detail, series=series))
    rendered = time.perf_counter() - begin
    table = [Row("pages", "12 series x 1800 samples: rendering", rendered)]
    if CHROMIUM.exists():
        drawn = statistics.median(_drawn(html, 2 if quick else 5))
        table.append(under("pages", "the same in a browser, until its charts are drawn", drawn, 1.6))
    return table


def _drawn(html: str, rounds: int) -> list[float]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (only where a browser is there)

    taken = []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as engine:
        site = Path(name)
        for folder in ("runs", "assets"):
            (site / folder).mkdir()
        for asset, source in asset_files().items():
            shutil.copy(source, site / "assets" / asset)
        page_file = site / "runs" / "page.html"
        page_file.write_text(html, "utf-8")
        browser = engine.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for _ in range(rounds + 1):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(page_file.as_uri())
            page.wait_for_function("() => performance.getEntriesByName('charts-drawn').length > 0")
            taken.append(page.evaluate("() => performance.getEntriesByName('charts-drawn')[0].startTime / 1000"))
            page.close()
        browser.close()
    return taken[1:]  # the first one fills caches


def _builders() -> ModuleType:
    """The made-up runs of the pages' tests."""
    path = Path(__file__).parents[1] / "reports" / "conftest.py"
    spec = importlib.util.spec_from_file_location("page_builders", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
