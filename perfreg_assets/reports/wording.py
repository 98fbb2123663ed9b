"""The words of the pages: series names, units, states, reasons, and the sentence at the top of a run's page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfreg_assets import detection
from perfreg_assets.catalogue import AXES, DisplayUnit, definition_of, display_unit
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.empirical_null import TheoreticalScore
from perfreg_assets.methods.patterns import period_of
from perfreg_assets.reasons import Reason
from perfreg_assets.reports import trace_words
from perfreg_assets.reports.causes_table import main_cause
from perfreg_assets.reports.data import Distances, History, MetricView, RunDetail, SeriesView, Setup, Verdict

STATE_LABELS = {
    "anomalous": "Anomalous",
    "normal": "Normal",
    "improved": "Improved",
    "not_enough_history": "Not enough history",
    "incomplete_trace": "Incomplete trace",
    "reduced": "Reduced trace",
    "series_missing": "Series missing",
    "inadequate": "Not adequate",
    "invalid": "No result",
    "quarantined": "Quarantined",
    "not_judged": "Not judged yet",
}
STATE_SYMBOLS = {
    "anomalous": "▲",
    "normal": "●",
    "improved": "▼",
    "not_enough_history": "○",
    "incomplete_trace": "◌",
    "reduced": "◌",
    "series_missing": "◌",
    "inadequate": "◌",
    "invalid": "✕",
    "quarantined": "✕",
    "not_judged": "○",
}
AXIS_LABELS = {
    "cpu": "CPU",
    "memory": "Memory",
    "frames": "Frames",
    "io": "I/O",
    "network": "Network",
    "gpu": "GPU",
    "thermal": "Temperature",
    "energy": "Energy",
    "startup": "Start",
    "app": "The app’s own",
    "other": "Other",
}
REVIEW_LABELS = {
    "confirmed": "Confirmed regression",
    "rejected": "False alarm",
    "accepted": "Accepted as the new normal",
}
SAID_LABELS = {**REVIEW_LABELS, "excluded": "Excluded"}
"""Of what a person said of a run, in lists."""
REVIEW_EFFECTS = {
    "confirmed": "A regression: the run stays out of the histories of later runs.",
    "rejected": "A false alarm: it counts in the rate of false alarms, says nothing about its version any more, and "
    "later runs may be compared with it.",
    "accepted": "The new normal: later runs may be compared with it, and are no longer compared with earlier ones.",
}
"""What a review does, in the order of its keys c, r and a."""
EXCLUSION_LABELS = {reason.code: reason.label for reason in Reason if reason.label}
View = SeriesView | MetricView
_OTHERS = re.compile(r"the \d+ comparable runs (.+)")
_USUAL_BURSTS = re.compile(r"(.+) \(usually ([^()]+)\)")


def series_label(name: str) -> str:
    """The series as a heading; an unknown one keeps its own name."""
    return definition_of(name).label


def series_short(name: str) -> str:
    """The series as the subject of a sentence or a column."""
    return definition_of(name).short


def axis_label(axis: str) -> str:
    """The axis as a heading; one of a later release keeps its own name."""
    return AXIS_LABELS.get(axis, axis)


def drift_line(row: Mapping[str, Any]) -> str:
    """A row of marts.drifts in a sentence, with the device that it was seen on."""
    told = str(row["explanation"]).removesuffix(".")
    return f"{told}, on {row['device']}." if row["device"] else f"{told}."


def setup_text(setup: Setup) -> str:
    """How runs were made: `scenario cold-start, Pixel 6a, strategy dfs, time limit 180 s, an action every 2 s`."""
    parts = [
        f"scenario {setup.scenario}" if setup.scenario is not None else None,
        setup.device,
        f"strategy {setup.strategy}" if setup.strategy else None,
        f"time limit {setup.time_limit_s:g} s" if setup.time_limit_s else None,
        f"an action every {setup.action_interval_s:g} s" if setup.action_interval_s else None,
    ]
    return ", ".join(part for part in parts if part) or f"configuration {setup.config_hash[:8]}"


def reason_sentence(code: str) -> str:
    """What a reason means and what to do; empty of one that this release does not know."""
    return next((reason.sentence for reason in Reason if reason.code == code), "")


def axis_place(axis: str) -> tuple[int, str]:
    """Axes are shown in this order: the catalogue's, then those that it does not know."""
    return (AXES.index(axis) if axis in AXES else len(AXES), axis)


def scale_of(detector: str) -> detection.Scale:
    """What the distances of a detector are; those of one that is not registered any more count as scores."""
    known = detection.detectors().get(detector)
    return known.scale if known else "score"


def detector_text(detector: str | None) -> str:
    """The detector's name with what it is."""
    known = detection.detectors().get(detector or "")
    return f"{detector}, {known.summary}" if known else detector or "–"


