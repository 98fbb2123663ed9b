"""No page says what the warehouse denies: every page of the sample's two apps is walked (tests/page_statements.py)."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.page_statements import contradictions

RUN = "runs/notes-0016.html"
FALSE = {
    "state": (RUN, 'class="verdict anomalous"', 'class="verdict normal"'),
    "history": (RUN, r"the last \d+ comparable", "the last 99 comparable"),
    "second": (RUN, r"from second \d+ to", "from second 77 to"),
    "share of a cause": (RUN, r"70 % of the growth\.", "71 % of the growth."),
    "limit of an axis": (RUN, r"29× the limit</small>", "28× the limit</small>"),
    "score": (RUN, r"\(score [\d.]+ of", "(score 1.23 of"),
    "window": (RUN, r"(<li data-window=[^>]*><button[^>]*>)[\d.]+–", r"\g<1>1–"),
    "row of the history": (RUN, r'<td class="num">0\.99\d*</td></tr>', '<td class="num">0.12</td></tr>'),
    "a sentence that nobody checks": (RUN, "</h1>", " It took 4711 s.</h1>"),
    "ground": ("runs/notes-0012.html", r"from its history: [\d.]+×", "from its history: 9.87×"),
    "runs of a version": ("versions/com.example.notes@1.2.0.html", "<dd>8, 4 anomalous", "<dd>8, 3 anomalous"),
    "level of a version": (
        "versions/com.example.notes@1.2.0.html",
        r"(<td class=\"num\">)1\d\d( <bdi>MB)",
        r"\g<1>77\g<2>",
    ),
    "runs of a level": ("versions/com.example.notes@1.2.0.html", r"of its \d+ runs", "of its 77 runs"),
    "level of another configuration": (
        "versions/com.example.notes@1.0.0.html",
        r"(<summary>)\d+ run",
        r"\g<1>77 run",
    ),
    "axis of a version": ("versions/com.example.shop@1.2.0.html", r"; \d of 7 runs", "; 1 of 7 runs"),
    "sums": ("index.html", r"<b>9</b> anomalous", "<b>8</b> anomalous"),
    "benchmarks in the sums": ("index.html", r"<b>\d+</b>( <a href=\"benchmarks)", r"<b>77</b>\g<1>"),
    "what an estimate rests on": ("runs/notes-0003.html", r"12 % of the cores", "13 % of the cores"),
    "charge of a version": ("energy.html", r'(<td class="num">6</td><td class="num">)12', r"\g<1>13"),
    "runs of a version with charge": ("energy.html", r'</th><td class="num">6</td>', '</th><td class="num">9</td>'),
    "change of charge": ("energy.html", r"[+-][\d.]+ %</td>", "+99.9 %</td>"),
    "count of benchmarks": ("benchmarks.html", r'<td class="num">\d+</td>', '<td class="num">77</td>'),
    "state of benchmarks": ("benchmarks.html", r"</span> (\d+)", "</span> 77"),
    "level of a benchmark": ("benchmarks/", r"(</th>\s*<td class=\"num\">)[\d.]+", r"\g<1>77"),
    "state of a benchmark": (
        "benchmarks/",
        r'<td title="[^"]*"><span class="badge \w+',
        '<td title=""><span class="badge invalid',
    ),
    "area of benchmarks": ("benchmarks/", r'(class="num[^"]*">)[+-][\d.]+ %', r"\g<1>+77.7 %"),
    "row of the list": ("data/runs-0.js", '"not_enough_history"', '"normal"'),
    "cell of a heat map": ("data/versions-0-0.js", r"\[17\.\d+,4,7,", "[17.1,3,7,"),
}


def test_no_page_says_what_the_marts_deny(sample_site):
    warehouse, out = sample_site
    with warehouse.reading() as reader:
        assert contradictions(reader, out) == []


@pytest.fixture(scope="module")
def altered(sample_site, tmp_path_factory):
    out = tmp_path_factory.mktemp("altered") / "reports"
    shutil.copytree(sample_site[1], out, ignore=shutil.ignore_patterns("assets", ".state"))
    return out


@pytest.mark.parametrize("what", FALSE)
def test_a_false_statement_is_found(sample_site, altered, what):
    page, pattern, false = FALSE[what]
    path = next(iter(sorted((altered / page).glob("*.html")))) if page.endswith("/") else altered / page
    text = path.read_text("utf-8")
    changed, count = re.subn(pattern, false, text, count=1)
    assert count == 1, "the statement is on the page"
    assert changed != text
    path.write_text(changed, "utf-8")
    with sample_site[0].reading() as reader:
        found = contradictions(reader, altered, only="index.html" if page.startswith("data/") else page)
    path.write_text(text, "utf-8")
    assert found
