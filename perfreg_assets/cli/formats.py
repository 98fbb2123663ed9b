"""Verdicts and comparisons as systems of continuous integration show them: a comment, annotations, JUnit's XML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from perfreg_assets.run import RUN_LEVEL

Rows = Sequence[Mapping[str, Any]]
_BAD = {"anomalous"}
_NOT_JUDGED = {"not_enough_history", "incomplete_trace", "series_missing"}
_SIGNS = {"anomalous": "🔴", "improved": "🟢", "normal": "⚪"}
_UNSAID = "⚫"  # nothing was judged
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def verdicts_markdown(rows: Rows) -> str:
    """A comment for a pull request: what came of it in a sentence, and a table of the runs."""
    runs = _runs(rows)
    lines = [f"### perfreg: {_summary(runs)}", ""]
    if runs:
        lines += ["| | run | version | state | axes | why |", "|--|--|--|--|--|--|"]
        lines += [
            f"| {_SIGNS.get(row['state'], _UNSAID)} | {_cell(row['run_id'])} | {_cell(row['version_name'])} "
            f"| {row['state']} | {_cell(_axes(row))} | {_cell(row['explanation'])} |"
            for row in sorted(runs, key=lambda row: row["state"] not in _BAD)
        ]
    return "\n".join(lines) + "\n"


def verdicts_github(rows: Rows) -> str:
    """GitHub's workflow commands: an error per anomalous run, a warning for runs that could not be judged."""
    runs = _runs(rows)
    lines = []
    for row in runs:
        title = f"perfreg: {row['run_id']} of {row['version_name']} is {row['state']}"
        if row["state"] in _BAD:
            lines.append(_command("error", title, _sentence(row)))
        elif row["state"] in _NOT_JUDGED:
            lines.append(_command("warning", title, _sentence(row)))
    lines.append(_command("notice", "perfreg", _summary(runs)))
    return "\n".join(lines) + "\n"


def verdicts_junit(rows: Rows) -> str:
    """A test suite per version, a test case per run and series: anomalous ones fail, those not judged are skipped."""
    root = ElementTree.Element("testsuites", name="perfreg")
    suites: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        suites.setdefault((str(row["app"]), str(row["version_name"])), []).append(row)
    for (app, version_name), own in suites.items():
        suite = ElementTree.SubElement(
            root, "testsuite", name=_xml(f"{app} {version_name}"), tests=str(len(own)), errors="0",
            failures=str(sum(row["state"] in _BAD for row in own)),
            skipped=str(sum(row["state"] in _NOT_JUDGED for row in own)),
        )  # fmt: skip
        for row in own:
            series = "the whole run" if row["series"] == RUN_LEVEL else row["series"]
            case = ElementTree.SubElement(
                suite, "testcase", classname=_xml(f"{app}.{version_name}.{row['run_id']}"), name=_xml(series)
            )
            if row["state"] in _BAD:
                ElementTree.SubElement(case, "failure", message=_xml(_sentence(row)), type=row["state"])
            elif row["state"] in _NOT_JUDGED:
                ElementTree.SubElement(case, "skipped", message=_xml(f"{row['state']}: {_sentence(row)}"))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def comparison_markdown(told: Mapping[str, Any]) -> str:
    """A comment for a pull request from what `perfreg compare --format json` gives."""
    lines = [
        f"### perfreg: {_cell(told['b'])} beside {_cell(told['a'])}",
        "",
        f"{_SIGNS.get(told['verdict'], _UNSAID)} {_cell(told['explanation'])}",
        "",
        "| series | unit | A | B | difference | 95 % interval | p | state |",
        "|--|--|--:|--:|--:|--:|--:|--|",
    ]
    for row in told["series"]:
        if row["is_judged"]:
            interval = "–" if row["low"] is None else f"{row['low']:+.4g} to {row['high']:+.4g}"
            p_value = "–" if row["p_value"] is None else f"{row['p_value']:.2g}"
            lines.append(
                f"| {_cell(row['series'])} | {_cell(row['unit'])} | {row['mean_a']:.4g} | {row['mean_b']:.4g} "
                f"| {row['difference']:+.4g} | {interval} | {p_value} | {row['state']} |"
            )
    grown = [f"`{row['thread']}` {row['difference']:+.4f}".replace("|", "\\|") for row in told["threads"][:5]]
    if grown:
        lines += ["", f"Threads that run more, core-seconds/s: {', '.join(grown)}"]
    return "\n".join(lines) + "\n"


FORMATS: dict[str, Callable[[Rows], str]] = {
    "markdown": verdicts_markdown,
    "github": verdicts_github,
    "junit": verdicts_junit,
}
"""By name: what `perfreg verdicts --format` writes of its rows."""


def _runs(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["series"] == RUN_LEVEL]


def _summary(runs: Rows) -> str:
    states = Counter(row["state"] for row in runs)
    if not runs:
        return "no runs"
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return f"{counts} of {len(runs)} run{'s' if len(runs) != 1 else ''}"


def _axes(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{axis} {state}" for axis, state in (row.get("axes") or {}).items())


def _sentence(row: Mapping[str, Any]) -> str:
    return " ".join(str(row["explanation"] or row["state"]).split())


def _cell(text: object) -> str:
    """As a cell of a Markdown table: names from outside end neither it nor begin anything."""
    clean = " ".join(str(text if text is not None else "–").split())
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", clean)


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_escaped(title).replace(':', '%3A').replace(',', '%2C')}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _xml(text: object) -> str:
    return _NOT_XML.sub("\ufffd", str(text))