def unit_of(name: str, unit: str) -> DisplayUnit:
    """Display unit of a series by the catalogue; one that is not there is shown in its stored unit as it is."""
    return display_unit(definition_of(name).unit or unit)


def number(value: float | None, digits: int = 3) -> str:
    """A number for reading: significant digits, thousands separated, no exponent below a million."""
    if value is None or not np.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-4:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{decimals}f}"


def plain_seconds(value: float) -> str:
    """Seconds without needless decimals: 40, 12.5."""
    return f"{value:.1f}".removesuffix(".0")


def unexamined(stretches: Sequence[tuple[float, float]]) -> str | None:
    """That windows were not looked for in some stretches, as a sentence."""
    if not stretches:
        return None
    told = enumerate_names([f"{plain_seconds(start)} to {plain_seconds(end)} s" for start, end in stretches])
    return f"Not examined: {told}. Normal sessions differ too much there."


def size(bytes_: float | None) -> str:
    if bytes_ is None:
        return "–"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(bytes_) >= factor:
            return f"{bytes_ / factor:.1f} {unit}"
    return f"{bytes_:.0f} B"


@dataclass(frozen=True, slots=True)
class Headline:
    """The sentence at the top, the tone it is set in (a verdict state) and at most one more sentence."""

    tone: str
    text: str
    detail: str | None = None


def headline(detail: RunDetail) -> Headline:
    """One sentence a manager understands. What was not judged is never called normal."""
    run = detail.run
    if run.state == "quarantined":
        return Headline("quarantined", "This run was not taken in, so nothing was judged.", run.reason)
    if run.state == "incomplete_trace":
        reason = run.reason or run.explanation
        text = f"This run cannot be judged: {trace_words.of_run(run.reason_code)}."
        return Headline("incomplete_trace", text, reason)
    if run.state == "reduced":
        return Headline("reduced", "This run is not judged: only parts of its trace were kept.", run.reason)
    if detail.run_verdict is None:
        return Headline("not_judged", "This run has not been judged yet.", run.explanation)
    judged = [s for s in detail.judged if s.verdict and s.verdict.is_anomalous is not None]
    version = run.version_name or "this version"
    if not judged:
        return _nothing_judged(detail, detail.run_verdict, version)
    return _judged(detail, detail.run_verdict, judged, version)


def _judged(detail: RunDetail, whole: Verdict, judged: Sequence[View], version: str) -> Headline:
    """The run level decides, because it allows for the number of series and for gaps; single series explain it."""
    runs = _compared_runs(detail.history)
    gap = _gap(detail)
    anomalous = [s for s in judged if s.verdict and s.verdict.is_anomalous]
    improved = [s for s in judged if s.verdict and s.verdict.state == "improved"]
    if whole.state == "anomalous" and anomalous:
        change = describe_change(anomalous[0])
        subject = "it" if len(anomalous) == 1 else series_short(anomalous[0].name)
        text = f"{_subject(anomalous)} of {version} {_is(anomalous)} outside what {runs} did"
        grown = _joined(_main_cause(anomalous[0]), gap)
        found = Headline("anomalous", f"{text}: {subject} {change}." if change else f"{text}.", grown)
    elif whole.state == "anomalous":
        text = f"{version} as a whole is outside what {runs} did."
        found = Headline("anomalous", text, _joined(whole.explanation, gap))
    elif whole.state == "series_missing":
        lacking = [s for s in detail.judged if detail.is_lacking(s)]
        names = enumerate_names([series_short(name) for name in whole.missing_series])
        are, them = ("is", "it") if len(whole.missing_series) == 1 else ("are", "them")
        text = (
            f"{names} {are} missing from this run although its history has {them}, "
            f"so {version} is not judged as a whole."
        )
        found = Headline("series_missing", text, _joined(_reasons(lacking), _beside(judged, runs), gap))
    elif whole.state == "improved" and improved:
        text = f"{_subject(improved)} of {version} {_is(improved)} better than in {runs}."
        found = Headline("improved", text, gap)
    else:
        subject = f"{_subject(judged)} of {version}" if gap else version
        found = Headline(
            whole.state, f"{subject} stayed within what {runs} did.", _joined(_single(anomalous, judged), gap)
        )
    return found


def _main_cause(series: View) -> str | None:
    """What grew most surely where the series is suspicious."""
    grown = main_cause(series.explained) if isinstance(series, SeriesView) else None
    return None if grown is None else f"What grew: {grown}."


