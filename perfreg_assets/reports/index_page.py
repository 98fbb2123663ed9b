"""The index: a small page that says how things stand and loads the rest by need (see `run_list`, `version_list`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perfreg_assets.reports import run_list, wording
from perfreg_assets.reports.data import WrittenFor
from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.shards import list_blocks
from perfreg_assets.reports.templating import embed_json, render
from perfreg_assets.warehouse.benchmarks import Extent

OPEN_APPS = 3
"""With more apps than that, an app's heat map and trends are shown when they are asked for."""
LOADED_AHEAD = 20_000
"""Runs up to which the page loads the whole list behind its first paint, 150 bytes each, and filters it itself."""
UNKNOWN = "(unknown)"
"""The app of runs that were quarantined before it was known."""
_CALM = ("normal", "improved")


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """Everything on the index itself.

    Attributes:
        blocks: facts of the blocks of the list of runs, see `run_list`.
        apps: app → number, facts of its blocks of versions and of its latest version, see `version_list`.
        first: rows of the first page of the list.
        series_axes: the axis of each series that has a verdict.
        drifts: app → what its latest versions drift in, in sentences.
        benchmarks: how many there are; they have pages of their own.
    """

    blocks: Sequence[Mapping[str, Any]] = ()
    apps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    first: Sequence[list[Any]] = ()
    omega: float | None = None
    detector: str | None = None
    series_axes: Mapping[str, str] = field(default_factory=dict)
    drifts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    benchmarks: Extent = field(default_factory=Extent)


def render_index(facts: IndexFacts) -> str:
    """The index page as HTML text."""
    axes = _axes(facts.blocks)
    names = run_list.all_of(facts.blocks, "apps")
    return render(
        "index.html.j2",
        {
            "root": "",
            "page": "index",
            "sums": _sums(facts),
            "benchmarks": facts.benchmarks,
            "maps": [_app(name, app, facts.drifts.get(name, ())) for name, app in sorted(facts.apps.items())],
            "open_apps": OPEN_APPS,
            "run_count": sum(block["count"] for block in facts.blocks),
            "axes": axes,
            "detector": wording.detector_text(facts.detector),
            "apps": names + [UNKNOWN] * any(block.get("nameless") for block in facts.blocks),
            "series": run_list.all_of(facts.blocks, "series"),
            "devices": run_list.counts_of(facts.blocks, "devices"),
            "states": _states(facts.blocks),
            "reasons": run_list.counts_of(facts.blocks, "reasons"),
            "omega": facts.omega,
            "written_for": WrittenFor.of(facts.detector, facts.omega),
            "effects": wording.REVIEW_EFFECTS,
            "payload": embed_json(_payload(facts, [axis for axis, _ in axes])),
        },
    )


def _sums(facts: IndexFacts) -> dict[str, int]:
    states: Counter[str] = Counter()
    for block in facts.blocks:
        states.update(block["states"])
    return {
        "runs": states.total(),
        "versions": sum(_count(app, "count") for app in facts.apps.values()),
        "anomalous": states["anomalous"],
        "open": sum(block["open"] for block in facts.blocks),
        "calm": sum(states[state] for state in _CALM),
        "quarantined": states["quarantined"],
        "unjudged": sum(count for state, count in states.items() if state not in ("anomalous", *_CALM)),
    }


def _states(blocks: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """States on the badges of some runs with their number, in the order of the badges' list."""
    counts, order = run_list.counts_of(blocks, "states"), list(wording.STATE_LABELS)
    return sorted(counts.items(), key=lambda one: (order.index(one[0]) if one[0] in order else len(order), one[0]))


def _count(app: Mapping[str, Any], name: str) -> int:
    return sum(block[name] for block in app["blocks"])


def _app(name: str, app: Mapping[str, Any], drifts: Sequence[str]) -> dict[str, Any]:
    """The line that stands for an app."""
    version, runs, anomalous, state = app["latest"]
    return {
        "app": name,
        "versions": _count(app, "count"),
        "runs": _count(app, "runs"),
        "anomalous": _count(app, "anomalous"),
        "is_judged": any(block["series"] for block in app["blocks"]),
        "latest": {
            "version": version,
            "page": version_page(name, version),
            "runs": runs,
            "anomalous": anomalous,
            "state": state,
        },
        "grew": app["grew"],
        "drifts": drifts,
    }


def _axes(blocks: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Each axis with the states that some run has there."""
    found: dict[str, list[str]] = {}
    for one in run_list.all_of(blocks, "axes"):
        axis, state = one.rsplit(".", 1)
        found.setdefault(axis, []).append(state)
    return [(axis, found[axis]) for axis in sorted(found, key=wording.axis_place)]


def _payload(facts: IndexFacts, axes: Sequence[str]) -> dict[str, Any]:
    series = sorted({*facts.series_axes, *run_list.all_of(facts.blocks, "series")})
    order = sorted(series, key=lambda name: (wording.axis_place(facts.series_axes.get(name, "other")), name))
    return {
        "ahead": LOADED_AHEAD,
        "first": facts.first,
        "blocks": list_blocks(facts.blocks),
        "apps": {
            name: {"number": app["number"], "blocks": list_blocks(app["blocks"])}
            for name, app in sorted(facts.apps.items())
        },
        "axes": [[axis, wording.axis_label(axis)] for axis in axes],
        "series": [
            [
                name,
                wording.series_label(name),
                wording.series_short(name),
                wording.axis_label(facts.series_axes.get(name, "other")),
            ]
            for name in order
        ],
        "states": {state: [label, wording.STATE_SYMBOLS[state]] for state, label in wording.STATE_LABELS.items()},
        "reviews": wording.SAID_LABELS,
        "reasons": {code: wording.reason_sentence(code) for code in run_list.counts_of(facts.blocks, "reasons")},
        "effects": wording.REVIEW_EFFECTS,
        "unknown": UNKNOWN,
    }


def known_series(apps: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """All series that some version has a verdict on."""
    return sorted({name for app in apps.values() for block in app["blocks"] for name in block["series"]})
