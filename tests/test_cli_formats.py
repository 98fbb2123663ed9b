"""What systems of continuous integration are given: comments, annotations, JUnit; and that names cannot break them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from perfreg_assets.cli import comparison_formats, formats, reading, version_formats
from perfreg_assets.reports.links import version_page


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
    text = formats.verdicts_markdown(ROWS, [])
    assert text.startswith("### perfreg: 1 anomalous, 1 improved, 1 normal, 1 not_enough_history of 4 runs\n")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 6
    assert table[2].startswith("| 🔴 | r2 | 1.5.0 | anomalous | cpu anomalous | worse: by 10 %, a lot |")
    assert formats.verdicts_markdown([], []) == "### perfreg: no runs\n\n"


@pytest.mark.parametrize(
    ("state", "shown", "times"), [("improved", 3.0, 2.0), ("anomalous", -6.0, -4.0), ("normal", -6.0, -4.0)]
)
def test_beside_the_threshold_a_table_shows_what_the_state_goes_by(state, shown, times):
    """Of an improved verdict that is the improvement: its distance is far below the threshold."""
    told = row("r4", state, distance=-6.0, improvement=3.0, threshold=1.5, excess_ratio=-4.0, is_counted=True, axis="")
    line = reading._as_line(told)
    assert (line["distance"], line["excess_ratio"]) == (shown, times)
    assert (told["distance"], told["excess_ratio"]) == (-6.0, -4.0), "other formats give the columns of the mart"


def test_annotations_are_one_line_each_with_what_the_runner_would_read_escaped():
    lines = formats.verdicts_github(ROWS, []).splitlines()
    assert lines == [
        "::error title=perfreg%3A r2 of 1.5.0 is anomalous::worse: by 10 %25, a lot",
        "::warning title=perfreg%3A r3 of 1.5.0 is not_enough_history::cpu_app: uses 0.2 cores",
        "::notice title=perfreg::1 anomalous, 1 improved, 1 normal, 1 not_enough_history of 4 runs",
    ]


def test_junit_fails_what_is_anomalous_and_skips_what_was_not_judged():
    root = ElementTree.fromstring(formats.verdicts_junit(ROWS, []))
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


def versions(version_name="1.5.0", state="anomalous", explanation="As a whole it is anomalous.", app="com.rig"):
    given = {"all": state, "cpu": state, "memory": "normal"}
    return [
        {"app": app, "version_name": version_name, "axis": axis, "state": one, "explanation": explanation}
        for axis, one in given.items()
    ]


def test_what_only_the_runs_together_show_is_the_failure_that_the_exit_status_stands_for():
    calm = [row("r1", "normal", app="com.rig"), row("r1", "normal", "cpu_app", app="com.rig")]
    answer, _, *table = formats.verdicts_markdown(calm, versions("1_5")).splitlines()
    assert answer == "### perfreg: 1 normal of 1 run, but together: 1\\_5 is anomalous"
    assert table[2] == (
        "| 🔴 | its runs together | 1\\_5 | anomalous | cpu anomalous, memory normal | As a whole it is anomalous. |"
    )
    assert formats.verdicts_github(calm, versions()).splitlines() == [
        "::error title=perfreg%3A 1.5.0 is anomalous::As a whole it is anomalous.",
        "::notice title=perfreg::1 normal of 1 run, but together: 1.5.0 is anomalous",
    ]
    root = ElementTree.fromstring(formats.verdicts_junit(calm, versions()))
    assert [(one.get("name"), [child.tag for child in one]) for one in root.iter("testcase")] == [
        ("its runs together", ["failure"]), ("the whole run", []), ("cpu_app", []),
    ]  # fmt: skip
    for told in (formats.verdicts_markdown, formats.verdicts_github, formats.verdicts_junit):
        worse = [row("r2", "anomalous", app="com.rig")]
        assert told(worse, versions()) == told(worse, [])  # its run says so already
        assert told(calm, versions(state="normal")) == told(calm, [])
    (first, last) = formats.verdicts_github([], versions(state="quarantined")[:1]).splitlines()
    assert first == "::warning title=perfreg%3A 1.5.0 is quarantined::As a whole it is anomalous."
    assert last == "::warning title=perfreg::no runs, but together: 1.5.0 is quarantined"


def test_of_several_apps_each_version_is_told_with_its_app():
    """Versions of two apps are often called alike: it is the other app's that was not taken in."""
    runs = [row("r1", "anomalous", app="com.rig")]
    both = [*versions(), *versions(state="quarantined", app="com.o_ther")]
    answer, _, _, _, other, own = formats.verdicts_markdown(runs, both).splitlines()
    assert answer == "### perfreg: 1 anomalous of 1 run, but together: 1.5.0 of com.o\\_ther is quarantined"
    assert other.startswith("| ⚫ | its runs together | 1.5.0 of com.o\\_ther | quarantined |")
    assert own.startswith("| 🔴 | r1 | 1.5.0 of com.rig | anomalous |")
    lines = formats.verdicts_github(runs, both).splitlines()
    assert lines[0].startswith("::warning title=perfreg%3A 1.5.0 of com.o_ther is quarantined::")
    assert lines[1].startswith("::error title=perfreg%3A r1 of 1.5.0 of com.rig is anomalous::")
    assert lines[2].endswith("::1 anomalous of 1 run, but together: 1.5.0 of com.o_ther is quarantined")
    titles = [
        line.split("::")[1] for line in version_formats.versions_github(version_formats.Shown(both, [])).split("\n")[:2]
    ]
    assert titles == [
        "error title=perfreg%3A 1.5.0 of com.rig is anomalous",
        "warning title=perfreg%3A 1.5.0 of com.o_ther is quarantined",
    ]
    whole, *axes = versions()
    calm = version_formats.Shown([{**whole, "state": "normal"}, *axes, *versions(state="normal", app="com.x")], [])
    assert "title=perfreg%3A cpu of 1.5.0 of com.rig is anomalous::" in version_formats.versions_github(calm)


