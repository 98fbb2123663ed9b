"""The five-second test: on the first 1280 × 800 pixels of a run's or a version's page stands whether it got worse,
where, why, and what to do next. States are those of the sample warehouse, where each must be there; no run of it is
better as a whole, so that one is made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from perfreg_assets.reports.data import AxisVerdict
from perfreg_assets.reports.links import run_page, version_page
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.site_assets import write_assets

pytestmark = pytest.mark.browser

_JUDGED = "run_id IN (SELECT run_id FROM marts.axis_verdicts WHERE is_current AND axis = '{axis}' AND is_anomalous)"
_CALM = "state = 'complete' AND run_verdict = '{state}'"
STATES = {
    "anomalous CPU": f"run_verdict = 'anomalous' AND {_JUDGED.format(axis='cpu')}",
    "leak": f"run_verdict = 'anomalous' AND {_JUDGED.format(axis='memory')}",
    "normal": _CALM.format(state="normal"),
    "not enough history": _CALM.format(state="not_enough_history"),
    "incomplete": "state = 'incomplete_trace'",
    "quarantined": "state = 'quarantined'",
    "disturbed run": "run_id IN (SELECT run_id FROM marts.cause_windows WHERE disturbance IS NOT NULL)",
}
TONES = {
    "anomalous CPU": "anomalous", "leak": "anomalous", "normal": "normal",
    "not enough history": "not_enough_history", "incomplete": "incomplete_trace", "quarantined": "quarantined",
    "disturbed run": "anomalous",
}  # fmt: skip
ANSWERED = """() => Object.fromEntries(Object.entries({
  whether: "#headline", where: "[data-answer=where], .verdict:not(:has(.axes)) #headline",
  why: "#headline + .detail, [data-answer=why]", next: "[data-answer=next]",
}).map(([one, selector]) => [one, [...document.querySelectorAll(selector)].filter((element) => {
    const box = element.getBoundingClientRect();
    return element.checkVisibility() && element.textContent.trim() && box.height > 0
      && box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
  }).map((element) => element.innerText.trim())]))"""


@pytest.fixture(scope="module")
def first_screen(browser: Any, sample_site: Any) -> Any:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()

    def look(address: str) -> tuple[dict[str, list[str]], str]:
        page.goto((sample_site[1] / address).as_uri())
        return page.evaluate(ANSWERED), page.locator("section.verdict").get_attribute("class").split()[1]

    yield look
    context.close()


@pytest.mark.parametrize("state", STATES)
def test_whether_where_why_and_what_next_stand_on_the_first_screen(first_screen, sample_site, state):
    with sample_site[0].reading() as reader:
        runs = [row[0] for row in reader.rows(f"SELECT run_id FROM marts.runs WHERE {STATES[state]} ORDER BY run_id")]
    assert runs, "the sample has every state"
    for run_id in runs[:2]:
        answers, tone = first_screen(run_page(run_id))
        assert tone == TONES[state]
        assert all(answers.values()), (run_id, answers)
        if state == "disturbed run":
            assert any("Disturbed run" in one for one in answers["why"])
            assert answers["next"][0].startswith("Repeat the run")


def test_a_run_that_is_better_answers_the_same(browser, tmp_path, detail):
    better = detail("normal")
    whole = replace(better.run_verdict, state="improved")
    series = tuple(
        replace(one, verdict=replace(one.verdict, state="improved")) if one.verdict else one for one in better.series
    )
    (tmp_path / "runs").mkdir()
    write_assets(tmp_path)
    axes = (AxisVerdict(better.run.run_id, "cpu", "improved", "cpu_app", None, "better"),)
    html = render_run_page(replace(better, run_verdict=whole, series=series, axes=axes))
    (tmp_path / "runs" / "page.html").write_text(html, "utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((tmp_path / "runs" / "page.html").as_uri())
    answers = page.evaluate(ANSWERED)
    page.close()
    assert all(answers.values()), answers
    assert "better than" in answers["whether"][0]


def test_a_versions_page_answers_the_same(first_screen, sample_site):
    with sample_site[0].reading() as reader:
        versions = reader.rows("SELECT app, version_name FROM marts.app_versions")
    for app, version in versions:
        answers, _ = first_screen(version_page(app, version))
        assert all(answers.values()), (app, version, answers)


@pytest.mark.parametrize("width", [1600, 1920, 2560])
def test_the_list_shows_when_runs_were_and_their_notes_where_the_window_has_room(browser, sample_site, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto((sample_site[1] / "index.html").as_uri())
    page.locator("[data-runs] tbody tr").first.wait_for()
    page.evaluate(  # as an app has that is judged by energy, start and metrics of its own, too
        """() => {
          for (const row of document.querySelectorAll("[data-runs] tr")) {
            const last = [...row.querySelectorAll(".ax")].at(-1);
            for (let count = 0; last && count < 3; count += 1) last.after(last.cloneNode(true));
          }
        }"""
    )
    ends = page.evaluate(
        """() => {
          const list = document.querySelector("[data-runs]").parentElement.getBoundingClientRect();
          return [...document.querySelectorAll("[data-runs] thead th")].map((one) =>
            list.right - one.getBoundingClientRect().right);
        }"""
    )
    wide = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
    page.close()
    assert min(ends) >= -1, "a column is out of sight"
    assert wide <= 0
