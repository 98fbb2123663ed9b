"""What the first screen of a run's page answers besides its headline: why it says so, and what to do next."""

from __future__ import annotations

from perfreg_assets.how_many import how_many
from perfreg_assets.reports import trace_words, wording
from perfreg_assets.reports.data import History, RunDetail, SeriesView
from perfreg_assets.reports.templating import beside_limit


def why(detail: RunDetail) -> str | None:
    """On what ground a run is called calm or is not judged; what is wrong with any other says its headline."""
    whole = detail.run_verdict
    if detail.run.state != "complete" or whole is None:
        return None
    if whole.state == "not_enough_history" and detail.history is not None:
        return whole.explanation if detail.history.is_judged_by_screens else _too_few(detail.history)
    if whole.state not in ("normal", "improved"):
        return None
    known = [
        (one.verdict.limit_ratio, one.name)
        for one in detail.judged
        if one.verdict is not None and one.verdict.limit_ratio is not None
    ]
    if not known:
        return None
    ratio, name = max(known)
    count = f"{len(known)} judged series and measurements" if len(known) > 1 else "what was judged"
    if ratio <= 0:  # of all of them, so that none is the farthest
        return f"Of {count}, nothing is above what is usual."
    return f"Of {count}, {wording.series_short(name)} is farthest from its history: {beside_limit(ratio)}."


def _too_few(history: History) -> str:
    """Where the earlier runs went."""
    if not history.candidate_count:
        return "There is no earlier run of this app to compare it with."
    left_out = sorted(history.excluded_counts.items(), key=lambda pair: (-pair[1], pair[0]))
    told = "; ".join(f"{count} {wording.EXCLUSION_LABELS.get(reason, reason)}" for reason, count in left_out if count)
    runs, are = "run" if history.candidate_count == 1 else "runs", "is" if history.size == 1 else "are"
    left = f". Left out: {told}" if told else ""
    return f"{history.size} of {history.candidate_count} earlier {runs} {are} comparable{left}."


def disturbance(detail: RunDetail) -> str | None:
    """What else took the device in a suspicious window, the first that is known."""
    windows = (one for series in detail.judged if isinstance(series, SeriesView) for one in series.explained)
    return next((one.disturbance for one in windows if one.disturbance), None)


_REDUCED = "What was kept can still be looked at in Perfetto; a whole recording is judged."
_OF_VERDICT = {
    "normal": "Nothing needs to be done.",
    "improved": "Nothing needs to be done; later runs are compared with it.",
    "series_missing": "Record it again with the data sources that its history has: perfreg inspect TRACE says what it "
    "lacks.",
}
_UNKNOWN = "perfreg status says what is still to be computed, and why."


def advice(detail: RunDetail) -> str:
    """What to do now, in a sentence; where it was not judged, what it takes."""
    whole, history = detail.run_verdict, detail.history
    state = whole.state if whole is not None else None
    if detail.run.state == "reduced":
        return _REDUCED
    if "incomplete_trace" in (detail.run.state, state):
        return trace_words.advice(detail.run.reason_code)
    if state == "anomalous":
        return _look(detail)
    if state == "not_enough_history":
        missing = history.minimum - history.size if history is not None else 0
        more = how_many(missing, "more comparable run") if missing > 0 else "more comparable runs"
        like = "of the same scenario" if detail.run.scenario else "on a similar path"
        return (
            f"Nothing needs to be done: later versions are compared with it. For a verdict on it {more} of other "
            f"versions would have to lie before it, with this configuration and {like}."
        )
    return _OF_VERDICT.get(state or "", _UNKNOWN)


def _look(detail: RunDetail) -> str:
    """Of an alarm."""
    if disturbance(detail) is not None:
        return "Repeat the run while nothing else works on the device, before you look for the cause in the app."
    has_window = any(one.discords for one in detail.judged_series)
    if not detail.run.has_trace:
        look = "Its trace is not kept: record it again to look into it"
    elif has_window and detail.nearest is not None and detail.nearest.has_trace:
        look = "Look at these seconds in Perfetto beside the nearest run of its history"
    else:
        look = "Look at these seconds in Perfetto" if has_window else "Look at it in Perfetto"
    return f"{look}, then say what you found." if detail.run.review_status is None else f"{look}."