def test_an_axis_may_be_anomalous_though_the_version_as_a_whole_is_not():
    whole, *axes = versions()
    shown = version_formats.Shown([{**whole, "state": "normal"}, *axes], [])
    assert version_formats.versions_github(shown).splitlines()[0] == (
        "::error title=perfreg%3A cpu of 1.5.0 is anomalous::As a whole it is anomalous."
    )


@pytest.mark.parametrize("state", ["quarantined", "not_judged", "not_enough_history", "of a later release"])
def test_what_is_no_verdict_is_never_a_passed_test(state):
    shown = version_formats.Shown(versions(state=state), [])
    assert version_formats.versions_github(shown).startswith(f"::warning title=perfreg%3A 1.5.0 is {state}::")
    cases = list(ElementTree.fromstring(version_formats.versions_junit(shown)).iter("testcase"))
    assert [[child.tag for child in one] for one in cases] == [["skipped"], ["skipped"], []]


def test_a_comment_on_versions_has_each_above_its_runs_with_links_where_pages_are_known():
    runs = [
        row("r1", "normal", app="com.rig"),
        row("r/2", "anomalous", app="com.rig"),
        row("r/2", "anomalous", "cpu_app", app="com.rig"),
    ]
    text = version_formats.versions_markdown(version_formats.Shown(versions(), runs))
    assert text.startswith("### perfreg: 1.5.0 is anomalous (cpu)\n\n| | version and its runs |")
    table = [line for line in text.splitlines() if line.startswith("|")][2:]
    assert table == [
        "| 🔴 | **1.5.0** of com.rig | anomalous | cpu anomalous, memory normal | As a whole it is anomalous. |",
        "| 🔴 | ↳ r/2 | anomalous | cpu anomalous | cpu\\_app: uses 0.2 cores |",
        "| ⚪ | ↳ r1 | normal | cpu normal | cpu\\_app: uses 0.2 cores |",
    ]
    shown = version_formats.Shown(
        [*versions("1.4 b", "not_enough_history"), *versions()], runs,
        {("com.rig", "1.5.0"): ("pictures/a%20b.png", "cpu_app of r1")}, "https://perf.example/",
    )  # fmt: skip
    text = version_formats.versions_markdown(shown)
    assert text.startswith("### perfreg: 1 anomalous, 1 not_enough_history of 2 versions\n")
    assert "[**1.5.0**](<https://perf.example/versions/com.rig@1.5.0.html>) of com.rig" in text
    assert "[r1](<https://perf.example/runs/r1.html>)" in text
    assert f"perf.example/{version_page('com.rig', '1.4 b')}>)" in text
    assert text.endswith("\n\n![cpu\\_app of r1](<pictures/a%20b.png>)\n")
    assert version_formats.versions_markdown(version_formats.Shown([], [])) == "### perfreg: no versions\n\n"


def test_a_version_of_which_nothing_was_taken_in_has_no_page_to_be_linked():
    refused = version_formats.Shown(versions(state="quarantined"), [], reports_url="https://perf.example")
    assert "perf.example" not in version_formats.versions_markdown(refused)


