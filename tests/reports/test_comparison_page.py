"""The page of a comparison: the difference is shaded on the side where it is, names stay text, nothing is loaded."""

from __future__ import annotations

import re

import numpy as np
import pytest

from perfreg_assets.reports.comparison_page import HEIGHT, WIDTH, Course, panel_of, render_comparison_page


def course(a, b, series="cpu_app", unit="core-seconds/s"):
    return Course(series, unit, 1.0, np.array(a, float), np.array(b, float))


def area(path):
    """Of a closed path, in pixels squared (shoelace)."""
    points = [tuple(map(float, one.split())) for one in path.removesuffix(" Z").replace("M", "").split(" L")]
    shifted = points[1:] + points[:1]
    return abs(sum(x * v - u * y for (x, y), (u, v) in zip(points, shifted, strict=True))) / 2


def test_served_it_has_the_way_to_the_other_pages_and_alone_nothing_that_is_not_there():
    served, alone = (render_comparison_page(told(), [course([1], [2])], is_served=one) for one in (True, False))
    assert '<a href="/index.html">Runs</a>' in served
    assert '<a href="/inbox">To review</a>' in served
    assert "href" not in alone
    assert "src=" not in alone


def test_where_b_has_more_is_shaded_and_nowhere_else():
    panel = panel_of(course([1] * 20, [2] * 20))
    assert area(panel.more) == pytest.approx(WIDTH * HEIGHT / 2)
    assert area(panel.less) == 0
    assert panel.top == 2
    assert panel.length_s == 20
    back = panel_of(course([2] * 20, [1] * 20))
    assert (area(back.more), area(back.less)) == (0, pytest.approx(WIDTH * HEIGHT / 2))


def test_a_shifted_course_is_aligned_and_lengths_may_differ():
    bump = [0.0] * 30 + [5.0] * 5 + [0.0] * 30
    shifted = panel_of(course(bump, bump[3:] + [0.0] * 6))
    assert area(shifted.more) + area(shifted.less) < 0.05 * area(panel_of(course([0] * 60, [5] * 60)).more)


def grown(label):
    numbers = {"mean_a": 0.0, "mean_b": 1.0, "difference": 1.0, "low": 0.5, "high": 1.5, "p_value": 0.01}
    return {"process": label, "thread": label, **numbers}


def told(name="cpu_app", label="b"):
    row = {
        "series": name, "unit": "bytes", "mean_a": 2e6, "mean_b": 3e6, "difference": 1e6, "low": None, "high": None,
        "p_value": None, "p_holm": None, "basis": "none", "runs_a": 1, "runs_b": 1, "is_judged": True,
        "growth_a": None, "growth_b": None, "growth_difference": None, "growth_low": None, "growth_high": None,
        "growth_p_value": None, "growth_p_holm": None, "detectable": None, "growth_detectable": None,
        "state": "not_enough_runs",
    }  # fmt: skip
    return {
        "a": "a", "b": label, "runs_a": ["1"], "runs_b": ["2"], "verdict": "not_enough_runs", "explanation": label,
        "level": 0.05, "series": [row],
        "threads": [grown(label)], "slices": [grown(label) | {"name": label}],
        "stacks": [grown(label) | {"name": label, "path": [label, label]}],
        "sources": [{"source": one, "state": "compared", "reason": None} for one in ("threads", "slices", "stacks")],
        "excluded": [{"side": "a", "run": label, "reason": label}],
        "series_excluded": [{"side": "b", "run": label, "series": name, "reason": label}],
    }  # fmt: skip


def test_names_are_text_and_nothing_is_loaded_from_elsewhere():
    evil = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}"
    page = render_comparison_page(told(evil, evil), [course([1, 2], [1, 2], evil)])
    assert "<script" not in page
    assert "<img" not in page
    assert "{{7*7}}" in page.replace("&#39;", "'")
    assert "default-src 'none'" in page.replace("&#39;", "'")


def test_totals_are_in_the_unit_of_the_axis():
    page = render_comparison_page(told("rss_app"), [])
    assert ">2<" in page.replace(" ", "")
    assert "MB" in page


def test_growth_within_the_runs_is_told_in_the_unit_of_the_axis_where_there_is_any():
    grown = told("rss_app")
    assert "Growth within the runs" not in render_comparison_page(grown, [])
    grown["series"][0] |= {"growth_a": 1e6, "growth_b": 3e6, "growth_difference": 2e6, "growth_p_value": 0.01}
    page = render_comparison_page(grown, [])
    assert "Growth within the runs" in page
    assert re.search(r">\+1</td><td[^>]*>\+3</td><td[^>]*>\+2</td><td[^>]*>–</td><td[^>]*>0.01<", page)


def test_what_grew_has_its_interval_and_what_is_not_told_its_state_and_reason():
    one = told()
    one["slices"] = []
    one["sources"][1] |= {"state": "missing_in_a", "reason": "A: no slices"}
    page = render_comparison_page(one, [])
    assert page.count("+0.5000 to +1.5000") == 2
    assert "Not compared (missing_in_a): A: no slices." in page
    one["stacks"] = []
    assert "<p>None.</p>" in render_comparison_page(one, [])


def test_what_such_runs_would_show_stands_beside_the_difference():
    one = told("rss_app")
    assert "would show" in render_comparison_page(one, [])
    one["series"][0]["detectable"] = 4e6
    assert re.search(r">4</td><td>none</td>", render_comparison_page(one, []))
