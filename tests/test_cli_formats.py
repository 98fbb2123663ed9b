"""What systems of continuous integration are given: comments, annotations, JUnit; and that names cannot break them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from perfreg_assets.cli import formats


def row(run_id, state, series="*", explanation="cpu_app: uses 0.2 cores", **changes):
    return {
        "run_id": run_id, "app": "com.rig.shop", "version_name": "1.5.0", "series": series, "state": state,
        "axes": {"cpu": state} if series == "*" else None, "explanation": explanation, **changes,
    }  # fmt: skip


ROWS = [
    row("r1", "normal"),
    row("r2", "anomalous", explanation="worse:\nby 10 %, a lot"),
    row("r2", "anomalous", "cpu_app"),
    row("r3", "not_enough_history"),
    row("r4", "improved"),
]


def test_a_comment_begins_with_the_answer_and_the_worst():
    text = formats.verdicts_markdown(ROWS)
    assert text.startswith("### perfreg: 1 anomalous, 1 improved, 1 normal, 1 not_enough_history of 4 runs\n")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 6
    assert table[2].startswith("| 🔴 | r2 | 1.5.0 | anomalous | cpu anomalous | worse: by 10 %, a lot |")
    assert formats.verdicts_markdown([]) == "### perfreg: no runs\n\n"


def test_annotations_are_one_line_each_with_what_the_runner_would_read_escaped():
    lines = formats.verdicts_github(ROWS).splitlines()
    assert lines == [
        "::error title=perfreg%3A r2 of 1.5.0 is anomalous::worse: by 10 %25, a lot",
        "::warning title=perfreg%3A r3 of 1.5.0 is not_enough_history::cpu_app: uses 0.2 cores",
        "::notice title=perfreg::1 anomalous, 1 improved, 1 normal, 1 not_enough_history of 4 runs",
    ]


def test_junit_fails_what_is_anomalous_and_skips_what_was_not_judged():
    root = ElementTree.fromstring(formats.verdicts_junit(ROWS))
    (suite,) = root.findall("testsuite")
    assert suite.attrib == {
        "name": "com.rig.shop 1.5.0", "tests": "5", "errors": "0", "failures": "2", "skipped": "1",
    }  # fmt: skip
    outcome = {
        (case.get("classname").rpartition(".")[2], case.get("name")): [child.tag for child in case]
        for case in suite.findall("testcase")
    }
    assert outcome == {
        ("r1", "the whole run"): [], ("r2", "the whole run"): ["failure"], ("r2", "cpu_app"): ["failure"],
        ("r3", "the whole run"): ["skipped"], ("r4", "the whole run"): [],
    }  # fmt: skip


NASTY = [
    "a|b",
    "x</testcase><script>",
    "::error::boo",
    "[link](http://x) `c`",
    "\x00\x1b[31m",
    "%0A::stop-commands::t",
    "é🙂",
]


@pytest.mark.parametrize("name", NASTY)
def test_names_from_outside_end_nothing(name):
    rows = [row(name, "anomalous", explanation=name, version_name=name)]
    table = formats.verdicts_markdown(rows).splitlines()[4]
    assert len(re.findall(r"(?<!\\)\|", table)) == 7
    assert not re.search(r"(?<!\\)\]\(", table)
    assert len(formats.verdicts_github(rows).splitlines()) == 2
    assert "%0A::stop" not in formats.verdicts_github(rows)
    assert len(ElementTree.fromstring(formats.verdicts_junit(rows)).findall("testsuite/testcase/failure")) == 1
