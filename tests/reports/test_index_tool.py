"""The index as a tool, opened from its folder: facets, views in the address, reasons, drifts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from perfreg_assets.reasons import Reason
from perfreg_assets.reports import version_site
from perfreg_assets.reports.data import VersionRow
from perfreg_assets.reports.index_page import IndexFacts, render_index
from perfreg_assets.reports.site import build_site
from perfreg_assets.warehouse import drifts

DRIFT = {
    "app": "com.example.notes", "device": "Pixel 6a", "version_name": "1.2.0", "series": "rss_app", "measure": "level",
    "drift_state": "worse", "since_version_name": "1.0.0", "drift_change_ratio": 0.12, "drift_p_value": 0.001,
    "explanation": "level of rss_app: +1.5 % a version since 1.0.0, +12 % in all (8 versions, p = 0.001).",
}  # fmt: skip
TOLD = "level of rss_app: +1.5 % a version since 1.0.0, +12 % in all (8 versions, p = 0.001), on Pixel 6a."
VIEW = {
    "app": "com.example.shop", "version": "1.2.0", "device": "Pixel 6a / Android 13", "state": "anomalous",
    "axis": "memory.anomalous", "reason": "", "series": "rss_app", "q": "shop",
}  # fmt: skip
STATE = """() => ({
  fields: Object.fromEntries([...new FormData(document.querySelector("[data-filters]"))]),
  rows: [...document.querySelectorAll("[data-runs] tbody tr")].map((row) => row.dataset.run),
  sorted: document.querySelector("th[aria-sort]").dataset.sort + document.querySelector("th[aria-sort]").ariaSort,
  pressed: [...document.querySelectorAll("[data-app]:not([hidden]) .more-versions [aria-pressed=true]")].map((one) => one.textContent),
})"""  # noqa: E501


@pytest.fixture
def page(watched) -> Iterator[Any]:
    with watched() as found:
        yield found


def _open(page: Any, address: str) -> None:
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)


@pytest.mark.browser
def test_a_view_is_in_its_address_and_comes_back_whole(page, sample_site):
    index = (sample_site[1] / "index.html").as_uri()
    _open(page, index)
    for field, value in VIEW.items():
        control = page.locator(f"[data-filters] [name={field}]")
        if control.evaluate("(one) => one.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)
    page.get_by_label("Anomalous only").check()
    page.get_by_role("button", name="Worst").click()
    section = page.locator("[data-app='com.example.shop']")
    section.get_by_role("button", name="Trends run by run").click()
    section.get_by_role("button", name="Trends in units").click()
    page.wait_for_function("() => document.querySelectorAll('.more-versions [aria-pressed=true]').length === 4")
    page.wait_for_selector("[data-runs]:not([aria-busy])")
    before, address = page.evaluate(STATE), page.url
    assert before["rows"]
    assert before["pressed"] == ["Trends run by run", "Trends in units"]
    _open(page, address)
    page.wait_for_selector("[data-app]:not([hidden]) .more-versions [aria-pressed=true]")
    assert page.evaluate(STATE) == before
    _open(page, address.replace("#", "?"))  # as other tools write it
    page.wait_for_selector("[data-app]:not([hidden]) .more-versions [aria-pressed=true]")
    assert page.evaluate(STATE) == before
    assert page.url == address
    page.get_by_role("button", name="Copy this view’s address").click()
    assert page.locator("[data-said] code").inner_text() == address
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("() => document.querySelectorAll('[data-runs] tbody tr').length > 40")
    assert set(page.evaluate(STATE)["fields"].values()) == {""}


@pytest.mark.browser
def test_a_query_is_read_as_forms_and_tools_write_it(page, sample_site):
    """They write + for a blank: it was taken for a plus, and no run found."""
    index = (sample_site[1] / "index.html").as_uri()
    _open(page, f"{index}?{urlencode({'device': VIEW['device']})}")
    page.wait_for_selector("[data-runs]:not([aria-busy])")
    shown = page.evaluate(STATE)
    assert (shown["fields"]["device"], len(shown["rows"]) > 0) == (VIEW["device"], True)
    for address in ("?version=1.0%2B7", "#version=1.0+7", "#version=1.0%2B7"):
        _open(page, index + address)
        assert page.evaluate(STATE)["fields"]["version"] == "1.0+7"


@pytest.mark.browser
def test_what_was_not_taken_in_is_listed_with_reason_and_what_to_do(page, sample_site):
    warehouse, out = sample_site
    with warehouse.reading() as reader:
        runs = dict(reader.rows("SELECT run_id, reason_code FROM marts.runs WHERE state = 'quarantined'"))
        devices = dict(reader.rows("SELECT device, count(*) FROM marts.runs WHERE device IS NOT NULL GROUP BY device"))
    assert runs
    _open(page, (out / "index.html").as_uri())
    page.get_by_role("link", name=f"{len(runs)} not taken in").click()
    page.wait_for_function("(n) => document.querySelectorAll('[data-runs] tbody tr').length === n", arg=len(runs))
    for run_id, code in runs.items():
        notes = page.locator(f"tr[data-run='{run_id}'] .notes").inner_text()
        assert notes.split() == [code, *Reason(code).sentence.split()]
    page.locator(f"tr[data-run='{run_id}'] a").click()
    assert page.get_by_text("Give it again:").is_visible()
    page.go_back()
    offered = page.locator("select[name=device] option").all_inner_texts()
    assert offered == ["All devices", *(f"{name} ({count})" for name, count in sorted(devices.items()))]


@pytest.mark.browser
def test_names_with_blanks_at_their_ends_are_chosen_as_they_are_spelt(page, own_sample, tmp_path):
    """They were trimmed: no run was found, or those of another version."""
    odd = {"notes-0016": (" com.odd ", "1.2.0"), "notes-0017": (" com.odd ", " 1.2.0 "), "notes-0018": ("b", "1\n2 ")}
    with own_sample.writing() as writer:
        for run_id, names in odd.items():
            writer.execute("UPDATE core.runs SET app = ?, version_name = ? WHERE run_id = ?", [*names, run_id])
    with own_sample.reading() as reader:
        build_site(reader, tmp_path / "reports")
    _open(page, (tmp_path / "reports" / "index.html").as_uri())
    rows = "(ids) => [...document.querySelectorAll('[data-run]')].map((row) => row.dataset.run).join() === ids"
    page.locator("select[name=app]").select_option(" com.odd ")
    page.wait_for_function(rows, arg="notes-0017,notes-0016")
    assert page.locator("[data-app]:visible").count() == 1
    version = page.locator("input[name=version]")
    version.focus()
    page.wait_for_selector("#versions option", state="attached")
    for typed, found in ((" 1.2.0 ", "notes-0017"), ("1.2.0", "notes-0016"), ("1.2.0  ", "notes-0016")):
        version.fill(typed)  # the last as it may be copied from elsewhere: no version is named like that
        page.wait_for_function(rows, arg=found)
        address = page.url
        _open(page, address)
        page.wait_for_function(rows, arg=found)
        assert page.url == address
    page.get_by_role("button", name="Clear").click()
    section = page.locator("[data-app='b']")
    section.locator("summary").click()
    section.get_by_role("link", name="1", exact=True).click()  # its number of runs leads to them
    page.wait_for_function(rows, arg="notes-0018")
    page.get_by_role("button", name="Worst").click()
    page.wait_for_function(rows, arg="notes-0018")
    assert "version=1%0A2%20" in page.url


def test_drifts_stand_on_the_index_and_with_the_latest_version(own_sample, tmp_path, monkeypatch):
    monkeypatch.setattr(drifts, "of_app", lambda _, app, series: [DRIFT] if app == DRIFT["app"] and series else [])
    out = tmp_path / "reports"
    with own_sample.reading() as reader:
        build_site(reader, out)
    told = {path.name: TOLD in path.read_text("utf-8") for path in [out / "index.html", *out.glob("versions/*.html")]}
    assert {name for name, is_told in told.items() if is_told} == {"index.html", "com.example.notes@1.2.0.html"}
    assert (out / "index.html").read_text("utf-8").count(TOLD) == 1
    later = {**DRIFT, "version_name": "1.1.0"}  # as if its last version had gone
    monkeypatch.setattr(drifts, "of_app", lambda _, app, __: [later] if app == DRIFT["app"] else [])
    with own_sample.writing() as writer:
        writer.execute("UPDATE core.runs SET step_count = step_count + 1 WHERE run_id = 'notes-0016'")
    with own_sample.reading() as reader:
        written = build_site(reader, out)
    assert {"index.html", "versions/com.example.notes@1.1.0.html"} & set(written) != set()
    assert TOLD in (out / "versions" / "com.example.notes@1.1.0.html").read_text("utf-8")
    assert TOLD not in (out / "versions" / "com.example.notes@1.2.0.html").read_text("utf-8")
    with own_sample.reading() as reader:
        build_site(reader, tmp_path / "anew")
    for path in out.glob("versions/*.html"):
        assert path.read_text("utf-8") == (tmp_path / "anew" / "versions" / path.name).read_text("utf-8")


def test_a_page_that_only_drifts_leave_or_reach_is_not_loaded_again(own_sample, tmp_path, monkeypatch):
    out = tmp_path / "reports"
    loaded: list[str] = []
    load = version_site.load_version_views
    monkeypatch.setattr(
        version_site,
        "load_version_views",
        lambda reader, app, versions, earlier: loaded.extend(versions) or load(reader, app, versions, earlier),
    )

    def build(*stands_with: str) -> set[str]:
        rows = [{**DRIFT, "version_name": version} for version in stands_with]
        monkeypatch.setattr(drifts, "of_app", lambda _, app, __: rows if app == DRIFT["app"] else [])
        with own_sample.writing() as writer:
            writer.execute("UPDATE core.runs SET step_count = step_count + 1 WHERE version_name = '1.2.0'")
        loaded.clear()
        with own_sample.reading() as reader:
            build_site(reader, out)
        return {path.stem.split("@")[1] for path in out.glob("versions/*.html") if TOLD in path.read_text("utf-8")}

    assert build() == set()
    assert build("1.0.0") == {"1.0.0"}
    assert {*loaded} == {"1.2.0"}  # that of a changed run
    assert build("1.1.0", "1.1.0") == {"1.1.0"}
    assert {*loaded} == {"1.2.0"}
    page = out / "versions" / "com.example.notes@1.1.0.html"
    page.write_text(page.read_text("utf-8").replace("Series", "Serie"))  # not what was written
    assert build() == set()
    assert {*loaded} == {"1.1.0", "1.2.0"}
    assert "Serie<" not in page.read_text("utf-8")


def test_drifts_of_an_app_stand_in_its_section():
    row = VersionRow("1.0", 1, 0, None, None)  # type: ignore[arg-type]
    block = {
        "count": 1, "digest": "d", "newest": 0, "runs": 1, "anomalous": 0, "series": [],
    }  # fmt: skip
    app = {"number": 0, "blocks": [block], "latest": [row.version_name, 1, 0, "normal"], "grew": []}
    runs = {"count": 1, "digest": "d", "newest": 0, "states": {"normal": 1}, "open": 0}
    html = render_index(IndexFacts([runs], {"a": app}, drifts={"a": ["level <b> grows."]}))
    assert "<li><bdi>level &lt;b&gt; grows.</bdi></li>" in html
