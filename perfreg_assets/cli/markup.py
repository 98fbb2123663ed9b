"""Markdown, GitHub's workflow commands and JUnit's XML: names from outside stand in each and end none of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from perfreg_assets.how_many import how_many

BAD = frozenset({"anomalous"})
_JUDGED = frozenset({"anomalous", "improved", "changed", "normal"})
_SIGNS = {"anomalous": "🔴", "improved": "🟢", "normal": "⚪"}
_UNSAID = "⚫"  # nothing was judged
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# GitHub looks for people, issues and addresses in what is left when escapes are resolved: something of no width, or an
# entity for a sign that they need, makes them plain text. (The entity itself is ASCII, which `printable` leaves alone.)
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|://|www\.", re.IGNORECASE)
_UNLINKED = {"@": "@&#8203;", "#": "#&#8203;", "://": "&#58;//"}


def is_judged(state: str) -> bool:
    """Whatever is no verdict is a state of its own, and none of them is a passed test."""
    return state in _JUDGED


# ---- Markdown ------------------------------------------------------------------------------------
def sign(state: str) -> str:
    return _SIGNS.get(state, _UNSAID)


def cell(text: object) -> str:
    """As a cell of a Markdown table: names from outside end neither it nor begin anything, and call nobody."""
    clean = " ".join(str(text if text is not None else "–").split()).replace("&", "&amp;")
    clean = _LINKED.sub(lambda found: _UNLINKED.get(found[0], f"{found[0][:-1]}&#46;"), clean)
    return re.sub(r"([\\|`*_~<>\[\]])", r"\\\1", clean)


def link(text: str, address: str | None) -> str:
    """A cell's text, which leads to an address where there is one (percent-encoded by whoever made it)."""
    return text if address is None else f"[{text}](<{address}>)"


# ---- annotations ---------------------------------------------------------------------------------
def annotation(kind: str, title: str, message: str) -> str:
    """One workflow command; `kind` is error, warning or notice."""
    return f"::{kind} title={_escaped(title).replace(':', '%3A').replace(',', '%2C')}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# ---- JUnit ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Case:
    """One test case: it fails when its state is a bad one, and is skipped when nothing was judged."""

    group: str
    name: str
    state: str
    message: str


def junit(suites: Iterable[tuple[str, Sequence[Case]]]) -> str:
    """JUnit's XML of suites by name."""
    root = ElementTree.Element("testsuites", name="perfreg")
    for name, cases in suites:
        suite = ElementTree.SubElement(
            root, "testsuite", name=_xml(name), tests=str(len(cases)), errors="0",
            failures=str(sum(one.state in BAD for one in cases)),
            skipped=str(sum(not is_judged(one.state) for one in cases)),
        )  # fmt: skip
        for one in cases:
            case = ElementTree.SubElement(suite, "testcase", classname=_xml(one.group), name=_xml(one.name))
            if one.state in BAD:
                ElementTree.SubElement(case, "failure", message=_xml(one.message), type=one.state)
            elif not is_judged(one.state):
                ElementTree.SubElement(case, "skipped", message=_xml(f"{one.state}: {one.message}"))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _xml(text: object) -> str:
    return _NOT_XML.sub("\ufffd", str(text))


# ---- verdicts in words ---------------------------------------------------------------------------
def sentence(row: Mapping[str, Any]) -> str:
    """Why, in one line; the state where nothing is said."""
    return " ".join(str(row["explanation"] or row["state"]).split())


def axes_told(axes: Mapping[str, str] | None) -> str:
    return ", ".join(f"{axis} {state}" for axis, state in (axes or {}).items())


def counted(states: Sequence[str], what: str) -> str:
    """How many are in which state: '1 anomalous, 3 normal of 4 runs'."""
    if not states:
        return f"no {what}s"
    counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    return f"{counts} of {how_many(len(states), what)}"
