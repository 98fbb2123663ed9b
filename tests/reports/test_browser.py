"""The pages in a real browser: what they show, how they answer, and the way into Perfetto. Skipped without chromium."""

from __future__ import annotations

import base64
import json
import re
import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from perfreg_assets.cli.comparing import page_of_runs
from perfreg_assets.reports import wording
from perfreg_assets.reports.data import Attachment, Explained, Stack
from perfreg_assets.reports.index_page import LOADED_AHEAD
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.serve import make_server, open_socket
from perfreg_assets.reports.site import build_site
from perfreg_assets.reports.site_assets import write_assets
from perfreg_assets.run import PathStep
from perfreg_assets.settings import Settings

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNiAAAABgADNjd8qAAAAABJRU5ErkJggg==")
SESSION = Path(__file__).parents[1] / "data" / "sessions" / "notes-026"

pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class Served:
    address: str
    warehouse: Any
    run: str  # an anomalous run with a real trace
    window: tuple[int, int]  # of the run's worst series' surest discord, ns
    folder: Path  # of the site


@pytest.fixture
def page(watched) -> Iterator[Any]:
    with watched() as found:
        yield found


@pytest.fixture(scope="module")
def served(sample_site, tmp_path_factory) -> Iterator[Served]:
    """The sample's site, served; one run's trace, windows and clock are those of a recorded session."""
    home = tmp_path_factory.mktemp("home")
    original = sample_site[0]
    warehouse = type(original)(home / "perfreg.duckdb", lock_timeout_s=10.0)
    shutil.copy(original.path, warehouse.path)
    shutil.copytree(original.data.root, warehouse.data.root)
    session = json.loads((SESSION / "run.json").read_text())
    start = session["exploration"]["start_ns"]
    with warehouse.writing() as writer:
        run = writer.value(
            "SELECT run_id FROM marts.discords JOIN marts.runs USING (run_id) "
            "WHERE runs.is_anomalous AND runs.app = 'com.example.notes' "
            "AND run_id NOT IN (SELECT run_id FROM marts.verdicts WHERE is_current AND is_anomalous IS NULL) LIMIT 1"
        )
        writer.execute(
            "UPDATE core.discords SET start_ns = ? + CAST(start_s * 1e9 AS BIGINT), "
            "end_ns = ? + CAST(end_s * 1e9 AS BIGINT) WHERE run_id = ?",
            [start, start, run],
        )
    settings = Settings(home=home, warehouse=warehouse.path)
    (settings.runs_dir / run).mkdir(parents=True)
    for file in SESSION.iterdir():
        shutil.copy(file, settings.runs_dir / run / file.name)
    with warehouse.reading() as reader:
        build_site(reader, settings.reports_dir)
        (window,) = reader.rows(
            "SELECT d.start_ns, d.end_ns FROM marts.discords AS d "
            "JOIN marts.verdicts AS v ON v.run_id = d.run_id AND v.series = d.series "
            "WHERE d.run_id = ? AND v.is_current ORDER BY v.critical_omega DESC, d.confidence DESC LIMIT 1",
            [run],
        )
    with open_socket(0) as listener:
        server = make_server(settings, listener, compare=partial(page_of_runs, settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.02)
        yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}", warehouse, run, window, settings.reports_dir)
        server.should_exit = True
        thread.join(20)


