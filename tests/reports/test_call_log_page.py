"""The page of a call log in a real browser: drawn at once, offline, by keyboard alone, and names run nothing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from perfreg_assets.methods.call_trees import Calls, build_trees
from perfreg_assets.methods.causes import rank_methods
from perfreg_assets.methods.method_uses import profile_of
from perfreg_assets.methods.service_times import service_times
from perfreg_assets.reports.call_log_page import render_call_log_page
from perfreg_assets.reports.site_assets import contents

D3_HIERARCHY_SHA256 = "971f374ce9fdbec711eb2358003e2bb755bff22ec6852dc5ebd59f987270db64"
EVIL = "</script><img src=x onerror=alert(1)>\"'&\u2028"


def trees_of(rows):
    """rows: (transaction, service, label, method, elapsed_ms)."""
    names = [sorted({row[kind] for row in rows}) for kind in range(4)]
    at = [{name: number for number, name in enumerate(kind)} for kind in names]
    numbers = [np.array([at[kind][row[kind]] for row in rows], np.int32) for kind in range(4)]
    elapsed = np.array([float(row[4]) for row in rows])
    return build_trees(Calls(*numbers, elapsed, np.zeros(len(rows), np.int64), *(tuple(kind) for kind in names)))


def render(rows, earlier=None, name="now.txt"):
    trees = trees_of(rows)
    baselines = [profile_of(trees_of(earlier))] if earlier else []
    causes = [one for one in rank_methods(profile_of(trees), baselines) if one.rank]
    return render_call_log_page(name, trees, service_times(trees), causes, baselines)


ROWS = [
    ("t", "Login", "1", "enter", 100), ("t", "Login", "1.1", "check", 70), ("t", "Login", "1.1.1", "hash", 60),
    ("t", "Login", "1.2", "store", 20), ("u", "Pay", "1", "pay", 50), ("u", "Pay", "1.1", "book", 10),
]  # fmt: skip
EARLIER = [(*row[:4], row[4] - 40 if row[3] in ("enter", "check", "hash") else row[4]) for row in ROWS]


def large(count=10_000):
    """One service of so many nodes: a tree as in real logs, wide and up to some dozen deep."""
    draw = np.random.default_rng(5)
    labels, children = ["1"], [0]
    for _ in range(count - 1):
        above = int(draw.integers(max(0, len(labels) - 300), len(labels)))
        children[above] += 1
        labels.append(f"{labels[above]}.{children[above]}")
        children.append(0)
    total = dict.fromkeys(labels, 0.0)
    for label, own in zip(reversed(labels), draw.lognormal(0, 1.5, count), strict=True):
        total[label] += own
        if "." in label:
            total[label.rpartition(".")[0]] += total[label]
    return [
        ("t", "Large", label, f"com.x.module{i % 40}.Class{i} - run", total[label]) for i, label in enumerate(labels)
    ]


def test_the_bundled_layout_library_is_the_published_one():
    files = contents()
    script = files["d3-hierarchy.min.js"]
    assert b"d3-hierarchy/ v3.1.3" in script[:100]
    assert hashlib.sha256(script).hexdigest() == D3_HIERARCHY_SHA256
    assert "Permission to use, copy, modify" in files["d3-hierarchy.LICENSE"].decode()


def test_the_page_holds_all_it_needs_and_only_its_own_scripts_may_run():
    html = render(ROWS, EARLIER)
    assert re.findall(r"(?:src|href)=", html) == []
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1]
    assert policy.count("sha256-") == 2
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_the_tables_say_what_grew_without_any_script():
    html = render(ROWS, EARLIER)
    row = re.search(r"<tr><td class=\"n\">1</td>.*?</tr>", html)[0]
    assert "hash" in row
    assert ">20<" in row
    assert ">60<" in row
    assert "Compared with 1 earlier log." in html
    assert "No earlier log to compare with" in render(ROWS)


@pytest.fixture
def page(watched) -> Iterator[Any]:
    with watched(width=1100, own="file:|data:") as found:
        yield found


def show(page, tmp_path, html):
    path = tmp_path / "page.html"
    path.write_text(html, "utf-8")
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)


def painted(page, selector):
    """How many different colours a canvas shows."""
    return page.evaluate(
        """(selector) => {
          const canvas = document.querySelector(selector);
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          const seen = new Set();
          for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3]) seen.add(pixels.slice(i, i + 3).join());
          return seen.size;
        }""",
        selector,
    )


@pytest.mark.browser
def test_by_keyboard_into_a_node_and_back(page, tmp_path):
    show(page, tmp_path, render(ROWS, EARLIER))
    flame, told = page.locator("[data-flame]"), page.locator("[data-flame-told]")
    assert painted(page, "[data-flame]") > 3
    assert painted(page, "[data-pack]") > 3
    for _ in range(10):
        page.keyboard.press("Tab")
        if flame.evaluate("(canvas) => document.activeElement === canvas"):
            break
    else:
        pytest.fail("Tab never reaches the flame graph")
    assert told.inner_text() == "Login: 100 ms, before 60 ms per call"
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    expected = (
        "hash: own time 60 ms, before 20 ms; with everything below 60 ms, before 20 ms; 60.0 % of the service; depth 3"
    )
    assert told.inner_text() == expected
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert told.inner_text().startswith("store: own time 20 ms, before 20 ms")
    page.keyboard.press("Enter")
    assert flame.get_attribute("data-focus") == "store"
    page.keyboard.press("Escape")
    assert flame.get_attribute("data-focus") == "enter"
    page.keyboard.press("Home")
    assert flame.get_attribute("data-focus") == "Login"
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    assert page.locator("[data-pack]").get_attribute("data-focus") == "check"
    page.get_by_role("button", name="Whole service").click()
    assert page.locator("[data-pack]").get_attribute("data-focus") == "Login"


@pytest.mark.browser
def test_by_mouse_into_a_node_and_back_and_to_another_service(page, tmp_path):
    show(page, tmp_path, render(ROWS, EARLIER))
    flame = page.locator("[data-flame]")
    width = flame.bounding_box()["width"]
    flame.hover(position={"x": width * 0.9, "y": 30})
    assert page.locator("[data-flame-told]").inner_text().startswith("enter: own time 10 ms, before 10 ms")
    flame.click(position={"x": width * 0.2, "y": 50})
    assert flame.get_attribute("data-focus") == "check"
    flame.click(position={"x": width * 0.95, "y": 50})
    assert flame.get_attribute("data-focus") == "enter"
    pack = page.locator("[data-pack]")
    box = pack.bounding_box()
    pack.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    assert pack.get_attribute("data-focus") != "Login"
    page.get_by_label("Service").select_option("Pay")
    assert page.locator("[data-flame-told]").inner_text() == "Pay: 50 ms, before 50 ms per call"


@pytest.mark.browser
def test_names_are_text_wherever_they_stand(page, tmp_path):
    rows = [(tx, f"{service}{EVIL}", label, f"{method}{EVIL}", ms) for tx, service, label, method, ms in ROWS]
    earlier = [(tx, f"{service}{EVIL}", label, f"{method}{EVIL}", ms) for tx, service, label, method, ms in EARLIER]
    show(page, tmp_path, render(rows, earlier, name=f"log{EVIL}"))
    assert page.locator("img").count() == 0
    page.locator("[data-flame]").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("[data-flame-told]").inner_text().startswith('enter</script><img src=x onerror=alert(1)>"')


@pytest.mark.browser
def test_ten_thousand_nodes_are_drawn_and_can_be_walked(page, tmp_path):
    rows = large()
    show(page, tmp_path, render(rows, [(*row[:4], row[4] * 0.9) for row in rows]))
    assert painted(page, "[data-flame]") > 20
    assert painted(page, "[data-pack]") > 20
    page.locator("[data-flame]").focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "depth 5" in page.locator("[data-flame-told]").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_on_a_phone(browser, tmp_path, scheme):
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = context.new_page()
    show(page, tmp_path, render(ROWS, EARLIER))
    wide = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    context.close()
    assert wide[0] <= wide[1]
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
