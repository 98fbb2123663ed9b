"""A version's page, where a message or a build's check leads to: whether it got worse, where, why, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from perfreg_assets.how_many import how_many
from perfreg_assets.reports import trace_words, wording
from perfreg_assets.reports.benchmark_site import family_page
from perfreg_assets.reports.causes_wording import amount, cause_name, share
from perfreg_assets.reports.data import ListedRun, VersionRow
from perfreg_assets.reports.drift_lines import draw_drifts
from perfreg_assets.reports.links import DEFAULT_SERVER, page_name, perfetto_link, version_page
from perfreg_assets.reports.loading_version_pages import SAY_NOTHING, VersionView, Worst
from perfreg_assets.reports.templating import render, verdict_beside_limit
from perfreg_assets.reports.version_levels import level_tables
from perfreg_assets.reports.wording import axis_label, axis_place, series_short
from perfreg_assets.warehouse.causes import SEVERAL_RUNS
from perfreg_assets.warehouse.version_verdicts import WHOLE

SHOWN_CAUSES = 10


def render_version_page(view: VersionView, *, server: str = DEFAULT_SERVER, drifts: Sequence[str] = ()) -> str:
    """The page as HTML text.

    Args:
        drifts: what changes a little with every version up to this one, in sentences.
    """
    row = view.row
    whole = next((one for one in view.verdicts if one["axis"] == WHOLE), None)
    axes = _axes(view)
    before = view.earlier[-1][0] if view.earlier else None
    levels, others, hidden = level_tables(view)
    return render(
        "version.html.j2",
        {
            "root": "../",
            "page": "version",
            "server": server,
            "app": view.app,
            "version": row.version_name,
            "tone": whole["state"] if whole else "not_judged",
            "written_for": view.written_for,
            "headline": _headline(view, whole),
            "explanation": whole["explanation"] if whole else None,
            "left_out": row.run_count - whole["run_count"] if whole else 0,
            "axes": axes,
            "next": _next(view, whole, server),
            "row": row,
            "before": None if before is None else {"name": before, "page": version_page(view.app, before)},
            "runs": [_run(run, [axis for axis, _ in _axis_columns(view.runs)]) for run in view.runs],
            "order": _order(view.runs),
            "axis_columns": _axis_columns(view.runs),
            "hidden_runs": row.run_count - len(view.runs),
            "grown": [_cause(one) for one in view.grown[:SHOWN_CAUSES]],
            "hidden_causes": max(0, len(view.grown) - SHOWN_CAUSES),
            "no_causes": _no_causes(view),
            "levels": levels,
            "cells": {name: _cell(row, name) for name in row.points},
            "other_levels": others,
            "hidden_levels": hidden,
            "level_runs": len(row.run_ids),
            "are_out": _are_out(whole),
            "drifts": draw_drifts(drifts),
            "earlier_count": len(view.earlier),
            "energy": view.energy,
            "benchmarks": [{**one, "page": _family(view.app, one)} for one in view.benchmarks],
            "page_name": page_name,
        },
    )


def _headline(view: VersionView, whole: Mapping[str, Any] | None) -> str:
    """One sentence; what was not judged is never called normal."""
    version = view.row.version_name
    if whole is None or (whole["state"] == "not_judged" and whole["run_count"]):
        return f"{version} has not been judged yet."
    if _are_out(whole):
        return f"{version} is not judged: people took all its runs out."
    of = how_many(whole["judged_count"], "judged run")
    if whole["state"] == "anomalous":
        return _worse(view, whole, of)
    told = {
        "improved": f"{version} is better than comparable earlier runs ({of}).",
        "normal": f"{version} stayed within what comparable earlier runs did ({of}).",
        "series_missing": f"{version} is not judged as a whole: {series_short(whole['series'])} is missing in all "
        "its runs.",
        "not_enough_history": "Not judged: there are too few comparable earlier runs. This says nothing good or bad "
        f"about {version}.",
        "incomplete_trace": f"{version} cannot be judged: {trace_words.of_version(_troubles(view))}.",
    }
    return told.get(whole["state"], f"{version} was not judged.")


def _are_out(whole: Mapping[str, Any] | None) -> bool:
    """Whether people took all runs out."""
    return whole is not None and whole["state"] == "not_judged" and not whole["run_count"]


def _troubles(view: VersionView) -> set[str | None]:
    """Why its traces are not judged, as reason codes."""
    return {run.reason_code for run in view.runs if run.state == "incomplete_trace"}


def _worse(view: VersionView, whole: Mapping[str, Any], of: str) -> str:
    version, count = view.row.version_name, whole["anomalous_count"]
    axes = [axis_label(one["axis"]) for one in view.verdicts if one["axis"] != WHOLE and one["is_anomalous"]]
    what = f"{wording.enumerate_names(axes)} of {version}" if axes else f"{version} as a whole"
    if confirmed := whole["confirmed_count"]:
        told = how_many(confirmed, "run was confirmed as a regression", "runs were confirmed as regressions")
        return f"{what} got worse than in comparable earlier runs: {told}."
    if not count:
        return f"{what} got worse than in comparable earlier runs: only its {of} together show it."
    are = "is" if count == 1 else "are"
    return f"{what} got worse than in comparable earlier runs: {count} of {of} {are} anomalous."


def _axes(view: VersionView) -> list[dict[str, Any]]:
    own = sorted((one for one in view.verdicts if one["axis"] != WHOLE), key=lambda one: axis_place(one["axis"]))
    return [
        {
            "label": axis_label(one["axis"]),
            "state": one["state"],
            "series": series_short(one["series"]) if one["series"] else None,
            "ratio": max(one["excess_ratio"], 0.0)
            if one["excess_ratio"] is not None and one["state"] in ("anomalous", "normal")
            else None,
            "count": f"{one['anomalous_count']} of {one['judged_count']} runs" if one["judged_count"] else None,
            "explanation": one["explanation"],
        }
        for one in own
    ]


def _next(view: VersionView, whole: Mapping[str, Any] | None, server: str) -> dict[str, Any]:
    """What to do now: look into the worst run, beside the nearest of its history; or what it takes to judge."""
    worst = view.worst
    advice = _ADVICE.get(whole["state"], _UNKNOWN) if whole else _UNKNOWN
    if whole and whole["state"] in _CALM:
        unanswered = sum(run.state == "anomalous" and run.review is None for run in view.runs)
        advice = (
            f"{_UNANSWERED[min(unanswered, 2)]} The run to look at first{'' if unanswered else ', if you want to'}:"
        )
    if _are_out(whole):
        advice = _TAKEN_OUT
    if worst is None or worst.verdict is None:
        return {"advice": advice, "worst": None}
    return {"advice": advice, "worst": _look(worst, server)}


_ADVICE = {
    "anomalous": "What to do next:",
    "series_missing": "Record its runs with the data sources that its history has; perfreg inspect says what a trace "
    "lacks.",
    "incomplete_trace": "Each run's page says what is wrong with its trace and what to do: most have to be recorded "
    "again.",
    "not_enough_history": "Nothing needs to be done: later versions are compared with it. For a verdict on it runs of "
    "versions before it would have to be there, on the same paths; each run's page says how many are missing.",
}
_CALM = ("normal", "improved")
_UNANSWERED = (
    "Nothing needs to be done.",
    "Of the version as a whole nothing; a run of it is anomalous by itself, and nobody has said yet what it is.",
    "Of the version as a whole nothing; runs of it are anomalous by themselves, and nobody has said yet what they are.",
)
"""Of a version that is in order: by how many of its alarms nobody reviewed; the last for more than one."""
_TAKEN_OUT = "Record more runs of it; or take back what was said: perfreg include RUN, perfreg review RUN --withdraw."
_UNKNOWN = "perfreg status says what is still to be computed, and why."


def _look(worst: Worst, server: str) -> dict[str, Any]:
    run, verdict, window, near = worst.run, worst.verdict, worst.window, worst.nearest
    link, where = None, ""
    if run.has_trace and window is not None:
        link = perfetto_link(run.run_id, window.start_ns, window.end_ns, app=run.app, server=server)
        where = f" at second {window.start_s:g}"
    elif run.has_trace:
        start, end = run.exploration_start_ns, run.exploration_end_ns
        link = perfetto_link(run.run_id, start, end, app=run.app, server=server)
    compare = None if near is None else shlex.join(["perfreg", "compare", near.run_id, run.run_id])
    return {
        "run_id": run.run_id,
        "is_anomalous": bool(verdict and verdict.is_anomalous),
        "is_reviewed": run.review_status is not None or run.is_excluded,
        "series": series_short(verdict.series) if verdict else None,
        "beside_limit": verdict_beside_limit(verdict),
        "window": window,
        "cause": worst.cause,
        "nearest": near,
        "compare": compare,
        "link": link,
        "where": where,
        "review": shlex.join(["perfreg", "review", run.run_id, "--status", "confirmed"]),
    }


def _axis_columns(runs: Sequence[ListedRun]) -> list[tuple[str, str]]:
    return [(axis, axis_label(axis)) for axis in sorted({name for run in runs for name in run.axes}, key=axis_place)]


def _order(runs: Sequence[ListedRun]) -> str:
    """In which order they stand (`VersionView.runs`), in a sentence; "" of a single one."""
    if len(runs) < 2:
        return ""
    ratios = [-1.0 if run.ratio is None else run.ratio for run in runs]
    told = "The worst first" if max(ratios) >= 0 else "The latest first"
    if ratios == sorted(ratios, reverse=True) and max(ratios) >= 0:
        return f"{told}."
    if len({run.state == "anomalous" for run in runs}) > 1:
        told = f"Anomalous ones first, then the others; of each {told[0].lower()}{told[1:]}"
    behind = {run.review in SAY_NOTHING for run in runs} == {True, False}
    return f"{told}{', those that are excluded or were called a false alarm last' if behind else ''}."


def _run(run: ListedRun, axes: Sequence[str]) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "state": run.state,
        "axes": [run.axes.get(axis) for axis in axes],
        "flagged": ", ".join(series_short(name) for name in run.flagged),
        "ratio": run.ratio,
        "started_at": run.started_at,
        "review": run.review,
        "problems": run.problems,
    }


def _cause(row: Mapping[str, Any]) -> dict[str, Any]:
    kind = row["kind"]
    return {
        "what": cause_name(kind, row["process"], row["thread"], row["name"], row["source"]),
        "is_new": row["is_new"],
        "series": series_short(row["series"]),
        "run_ids": row["run_ids"],
        "before": amount(row["before_median"], kind),
        "after": amount(row["after_median"], kind),
        "growth": amount(row["growth_median"], kind, is_difference=True),
        "share": share(row["growth_share_median"]),
    }


def _no_causes(view: VersionView) -> str:
    """Why nothing stands under what grew."""
    count = view.row.run_count
    if not view.row.anomalous_count:
        return "No run of this version is anomalous, so it was not asked what grew in them."
    if count < SEVERAL_RUNS:
        there = f"there {'is' if count == 1 else 'are'} {count}"
        told = f"It takes {SEVERAL_RUNS} runs to say what grew in several of them; {there}."
        return f"{told} What grew in each run stands on its page."
    return f"Nothing grew in suspicious windows of {SEVERAL_RUNS} or more runs; what grew in one stands on its page."


def _cell(row: VersionRow, name: str) -> dict[str, Any]:
    """What the verdicts of its runs say of a series, however they were made."""
    cell = row.cells.get(name)
    return {
        "anomalous": cell.anomalous if cell else 0,
        "judged": cell.judged if cell else 0,
        "lacking": cell.lacking if cell else 0,
        "ratio": cell.ratio if cell else None,
    }


def _family(app: str, row: Mapping[str, Any]) -> str:
    return family_page(app, row["device"], row["variant"], row["runner"])
