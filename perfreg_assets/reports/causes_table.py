"""The tables of causes under a series of a run's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfreg_assets.reports.causes_wording import amount, cause_name, cause_phrase, share
from perfreg_assets.reports.data import Cause, Explained, Run, SeriesView
from perfreg_assets.reports.links import perfetto_link
from perfreg_assets.reports.run_flames import Flames

SHOWN_CAUSES = 10
SHOWN_BESIDE = 3


def cause_tables(series: SeriesView, run: Run, server: str, flames: Flames) -> list[dict[str, Any]]:
    """Of each suspicious window, the surest first: what grew, now and usually, with bars of one scale.

    Args:
        flames: gets the flame graphs of the windows.
    """
    return [{**_table(one, run, server), "flames": flames.of(one)} for one in series.explained]


def _table(one: Explained, run: Run, server: str) -> dict[str, Any]:
    causes, beside = one.causes[:SHOWN_CAUSES], one.also_grew[:SHOWN_BESIDE]
    largest = {
        kind: max(
            (amount for cause in (*causes, *beside) if cause.kind == kind for amount in (cause.value, _usual(cause))),
            default=0.0,
        )
        for kind in {cause.kind for cause in (*causes, *beside)}
    }
    link = perfetto_link(run.run_id, one.start_ns, one.end_ns, app=run.app, server=server) if run.has_trace else None
    return {
        "start_s": one.start_s,
        "end_s": one.end_s,
        "is_whole_run": one.is_whole_run,
        "first": _phrase(causes[0]) if causes else None,
        "nothing": one.state_reason or "nothing that is recorded grew notably",
        "state_reason": one.state_reason if causes else None,
        "disturbance": one.disturbance,
        "rows": [_row(cause, largest) for cause in causes],
        "beside": [_row(cause, largest) for cause in beside],
        "unmatched": _unmatched(causes[0]) if causes else None,
        "hidden": max(len(one.causes) - len(causes), 0),
        "link": link,
    }


def main_cause(windows: Sequence[Explained]) -> str | None:
    """The first cause of the surest window in a few words."""
    first = next((one.causes[0] for one in windows if one.causes and one.state == "ranked"), None)
    return None if first is None else _phrase(first)


def _unmatched(cause: Cause) -> str | None:
    """Of how many earlier runs other seconds stand in, and why."""
    count = cause.history_count - cause.matched_count
    why = "end before these seconds" if cause.kind == "memory" else "never show these screens"
    return f"{count} of {cause.history_count} earlier runs {why}: they are compared as a whole." if count else None


def _usual(cause: Cause) -> float:
    return cause.history_median or 0.0


def _phrase(cause: Cause) -> str:
    return cause_phrase(
        cause.kind, cause.process, cause.thread, cause.name, cause.growth, cause.growth_share, cause.value, cause.source
    )


def _row(cause: Cause, largest: dict[str, float]) -> dict[str, Any]:
    most = largest[cause.kind]
    usual = cause.history_median
    return {
        "rank": cause.rank,
        "name": cause_name(cause.kind, cause.process, cause.thread, cause.name, cause.source),
        "is_new": cause.is_new,
        "now": amount(cause.value, cause.kind),
        "usual": amount(usual, cause.kind),
        "growth": amount(cause.growth, cause.kind, is_difference=True),
        "share": share(cause.growth_share),
        "z": None if cause.z is None else f"{cause.z:.1f}",
        "now_width": _width(cause.value, most),
        "usual_width": None if usual is None else _width(usual, most),
    }


def _width(value: float, most: float) -> int:
    """Of a bar, in percent."""
    return round(100 * min(max(value / most, 0.0), 1.0)) if most > 0 else 0