def _open(page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("body[data-ready=yes]", timeout=20_000)


def _rows(page) -> list[str]:
    return [row.inner_text() for row in page.locator("[data-runs] tbody tr").all() if row.is_visible()]


def _counted(page, count: int) -> None:
    """Waits until the list says that so many runs fit."""
    page.wait_for_function(
        "(count) => document.querySelector('[data-count]').textContent.startsWith(`${count} `)"
        " && !document.querySelector('[aria-busy]')",
        arg=count,
    )


def _soon(page, look, is_wanted):
    """What `look` finds as soon as that is wanted, or what it finds after ten seconds."""
    for _ in range(100):
        if is_wanted(look()):
            break
        page.wait_for_timeout(100)
    return look()


def _range(page, chart: int) -> list[float]:
    return page.evaluate('(i) => document.querySelector(`[data-chart="${i}"]`).layout.xaxis.range', chart)


def _payload(page) -> dict[str, Any]:
    return json.loads(page.locator("#run-data").text_content())


def _point(page, chart: int, seconds: float) -> tuple[float, float]:
    """Where on the screen a moment of a chart is."""
    chart_element = page.locator(f'[data-chart="{chart}"]')
    chart_element.scroll_into_view_if_needed()
    box = chart_element.locator(".nsewdrag").first.bounding_box()
    a, b = _range(page, chart)
    return box["x"] + box["width"] * (seconds - a) / (b - a), box["y"] + box["height"] / 2


def test_from_the_filter_to_the_discord_in_perfetto(page, served):
    with served.warehouse.reading() as reader:
        rows = reader.rows("SELECT run_id FROM marts.runs WHERE is_anomalous AND app = 'com.example.notes'")
    _open(page, served.address)
    page.locator("select[name=app]").select_option("com.example.notes")
    page.get_by_label("Anomalous only").check()
    _counted(page, len(rows))
    assert {row.split()[0] for row in _rows(page)} == {run_id for (run_id,) in rows}
    assert page.url.endswith("#app=com.example.notes&anomalous=1")
    page.locator("[data-runs]").get_by_role("link", name=served.run).click()
    page.wait_for_selector("body[data-ready=yes]")
    assert "outside what the last 12 comparable runs did" in page.locator("h1").inner_text()

    worst = _payload(page)["series"][0]
    page.mouse.move(*_point(page, 0, 40.0))
    page.wait_for_selector(".hoverlayer .legend")
    hover = page.locator(".hoverlayer").first.text_content()
    assert "40 s since start" in hover
    told = re.findall(
        r"(this run|history|barycenter): ([\d,.]+) ([^(:]+?)(?= \(|history|barycenter|this|screen|profile)", hover
    )
    assert {name for name, _, _ in told} == {"this run", "history", "barycenter"}, hover
    assert {unit for _, _, unit in told} == {worst["axis"]}, "one unit"
    assert all(len(value.replace(",", "").replace(".", "").lstrip("0")) <= 4 for _, value, _ in told), "and four digits"
    assert float(told[0][1].replace(",", "")) == pytest.approx(worst["values"][40] * worst["factor"], rel=1e-3)
    assert "screen:" in hover

    with page.context.expect_page() as opened:
        page.get_by_role("link", name=re.compile("Open in Perfetto")).click()
    perfetto = opened.value
    perfetto.wait_for_selector("text=/com\\.rig\\.notes/", timeout=90_000)
    visible = perfetto.evaluate(
        "() => { const w = app.trace.timeline.visibleWindow; return [String(w.start.integral), Number(w.duration)]; }"
    )
    start, end = served.window
    assert int(visible[0]) == start
    assert visible[1] == pytest.approx(end - start, abs=2)


def test_the_filter_is_in_the_address_and_survives_reloading(page, served):
    _open(page, f"{served.address}/#app=com.example.shop&version=1.2.0&series=rss_app&anomalous=1")
    first = _rows(page)
    assert first
    assert all("com.example.shop" in row and "1.2.0" in row and "Memory" in row for row in first)
    assert page.locator("section[data-app='com.example.notes']").is_hidden()
    page.reload()
    page.wait_for_selector("body[data-ready=yes]")
    assert _rows(page) == first
    page.get_by_role("button", name="Clear").click()
    with served.warehouse.reading() as reader:
        _counted(page, reader.value("SELECT count(*) FROM marts.runs"))
    assert "#" not in page.url


def test_runs_are_filtered_by_the_state_of_an_axis(page, served):
    with served.warehouse.reading() as reader:
        rows = reader.rows(
            "SELECT run_id FROM marts.axis_verdicts WHERE is_current AND axis = 'cpu' AND state = 'improved'"
        )
    _open(page, served.address)
    page.get_by_label("Axis").select_option(label="CPU: improved")
    assert rows
    _counted(page, len(rows))
    assert {row.split()[0] for row in _rows(page)} == {run_id for (run_id,) in rows}
    assert page.url.endswith("#axis=cpu.improved")
    assert page.get_by_role("img", name="CPU: improved").count() == len(rows)
    page.reload()
    page.wait_for_selector("body[data-ready=yes]")
    assert len(_rows(page)) == len(rows)


def test_the_chip_of_an_axis_leads_to_its_series_with_the_keyboard_alone(page, served):
    _open(page, f"{served.address}/runs/{served.run}.html")
    chip = page.get_by_role("list", name="State of each axis").get_by_role("link", name=re.compile("Memory: anomalous"))
    for _ in range(20):
        page.keyboard.press("Tab")
        if chip.evaluate("(link) => document.activeElement === link"):
            break
    else:
        pytest.fail("Tab never reaches the chip")
    page.keyboard.press("Enter")
    page.wait_for_function(
        """() => {
            const top = document.querySelector("#series-rss_app").getBoundingClientRect().top;
            return -1 <= top && top < 900;
        }"""
    )


def test_the_chip_of_a_series_that_nobody_has_opens_the_list_of_those(page, tmp_path, detail):
    contents = detail("series_missing")
    whole = replace(contents.run_verdict, state="normal", is_anomalous=False, missing_series=())
    _open(page, _site_with(tmp_path, render_run_page(replace(contents, run_verdict=whole))))
    told = page.get_by_text("Its history does not have it either.")
    assert not told.is_visible()
    page.get_by_role("link", name=re.compile("Memory: series missing")).click()
    assert told.is_visible()


def test_a_filter_that_matches_nothing_says_so(page, served):
    _open(page, served.address)
    page.get_by_label("Run", exact=True).fill("no such run")
    page.get_by_text("No run matches these filters.").wait_for()
    assert page.get_by_text(re.compile(r"^0 of \d+ runs$")).is_visible()


def test_a_cell_of_the_heat_map_leads_to_its_runs(page, served):
    _open(page, served.address)
    cell = page.locator("section[data-app='com.example.notes'] table.heat a", has_text="▲").first
    runs = int(re.search(r"▲ (\d+) of", cell.inner_text())[1])
    cell.click()
    _counted(page, runs)
    rows = _rows(page)
    assert rows
    assert all("Anomalous" in row for row in rows)


def _as_with_very_many_runs(route) -> None:
    """A page that asks the server for each list; of few runs it would load them all."""
    answer = route.fetch()
    assert f'"ahead":{LOADED_AHEAD}' in answer.text()
    route.fulfill(response=answer, body=answer.text().replace(f'"ahead":{LOADED_AHEAD}', '"ahead":0'))


ADDRESSES = {
    "newest first": "",
    "app and version": "#app=com.example.shop&version=1.1.0",
    "axis": "#axis=memory.anomalous",
    "series": "#series=cpu_app",
    "part of a name": "#q=ES-00",
    "anomalous": "#anomalous=1",
    "not reviewed": "#open=1",
    "no app": "#app=(unknown)",
    "device": "#device=Pixel%206a%20%2F%20Android%2013",
    "verdict": "#state=not_enough_history",
    "not taken in": "#state=quarantined",
    "reason": "#reason=time_without_zone",
    "several at once": "#app=com.example.shop&state=anomalous&axis=memory.anomalous&sort=worst",
    "by run": "#sort=run&order=up",
    "by worst": "#sort=worst",
    "by worst, best first": "#sort=worst&order=up",
    "second page": "#page=2",
    "second page by app": "#sort=app&order=up&page=2",
    "by start, oldest first": "#order=asc",
    "by run, in words of SQL": "#sort=run&order=asc",
    "beyond the last page": "#page=99",
    "far beyond it": "#page=1e300",
    "an unknown app": "#app=com.other",
    "an unknown device": "#device=foo",
    "a state of no run": "#state=no_such_state",
    "an axis of no run": "#axis=gpu.anomalous",
    "no axis with a state": "#axis=gpu",
    "a reason of no run": "#reason=foo",
    "a series of no run": "#series=no_such_series",
}
NOTHING = {"(unknown)", "com.other", "foo", "no_such_state", "gpu.anomalous", "gpu", "no_such_series"}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_a_folder_shows_the_list_that_the_server_shows(page, served, sample_site, address):
    """The endpoint asks the marts, the file looks through its pieces: same runs, same order, same words."""
    seen = []
    page.route(f"{served.address}/", _as_with_very_many_runs)
    for start in (served.address, (served.folder / "index.html").as_uri()):
        view = f"{address or '#'}{'&' if address else ''}rows=20"
        _open(page, f"{start}{'/' if start == served.address else ''}{view}")
        seen.append((_rows(page), page.locator("[data-count]").inner_text(), page.locator("[data-where]").inner_text()))
        page.goto("about:blank")
    assert seen[0] == seen[1]
    assert bool(seen[0][0]) == (address.rpartition("=")[2] not in NOTHING)
    if "page=2" in address:
        assert seen[0][2].startswith("21–40 of ")
    elif "page=" in address:
        end = seen[0][2].partition("–")[2]
        assert re.fullmatch(r"(\d+) of \1", end), "the last page there is"


UNMATCHED = {
    "app": "com.other",
    "device": "foo",
    "state": "gone",
    "axis": "gpu.anomalous",
    "reason": "foo",
    "series": "x",
}


@pytest.mark.parametrize(("field", "value"), UNMATCHED.items(), ids=UNMATCHED)
def test_a_link_with_a_value_that_no_run_has_finds_none_and_keeps_it(page, served, field, value):
    _open(page, f"{served.address}/?{field}={value}")
    _counted(page, 0)
    assert page.get_by_text("No run matches these filters.").is_visible()
    assert page.url.endswith(f"/#{field}={value}")
    assert page.locator(f"select[name={field}] option:checked").inner_text() == f"{value} (none)"
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("() => document.querySelectorAll('[data-runs] tbody tr').length > 0")
    assert "#" not in page.url


def test_an_order_and_a_page_are_taken_as_other_tools_write_them(page, served):
    with served.warehouse.reading() as reader:
        first, count = reader.rows("SELECT min(run_id), count(*) FROM marts.runs")[0]
    _open(page, f"{served.address}/?sort=run&order=asc")
    assert _rows(page)[0].split()[0] == first
    _open(page, f"{served.address}/?rows=20&page=99")
    last = -(-count // 20)
    assert page.locator("[data-where]").inner_text() == f"{20 * last - 19}–{count} of {count}"
    assert page.url.endswith(f"#page={last}&rows=20")
    assert page.get_by_role("button", name="Next →").is_disabled()


def test_the_list_is_sorted_and_turned_with_the_keyboard_alone(page, served):
    _open(page, f"{served.address}/#app=com.example.shop&rows=20")
    for name, key in (("Worst", "worst"), ("Run", "run")):
        head = page.get_by_role("columnheader", name=name, exact=True)
        head.get_by_role("button").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(f"th[data-sort={key}][aria-sort]")
        page.wait_for_selector("[data-runs]:not([aria-busy])")
        assert page.locator("th[aria-sort]").count() == 1
    names = [row.split()[0] for row in _rows(page)]
    assert names == [f"shop-{i:04d}" for i in range(20)]
    page.get_by_role("button", name="Next →").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-where]:text('21–24 of 24')")
    assert [row.split()[0] for row in _rows(page)] == [f"shop-{i:04d}" for i in range(20, 24)]
    assert page.url.endswith("#app=com.example.shop&sort=run&order=up&page=2&rows=20")
    assert page.get_by_role("button", name="Next →").is_disabled()


WORST = """
SELECT max(greatest(distance, 0) / threshold), bool_or(is_anomalous), count(is_anomalous) > 0 FROM marts.verdicts
WHERE is_current AND app = 'com.example.notes' AND series = 'cpu_app' AND version_name = ?
"""


def test_trends_are_on_the_scale_that_decides_and_show_units_and_single_runs_on_request(page, served):
    _open(page, served.address)
    section = page.locator("section[data-app='com.example.notes']")
    chart = section.locator(".trend").first
    chart.scroll_into_view_if_needed()
    page.wait_for_selector("section[data-app='com.example.notes'] .trend[data-drawn=yes]")
    assert "○ not judged, at 0 because it has no distance." in section.locator("[data-trend-key]").inner_text()
    points = "(chart) => [chart.data[1].x.length, chart.data[1].text[0]]"
    with served.warehouse.reading() as reader:
        ((level, low, high),) = reader.rows(
            "SELECT level_median, band_low, band_high FROM marts.trends_by_scenario "
            "WHERE app = 'com.example.notes' AND version_name = '1.2.0' AND series = 'cpu_app'"
        )
        runs = reader.value(  # excluded and rejected ones, too; not the one of another configuration
            "SELECT count(*) FROM marts.series_levels "
            "WHERE app = 'com.example.notes' AND series = 'cpu_app' AND run_id IN (SELECT run_id FROM core.runs "
            "WHERE config_hash = (SELECT config_hash FROM core.runs WHERE run_id = 'notes-0000'))"
        )
    names = ("1.0.0", "1.1.0", "1.2.0")
    with served.warehouse.reading() as reader:
        judged = {name: reader.rows(WORST, [name])[0] for name in names}
    assert chart.evaluate("(chart) => chart.data[1].y") == pytest.approx(
        [worst or 0 for worst, *_ in judged.values()], rel=2e-3
    )
    marks = ["triangle-up" if bad else "circle" if known else "circle-open" for _, bad, known in judged.values()]
    assert "circle-open" in marks
    assert chart.evaluate("(chart) => chart.data[1].marker.symbol") == marks
    assert "not judged: " in chart.evaluate(points)[1]
    band = [1 if known else None for _, _, known in judged.values()]  # normal is up to the limit
    assert chart.evaluate("(chart) => chart.data[0].y") == band
    section.get_by_role("button", name="Trends in units").click()
    last = "[...document.querySelectorAll('.trend')].map((one) => one.data?.[1].y.at(-1))"
    near = f"(level) => {last}.some((value) => Math.abs(value - level) < 0.01 * level)"
    page.wait_for_function(near, arg=level)
    assert section.locator("[data-trend-key]").inner_text().endswith("○ not judged.")
    chart = section.locator(".trend").first
    assert chart.evaluate(points)[0] == 3
    shown = chart.evaluate("(chart) => [chart.data[1].y.at(-1), chart.data[0].base.at(-1), chart.data[0].y.at(-1)]")
    assert shown == pytest.approx([level, low, high - low], rel=2e-3)
    button = section.get_by_role("button", name="Trends run by run")
    assert button.get_attribute("aria-pressed") == "false"
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "(count) => [...document.querySelectorAll('.trend')].some((one) => one.data?.[1].x.length === count)", arg=runs
    )
    assert button.get_attribute("aria-pressed") == "true"
    assert "notes-0000" in section.locator(".trend").first.evaluate(points)[1]


