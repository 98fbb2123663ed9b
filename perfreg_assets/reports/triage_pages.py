"""The pages on which people say what they found: open alarms, the form of a review, that of another ω."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from perfreg_assets.reports import review_wording, wording
from perfreg_assets.reports.data import ListedRun
from perfreg_assets.reports.links import page_name
from perfreg_assets.reports.loading_lists import ListQuery, count_standing, find_listed, load_listed
from perfreg_assets.reports.templating import FORM_POLICY, moment, render
from perfreg_assets.warehouse import reviews
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.named import require_run

SHOWN_ALARMS = 50
SHOWN_REVIEWS = 20
_LATEST = """
SELECT run_id, status, note, reviewer, reviewed_at, is_in_force FROM marts.reviews
ORDER BY reviewed_at DESC, run_id LIMIT ?
"""
_OF_RUN = "SELECT run_explanation, is_excluded FROM marts.runs WHERE run_id = ?"


@dataclass(frozen=True)
class Reviewed:
    """A run and all that was said of it, the latest first."""

    run: ListedRun
    explanation: str | None
    told: tuple[reviews.Review, ...]
    is_excluded: bool = False


@dataclass(frozen=True)
class Inbox:
    """Open alarms, the latest first.

    Attributes:
        total: how many there are.
        offset: how many of them stand before the first shown.
        said: the run of which something was just said, as the address has it; None where there is no such run.
        latest: what was said last, of any run: `run_id`, the review and whether it is in force.
    """

    total: int
    offset: int
    alarms: Sequence[ListedRun]
    said: Reviewed | None
    latest: Sequence[Mapping[str, Any]]


def load_inbox(reader: Reader, *, after: str | None, before: str | None, said: str | None) -> Inbox:
    """One page of the open alarms: the first, or that after or before a run, which may have been reviewed since it was
    shown: who works through the list meets each of them however many are not open any more.

    Where nothing is left after the run, it is the last page; where less than a page is left before it, the first.
    """
    is_open = ListQuery(is_open=True, limit=SHOWN_ALARMS)
    offset = 0
    if after is not None:
        _, offset = count_standing(reader, is_open, after)
    elif before is not None:
        standing, _ = count_standing(reader, is_open, before)
        offset = max(0, standing - SHOWN_ALARMS)
    total, alarms = find_listed(reader, replace(is_open, offset=offset))
    if offset and not alarms:
        offset = max(0, total - SHOWN_ALARMS)
        total, alarms = find_listed(reader, replace(is_open, offset=offset))
    is_there = said is not None and bool(reader.value("SELECT count(*) FROM core.runs WHERE run_id = ?", [said]))
    return Inbox(
        total,
        offset,
        alarms,
        load_reviewed(reader, said) if said is not None and is_there else None,
        reader.dicts(_LATEST, [SHOWN_REVIEWS]),
    )


def load_reviewed(reader: Reader, run_id: str) -> Reviewed:
    """Raises Rejected (RUN_UNKNOWN)."""
    require_run(reader, run_id)
    explanation, is_excluded = reader.rows(_OF_RUN, [run_id])[0]
    listed = load_listed(reader, [run_id])[run_id]
    return Reviewed(listed, explanation, tuple(reviews.told(reader, run_id)), is_excluded)


def listed_label(reviewed: Reviewed, status: str) -> str:
    """What lists say of a run once this was said of it: a review goes before that the run is excluded."""
    if status != reviews.WITHDRAWN:
        return wording.SAID_LABELS[status]
    return wording.SAID_LABELS["excluded"] if reviewed.is_excluded else ""


def saying(review: reviews.Review) -> str:
    """`False alarm, said 2026-11-20 09:36 UTC by ada: “battery saver”`."""
    return _saying(review.status, review.note, review.reviewer, review.reviewed_at)


def _saying(status: str, note: str | None, reviewer: str | None, at: datetime) -> str:
    by = f" by {reviewer}" if reviewer else ""
    why = f": “{note}”" if note else ""
    return f"{review_wording.LABELS.get(status, status)}, said {moment(at)}{by}{why}"


def render_inbox(inbox: Inbox, upkeep: Mapping[str, Any]) -> str:
    """The page as HTML text."""
    last = inbox.offset + len(inbox.alarms)
    return _render(
        "inbox.html.j2",
        {
            "page": "inbox",
            "total": inbox.total,
            "first": inbox.offset + 1,
            "last": last,
            "has_earlier": inbox.offset > 0,
            "has_later": last < inbox.total,
            "alarms": [_alarm(one) for one in inbox.alarms],
            "said": None if inbox.said is None or not inbox.said.told else _said(inbox.said),
            "latest": [
                {
                    "run_id": one["run_id"],
                    "told": _saying(one["status"], one["note"], one["reviewer"], one["reviewed_at"]),
                    "is_in_force": one["is_in_force"],
                }
                for one in inbox.latest
            ],
            "choices": _choices(may_change=upkeep["may_change"]),
            "may_change": upkeep["may_change"],
            "upkeep": upkeep,
        },
    )


def _alarm(run: ListedRun) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "app": run.app,
        "version": run.version_name,
        "started_at": run.started_at,
        "flagged": ", ".join(wording.series_short(name) for name in run.flagged),
        "ratio": run.ratio,
    }


def _said(reviewed: Reviewed) -> dict[str, Any]:
    last = reviewed.told[0]
    return {
        "run_id": reviewed.run.run_id,
        "told": saying(last),
        "is_withdrawal": last.status == reviews.WITHDRAWN,
    }


def _choices(*, may_change: bool) -> list[dict[str, str]]:
    statuses = reviews.STATUSES if may_change else ()
    return [
        {
            "status": status,
            "key": status[0],
            "label": review_wording.WORDS[status],
            "meaning": review_wording.MEANINGS[status],
        }
        for status in statuses
    ]


def render_review(
    reviewed: Reviewed,
    in_force: reviews.Review | None,
    *,
    status: str | None,
    effects: Sequence[str],
    seen: str,
    name: str | None,
    note: str | None,
    back: str,
    upkeep: Mapping[str, Any],
    problem: str | None,
) -> str:
    """The form of one status, or (None) what can be said of the run; as HTML text.

    Args:
        effects: what the status would do.
        seen: which review was in force when the page was made.
        back: where the form leads to when it was taken: `inbox` or `run`.
        problem: why what was sent was not taken.
    """
    run = reviewed.run
    others = [*reviews.STATUSES, *([reviews.WITHDRAWN] if in_force is not None else [])]
    command = ["perfreg", "review", run.run_id]
    return _render(
        "review.html.j2",
        {
            "page": "review",
            "run": run,
            "explanation": reviewed.explanation,
            "status": status,
            "question": None if status is None else review_wording.QUESTIONS[status],
            "meaning": None if status is None else review_wording.MEANINGS[status],
            "button": None if status is None else review_wording.BUTTONS[status],
            "effects": effects,
            "now": None if in_force is None else saying(in_force),
            "told": [saying(one) for one in reviewed.told],
            "others": [
                {
                    "status": one,
                    "label": review_wording.BUTTONS[one],
                    "meaning": review_wording.MEANINGS[one],
                    "command": shlex.join(
                        [
                            *command,
                            *(["--withdraw"] if one == reviews.WITHDRAWN else ["--status", one, "--note", "why"]),
                        ]
                    ),
                }
                for one in others
            ],
            "seen": seen,
            "name_given": name or "",
            "note_given": note or "",
            "back": back,
            "problem": problem,
            "upkeep": upkeep,
            "may_change": upkeep["may_change"],
        },
    )


def render_current_omega(
    omega: float,
    *,
    current: float,
    detector: str,
    flips: Mapping[str, int],
    name: str | None,
    note: str | None,
    upkeep: Mapping[str, Any],
    problem: str | None,
) -> str:
    """The form that makes an ω the current one, as HTML text."""
    return _render(
        "current_omega.html.j2",
        {
            "page": "omega",
            "omega": omega,
            "current": current,
            "detector": wording.detector_text(detector),
            "seen_detector": detector,
            "more": flips["appeared"],
            "fewer": flips["vanished"],
            "seen": repr(current),
            "command": shlex.join(
                ["perfreg", "reevaluate", "--omega", f"{omega:g}", "--make-current", "--note", "why"]
            ),
            "name_given": name or "",
            "note_given": note or "",
            "problem": problem,
            "upkeep": upkeep,
            "may_change": upkeep["may_change"],
        },
    )


def render_problem(sentence: str, upkeep: Mapping[str, Any]) -> str:
    """Why nothing was done, as HTML text."""
    return _render("problem.html.j2", {"page": "problem", "sentence": sentence, "upkeep": upkeep})


def _render(template: str, context: Mapping[str, Any]) -> str:
    shared = {"root": "/", "content_policy": FORM_POLICY, "referrer": "same-origin", "page_name": page_name}
    return render(template, {**shared, **context})