def test_a_comment_says_first_what_grew_in_several_runs_of_a_version():
    (name, *_) = {version_formats.named(row) for row in versions()}
    grown = {name: ("in 3 runs of 1.5.0, cpu_app: thread main of com.rig.shop <b>|",), ("other", "1"): ("unseen",)}
    text = version_formats.versions_markdown(version_formats.Shown(versions(), [], grown=grown))
    lines = text.splitlines()
    (place,) = (k for k, line in enumerate(lines) if line.startswith("* in 3 runs of 1.5.0"))
    assert lines[place - 2 : place] == ["What grew:", ""]
    assert place < next(k for k, line in enumerate(lines) if line.startswith("| |"))
    assert "unseen" not in text
    assert "<b>" not in text


def test_slow_changes_are_told_beside_the_verdicts_and_are_no_failure():
    drifts = [{"app": "com.rig|x", "device": None, "explanation": "level of rss_app: +1.0 % a version since 1.1.0."}]
    shown = version_formats.Shown(versions(), [], drifts=drifts)
    assert version_formats.versions_markdown(shown).endswith(
        "\n\nSlow changes, which raise no alarm by themselves:\n\n"
        "* com.rig\\|x on a device not named: level of rss\\_app: +1.0 % a version since 1.1.0.\n"
    )
    assert "::notice title=com.rig|x%3A slow change::com.rig|x on" in version_formats.versions_github(shown)
    assert "slow" not in version_formats.versions_junit(shown)


def test_annotations_and_junit_of_versions_are_by_version_and_axis():
    shown = version_formats.Shown([*versions("1.4.0", "not_enough_history", "too few"), *versions()], [])
    assert version_formats.versions_github(shown).splitlines() == [
        "::error title=perfreg%3A 1.5.0 is anomalous::cpu: As a whole it is anomalous.",
        "::warning title=perfreg%3A 1.4.0 is not_enough_history::too few",
        "::notice title=perfreg::1 anomalous, 1 not_enough_history of 2 versions",
    ]
    root = ElementTree.fromstring(version_formats.versions_junit(shown))
    assert [(one.get("name"), one.get("tests"), one.get("failures"), one.get("skipped")) for one in root] == [
        ("com.rig 1.4.0", "3", "0", "2"), ("com.rig 1.5.0", "3", "2", "0"),
    ]  # fmt: skip
    cases = {(one.get("classname"), one.get("name")): [child.tag for child in one] for one in root.iter("testcase")}
    assert cases["com.rig.1.4.0", "the version as a whole"] == ["skipped"]
    assert (cases["com.rig.1.5.0", "cpu"], cases["com.rig.1.5.0", "memory"]) == (["failure"], [])


def compared(name="branch", verdict="anomalous"):
    one = {"series": "cpu_app", "unit": "cores", "is_judged": True, "mean_a": 1.0, "mean_b": 2.0, "difference": 1.0,
           "mean_state": None, "growth_state": None, "growth_difference": None}  # fmt: skip
    interval = (
        {"low": 0.5, "high": 1.5, "p_value": 0.01, "detectable": 0.7}
        if verdict == "anomalous"
        else dict.fromkeys(("low", "high", "p_value", "detectable"))
    )
    return {
        "a": "main", "b": name, "verdict": verdict, "explanation": f"Worse in B: {name}",
        "series": [{**one, **interval, "state": verdict}, {**one, **interval, "is_judged": False, "state": verdict}],
        "threads": [{"process": name, "thread": name, "difference": 0.5}],
        "slices": [{"thread": "main", "name": name, "difference": 0.5}], "stacks": [],
        "sources": [
            {"source": "threads", "state": "compared", "reason": None},
            {"source": "slices", "state": "compared", "reason": None},
            {"source": "stacks", "state": "missing_in_a", "reason": name},
        ],
        "series_excluded": [{"side": "a", "run": name, "series": name, "reason": name}],
    }  # fmt: skip


def test_a_comparison_is_an_annotation_and_a_case_per_judged_series():
    assert comparison_formats.comparison_github(compared()) == (
        "::error title=perfreg%3A branch beside main is anomalous::Worse in B: branch\n"
    )
    assert comparison_formats.comparison_github(compared(verdict="not_enough_runs")).startswith("::warning ")
    assert comparison_formats.comparison_github(compared(verdict="improved")).startswith("::notice ")
    for verdict, tag in (("anomalous", "failure"), ("not_enough_runs", "skipped")):
        cases = ElementTree.fromstring(comparison_formats.comparison_junit(compared(verdict=verdict))).iter("testcase")
        assert [(one.get("name"), one[0].tag) for one in cases] == [("the whole comparison", tag), ("cpu_app", tag)]