def test_pages_behind_another_web_server_take_the_lists_from_the_files(browser, sample_site):
    """There is no endpoint, and few runs never ask for one; of very many, one refused request is all that differs."""
    handler = partial(QuietHandler, directory=str(sample_site[1]))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        _open(page, f"http://127.0.0.1:{server.server_port}/index.html#app=com.example.shop&anomalous=1")
        assert _rows(page)
        assert all("com.example.shop" in row and "Anomalous" in row for row in _rows(page))
        page.close()
        server.shutdown()
    assert errors == []


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def test_a_missing_piece_of_the_list_is_told(browser, sample_site, tmp_path):
    out = shutil.copytree(sample_site[1], tmp_path / "reports")
    for piece in (out / "data").glob("runs-*.js"):
        piece.unlink()
    page = browser.new_page()
    _open(page, f"{(out / 'index.html').as_uri()}#anomalous=1")
    assert "data/runs-0.js is missing beside this page" in page.get_by_role("alert").inner_text()
    page.close()


def test_zoom_is_shared_by_all_series_and_taken_back(page, served):
    _open(page, f"{served.address}/runs/{served.run}.html")
    for chart in range(3):
        page.locator(f'[data-chart="{chart}"]').scroll_into_view_if_needed()
        page.wait_for_selector(f'[data-chart="{chart}"][data-drawn=yes]')
    window = _payload(page)["series"][0]["discords"][0]

    def shown():
        return [_range(page, chart) for chart in range(3)]

    page.locator("[data-zoom]").first.click()
    page.wait_for_selector("body[data-zoom]:not([data-zoom=''])")
    ranges = _soon(page, shown, lambda now: now[0] == now[1] == now[2] != [0, 90])
    assert ranges[0] == ranges[1] == ranges[2]
    assert ranges[0][0] < window[0] < window[1] < ranges[0][1]
    page.get_by_role("button", name="Whole run").click()
    whole = [[0, 90]] * 3
    assert _soon(page, shown, lambda now: now == whole) == whole

    x0, y = _point(page, 1, 20.0)
    x1, _ = _point(page, 1, 50.0)
    page.mouse.move(x0, y)
    page.mouse.down()
    page.mouse.move(x1, y, steps=5)
    page.mouse.up()
    ranges = _soon(page, shown, lambda now: now[0] == now[1] == now[2] != [0, 90])
    assert ranges[0] == ranges[1] == ranges[2]
    assert ranges[0] == pytest.approx([20.0, 50.0], abs=0.5)


