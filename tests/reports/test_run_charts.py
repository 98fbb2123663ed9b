"""The charts of a run's page in a real browser, opened from its folder: stills, screens, overlays, Perfetto's clock."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

from perfreg_assets.reports.data import NearestRun, Place, RunDetail
from perfreg_assets.reports.run_page import OVERLAY_POINTS, render_run_page
from perfreg_assets.reports.series_chart import series_chart
from perfreg_assets.reports.site_assets import write_assets
from perfreg_assets.reports.still_chart import MOST_POINTS, still_chart

NEAREST = NearestRun("shop-039", "1.4.0", 0.97, has_trace=True, start_ns=5 * 10**9)


@pytest.fixture
def contents(detail: Callable[..., RunDetail]) -> RunDetail:
    """An anomalous run with the values of its history, seconds that were not examined, and a clock of its own."""
    made = detail("anomalous")
    rng = np.random.default_rng(1)
    series = tuple(
        replace(
            one,
            history=(*(one.values + rng.normal(0, 1, len(one.values)) for _ in range(11)), None),
            place=Place("windows", None, 10.0, 170.0) if one.discords else None,
        )
        if one.verdict
        else one
        for one in made.series
    )
    run = replace(made.run, trace_start_ns=made.start_ns - 2_500_000_000)
    return replace(made, run=run, series=series, nearest=NEAREST)


@pytest.fixture
def page(watched: Any, tmp_path: Path, contents: RunDetail) -> Iterator[Any]:
    (tmp_path / "runs").mkdir()
    write_assets(tmp_path)
    (tmp_path / "runs" / "page.html").write_text(render_run_page(contents), "utf-8")
    with watched() as found:
        found.goto((tmp_path / "runs" / "page.html").as_uri())
        found.wait_for_selector("body[data-ready=yes]", timeout=60_000)
        yield found


def _figure(page: Any) -> dict[str, Any]:
    return page.evaluate(
        """() => {
          const chart = document.querySelector("[data-chart]");
          const { shapes, xaxis } = chart.layout;
          return { names: chart.data.map((one) => one.name), shapes, title: xaxis.title.text };
        }"""
    )


def _tab_to(page: Any, target: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(target) => document.activeElement.matches(target)", target):
            return
    pytest.fail(f"Tab never reaches {target}")


@pytest.mark.browser
def test_screens_are_chosen_with_the_keyboard_alone(page, contents):
    covered = len(_figure(page)["shapes"])
    _tab_to(page, "[data-screen='0']")
    first = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_function("(n) => document.querySelector('[data-chart]').layout.shapes.length > n", arg=covered)
    payload = json.loads(page.locator("#run-data").text_content())["path"]
    ends = [*payload["starts"][1:], payload["end"]]
    own = sum(
        end - start for start, end, code in zip(payload["starts"], ends, payload["codes"], strict=True) if code == 0
    )
    name = payload["screens"][0]
    assert first.split() == ["1", name, f"{own:.0f}", "s"]
    told = page.locator("[data-screens-told]").inner_text()
    assert told.startswith(f"{own:.0f} s of {payload['end']:.0f} s are on {name}; ")
    shown = page.locator("[data-window]:visible").count()
    assert f"{shown} of 2 suspicious windows" in told
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("[data-screen][aria-pressed=true]").count() == 2
    page.get_by_role("button", name="All screens").focus()
    page.keyboard.press("Enter")
    assert page.locator("[data-screen][aria-pressed=true]").count() == 0
    assert page.locator("[data-window]:visible").count() == 2
    page.wait_for_function("(n) => document.querySelector('[data-chart]').layout.shapes.length === n", arg=covered)


@pytest.mark.browser
def test_runs_of_the_history_are_laid_over_the_charts_and_taken_off(page):
    assert page.locator("[data-overlay]").count() == 11, "the twelfth has no values"
    page.get_by_text("Runs of the history over the charts").click()
    box = page.get_by_label(re.compile(r"\b2: shop-038"))
    box.focus()
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('[data-chart]').data.some((one) => one.name === 'history 2')")
    chart = page.locator("[data-chart]").first
    assert chart.locator(".annotation").all_text_contents() == ["2"], "its rank stands at its end"
    page.keyboard.press("Space")
    page.wait_for_function("() => !document.querySelector('[data-chart]').data.some((one) => one.name === 'history 2')")


@pytest.mark.browser
def test_ranks_of_runs_that_end_near_each_other_stand_one_above_the_other(page):
    page.get_by_text("Runs of the history over the charts").click()
    for rank in (1, 2, 3, 4):
        page.get_by_label(re.compile(rf"\b{rank}: shop-")).check()
    for number in (0, 1):
        chart = page.locator(f"[data-chart='{number}']")
        chart.scroll_into_view_if_needed()
        page.wait_for_function(
            "(n) => document.querySelectorAll(`[data-chart='${n}'] .annotation`).length === 4", arg=number
        )
        plot = chart.locator(".nsewdrag").first.bounding_box()
        boxes = sorted((one.bounding_box() for one in chart.locator(".annotation").all()), key=lambda box: box["y"])
        middles = [box["y"] + box["height"] / 2 for box in boxes]
        assert all(after - before >= 10 for before, after in pairwise(middles)), middles
        assert plot["y"] <= middles[0] < middles[-1] <= plot["y"] + plot["height"]
        assert sorted(chart.locator(".annotation").all_text_contents()) == ["1", "2", "3", "4"]


@pytest.mark.browser
def test_perfettos_clock_and_the_nearest_run_stand_beside(page):
    assert _figure(page)["title"] == "time since start · 0 s is 2.5 s in Perfetto"
    top = page.get_by_role("link", name="Beside it: shop-039 of 1.4.0, same seconds").get_attribute("href")
    assert "/traces/shop-039&visStart=125000000000&visEnd=149000000000&" in unquote(top), "its second 120 to 144"
    assert page.get_by_role("link", name="beside shop-039").count() == 2


@pytest.mark.browser
def test_no_script_leaves_a_name_in_the_page(page):
    own = page.evaluate(
        """() => {
          const frame = document.createElement("iframe");
          document.body.append(frame);
          const plain = new Set(Object.getOwnPropertyNames(frame.contentWindow));
          return Object.getOwnPropertyNames(window).filter((name) => !plain.has(name));
        }"""
    )
    plotlys = {"Plotly", "PlotlyConfig", "PolyBool", "moduleName"}
    assert set(own) - plotlys - {"0"} <= {"d3"}, "0 is the frame"


@pytest.mark.browser
def test_the_chart_is_there_without_scripts_and_on_paper(browser, tmp_path, contents):
    page_file = tmp_path / "page.html"
    (tmp_path / "assets").mkdir()
    write_assets(tmp_path)
    page_file.write_text(render_run_page(contents).replace("../assets", "assets"), "utf-8")
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(page_file.as_uri())
    judged = sum(1 for one in contents.series if one.verdict)
    assert page.locator(".chart .still").count() == judged
    assert page.locator(".box .still").count() == page.locator("[data-box]").count() >= judged
    plot = page.locator(".still .plot").first.bounding_box()
    line = page.locator(".still .plot polyline.run").first.bounding_box()
    assert plot["width"] > 600
    assert line["width"] == pytest.approx(plot["width"], abs=10)
    assert plot["y"] <= line["y"] + 1
    assert line["y"] + line["height"] <= plot["y"] + plot["height"] + 1
    assert page.locator(".still .hatched").count() == 2
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_times_of_a_still_stand_on_one_line_below_the_plot_and_within_it(browser, tmp_path, detail, width):
    page_file = tmp_path / "page.html"
    (tmp_path / "assets").mkdir()
    write_assets(tmp_path)
    page_file.write_text(render_run_page(detail("anomalous", n=70)).replace("../assets", "assets"), "utf-8")
    context = browser.new_context(java_script_enabled=False, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(page_file.as_uri())
    still = page.locator(".chart .still").first
    frame, strip = still.bounding_box(), still.locator(".strip").bounding_box()
    times = still.locator(".x").all()
    assert times[-1].inner_text() == "70 s"
    for text in times:
        box = text.bounding_box()
        assert box["height"] < 24
        assert box["y"] >= strip["y"] + strip["height"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 0.5
    context.close()


def test_a_still_keeps_spikes_gaps_and_what_was_not_examined(contents):
    worst = next(one for one in contents.series if one.discords)
    values = np.full(5000, 1e8)
    values[1234] = 3e8
    values[2000:2600] = np.nan
    chart = series_chart(replace(worst, values=values, band=None, barycenter=None, profile=None))
    assert chart.range()[1] > 300
    text = str(still_chart(chart, None, 5000.0))
    lines = [
        [tuple(map(int, point.split(","))) for point in one.split()]
        for one in re.findall(r'<polyline class="run" points="([^"]+)"', text)
    ]
    assert len(lines) == 2, "a gap is not drawn over"
    points = [point for line in lines for point in line]
    assert len(points) <= MOST_POINTS + 2
    top = min(points, key=lambda point: point[1])
    assert top[0] == round(2000 * 1234 / 5000)
    assert text.count('class="hatched"') == 2
    assert text.count('class="window"') == len(worst.discords)


def test_a_series_without_a_value_has_no_still(contents):
    worst = next(one for one in contents.series if one.discords)
    assert still_chart(series_chart(replace(worst, values=np.full(9, np.nan))), None, 9.0) == ""
    assert series_chart(replace(worst, values=None)) is None


def test_an_overlay_of_a_long_run_is_thinned_to_means(contents):
    worst = next(one for one in contents.series if one.discords)
    long = np.arange(1000, dtype=float)
    series = tuple(replace(one, history=(long,)) if one is worst else one for one in contents.series)
    html = render_run_page(replace(contents, series=series))
    payload = json.loads(re.search(r'id="run-data">(.*?)</script>', html, re.DOTALL)[1])
    (member,) = next(one for one in payload["series"] if one["name"] == worst.name)["members"]
    assert member["step"] == 5
    assert len(member["values"]) == 200 <= OVERLAY_POINTS
    assert member["values"][:2] == [2, 7]
