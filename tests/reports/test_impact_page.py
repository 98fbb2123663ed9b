"""The page of what to test again: two sides that lead to each other, without scripts, names as text."""

from __future__ import annotations

import re

from perfreg_assets.reports.impact_page import SHOWN_RUNS, render_impact_page

EVIL = "<img src=x onerror=alert(1)>"


def row(method, service, own, below=0.0, **more):
    return {"method": method, "service": service, "self_share": own, "children_share": below, "calls": 1200, **more}


def test_every_link_leads_to_an_entry_of_the_other_side():
    html = render_impact_page(
        "draw", [row("draw", "feed", 0.2, 0.1), row("draw text", "feed", 0.4), row("draw", "", 0.5)]
    )
    anchors = re.findall(r'<li id="([ms]\d+)"', html)
    links = re.findall(r'<a href="#([ms]\d+)"', html)
    assert sorted(anchors) == ["m0", "m1", "s0", "s1"]
    assert sorted(set(links)) == sorted(anchors)
    left, _, right = html.partition('aria-labelledby="right"')
    assert re.findall(r"<h3><bdi>(.*?)</bdi>", left) == ["draw", "draw text"]
    assert re.findall(r"<h3><bdi>(.*?)</bdi>", right) == ["(not known)", "feed"]
    assert re.findall(r"([\d.]+) % of the time", left) == ["50", "30", "40"]
    assert "1,200 calls" in left
    assert "Methods (2)" in left
    assert "Services (2)" in right


def test_screens_name_the_runs_that_show_them():
    runs = [f"run-{number:02d}" for number in range(SHOWN_RUNS + 3)]
    html = render_impact_page("draw", [row("draw", "feed", 0.2, run_ids=runs)])
    assert "Slices and threads (1)" in html
    assert "Screens (1)" in html
    assert "<bdi>run-00</bdi>" in html
    assert "and 3 more" in html


def test_names_are_text_and_nothing_runs_or_is_loaded():
    html = render_impact_page(EVIL, [row(EVIL, EVIL, 0.1, run_ids=[EVIL])])
    assert "<img" not in html
    assert "<script" not in html
    assert re.findall(r"src=|url\(|https?:", html.replace("src=x", "")) == []
    assert "default-src &#39;none&#39;" in html or "default-src 'none'" in html