def test_values_can_be_read_with_the_keyboard_alone(page, served):
    _open(page, f"{served.address}/runs/{served.run}.html")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.dataset.chart === '0'"):
            break
    else:
        pytest.fail("Tab never reaches the first chart")
    values = _payload(page)["series"][0]["values"]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert (
        page.locator("[aria-live=polite].visually-hidden").inner_text() == f"2 s: {values[2]} core-seconds per second"
    )
    page.keyboard.press("+")
    a, b = _soon(page, lambda: _range(page, 0), lambda now: now != [0, 90])
    assert b - a == pytest.approx(45.0, abs=1)
    page.keyboard.press("0")
    assert _soon(page, lambda: _range(page, 0), lambda now: now == [0, 90]) == [0, 90]


def test_sliders_flip_the_verdicts_that_sql_flips(page, served):
    with served.warehouse.reading() as reader:
        expected = {
            row[0]
            for row in reader.rows(
                "SELECT run_id FROM marts.verdict_flips(1.5, 0.5) WHERE series = '*' AND flip = 'becomes_anomalous'"
            )
        }
    _open(page, f"{served.address}/omega.html")
    keys = page.locator("ul.keys li")
    assert keys.all_inner_texts() == ["anomalous runs", "false alarms to expect", "from ω", "to ω"]
    assert all(one.is_visible() for one in keys.locator("i").all())
    for key, value in (("a", "1.5"), ("b", "0.5")):
        page.locator(f'[data-omega="{key}"]').fill(value)
    page.wait_for_selector("[data-flip-table][data-shown='1.5 0.5']")
    found = {row.locator("a").inner_text() for row in page.locator("[data-flip-table] tbody tr").all()}
    assert found == expected
    page.locator('[data-omega="b"]').fill("1.5")
    assert page.get_by_text("Move a slider to see which verdicts change.").is_visible()


