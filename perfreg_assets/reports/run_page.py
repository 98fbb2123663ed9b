"""One run's page: what got worse, where, and on what ground that is said."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from markupsafe import Markup

from perfreg_assets.how_many import how_many
from perfreg_assets.reports import answers, review_wording, wording
from perfreg_assets.reports.box_plot import box_plot
from perfreg_assets.reports.causes_table import cause_tables
from perfreg_assets.reports.data import (
    Attachment,
    AxisVerdict,
    Discord,
    Distances,
    History,
    HistoryMember,
    Run,
    RunDetail,
    SeriesView,
    WrittenFor,
)
from perfreg_assets.reports.energy_drawing import draw_power
from perfreg_assets.reports.links import (
    DEFAULT_SERVER,
    PerfettoLink,
    attachment_link,
    page_name,
    perfetto_link,
    version_page,
)
from perfreg_assets.reports.metric_rows import current_distances, metric_rows
from perfreg_assets.reports.run_flames import Flames
from perfreg_assets.reports.series_chart import has_profile, series_chart, unexamined
from perfreg_assets.reports.still_chart import COLOURS, still_box, still_chart
from perfreg_assets.reports.templating import embed_json, numbers, render, verdict_beside_limit
from perfreg_assets.run import PathStep, timed_steps
from perfreg_assets.warehouse.reviews import STATUSES, WITHDRAWN

CHART_HEIGHT_PX = 250
PROFILE_HEIGHT_PX = 110
STRIP_HEIGHT_PX = 26
AXIS_HEIGHT_PX = 44
_OPTIONS = {WITHDRAWN: ("--withdraw",)}
_WHY = ("--note", "why")
OVERLAY_POINTS = 240
"""Of a run of the history over a chart: it is there to be compared by eye."""
ZOOM_S = 5.0
"""What a screenshot's button shows of the charts before and after its moment."""


def render_run_page(
    detail: RunDetail, *, server: str = DEFAULT_SERVER, code_version: str = "", due: str | None = None
) -> str:
    """The page as HTML text, with its numbers embedded.

    Args:
        due: why what the page shows does not hold any more and is computed again; it then says so at the top.
    """
    judged = detail.judged_series
    unjudged = tuple(s for s in detail.unjudged if s.values is not None)
    ordered = [*judged, *unjudged]
    run = detail.run
    path = _path_payload(detail.path, detail.start_ns, _span_s(ordered))
    flames = Flames()
    span_s = _span_s(ordered)
    items = [
        {**_series_item(s, i, detail, path is not None, server, flames), "still": _still(s, path, span_s)}
        for i, s in enumerate(ordered)
    ]
    return render(
        "run.html.j2",
        {
            "root": "../",
            "page": "run",
            "server": server,
            "run": _RunWithOffsets(detail),
            "previous": _page_link(detail.previous_run_id),
            "next": _page_link(detail.next_run_id),
            "version_page": _version_page(run),
            "reviews": _reviews(run),
            "headline": wording.headline(detail),
            "why": answers.why(detail),
            "disturbance": answers.disturbance(detail),
            "advice": None if run.state == "quarantined" else answers.advice(detail),
            "axes": _axes(detail),
            "due": due,
            "written_for": _written_for(detail),
            "perfetto_links": _perfetto_links(detail, server),
            "nearest": detail.nearest,
            "clock": _clock_text(detail),
            "screens": _screens(path),
            "members": _members(detail, ordered),
            "length": _length(detail),
            "history": detail.history,
            "excluded": _excluded(detail.history),
            "judged": items[: len(judged)],
            "unjudged": items[len(judged) :],
            "absent": [(s.name, wording.series_label(s.name), _absence(detail, s)) for s in detail.absent],
            "attachments": _attachments(detail),
            "metrics": metric_rows(detail.ordered_metrics),
            "energy": detail.energy,
            "power": _power(detail),
            "similarity": _similarity(detail),
            "rule": detail.run_verdict.explanation if detail.run_verdict else None,
            "provenance": _provenance(detail, code_version),
            "page_name": page_name,
            "has_history": any(s.band is not None or s.barycenter is not None for s in ordered),
            "has_discords": any(s.discords for s in ordered),
            "has_unexamined": any(unexamined(s) for s in ordered),
            "flames": None if flames.payload is None else embed_json(flames.payload),
            "payload": embed_json(
                {
                    "series": [_series_payload(s) for s in ordered],
                    "path": path,
                    "axis_title": " · ".join(filter(None, ("time since start", _clock_text(detail)))),
                    "members": [{"run": one.run_id, "rank": one.rank} for one in _chosen(detail)],
                }
            ),
        },
    )


