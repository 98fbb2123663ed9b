"""Pages on paper, and for readers who tell colours apart badly or not at all; a run's page opened from its folder."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.site_assets import write_assets

pytestmark = pytest.mark.browser

DEFICIENCIES = ("achromatopsia", "deuteranopia", "protanopia", "tritanopia")
PHOTOCOPY = """() => [...document.querySelectorAll(".keys")].map((list) => [...list.querySelectorAll("li i")].map((one) => {
  const style = getComputedStyle(one);
  const edges = ["Top", "Left"].map((side) => `${style[`border${side}Style`]} ${style[`border${side}Width`]}`);
  return [one.getBoundingClientRect().height, style.backgroundImage.slice(0, 9), ...edges].join("; ");
}))"""  # noqa: E501

WIDTHS = """() => [...document.querySelectorAll(".trend")].map((one) =>
  [one.clientWidth, Math.round(Number(one.querySelector(".main-svg")?.getAttribute("width")))])"""


@pytest.fixture
def page_file(tmp_path, detail) -> Any:
    contents = detail("anomalous")
    (tmp_path / "runs").mkdir()
    write_assets(tmp_path)
    path = tmp_path / "runs" / "page.html"
    path.write_text(render_run_page(replace(contents)), "utf-8")
    return path


@pytest.fixture
def page(browser, page_file) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="dark")
    found = context.new_page()
    found.goto(page_file.as_uri())
    found.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    found.wait_for_selector("[data-box][data-drawn=yes]", timeout=60_000)
    yield found
    context.close()


def test_on_paper_the_chart_stands_before_its_box_plot_with_its_key(page):
    page.emulate_media(media="print")
    chart, box = (page.locator(one).first.bounding_box() for one in ("[data-chart]", "[data-box]"))
    assert chart["y"] + chart["height"] <= box["y"] + 1
    assert page.locator("[data-chart] .still").first.is_visible()
    assert not page.locator("[data-chart] .plot-container").first.is_visible()
    plot, sign = (page.locator(f".box .still {one}").first.bounding_box() for one in (".plot", ".own"))
    assert plot["y"] <= sign["y"] <= plot["y"] + plot["height"]
    assert plot["y"] + plot["height"] <= box["y"] + box["height"]
    assert not page.locator(".box .plot-container").first.is_visible()
    for swatch in page.locator(".keys i").all():
        assert swatch.is_visible()
        assert swatch.evaluate("(one) => getComputedStyle(one).printColorAdjust") == "exact"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", (
        "though it was dark"
    )
    assert page.locator(".screens button i").first.is_visible()


def test_the_worst_cell_of_the_heat_map_can_be_read_on_paper(browser, sample_site):
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto((sample_site[1] / "index.html").as_uri())
        page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
        page.emulate_media(media="print")
        cell = page.locator("table.heat td.a4 a").first
        ink, paper, adjust = cell.evaluate(
            "(one) => [getComputedStyle(one).color, getComputedStyle(one.closest('td')).backgroundColor,"
            " getComputedStyle(one.closest('td')).printColorAdjust]"
        )
        assert adjust == "exact", "what is white is printed on its colour"
        bright, dark = sorted((_luminance(ink), _luminance(paper)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (scheme, ink, paper)
        context.close()


def test_trends_of_the_index_are_as_wide_as_paper_and_as_before_behind_it(browser, sample_site):
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto((sample_site[1] / "index.html").as_uri())
    page.wait_for_selector("body[data-loaded=yes]", timeout=60_000)
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = ({WIDTHS})(); }})")
    page.pdf(format="A4")
    printed = page.evaluate("window.printed")
    assert len(printed) > 2
    assert {width for _, width in printed} == {320}
    page.wait_for_function(f"({WIDTHS})().every(([room, width]) => room !== 320 && Math.abs(room - width) <= 1)")
    page.set_viewport_size({"width": 718, "height": 900})  # A4 without its margins
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for room, width in page.evaluate(WIDTHS):
        assert room == width == 320
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 718
    context.close()


def test_the_head_of_the_list_is_text_on_paper(browser, sample_site):
    """Chromium repeats a table's head on each page, but none of its buttons."""
    context = browser.new_context()
    page = context.new_page()
    page.goto((sample_site[1] / "index.html").as_uri())
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    names = page.locator("[data-runs] th").all_inner_texts()
    page.emulate_media(media="print")
    assert page.locator("[data-runs] th").all_inner_texts() == names
    assert not any(one.is_visible() for one in page.locator("[data-runs] th button").all())
    assert not page.get_by_text("beside each other").is_visible()  # which tells of buttons that paper has none of
    context.close()


WORDS_IN_PARTS = """
[...document.querySelectorAll("[data-runs] .badge")].flatMap((badge) => [...badge.querySelectorAll("*"), badge])
  .flatMap((one) => [...one.childNodes]).filter((node) => node.nodeType === Node.TEXT_NODE)
  .flatMap((node) => [...node.data.matchAll(/\\S+/g)].map((word) => {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      return [word[0], new Set([...range.getClientRects()].map((box) => box.top)).size];
    }))
"""


def test_no_word_of_a_verdict_is_taken_apart_on_paper(browser, sample_site):
    context = browser.new_context(viewport={"width": 718, "height": 1000})
    page = context.new_page()
    page.goto((sample_site[1] / "index.html").as_uri())
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    page.emulate_media(media="print")
    words = page.evaluate(WORDS_IN_PARTS)
    assert {"Normal", "Anomalous"} <= {word for word, _ in words}
    assert {lines for _, lines in words} == {1}
    context.close()


def _luminance(colour: str) -> float:
    parts = [float(one) / 255 for one in colour.strip("rgb()").split(",")[:3]]
    red, green, blue = (one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_nothing_in_a_key_is_told_by_its_colour_alone(page):
    for signs in page.evaluate(PHOTOCOPY):
        assert len(set(signs)) == len(signs), signs
    symbols = page.locator(".badge [aria-hidden]").all_inner_texts()
    assert all(one.strip() for one in symbols)
    numbers = page.locator(".screens button i").all_inner_texts()
    assert numbers == [str(i + 1) for i in range(len(numbers))]


def test_suspicious_windows_are_seen_whatever_colours_are_told_apart(page):
    page.emulate_media(color_scheme="light")
    client = page.context.new_cdp_session(page)
    chart = page.locator("[data-chart]").first
    chart.scroll_into_view_if_needed()
    plot = chart.locator(".nsewdrag").first.bounding_box()
    for deficiency in DEFICIENCIES:
        client.send("Emulation.setEmulatedVisionDeficiency", {"type": deficiency})
        shot = Image.open(io.BytesIO(page.screenshot(clip={**plot, "height": 24}))).convert("L")
        row = np.asarray(shot, dtype=float)[20]  # below the labels, above the lines
        at = np.linspace(0, 180, len(row))
        inside, beside = np.median(row[(at > 122) & (at < 142)]), np.median(row[(at > 60) & (at < 110)])
        assert beside - inside > 12, (deficiency, beside, inside)
    client.detach()
