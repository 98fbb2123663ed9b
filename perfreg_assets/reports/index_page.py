"""The index: what each version did to each series, how levels moved over versions, and every run with its verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from perfreg_assets.reports import wording
from perfreg_assets.reports.data import AxisVerdict, Overview, Run, TrendPoint, Verdict
from perfreg_assets.reports.links import page_name
from perfreg_assets.reports.templating import embed_json, numbers, render
from perfreg_assets.run import RUN_LEVEL

UNKNOWN = "(unknown)"
_EPOCH = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One version and series: d over its limit in the worst run, counts of runs, and why none is judged if none is.

    `lacking`: runs that do not have the series although their history has.
    """

    ratio: float | None
    anomalous: int
    judged: int
    lacking: int
    state: str | None


@dataclass(frozen=True, slots=True)
class HeatRow:
    version: str
    run_count: int
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Versions of one app (newest first) by judged series, those of an axis side by side.

    `axes`: name of each axis and how many of the series are its.
    """

    app: str
    axes: tuple[tuple[str, int], ...]
    series: tuple[str, ...]
    rows: tuple[HeatRow, ...]


def render_index(overview: Overview) -> str:
    """The index page as HTML text."""
    by_run: dict[str, list[Verdict]] = defaultdict(list)
    lacking: set[tuple[str, str]] = set()
    for verdict in overview.verdicts:
        if verdict.series != RUN_LEVEL:
            by_run[verdict.run_id].append(verdict)
        lacking.update((verdict.run_id, name) for name in verdict.missing_series)
    runs = sorted(overview.runs, key=lambda r: (r.started_at or _EPOCH, r.run_id), reverse=True)
    states: dict[str, dict[str, str]] = defaultdict(dict)
    for one in overview.axes:
        states[one.run_id][one.axis] = one.state
    maps = heat_maps(runs, by_run, lacking, overview.series_axes)
    return render(
        "index.html.j2",
        {
            "root": "",
            "page": "index",
            "sums": _sums(runs),
            "maps": maps,
            "runs": [_run_row(run, by_run[run.run_id], states[run.run_id]) for run in runs],
            "axes": _axis_filters(overview.axes),
            "detector": wording.detector_text(overview.detector),
            "apps": sorted({run.app or UNKNOWN for run in runs}),
            "versions": list(dict.fromkeys(run.version_name or UNKNOWN for run in runs)),
            "series": sorted({v.series for group in by_run.values() for v in group}),
            "omega": overview.omega,
            "payload": embed_json({"trends": trend_payload(overview.trends, {m.app for m in maps})}),
        },
    )


def _sums(runs: Sequence[Run]) -> dict[str, int]:
    states = [run_state(run) for run in runs]
    return {
        "runs": len(runs),
        "versions": len({(run.app, run.version_name) for run in runs if run.state != "quarantined"}),
        "anomalous": states.count("anomalous"),
        "calm": states.count("normal") + states.count("improved"),
        "unjudged": sum(state not in ("anomalous", "normal", "improved") for state in states),
    }


def run_state(run: Run) -> str:
    """The state that stands on a run's badge."""
    if run.state in ("quarantined", "incomplete_trace"):
        return run.state
    return run.verdict or "not_judged"


def _axis_filters(verdicts: Sequence[AxisVerdict]) -> list[tuple[str, list[str]]]:
    """Each axis with the states that some run has there."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in verdicts:
        found[one.axis].add(one.state)
    return [(axis, sorted(found[axis])) for axis in sorted(found, key=wording.axis_place)]


def heat_maps(
    runs: Sequence[Run],
    by_run: Mapping[str, Sequence[Verdict]],
    lacking: Collection[tuple[str, str]],
    series_axes: Mapping[str, str],
) -> list[HeatMap]:
    """One map per app; `runs` newest first decides the order of versions.

    Args:
        lacking: (run_id, series) of what runs do not have although their history has.
    """
    apps: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.state != "quarantined":
            apps[run.app or UNKNOWN][run.version_name or UNKNOWN].append(run)
    maps = []
    for app in sorted(apps):
        names = {v.series for group in apps[app].values() for run in group for v in by_run.get(run.run_id, ())}
        axis_of = {name: series_axes.get(name, "other") for name in names}
        series = sorted(names, key=lambda name: (wording.axis_place(axis_of[name]), name))
        widths = Counter(axis_of[name] for name in series)  # in the order of their first series
        rows = []
        for version, group in apps[app].items():
            verdicts = [v for run in group for v in by_run.get(run.run_id, ())]
            cells = tuple(_cell([v for v in verdicts if v.series == name], lacking) for name in series)
            rows.append(HeatRow(version, len(group), cells))
        maps.append(HeatMap(app, tuple(widths.items()), tuple(series), tuple(rows)))
    return maps


def _cell(verdicts: Sequence[Verdict], lacking: Collection[tuple[str, str]]) -> HeatCell:
    judged = [v for v in verdicts if v.is_anomalous is not None]
    ratios = [v.limit_ratio for v in judged if v.limit_ratio is not None]
    states = sorted({v.state for v in verdicts if v.is_anomalous is None})
    return HeatCell(
        ratio=max(ratios, default=None),
        anomalous=sum(bool(v.is_anomalous) for v in judged),
        judged=len(judged),
        lacking=sum((v.run_id, v.series) in lacking for v in verdicts),
        state=None if judged else (states[0] if states else None),
    )


def _run_row(run: Run, verdicts: Iterable[Verdict], axes: Mapping[str, str]) -> dict[str, Any]:
    verdicts = list(verdicts)
    ratios = [v.limit_ratio for v in verdicts if v.limit_ratio is not None]
    return {
        "id": run.run_id,
        "page": page_name(run.run_id),
        "app": run.app or UNKNOWN,
        "version": run.version_name or UNKNOWN,
        "started_at": run.started_at,
        "state": run_state(run),
        "axes": axes,
        "flagged": sorted(v.series for v in verdicts if v.is_anomalous),
        "ratio": max(ratios, default=None),
        "review": run.review_status,
        "problems": run.functional_problem_count,
    }


def trend_payload(points: Sequence[TrendPoint], apps: set[str]) -> list[dict[str, Any]]:
    """Per app and series the runs by version and time: ids, versions, level and the band of each run's history."""
    groups: dict[tuple[str, str], list[TrendPoint]] = defaultdict(list)
    for point in points:
        if point.app in apps:
            groups[point.app, point.series].append(point)
    payload = []
    for (app, series), group in sorted(groups.items()):
        first: dict[str, datetime] = {}
        for point in group:
            started = point.started_at or _EPOCH
            first[point.version_name] = min(first.get(point.version_name, started), started)
        group.sort(key=lambda p: (first[p.version_name], p.version_name, p.started_at or _EPOCH, p.run_id))
        unit = wording.unit_of(series, group[0].unit)
        payload.append(
            {
                "app": app,
                "series": series,
                "axis": unit.axis,
                "runs": [p.run_id for p in group],
                "versions": [p.version_name for p in group],
                "levels": numbers((p.level * unit.factor for p in group), digits=4),
                "low": _scaled([p.history_low for p in group], unit.factor),
                "high": _scaled([p.history_high for p in group], unit.factor),
                "anomalous": [i for i, p in enumerate(group) if p.state == "anomalous"],
            }
        )
    return payload


def _scaled(values: Iterable[float | None], factor: float) -> list[float | None] | None:
    return numbers((float("nan") if value is None else value * factor for value in values), digits=4)