def _power(detail: RunDetail) -> Markup | None:
    """The estimate with its history and the rails of the cores in one chart."""
    by_name = {one.name: one for one in detail.series}
    return draw_power(by_name.get("power_cpu_total"), by_name.get("power_rail_cpu"))


class _RunWithOffsets:
    """The run's own attributes; functional problems with their time since the start of the exploration."""

    def __init__(self, detail: RunDetail) -> None:
        self._run = detail.run
        start = detail.run.exploration_start_ns
        self.functional_problems = [
            {**problem, "offset": _offset(problem.get("ts_ns"), start)}
            for problem in detail.run.functional_problems or ()
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)


def _offset(ts_ns: Any, start_ns: int | None) -> str | None:
    if not isinstance(ts_ns, int) or start_ns is None:
        return None
    return f"{(ts_ns - start_ns) / 1e9:.1f} s"


def _page_link(run_id: str | None) -> str | None:
    return f"{page_name(run_id)}.html" if run_id else None


def _version_page(run: Run) -> str | None:
    """None of a run that stands in no version: a quarantined one says nothing about it."""
    if run.state == "quarantined" or not run.app or not run.version_name:
        return None
    return version_page(run.app, run.version_name)


def _reviews(run: Run) -> list[dict[str, str]]:
    """What a person can say of an alarm, as commands, and what each does; nothing of a run that raised none."""
    if run.verdict != "anomalous" and run.review_status is None:
        return []
    withdrawal = [WITHDRAWN] if run.review_status is not None else []

    def command(status: str) -> str:
        return shlex.join(["perfreg", "review", run.run_id, *_OPTIONS.get(status, ("--status", status)), *_WHY])

    return [
        {
            "key": "u" if status == WITHDRAWN else status[0],
            "status": status,
            "label": review_wording.BUTTONS[status],
            "command": command(status),
            "effect": review_wording.MEANINGS[status],
        }
        for status in (*STATUSES, *withdrawal)
    ]


def _span_s(series: Sequence[SeriesView]) -> float:
    return max((len(s.values) * s.interval_s for s in series if s.values is not None), default=0.0)


def _length(detail: RunDetail) -> str:
    run = detail.run
    if run.exploration_start_ns is not None and run.exploration_end_ns is not None:
        return f"{(run.exploration_end_ns - run.exploration_start_ns) / 1e9:,.0f} s"
    return f"{run.duration_s:,.0f} s" if run.duration_s is not None else "–"


def _written_for(detail: RunDetail) -> WrittenFor | None:
    whole = detail.run_verdict
    return None if whole is None else WrittenFor(whole.detector, whole.omega)


def _perfetto_links(detail: RunDetail, server: str) -> dict[str, Any] | None:
    run = detail.run
    if not run.has_trace:
        return None
    windows = next((series.discords for series in detail.judged_series if series.discords), ())
    if windows:  # of the worst series: the one that the sentence beside the link speaks of
        top = max(windows, key=lambda w: w.confidence)
        where = f" at second {top.start_s:g}"
        link = perfetto_link(run.run_id, top.start_ns, top.end_ns, app=run.app, server=server)
        return {"top": link, "where": where, "nearest": _nearest_link(detail, top, server)}
    whole = perfetto_link(run.run_id, run.exploration_start_ns, run.exploration_end_ns, app=run.app, server=server)
    return {"top": whole, "where": "", "nearest": None}


def _nearest_link(detail: RunDetail, window: Discord, server: str) -> PerfettoLink | None:
    """The same seconds of the run of the history whose path is most alike, to lay beside this one's."""
    near = detail.nearest
    if near is None or not near.has_trace or near.start_ns is None:
        return None
    start, end = (near.start_ns + round(at * 1e9) for at in (window.start_s, window.end_s))
    return perfetto_link(near.run_id, start, end, app=detail.run.app, server=server)


def _clock_text(detail: RunDetail) -> str | None:
    """How to find a second of the charts in Perfetto, whose time begins with the trace."""
    if detail.run.trace_start_ns is None or detail.start_ns is None or not detail.run.has_trace:
        return None
    return f"0 s is {(detail.start_ns - detail.run.trace_start_ns) / 1e9:.1f} s in Perfetto"


