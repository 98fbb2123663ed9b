"""Names of versions as somebody may give them, long and of any direction: pages stay as wide as their window, and what
stands around a name is read as it was written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.site import build_site
from perfreg_assets.reports.templating import isolated

LONG = "1.5.0-" + "x" * 152
TURNED, TURNED_BEFORE = "1.2\u202e0.1", "1.1\u202e0.1"
MARKED = '1.1.0 "&' + "🎈" * 20
RUN_OF_LONG, RUN_OF_TURNED = "notes-0016", "shop-0016"
BACKWARDS = """(root) => {
  const found = [];
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest("bdi")) continue;
    const at = (i) => {
      const range = document.createRange();
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      return range.getBoundingClientRect();
    };
    for (let i = 1; i < node.length; i++) {
      const [one, next] = [at(i - 1), at(i)];
      if (one.top === next.top && one.width && next.width && next.left < one.left) found.push(node.data);
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any, sample_site: Any) -> Path:
    home = tmp_path_factory.mktemp("long")
    original = sample_site[0]
    warehouse = type(original)(home / "perfreg.duckdb", lock_timeout_s=10.0)
    shutil.copy(original.path, warehouse.path)
    shutil.copytree(original.data.root, warehouse.data.root)
    with warehouse.writing() as writer:
        for name, version, app in (
            (LONG, "1.2.0", "com.example.notes"),
            (MARKED, "1.1.0", "com.example.notes"),
            (TURNED, "1.2.0", "com.example.shop"),
            (TURNED_BEFORE, "1.1.0", "com.example.shop"),
        ):
            writer.execute(
                "UPDATE core.runs SET version_name = ? WHERE version_name = ? AND app = ?", [name, version, app]
            )
    with warehouse.reading() as reader:
        build_site(reader, home / "reports")
    return home / "reports"


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 390])
def test_no_page_is_wider_than_its_window(watched, folder, width):
    pages = ["index.html", f"runs/{RUN_OF_LONG}.html", version_page("com.example.notes", LONG)]
    with watched(width=width) as page:
        for name in pages:
            page.goto((folder / name).as_uri())
            page.wait_for_selector("body[data-ready=yes], [aria-current=page]")
            page.wait_for_timeout(300)
            assert LONG in page.locator("main").inner_text()
            assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0, name


@pytest.mark.browser
def test_the_figures_of_a_heat_map_stay_in_view_beside_a_long_name(watched, folder):
    with watched(width=1400) as page:
        page.goto((folder / "index.html").as_uri())
        cell = page.locator("section[data-app='com.example.notes'] table.heat td a").last
        cell.wait_for()
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= 1400


@pytest.mark.browser
def test_a_name_that_turns_the_direction_turns_nothing_beside_it(watched, folder):
    with watched() as page:
        page.goto((folder / f"runs/{RUN_OF_TURNED}.html").as_uri())
        for selector, name in (("#headline", TURNED), (".actions", TURNED_BEFORE)):
            element = page.locator(selector)
            assert name in element.text_content()
            assert element.evaluate(BACKWARDS) == [], selector
        page.goto((folder / version_page("com.example.shop", TURNED)).as_uri())
        assert page.locator("#headline").evaluate(BACKWARDS) == []
        page.goto((folder / "index.html").as_uri())
        assert page.locator("section[data-app='com.example.shop'] .grew").evaluate(BACKWARDS) == []


@pytest.mark.browser
def test_a_name_below_a_trend_is_cut_between_its_signs(watched, folder):
    with watched() as page:
        page.goto((folder / "index.html").as_uri())
        chart = page.locator("section[data-app='com.example.notes'] .trend").first
        chart.scroll_into_view_if_needed()
        chart.locator(".xtick text").first.wait_for()
        ticks = chart.locator(".xtick text").all_text_contents()
        assert MARKED[:14] in ticks
        assert "1.5.0-xxxxxxxx" in ticks


def test_a_name_is_set_apart_where_it_stands_by_itself_and_never_markup():
    assert isolated("1 of 11 runs of 1.", "1") == "<bdi>1</bdi> of 11 runs of <bdi>1</bdi>."
    assert isolated("<i> is normal & well", "<i>") == "<bdi>&lt;i&gt;</bdi> is normal &amp; well"
    assert isolated("<b> of no version", None) == "&lt;b&gt; of no version"