def leak():
    """Memory whose growth is anomalous and whose mean is not."""
    told = compared()
    (one, _) = told["series"]
    grows = {"a": 1e6, "b": 9e6, "difference": 8e6, "low": 5e6, "high": 11e6, "p_value": 0.001, "detectable": 2e6}
    told["series"] = [
        one | {"series": "rss_app", "unit": "bytes", "mean_state": "normal", "growth_state": "anomalous"}
        | {"mean_a": 950e6, "mean_b": 1.006e9, "difference": 56e6, "low": -57e6, "high": 168e6, "detectable": 129e6}
        | {f"growth_{name}": value for name, value in grows.items()}
    ]  # fmt: skip
    return told


def test_what_grows_is_told_by_its_growth():
    table = [line for line in comparison_formats.comparison_markdown(leak()).splitlines() if line.startswith("| ")][1:]
    assert table == [
        "| rss\\_app | 950 MB | 1.01 GB | +56 MB | -57 MB to +168 MB | 0.01 | 129 MB (14%) | normal |",
        "| growth of rss\\_app, per minute | 1 MB | 9 MB | +8 MB | +5 MB to +11 MB | 0.001 | 2 MB | anomalous |",
    ]
    _, case = ElementTree.fromstring(comparison_formats.comparison_junit(leak())).iter("testcase")
    assert case[0].get("message") == (
        "growth per minute 1 MB to 9 MB, 95 % interval +5 MB to +11 MB; "
        "mean 950 MB to 1.01 GB, 95 % interval -57 MB to +168 MB"
    )


NASTY = [
    "@octocat please see #12",
    "~~gone~~ https://evil.example www.evil.example",
    "&lt;img src=x&gt; <img src=x onerror=1>",
    "a|b",
    "x</testcase><script>",
    "::error::boo",
    "[link](http://x) `c`",
    "\x00\x1b[31m",
    "%0A::stop-commands::t",
    "é🙂",
]


CALLS = re.compile(r"@\w|(?<!&)#\d|://|www\.|(?<!\\)[<>~`]|&(?!amp;|#)")
"""What GitHub would make a mention, a link or an element of."""


@pytest.mark.parametrize("name", NASTY)
def test_names_from_outside_end_nothing_of_versions_and_comparisons(name):
    shown = version_formats.Shown(versions(name, explanation=name, app=name),
                                  [row(name, "anomalous", explanation=name, version_name=name, app=name)],
                                  {(name, name): ("p.png", name)}, "https://perf.example")  # fmt: skip
    answer, _, *table, _, picture = version_formats.versions_markdown(shown).splitlines()
    own = re.compile(r"\(<[^<> ]*>\)")  # addresses of our own making
    assert own.findall(picture) == ["(<p.png>)"]
    assert len(table) == 4
    for line in table[2:]:
        assert len(re.findall(r"(?<!\\)\|", line)) == 6
        assert len(own.findall(line)) == 1
    assert not [line for line in (answer, *table, picture) if CALLS.search(own.sub("", line))]
    assert len(version_formats.versions_github(shown).splitlines()) == 2
    assert len(ElementTree.fromstring(version_formats.versions_junit(shown)).findall("testsuite/testcase/failure")) == 2
    told = compared(name)
    lines = comparison_formats.comparison_markdown(told).splitlines()
    assert len(lines) == 15
    assert not [line for line in lines if CALLS.search(line)]
    assert comparison_formats.comparison_github(told).count("\n") == 1
    assert len(ElementTree.fromstring(comparison_formats.comparison_junit(told)).findall("testsuite/testcase")) == 2


@pytest.mark.parametrize("name", NASTY)
def test_names_from_outside_end_nothing(name):
    rows = [row(name, "anomalous", explanation=name, version_name=name)]
    table = formats.verdicts_markdown(rows, []).splitlines()[4]
    assert len(re.findall(r"(?<!\\)\|", table)) == 7
    assert not re.search(r"(?<!\\)\]\(", table)
    assert len(formats.verdicts_github(rows, []).splitlines()) == 2
    assert "%0A::stop" not in formats.verdicts_github(rows, [])
    assert len(ElementTree.fromstring(formats.verdicts_junit(rows, [])).findall("testsuite/testcase/failure")) == 1
