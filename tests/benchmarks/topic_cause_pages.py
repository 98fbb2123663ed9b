"""How long charts of 10,000 nodes take in a real browser: a call log's page, and a suspicious window on a run's."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from measuring import Row, under
from topic_pages import CHROMIUM, FLAGS, page_builders

from perfreg_assets.cli import main
from perfreg_assets.reports.data import Explained, Stack
from perfreg_assets.reports.flame_tree import flame_tree
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.site_assets import write_assets

NODES = 10_000
MOST_S = 1.0
CHILDREN = 6
SECOND = 10**9


def rows(quick: bool = False) -> list[Row]:
    """Only where Chromium is installed."""
    if not CHROMIUM.exists():
        return []
    rounds = 3 if quick else 7
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log_page = _log_page(folder)
        run_page = _run_page(folder)
        opened, zoomed = _timed(log_page, "[data-flame]", rounds)
        flames, moved = _timed(run_page, "[data-flame='0']", rounds)
    return [
        under(
            "cause_pages", f"call log, {NODES:,} nodes: opened until flame graph and circles are drawn", opened, MOST_S
        ),
        under("cause_pages", "the same: zoomed into a child by keyboard", zoomed, MOST_S),
        under(
            "cause_pages", f"run, a window of {NODES:,} nodes: opened until its flame graph is drawn", flames, MOST_S
        ),
        under("cause_pages", "the same: zoomed into a child by keyboard", moved, MOST_S),
    ]


def _labels() -> Iterator[tuple[int, ...]]:
    """Of a tree with `NODES` nodes, level by level; some have six children, some two."""
    random = np.random.default_rng(20261)
    level, count = [(1,)], 0
    while level:
        following = []
        for label in level:
            if count == NODES:
                return
            yield label
            count += 1
            following += [(*label, child) for child in range(1, 1 + int(random.integers(2, CHILDREN + 1)))]
        level = following


def _log_page(folder: Path) -> Path:
    """A log with a transaction of so many different methods, as the command draws it."""
    labels = list(_labels())
    below: dict[tuple[int, ...], int] = dict.fromkeys(labels, 1)
    for label in reversed(labels):
        if len(label) > 1:
            below[label[:-1]] += below[label]
    lines = [
        f"x PERF tx=T1 svc=s {'.'.join(map(str, label))} com.example.C{k % 97}.method{k} elapsed={below[label]}.5ms\n"
        for k, label in enumerate(labels)
    ]
    log, page = folder / "log.txt", folder / "log.html"
    log.write_text("".join(lines))
    done = CliRunner().invoke(main, ["causes", "--log", str(log), "--html", str(page)])
    if done.exit_code or not page.exists():
        raise SystemExit(f"no page of the call log: {done.output}")
    return page


def _run_page(folder: Path) -> Path:
    """A run with a suspicious window whose slices make a graph of so many nodes."""
    made = page_builders()
    stacks = tuple(
        Stack("slices", "com.rig.shop", "main", tuple(f"slice {part}" for part in label), 1e-4, 0.8e-4)
        for label in _labels()
    )
    nodes = flame_tree({one.stack: (1.0, 1.0) for one in stacks}, {})["parent"]
    assert len(nodes) == NODES
    window = Explained(
        is_whole_run=False, start_s=12.0, end_s=20.0, start_ns=12 * SECOND, end_ns=20 * SECOND, confidence=0.9,
        state="ranked", state_reason=None, disturbance=None, stacks=stacks,
    )  # fmt: skip
    contents = made.make_detail("anomalous")
    series = tuple(replace(one, explained=(window,)) if one.name == "rss_app" else one for one in contents.series)
    (folder / "runs").mkdir()
    write_assets(folder)
    page = folder / "runs" / "page.html"
    page.write_text(render_run_page(replace(contents, series=series)), "utf-8")
    return page


def _timed(path: Path, canvas: str, rounds: int) -> tuple[float, float]:
    """Medians of s from the begin of navigation until it is drawn, and of a zoom until the next frame is shown."""
    opened, zoomed = [], []
    for page in _pages(path, rounds):
        page.wait_for_function("() => performance.getEntriesByName('flames-drawn').length > 0")
        opened.append(page.evaluate("() => performance.getEntriesByName('flames-drawn')[0].startTime / 1000"))
        page.wait_for_load_state("networkidle")
        zoomed.append(page.evaluate(_ZOOM, canvas))
    return statistics.median(opened[1:]), statistics.median(zoomed[1:])  # the first one fills caches


_ZOOM = """async (canvas) => {
  const chart = document.querySelector(canvas), begin = performance.now();
  for (const key of ["ArrowDown", "Enter"]) chart.dispatchEvent(new KeyboardEvent("keydown", { key }));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return (performance.now() - begin) / 1000;
}"""


def _pages(path: Path, rounds: int) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (only where a browser is there)

    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for _ in range(rounds + 1):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(path.as_uri())
            yield page
            page.close()
        browser.close()
