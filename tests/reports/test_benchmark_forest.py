"""The drawing of two versions' ratios: what is beyond its range, and names that are too long for their column."""

from __future__ import annotations

import re

import numpy as np
import pytest

from perfreg_assets.methods.benchmark_comparison import Entry, compare
from perfreg_assets.reports.benchmark_forest import draw_forest

LONG = "org.casbin.jcasbin.main.benchmark.BenchmarkEnforce.enforce(dataScale=small, modelType=rbac, useCache=false)"


def entry(key, *scores, worse="more"):
    values = np.array(scores)
    unit = "ns" if worse == "more" else "ops/s"
    return Entry(key=key, area="area", unit=unit, worse=worse, scores=values, iterations=values)


def forest(worse="more", names=(LONG, "near"), **times):
    """Beside 100 the first is `times` as much, with its noise; the second is 10 % more."""
    first, second = names
    launches = times["launches"]
    a = [entry(first, *(launches if times.get("is_noisy") else [100, 101, 99]), worse=worse),
         entry(second, 100, 101, 99, worse=worse)]  # fmt: skip
    b = [entry(first, *launches, worse=worse), entry(second, 110, 111, 109, worse=worse)]
    return draw_forest(compare(a, b, change_minimum=0.05))


@pytest.mark.parametrize("worse", ["more", "less"])
@pytest.mark.parametrize(("level", "is_right"), [(3.1, False), (4000.0, True)])
def test_a_ratio_out_of_range_is_an_arrow_at_its_edge_that_says_so(worse, level, is_right):
    """It was a dot at the edge like any other: 0.031, 0.039 and 0.057 looked alike."""
    found = forest(worse, launches=[level, level * 1.001, level * 0.999])
    arrows = re.findall(
        r'<path class="beyond (\w+)" d="M([\d.]+) [\d.]+L([\d.]+).*?<title>(.*?)</title>', found.drawing
    )
    (arrow,) = [
        one for one in arrows if one[3].startswith(f"{level / 100:g}") and abs(float(one[1]) - float(one[2])) > 10
    ]
    assert arrow[0] == ("slower" if is_right == (worse == "more") else "faster")
    assert arrow[3].endswith(": beyond what is drawn")
    tip, back = float(arrow[1]), float(arrow[2])
    assert (tip > back) == is_right
    assert found.has_beyond
    assert (found.low, found.high) == pytest.approx((4**-1.05, 4**1.05))
    dots = [float(one) for one in re.findall(r'<circle class="\w+" cx="([\d.]+)"', found.drawing)]
    assert dots
    assert all(abs(one - tip) > 10 for one in dots)


def test_an_interval_that_goes_on_beyond_the_edge_has_an_arrow_there():
    found = forest(launches=[1.0, 100.0, 10000.0], is_noisy=True)
    title = re.escape(": beyond what is drawn")
    assert len(re.findall(rf'<path class="beyond same"[^>]*><title>1\.0000 \[.*?\]{title}', found.drawing)) == 2
    assert found.has_beyond


def test_what_is_all_drawn_has_no_arrow():
    found = forest(launches=[120, 121, 119])
    assert not found.has_beyond
    assert "beyond" not in found.drawing
    assert found.drawing.count("<circle") == 4


@pytest.mark.parametrize("name", [LONG, "W" * 200, "測" * 80, "a.Short.one", f"{LONG}<&>"])
def test_a_name_is_as_long_as_its_column_and_whole_in_its_title(browser, name):
    drawing = forest(names=(name, "near"), launches=[120, 121, 119]).drawing
    page = browser.new_page()
    page.set_content(f'<svg width="1060" style="font: 12.5px sans-serif">{drawing}</svg>')
    texts = page.evaluate("""() => [...document.querySelectorAll('svg.bench-forest svg text.test')].map((one) => {
        const title = one.querySelector('title').textContent;
        return [title, one.textContent.replace(title, ''), one.getComputedTextLength()];
    })""")
    column = float(re.search(r'<svg width="([\d.]+)"', drawing)[1])
    page.close()
    (told,) = [one for one in texts if one[0] == name]
    assert told[2] <= column
    assert told[1] == name if len(name) < 20 else name.endswith(told[1].removeprefix("…")) and len(told[1]) >= 30