def _beside(judged: Sequence[View], runs: str) -> str:
    """What the judged series are, each by itself, in a run that is not judged as a whole."""
    states: dict[str, list[View]] = {}
    for series in judged:
        if series.verdict is not None:
            states.setdefault(STATE_LABELS[series.verdict.state].lower(), []).append(series)
    told = "; ".join(f"{_subject(group)} {_is(group)} {state}" for state, group in states.items())
    return f"Against {runs}, {told}."


def _single(anomalous: Sequence[View], judged: Sequence[View]) -> str | None:
    """A series above its own limit in a run that is normal as a whole."""
    if not anomalous:
        return None
    limit = "its limit" if len(anomalous) == 1 else "their limits"
    return (
        f"{_subject(anomalous)} by {'itself' if len(anomalous) == 1 else 'themselves'} {_is(anomalous)} above {limit}; "
        f"over all {len(judged)} judged series together that is no more than chance does."
    )


def _compared_runs(history: History | None) -> str:
    if history is not None and history.is_judged_by_screens:
        return f"the last {len(history.chosen)} runs of any path"
    return f"the last {history.size} comparable runs" if history is not None and history.size else "its comparable runs"


def _subject(series: Sequence[View]) -> str:
    return enumerate_names([series_short(s.name) for s in series])


def _is(series: Sequence[View]) -> str:
    return "is" if len(series) == 1 else "are"


def _nothing_judged(detail: RunDetail, whole: Verdict, version: str) -> Headline:
    history, gap = detail.history, _gap(detail)
    if whole.state == "not_enough_history":
        if history is None or history.state != "not_enough_history":
            text = f"Not judged: too few comparable runs have these series. This says nothing about {version}."
            return Headline(whole.state, text, whole.explanation)
        if history.is_judged_by_screens:
            text = f"Not judged: too little is known of {version} beside {_compared_runs(history)}. "
            return Headline(whole.state, f"{text}This says nothing good or bad about it.", gap)
        have = how_many(history.size, "comparable earlier run")
        text = f"Not judged: {have} of the {history.minimum} needed. This says nothing good or bad about {version}."
        return Headline(whole.state, text, gap)
    if whole.state == "series_missing":
        lacking = [s for s in detail.judged if detail.is_lacking(s)]
        what = _subject(lacking) if 0 < len(lacking) < len(detail.judged) else "the series that are compared"
        text = f"This run cannot be judged: its trace lacks {what}."
        return Headline(whole.state, text, _joined(_named(lacking), gap))
    return Headline(whole.state, "This run was not judged.", whole.explanation)


def _gap(detail: RunDetail) -> str | None:
    """What else was not judged: missing although the history has it, in neither, or known from too few runs."""
    unjudged = [s for s in detail.judged if s.verdict and s.verdict.is_anomalous is None]
    state = detail.run_verdict.state if detail.run_verdict else None
    nowhere = [s for s in unjudged if detail.is_nowhere(s)]
    lacking = [s for s in unjudged if detail.is_lacking(s)]
    few = [s for s in unjudged if s.verdict and s.verdict.state not in ("series_missing", state)]
    return _joined(
        f"Missing although the history has {'it' if len(lacking) == 1 else 'them'}, so not judged: {_named(lacking)}"
        if lacking and state != "series_missing"
        else None,
        f"Not judged: {_named(few)}" if few else None,
        f"Neither this run nor its history has {_subject(nowhere)}." if nowhere else None,
    )


def _named(series: Sequence[View]) -> str | None:
    """`Memory (the trace has none).`"""
    if not series:
        return None
    reasons = _reasons(series)
    return f"{_subject(series)} ({reasons.rstrip('.')})." if reasons else f"{_subject(series)}."


def _reasons(series: Sequence[View]) -> str | None:
    told = sorted({f"{reason[0].upper()}{reason[1:].rstrip('.')}." for s in series if (reason := _why_not(s))})
    return _joined(*told)


def _why_not(series: View) -> str | None:
    return series.missing_reason or (series.verdict.explanation if series.verdict else None)


def _joined(*sentences: str | None) -> str | None:
    return " ".join(sentence for sentence in sentences if sentence) or None