def _screens(path: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The key of the strip under the charts: number, colour, name and seconds of each screen."""
    if path is None:
        return []
    seconds: Counter[int] = Counter()
    for start, end, code in zip(path["starts"], [*path["starts"][1:], path["end"]], path["codes"], strict=True):
        if code is not None:
            seconds[code] += end - start
    return [
        {"code": code, "colour": code % COLOURS, "name": name, "seconds": seconds[code]}
        for code, name in enumerate(path["screens"])
    ]


def _chosen(detail: RunDetail) -> tuple[HistoryMember, ...]:
    return detail.history.chosen if detail.history else ()


def _members(detail: RunDetail, series: Sequence[SeriesView]) -> list[dict[str, Any]]:
    """Runs of the history that some judged series can be laid over with."""
    drawable = [
        any(one is not None for one in values)
        for values in zip(*(s.history for s in series if s.verdict is not None and s.history), strict=False)
    ]
    return [
        {"index": i, "rank": one.rank, "run_id": one.run_id, "version": one.version_name, "similarity": one.similarity}
        for i, (one, is_there) in enumerate(zip(_chosen(detail), drawable, strict=False))
        if is_there
    ]


def _still(series: SeriesView, path: Mapping[str, Any] | None, span_s: float) -> Markup | None:
    """Of judged series, which stand open on the page."""
    chart = series_chart(series) if series.verdict is not None else None
    return None if chart is None else still_chart(chart, path, max(span_s, 1.0))


def _axes(detail: RunDetail) -> list[dict[str, Any]]:
    """A chip per axis, with the way to the series or metric that decides it."""
    metrics = {metric.name for metric in detail.metrics}
    return [
        {
            "state": one.state,
            "label": wording.axis_label(one.axis),
            "series": wording.series_label(one.series),
            "beside": _beside(detail, one),
            "ratio": max(one.excess_ratio, 0.0) if one.excess_ratio is not None and one.state != "improved" else None,
            "explanation": one.explanation,
            "target": f"{'metric' if one.series in metrics else 'series'}-{one.series}",
        }
        for one in detail.axes
    ]


def _beside(detail: RunDetail, one: AxisVerdict) -> str | None:
    if one.state != "series_missing" or detail.run_verdict is None:
        return None
    return (
        "which the history has" if one.series in detail.run_verdict.missing_series else "nor does the history have it"
    )


def _absence(detail: RunDetail, series: SeriesView) -> str:
    reason = series.missing_reason or "No reason was recorded."
    return f"{reason} Its history does not have it either." if detail.is_nowhere(series) else reason


def _excluded(history: History | None) -> list[tuple[str, int]]:
    if history is None:
        return []
    counts = sorted(history.excluded_counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(wording.EXCLUSION_LABELS.get(reason, reason), count) for reason, count in counts if count]


def _series_item(
    series: SeriesView, index: int, detail: RunDetail, has_path: bool, server: str, flames: Flames
) -> dict[str, Any]:
    run, verdict, box = detail.run, series.verdict, box_plot(series)
    height = CHART_HEIGHT_PX + AXIS_HEIGHT_PX
    height += STRIP_HEIGHT_PX if has_path else 0
    height += PROFILE_HEIGHT_PX if has_profile(series) else 0
    label = wording.series_label(series.name)
    return {
        "index": index,
        "name": series.name,
        "label": label,
        "state": verdict.state if verdict else None,
        "beside_limit": verdict_beside_limit(verdict),
        "score": verdict.deciding_score if verdict else None,
        "threshold": verdict.threshold if verdict else None,
        "measure": wording.scale_of(verdict.detector) if verdict else None,
        "explanation": _explanation(series) if series.values is not None else None,
        "missing": _missing(series) if series.values is None else None,
        "height": height,
        "alt": _chart_text(series, label),
        "is_spread": series.place is not None and series.place.state == "none",
        "not_computed": _not_computed(series),
        "unexamined": wording.unexamined(unexamined(series)),
        "has_box": box is not None,
        "box_still": still_box(box, is_anomalous=bool(verdict and verdict.is_anomalous)) if box else None,
        "box_alt": box.text if box else "",
        "causes": cause_tables(series, run, server, flames),
        "discords": [
            {
                "start_s": window.start_s,
                "end_s": window.end_s,
                "confidence": window.confidence,
                "screens": window.screens,
                "link": _window_link(run, window, server),
                "nearest_link": _nearest_link(detail, window, server),
            }
            for window in sorted(series.discords, key=lambda w: w.start_s)
        ],
    }


def _not_computed(series: SeriesView) -> str | None:
    """Why nobody knows where an anomalous series differs."""
    if series.verdict is None or not series.verdict.is_anomalous or series.values is None:
        return None
    if series.place is None:
        return "It was not looked for yet."
    return series.place.reason if series.place.state == "not_computed" else None


def _missing(series: SeriesView) -> str:
    """Why there is nothing to draw; an unjudged run of another kind says nothing about the series."""
    reason = series.missing_reason or "No reason was recorded."
    if series.verdict is None or series.verdict.state != "series_missing":
        return reason
    return f"Missing although the history has it, so it was not judged. {reason[0].upper()}{reason[1:]}"


def _explanation(series: SeriesView) -> str | None:
    """What was seen, in the detector's words; else the rule's."""
    distances = _current_distances(series)
    text = (distances.evidence_text if distances else None) or (series.verdict.explanation if series.verdict else None)
    if not text:
        return None
    text = text[0].upper() + text[1:]
    ended = text if text.endswith((".", "!", "?")) else f"{text}."
    return " ".join(filter(None, (ended, wording.beside_past_runs(distances) if distances else None)))


def _window_link(run: Run, window: Discord, server: str) -> PerfettoLink | None:
    if not run.has_trace:
        return None
    return perfetto_link(run.run_id, window.start_ns, window.end_ns, app=run.app, server=server)


def _chart_text(series: SeriesView, label: str) -> str:
    """What the chart shows, for those who do not see it."""
    if series.values is None or not np.isfinite(series.values).any():
        return f"{label}: no values"
    unit = wording.unit_of(series.name, series.unit)
    shown = series.values[np.isfinite(series.values)] * unit.factor
    text = (
        f"{label} over {len(series.values) * series.interval_s:.0f} seconds: "
        f"{wording.number(float(shown.min()))} to {wording.number(float(shown.max()))} {unit.axis}, "
        f"mean {wording.number(float(shown.mean()))}."
    )
    if series.discords:
        text += f" {how_many(len(series.discords), 'suspicious window')}."
    return text + " Arrow keys read single values."


def _series_payload(series: SeriesView) -> dict[str, Any]:
    """What the scripts draw; values exact and in the series' own unit, `factor` makes of it the one that is shown."""
    chart = series_chart(series)
    if chart is None:
        return {"name": series.name, "values": None}
    payload: dict[str, Any] = {
        "name": series.name,
        "label": wording.series_short(series.name),
        "factor": chart.factor,
        "axis": chart.axis,
        "exact": chart.exact,
        "interval": series.interval_s,
        "from_zero": chart.is_from_zero,
        "state": series.verdict.state if series.verdict else None,
        "values": numbers(series.values, digits=None),
        "barycenter": numbers(series.barycenter),
        "discords": [[w.start_s, w.end_s, round(w.confidence, 4), round(w.opacity, 3)] for w in chart.windows],
        "unexamined": chart.unexamined,
    }
    if series.band is not None:
        payload["band"] = {
            "low": numbers(series.band.low),
            "middle": numbers(series.band.middle),
            "high": numbers(series.band.high),
            "runs": series.band.run_count,
        }
    if series.verdict is not None and any(one is not None for one in series.history):
        payload["members"] = [_member_payload(one) for one in series.history]
    if chart.profile is not None:
        payload["profile"] = {
            "window": chart.profile.window_s,
            "values": numbers(chart.profile.values, digits=4),
            "low": chart.profile.threshold_low,
            "high": chart.profile.threshold_high,
            "title": "probability" if chart.profile.window_s <= series.interval_s else "profile",
        }
    box = box_plot(series)
    if box is not None:
        payload["box"] = {**asdict(box), "history": numbers(box.history)}
    return payload


def _member_payload(values: np.ndarray | None) -> dict[str, Any] | None:
    """A run of the history as an overlay: means of `step` samples, so that a page stays small."""
    if values is None or not np.isfinite(values).any():
        return None
    step = -(-len(values) // OVERLAY_POINTS)
    padded = np.full(-(-len(values) // step) * step, np.nan)
    padded[: len(values)] = values
    rows = padded.reshape(-1, step)
    counts = np.isfinite(rows).sum(axis=1)
    means = np.where(counts > 0, np.nansum(rows, axis=1) / np.maximum(counts, 1), np.nan)
    return {"step": step, "values": numbers(means, digits=4)}


def _path_payload(path: Sequence[PathStep], start_ns: int | None, span_s: float) -> dict[str, Any] | None:
    """Screens over time: from when on which is shown, by its place in `screens`; None where it is not known.

    A step's screen is shown until its action; consecutive steps on the same screen are one stretch.
    """
    steps = timed_steps(path)
    if not steps or start_ns is None or span_s <= 0:
        return None
    offsets = [round((ts_ns - start_ns) / 1e9, 3) for ts_ns, _ in steps]
    last = steps[-1][1]
    shown = [
        *(step.screen or step.state_hash[:8] for _, step in steps),
        last.screen_after or (last.state_hash_after or "")[:8] or None,
    ]
    stretches: list[tuple[float, str | None]] = []
    for begin, end, screen in zip([0.0, *offsets], [*offsets, span_s], shown, strict=True):
        is_visible = end > 0 and begin < min(end, span_s)
        if is_visible and (not stretches or stretches[-1][1] != screen):
            stretches.append((max(begin, 0.0), screen))
    names = list(dict.fromkeys(screen for _, screen in stretches if screen is not None))
    codes: dict[str | None, int | None] = {None: None, **{screen: code for code, screen in enumerate(names)}}
    return {
        "screens": names,
        "starts": [start for start, _ in stretches],
        "codes": [codes[screen] for _, screen in stretches],
        "end": span_s,
        "actions": [
            [offset, step.action] for offset, (_, step) in zip(offsets, steps, strict=True) if step.action is not None
        ],
    }


def _attachments(detail: RunDetail) -> dict[str, list[dict[str, Any]]]:
    """Screenshots, placed ones first, and everything else; with their addresses and, where known, their seconds."""
    found: dict[str, list[dict[str, Any]]] = {"screenshots": [], "files": []}
    for one in detail.attachments:
        shown = {
            "name": one.file_name,
            "kind": one.kind,
            "bytes": one.bytes,
            "offset_s": one.offset_s,
            "around": _around(one),
            "address": attachment_link(detail.run.run_id, one.file_name),
        }
        found["screenshots" if one.kind == "screenshot" else "files"].append(shown)
    return found


def _around(one: Attachment) -> str | None:
    """The stretch of the charts to zoom to."""
    if one.offset_s is None:
        return None
    return f"{max(0.0, one.offset_s - ZOOM_S):.3f},{max(0.0, one.offset_s) + ZOOM_S:.3f}"


def _similarity(detail: RunDetail) -> dict[str, Any] | None:
    matrix = detail.similarity
    if matrix is None or len(matrix.run_ids) < 2:
        return None
    rows = [[float(v) if np.isfinite(v) else None for v in row] for row in matrix.values]
    return {"run_ids": matrix.run_ids, "rows": rows}


def _provenance(detail: RunDetail, code_version: str) -> list[tuple[str, str]]:
    run, first = detail.run, next(iter(detail.judged_series), None)
    rows: list[tuple[str, str]] = []
    if first is not None and first.verdict is not None:
        rows += [
            ("Detector", wording.detector_text(first.verdict.detector)),
            ("ω", f"{first.verdict.omega:g}"),
            ("Interval", f"{first.interval_s:g} s"),
        ]
    if detail.history is not None:
        rows += [
            ("History", f"at most {detail.history.maximum}, at least {detail.history.minimum} runs"),
            ("Path similarity", f"at least {detail.history.similarity_minimum:g}"),
        ]
    current = _current_distances(first)
    for label, value in (
        ("Trace engine", current.engine_version if current else None),
        ("Code version", (current.code_version if current else None) or code_version),
        ("Parameters", current.parameters_hash if current else None),
        ("Trace SHA-256", run.trace_sha256),
        ("Trace size", wording.size(run.trace_bytes) if run.trace_bytes else None),
    ):
        if value:
            rows.append((label, value))
    for series in detail.judged_series:
        distances = _current_distances(series)
        if distances and distances.input_hash:
            rows.append((f"Inputs of {series.name}", distances.input_hash))
        if series.barycenter_id:
            rows.append((f"Barycenter of {series.name}", series.barycenter_id))
    for metric in detail.metrics:
        measured = current_distances(metric)
        if measured and measured.input_hash:
            rows.append((f"Inputs of {metric.name}", measured.input_hash))
    return rows


def _current_distances(series: SeriesView | None) -> Distances | None:
    if series is None or series.verdict is None:
        return None
    detector = series.verdict.detector
    return next((d for d in series.distances if d.detector == detector), None)
