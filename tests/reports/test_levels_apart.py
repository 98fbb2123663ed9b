"""Levels on versions' pages and the index: of one scenario and configuration, as in marts.trends_by_scenario."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.shards import read
from perfreg_assets.reports.site import build_site
from perfreg_assets.reports.site_state import SiteState
from perfreg_assets.reports.wording import number, unit_of
from perfreg_assets.warehouse import runs
from perfreg_assets.warehouse.connection import Reader, Warehouse, Writer

APP = "com.example.notes"
COLD = "cold-start"


def _move(writer: Writer, version: str, count: int, scenario: str = COLD, factor: float = 10.0) -> list[str]:
    """The first runs of a version become those of a scenario, in which everything is ten times as much."""
    rows = writer.rows(
        "SELECT run_id FROM core.runs SEMI JOIN core.series_levels USING (run_id) WHERE app = ? AND version_name = ? "
        "AND run_no IN (SELECT run_no FROM marts.counted_runs) "
        "AND config_hash = (SELECT max(config_hash) FROM core.runs WHERE run_id = 'notes-0000') "
        "GROUP BY run_id ORDER BY run_id",
        [APP, version],
    )
    moved = [run_id for (run_id,) in rows[:count]]
    assert len(moved) == count
    for run_id in moved:
        writer.execute("UPDATE core.runs SET scenario = ? WHERE run_id = ?", [scenario, run_id])
        writer.execute("UPDATE core.series_levels SET mean = ? * mean WHERE run_id = ?", [factor, run_id])
    return moved


def _shown(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def _page(out: Path, version: str) -> str:
    return (out / version_page(APP, version)).read_text("utf-8")


def _row(page: str, series: str) -> str:
    found = re.search(rf'<tr id="series-{series}">.*?</tr>', page, re.S)
    assert found is not None
    return _shown(found[0])


def _levels(reader: Reader, series: str = "rss_app") -> dict[tuple[str, str | None, bool], dict[str, Any]]:
    """(version, scenario, whether it is the usual configuration) → row of the mart."""
    usual = reader.value("SELECT config_hash FROM core.runs WHERE run_id = 'notes-0000'")
    rows = reader.dicts("SELECT * FROM marts.trends_by_scenario WHERE app = ? AND series = ?", [APP, series])
    return {(row["version_name"], row["scenario"], row["config_hash"] == usual): row for row in rows}


def _told(row: dict[str, Any], key: str = "level_median") -> str:
    return number(row[key] * unit_of(row["series"], row["unit"]).factor)


def _change(now: dict[str, Any], before: dict[str, Any]) -> str:
    return f"{(now['level_median'] / before['level_median'] - 1) * 100:+.1f} %"


@pytest.fixture
def site(own_sample: Warehouse, built: Path) -> tuple[Warehouse, Path]:
    return own_sample, built


def test_two_versions_that_were_used_differently_do_not_look_like_a_change(site: tuple[Warehouse, Path]) -> None:
    """Most runs of 1.2.0 are of a scenario that 1.1.0 was not run in: its memory looked ten times as much."""
    warehouse, out = site
    with warehouse.writing() as writer:
        _move(writer, "1.2.0", 4)
    with warehouse.reading() as reader:
        build_site(reader, out)
        levels = _levels(reader)
    now, before = levels["1.2.0", None, True], levels["1.1.0", None, True]
    row = _row(_page(out, "1.2.0"), "rss_app")
    assert _change(now, before) in row
    assert f" {_told(now)} MB" in row
    assert f"{_told(now, 'band_low')} to {_told(now, 'band_high')}" in row
    text = _shown(_page(out, "1.2.0"))
    assert f"of its {now['run_count']} runs with Pixel 6a / Android 13, strategy dfs_greedy" in text
    assert "the version before is 1.1.0" in text


def test_the_scenario_that_both_versions_have_most_runs_of_comes_first_and_the_other_beside_it(
    site: tuple[Warehouse, Path],
) -> None:
    warehouse, out = site
    with warehouse.writing() as writer:
        _move(writer, "1.2.0", 4)
        _move(writer, "1.1.0", 4)
    with warehouse.reading() as reader:
        build_site(reader, out)
        levels = _levels(reader)
    page = _page(out, "1.2.0")
    cold, usual = levels["1.2.0", COLD, True], levels["1.2.0", None, True]
    assert (cold["run_count"], usual["run_count"]) == (4, 2)
    row = _row(page, "rss_app")
    assert f" {_told(cold)} MB" in row
    assert _change(cold, levels["1.1.0", COLD, True]) in row
    assert f"of its 4 runs with scenario {COLD}" in _shown(page)
    (others,) = re.findall(r'<details class="setup">(.*?)</details>', page, re.S)
    told = _shown(others)
    assert "2 runs with Pixel 6a / Android 13" in told
    assert f" {_told(usual)} MB" in told
    assert _change(usual, levels["1.1.0", None, True]) in told
    # Half of 1.1.0 ran so, and 1.0.0 did not: there is nothing to set these runs of 1.1.0 against.
    before = _page(out, "1.1.0")
    (others,) = re.findall(r'<details class="setup">(.*?)</details>', before, re.S)
    assert COLD in _shown(others)
    assert "the version before was not run so" in _shown(others)
    assert "+" not in _shown(others)


def test_where_the_version_before_was_not_run_so_the_last_one_that_was_is_named(site: tuple[Warehouse, Path]) -> None:
    warehouse, out = site
    with warehouse.writing() as writer:
        for version, count in (("1.0.0", 5), ("1.2.0", 6)):
            _move(writer, version, count)
    with warehouse.reading() as reader:
        build_site(reader, out)
        levels = _levels(reader)
    page = _page(out, "1.2.0")
    assert "the version before, 1.1.0 , was not run so: set against 1.0.0 , the last that was" in _shown(page)
    assert "To 1.0.0" in _shown(page)
    assert _change(levels["1.2.0", COLD, True], levels["1.0.0", COLD, True]) in _row(page, "rss_app")


def test_runs_that_people_left_out_are_in_no_level(site: tuple[Warehouse, Path]) -> None:
    warehouse, out = site
    with warehouse.writing() as writer:
        writer.execute("UPDATE core.series_levels SET mean = 1e12 WHERE run_id = 'notes-0017'")
        writer.execute("UPDATE core.series_levels SET mean = 1e12 WHERE run_id = 'notes-0018'")
        runs.exclude(writer, "notes-0017", "charging")
        runs.exclude(writer, "notes-0018", "charging")
    with warehouse.reading() as reader:
        build_site(reader, out)
        levels = _levels(reader)
    page = _page(out, "1.2.0")
    assert f" {_told(levels['1.2.0', None, True])} MB" in _row(page, "rss_app")
    assert "Runs that are left out of the verdict are in no level." in _shown(page)
    with warehouse.writing() as writer:
        for (run_id,) in writer.rows("SELECT run_id FROM core.runs WHERE app = ? AND version_name = '1.2.0'", [APP]):
            runs.exclude(writer, run_id, "charging")
    with warehouse.reading() as reader:
        build_site(reader, out)
    assert "people took all its runs out, so it has no level" in _shown(_page(out, "1.2.0"))


def test_the_list_of_versions_keeps_levels_apart(site: tuple[Warehouse, Path]) -> None:
    """What the index draws: a level per scenario and configuration, and whose each run is."""
    warehouse, out = site
    with warehouse.writing() as writer:
        moved = _move(writer, "1.2.0", 4)
    with warehouse.reading() as reader:
        build_site(reader, out)
        levels = _levels(reader)
    app = SiteState(out).head.apps[APP]
    rows = read(out, f"versions-{app['number']}-0", app["blocks"][0]["digest"])
    assert rows is not None
    row = rows["1.2.0"]
    assert [(words.partition(",")[0], count) for _, words, count in row["setups"]] == [
        (f"scenario {COLD}", 4), ("Pixel 6a / Android 13", 2),
    ]  # fmt: skip
    assert len({key for key, *_ in row["setups"]}) == 2
    assert {run for run, place in zip(row["ids"], row["of"], strict=True) if place == 0} == set(moved)
    factor = unit_of("rss_app", "bytes").factor
    for place, scenario in enumerate((COLD, None)):
        told = levels["1.2.0", scenario, True]
        assert row["levels"]["rss_app"][0][place] == pytest.approx(
            [None if told[key] is None else told[key] * factor for key in ("level_median", "band_low", "band_high")],
            rel=1e-3,
        )


@pytest.mark.browser
def test_trends_in_units_are_of_one_scenario_which_is_chosen_and_stands_in_the_address(
    site: tuple[Warehouse, Path], watched: Any
) -> None:
    warehouse, out = site
    with warehouse.writing() as writer:
        moved = _move(writer, "1.2.0", 4)
    with warehouse.reading() as reader:
        build_site(reader, out)
        levels = _levels(reader, "cpu_app")
    factor = unit_of("cpu_app", "core_s_per_s").factor
    usual = [levels[version, None, True]["level_median"] * factor for version in ("1.0.0", "1.1.0", "1.2.0")]
    cold = levels["1.2.0", COLD, True]["level_median"] * factor
    drawn = "document.querySelector('section:not([hidden]) .trend')?.data?.[1]"
    reaches = f"(level) => Math.abs({drawn}?.y.at(-1) - level) < 0.01 * level"
    with watched() as page:
        page.goto((out / "index.html").as_uri() + f"#app={APP}")
        section = page.locator(f"section[data-app='{APP}']")
        section.locator(".trend").first.scroll_into_view_if_needed()
        page.wait_for_selector(f"section[data-app='{APP}'] .trend[data-drawn=yes]")
        choice = section.get_by_label("Levels of runs with")
        assert not choice.is_visible()  # distances are each to the run's own history
        section.get_by_role("button", name="Trends in units").click()
        page.wait_for_function(reaches, arg=usual[-1])
        assert page.evaluate(f"{drawn}.y") == pytest.approx(usual, rel=2e-3)
        options = choice.locator("option").all_inner_texts()
        assert len(options) == 3  # the run of another configuration, too
        assert options[0].endswith("in 3 versions")
        (wanted,) = [one for one in options if COLD in one]
        assert wanted.endswith("4 runs in 1 version")
        choice.select_option(label=wanted)
        page.wait_for_function(reaches, arg=cold)
        assert page.evaluate(f"{drawn}.y") == pytest.approx([cold], rel=2e-3)
        section.get_by_role("button", name="Trends run by run").click()
        page.wait_for_function(f"() => {drawn}?.y.length === 4")
        texts = page.evaluate(f"{drawn}.text")
        assert {re.search(r"notes-\d+", text)[0] for text in texts} == set(moved)
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        section.locator(".trend").first.scroll_into_view_if_needed()
        page.wait_for_function(f"() => {drawn}?.y.length === 4")
        assert choice.locator("option:checked").inner_text() == wanted