def enumerate_names(names: list[str]) -> str:
    """`CPU, memory and I/O`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def describe_change(series: View) -> str | None:
    """What is different, as the rest of a sentence: what the detector went by, else what the samples show."""
    seen = _evidence(series)
    if isinstance(series, MetricView):
        return seen
    if seen is not None:
        return seen + _where(series)
    return _compare(series)


def beside_past_runs(distances: Distances) -> str | None:
    """What the app's own earlier scores make of a series' score, in one sentence; None where they were not asked."""
    if distances.theoretical_score is None or distances.uncorrected_distance is None:
        return None
    parts = []
    if distances.unit_runs is not None:
        parts.append(_unit(round(distances.unit_runs)))
    if distances.past_runs:
        parts.append(f"what {distances.past_runs:.0f} earlier runs of the app scored beside theirs")
        if (passing := _passing(distances)) is not None:
            parts.append(passing)
    if not parts:
        return None
    return (
        f"Beside its history alone it scores {distances.theoretical_score:.2f}; {', and '.join(parts)} "
        f"{'make' if len(parts) > 1 else 'makes'} that {distances.uncorrected_distance:.2f}."
    )


def _passing(distances: Distances) -> str | None:
    """What a passing disturbance explains, of a run that had one as earlier runs had."""
    theory, without = distances.theoretical_score, distances.score_without_transient
    if not distances.transient_runs or theory is None or without is None:
        return None
    if not TheoreticalScore(theory, without).is_transient:
        return None
    had = "1 of them was" if round(distances.transient_runs) == 1 else f"{distances.transient_runs:.0f} of them were"
    return (
        f"that {had} unusual for some seconds only, as this one, which scores {without:.2f} without seconds "
        f"{distances.transient_start_s:.0f} to {distances.transient_end_s:.0f},"
    )


def _unit(runs: int) -> str:
    if not runs:
        return "that the history is of other device units, and nothing is known of its own,"
    return f"what {how_many(runs, 'earlier run')} of its own device unit scored beside other units"


def _evidence(series: View) -> str | None:
    """The evidence of the detector in force as the rest of a sentence.

    `memory grows 0.6 MB/s; the 12 comparable runs grew 0 to 0.1` → `grows 0.6 MB/s (the others grew 0 to 0.1)`.
    How many bursts the others had, `(usually 0 to 1)`, goes into the same parentheses.
    """
    detector = series.verdict.detector if series.verdict else None
    text = next((d.evidence_text for d in series.distances if d.detector == detector and d.evidence_text), None)
    if text is None:
        return None
    clauses = [clause.strip().rstrip(".") for clause in text.split(";")]
    seen = clauses[0].removeprefix("memory ").removeprefix("it ")
    others = _OTHERS.fullmatch(clauses[1]) if len(clauses) > 1 else None
    if others is None:
        return seen
    bursts = _USUAL_BURSTS.fullmatch(seen)
    if bursts is None:
        return f"{seen} (the others {others[1]})"
    return f"{bursts[1]} (the others {others[1]}, in {bursts[2]} burst{'' if bursts[2] == '1' else 's'})"


def _compare(series: SeriesView) -> str | None:
    """What changed against the middle of the history: growth for memory, level otherwise.

    Compares the run with the median of its history sample by sample, over the part both have.
    """
    if series.values is None or series.band is None:
        return None
    length = min(len(series.values), len(series.band.middle))
    run, usual = series.values[:length], series.band.middle[:length]
    known = np.isfinite(run) & np.isfinite(usual)
    if known.sum() < 10:
        return None
    seconds = np.arange(length)[known] * series.interval_s
    excess = run[known] - usual[known]
    if definition_of(series.name).kind == "memory":
        return _memory_change(seconds, excess, usual[known])
    where = _where(series)
    level, base = float(np.mean(excess)), float(np.mean(usual[known]))
    if not base > 0 or abs(level) < 0.02 * base:
        return f"differs in its course, not in its level{where}"
    more = "higher" if level > 0 else "lower"
    if abs(level) < base:
        return f"is {abs(level) / base * 100:.0f} % {more} on average than usual{where}"
    return f"is {1 + level / base:.1f} times the usual on average{where}"


def _memory_change(seconds: np.ndarray, excess: np.ndarray, usual: np.ndarray) -> str:
    slope = float(np.polyfit(seconds, excess, 1)[0])
    span = float(seconds[-1] - seconds[0])
    level = float(np.mean(excess))
    grown = slope * span
    if grown > 0 and grown > 1.2 * abs(level):  # growth explains the excess better than a constant offset
        spread = np.abs(excess[: max(3, len(excess) // 10)])
        start = np.argmax(excess > max(float(np.max(spread)), 0.1 * grown))
        return f"grows {slope / 1e6:.2g} MB/s faster than usual from second {seconds[start]:.0f}"
    more = "higher" if level > 0 else "lower"
    share = abs(level) / float(np.mean(usual)) if np.mean(usual) > 0 else 0.0
    return f"is {abs(level) / 1e6:,.0f} MB ({share * 100:.0f} %) {more} on average than usual"


def _where(series: SeriesView) -> str:
    if not series.discords:
        return ""
    top = max(series.discords, key=lambda d: d.confidence)
    period_s = period_of(sorted(one.start_s for one in series.discords))
    every = f", about every {period_s:.0f} s" if period_s is not None else ""
    return f"{every}, most clearly from second {top.start_s:g} to {top.end_s:g}"
