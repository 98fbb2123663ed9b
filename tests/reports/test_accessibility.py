"""Every page against axe-core's rules (WCAG 2 and best practice): in both colour schemes, three widths, on paper."""

from __future__ import annotations

import pytest

from perfreg_assets.reports.comparison_page import render_comparison_page
from perfreg_assets.reports.impact_page import render_impact_page
from perfreg_assets.reports.reduction_page import render_reduction_page
from tests.reports.axe_rules import broken_rules
from tests.reports.test_call_log_page import EARLIER, ROWS
from tests.reports.test_call_log_page import render as render_call_log
from tests.reports.test_comparison_page import course
from tests.reports.test_comparison_page import told as comparison
from tests.reports.test_reduction_page import told as reduction

VERSIONS = [f"versions/com.example.notes@1.{number}.0.html" for number in range(3)]
RUNS = [*(f"runs/notes-00{number}.html" for number in ("00", "14", "16", "20")), "runs/quarantined-5f3a.html"]
STILL = ["benchmarks.html", "energy.html", *VERSIONS]
DRAWN = ["index.html", "omega.html", *RUNS]
"""By their own scripts, which say when they are done."""

pytestmark = pytest.mark.browser


def test_no_rule_is_broken_on_any_page_in_any_mode(browser, sample_site):
    _, site = sample_site
    families = [str(one.relative_to(site)) for one in (site / "benchmarks").glob("*.html")]
    assert families
    context = browser.new_context()
    page = context.new_page()
    broken = []
    for name in (*STILL, *families, *DRAWN):
        page.goto((site / name).as_uri())
        if name in DRAWN:
            page.wait_for_selector("body[data-ready=yes]", timeout=120_000)
        broken += broken_rules(page, name)
    context.close()
    assert not broken, "\n".join(broken)


def test_no_rule_is_broken_on_pages_that_stand_alone(browser, tmp_path):
    """Those that commands write: one file each, opened anywhere."""
    use = {"method": "draw", "service": "feed", "self_share": 0.2, "children_share": 0.1, "calls": 1200}
    pages = {
        "comparison": render_comparison_page(comparison(), [course([1] * 20, [2] * 20)]),
        "impact": render_impact_page("draw", [use, use | {"method": "draw text"}]),
        "reduction": render_reduction_page(reduction(), "kept"),
        "call log": render_call_log(ROWS, EARLIER),
    }
    context = browser.new_context()
    page = context.new_page()
    broken = []
    for name, html in pages.items():
        path = tmp_path / "page.html"
        path.write_text(html, "utf-8")
        page.goto(path.as_uri())
        if name == "call log":
            page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
        broken += broken_rules(page, name)
    context.close()
    assert not broken, "\n".join(broken)