def test_open_alarms_are_gone_through_with_the_keyboard_alone(page, served):
    with served.warehouse.reading() as reader:
        runs = [
            run_id
            for (run_id,) in reader.rows(
                "SELECT run_id FROM marts.runs WHERE run_verdict = 'anomalous' AND review_status IS NULL "
                "ORDER BY started_at DESC, run_id DESC"
            )
        ]
    assert len(runs) > 2
    _open(page, served.address)
    page.get_by_role("link", name=f"{len(runs)} not reviewed").click()
    _counted(page, len(runs))
    said = page.locator("[data-said]")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("c")
    assert said.inner_text() == "Choose a run first: j and k go through the list."
    for key in ("j", "j", "k", "j", "r"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == runs[1]
    page.get_by_text("Copied").or_(page.get_by_text("Copy it from here")).wait_for()
    assert said.locator("code").inner_text() == f"perfreg review {runs[1]} --status rejected --note why"
    assert wording.REVIEW_EFFECTS["rejected"] in said.inner_text()
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    page.get_by_label("Single keys are on").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    assert "rejected" in said.inner_text(), "they are off"
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{runs[1]}.html")
    page.wait_for_selector("body[data-ready=yes]")
    page.get_by_text("Say what you found").click()
    page.get_by_role("button", name="Copy accepted").click()
    page.get_by_text("Copied").or_(page.get_by_text("Copy it from here")).wait_for()
    assert f"perfreg review {runs[1]} --status accepted" in said.inner_text()


def test_two_clicks_set_two_runs_or_versions_beside_each_other(page, served):
    _open(page, f"{served.address}/#app=com.example.notes")
    page.get_by_role("button", name="Compare run notes-0016").click()
    assert "notes-0016 is chosen" in page.locator("[data-said]").inner_text()
    page.get_by_role("button", name="Compare run notes-0010").click()
    page.get_by_role("heading", name="B notes-0016 beside A notes-0010").wait_for()  # the earlier one is A
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Runs").click()
    page.wait_for_selector("body[data-ready=yes]")
    _open(page, f"{served.address}/#app=com.example.notes")
    page.get_by_role("button", name="Compare run notes-0016").click()
    for version in ("1.1.0", "1.2.0"):  # of another kind: the choice begins anew
        page.locator('[data-app="com.example.notes"]').get_by_role("button", name=f"Compare version {version}").click()
    page.get_by_role("heading", name="B 1.2.0 beside A 1.1.0").wait_for()
    _open(page, f"{(served.folder / 'index.html').as_uri()}#app=com.example.notes")
    for run in ("notes-0016", "notes-0010"):
        page.get_by_role("button", name=f"Compare run {run}").click()
    page.get_by_text("writes the page of their comparison").wait_for()
    command = "perfreg compare notes-0010 notes-0016 --app com.example.notes --html comparison.html"
    assert page.locator("[data-said] code").inner_text() == command


@pytest.mark.parametrize("name", ["index.html", "omega.html", "runs/notes-0016.html"])
def test_pages_work_from_a_folder_without_a_server(page, sample_site, name):
    _open(page, (sample_site[1] / name).as_uri())
    if name.startswith("runs/"):
        assert page.locator("[data-chart] .main-svg").count() > 0
        link = page.get_by_role("link", name=re.compile("Open in Perfetto")).get_attribute("href")
        assert link.startswith("http://127.0.0.1:9001/perfetto/#!/?url=http://127.0.0.1:9001/traces/")
        assert page.get_by_text("Opens once").is_visible()


@pytest.mark.parametrize("name", ["", "omega.html", *(f"runs/notes-00{i}.html" for i in ("00", "14", "16", "20"))])
def test_nothing_sticks_out_on_a_phone(browser, served, name):
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page = context.new_page()
    _open(page, f"{served.address}/{name}")
    wide = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    context.close()
    assert wide[0] <= wide[1]


def test_dark_is_dark_and_light_is_light_with_enough_contrast(browser, served):
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
        page = context.new_page()
        for name in (f"runs/{served.run}.html", "runs/notes-0014.html", ""):
            _open(page, f"{served.address}/{name}")
            low = page.evaluate(CONTRAST)
            assert low == [], (scheme, name, low)
            background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
            brightness = statistics.mean(int(v) for v in re.findall(r"\d+", background)[:3])
            assert brightness < 60 if scheme == "dark" else brightness > 200
        context.close()


# Texts whose colour and nearest opaque background are closer than WCAG's 4.5 : 1.
CONTRAST = """() => {
  const rgb = (c) => c.match(/[\\d.]+/g).map(Number);
  const part = (v) => (v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
  const hasText = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const found = [];
  for (const e of document.querySelectorAll("h1,h2,h3,p,dt,dd,th,td,a,button,code,small,caption,li,.badge,.is,td i")) {
    if (e.disabled || e.getAttribute("aria-disabled") || !e.checkVisibility() || !hasText(e)) continue;
    let back = [255, 255, 255];
    for (let at = e; at; at = at.parentElement) {
      const c = rgb(getComputedStyle(at).backgroundColor);
      if (c.length < 4 || c[3] === 1) { back = c; break; }
    }
    const [high, low] = [light(rgb(getComputedStyle(e).color)), light(back)].sort((x, y) => y - x);
    const ratio = (high + .05) / (low + .05);
    if (ratio < 4.5) found.push([e.tagName, e.className, e.textContent.trim().slice(0, 30), ratio.toFixed(2)]);
  }
  return found.slice(0, 10);
}"""


def _site_with(tmp_path: Path, html: str) -> str:
    (tmp_path / "runs").mkdir()
    write_assets(tmp_path)
    (tmp_path / "runs" / "page.html").write_text(html, "utf-8")
    return (tmp_path / "runs" / "page.html").as_uri()


def test_hostile_names_run_nothing_even_inside_charts(page, tmp_path, detail, builders):
    evil = builders.naughty + '<a href="javascript:alert(3)">link</a><b>'
    contents = detail("anomalous")
    series = tuple(replace(s, discords=tuple(replace(w, screens=(evil,)) for w in s.discords)) for s in contents.series)
    path = tuple(PathStep(i, contents.start_ns + 20 * i * 10**9, evil + str(i), evil + str(i), evil) for i in range(9))
    html = render_run_page(replace(contents, run=builders.run(app=evil, version_name=evil), series=series, path=path))
    _open(page, _site_with(tmp_path, html))
    page.mouse.move(*_point(page, 0, 60.0))
    page.wait_for_selector(".hoverlayer .legend")
    assert page.locator("img").count() == 1
    assert page.locator("[onerror], svg a, a[href^='javascript']").count() == 0
    assert "<img src=x" in page.locator(".hoverlayer").first.text_content(), "the name is shown as it is"


def test_the_flame_graph_of_a_window_is_walked_with_the_keyboard_alone(page, tmp_path, detail, builders):
    """Opened from its folder: what a stack took now and usually is drawn, said in words, and never HTML."""
    evil = builders.naughty
    stacks = tuple(
        Stack("slices", "com.rig.shop", "main", path, now, before)
        for path, now, before in ((("draw",), 0.1, 0.1), (("draw", "inflate"), 0.4, 0.1), ((evil,), 0.05, None))
    )
    window = Explained(
        is_whole_run=False, start_s=12.0, end_s=20.0, start_ns=12 * 10**9, end_ns=20 * 10**9, confidence=0.9,
        state="ranked", state_reason=None, disturbance=None, stacks=stacks,
    )  # fmt: skip
    contents = detail("anomalous")
    folded = replace(
        window, start_s=30.0, end_s=31.0, stacks=(Stack("heap", "com.rig.shop", None, ("malloc",), 3e6, 0),)
    )
    series = tuple(replace(s, explained=(window, folded)) if s.name == "rss_app" else s for s in contents.series)
    _open(page, _site_with(tmp_path, render_run_page(replace(contents, series=series))))
    page.wait_for_selector("body[data-flames=drawn]")
    flame, told = page.locator("[data-flame='0']"), page.locator("#flame-told-0")
    assert told.inner_text() == "all slices: 550 ms per s, before 200 ms per s"
    flame.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert told.inner_text().startswith(
        "draw: own time 100 ms per s, before 100 ms per s; with everything below 500 ms"
    )
    page.keyboard.press("ArrowRight")
    assert evil[:20] in told.inner_text()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert flame.get_attribute("data-focus") == "inflate"
    page.locator(".flame").first.get_by_role("button", name="Whole graph").click()
    assert flame.get_attribute("data-focus") == "all slices"
    page.locator("details.causes summary").nth(1).click()
    page.wait_for_function("() => document.querySelector('#flame-told-1').textContent !== ''")
    assert page.locator("#flame-told-1").inner_text() == "all allocations: 3 MB, before 0 MB"
    assert page.locator("main img").count() == 0


def test_a_screenshot_is_seen_and_its_second_zooms_the_charts(page, tmp_path, detail):
    """A page opened from its folder, the file beside it where a registered run has it."""
    shots, reports = tmp_path / "runs" / "shop-040", tmp_path / "reports"
    shots.mkdir(parents=True)
    reports.mkdir()
    (shots / "0003.png").write_bytes(PIXEL)
    shot = Attachment("0003.png", "screenshot", len(PIXEL), 60.0)
    _open(page, _site_with(reports, render_run_page(replace(detail("anomalous"), attachments=(shot,)))))
    image = page.locator(".screenshots img")
    image.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('.screenshots img').naturalWidth === 1")
    page.locator('[data-zoom="55.000,65.000"]').click()
    page.wait_for_function("() => document.querySelector('[data-chart=\"0\"]').layout.xaxis.range[0] === 50")
    assert _range(page, 0) == [50, 70]
