"""What a review would do, in sentences; the figures are the model's."""

from __future__ import annotations

from typing import Protocol

from perfreg_assets.reports.wording import REVIEW_EFFECTS, REVIEW_LABELS
from perfreg_assets.warehouse.reviews import WITHDRAWN

LABELS = {**REVIEW_LABELS, WITHDRAWN: "Withdrawn"}
QUESTIONS = {
    "confirmed": "Confirm it as a regression?",
    "rejected": "Call it a false alarm?",
    "accepted": "Accept it as the new normal?",
    WITHDRAWN: "Withdraw what was said of it?",
}
BUTTONS = {
    "confirmed": "Confirm the regression",
    "rejected": "It is a false alarm",
    "accepted": "Accept as the new normal",
    WITHDRAWN: "Withdraw the review",
}
WORDS = {"confirmed": "Confirm", "rejected": "False alarm", "accepted": "Accept"}
"""Of small buttons beside a run, in the order of their keys c, r and a."""
MEANINGS = {
    **REVIEW_EFFECTS,
    WITHDRAWN: "As if nobody had reviewed it: it is an open alarm again, if it is one. What was said is kept.",
}


class Effect(Protocol):
    """See `model.review_effects`."""

    @property
    def later_count(self) -> int: ...
    @property
    def history_before(self) -> int: ...
    @property
    def history_after(self) -> int: ...
    @property
    def null_before(self) -> int: ...
    @property
    def null_after(self) -> int: ...
    @property
    def judged_again(self) -> tuple[str, ...]: ...
    @property
    def unjudged_count(self) -> int: ...
    @property
    def is_at_least(self) -> bool: ...


def effects(effect: Effect) -> list[str]:
    """What would follow: for histories, for what counts as normal, and which runs are judged again."""
    if not effect.later_count:
        return ["There is no later run to be compared with it, so no verdict changes."]
    count = len(effect.judged_again)
    least = "At least " if effect.is_at_least else ""
    again = f"{least}{_runs(count)} {'is' if count == 1 else 'are'} judged again." if count else None
    return [
        _histories(effect.history_before, effect.history_after),
        _normal(effect.null_before, effect.null_after),
        again or "No later run is judged again.",
        *_unjudged(effect.unjudged_count),
    ]


def _unjudged(count: int) -> list[str]:
    return (
        [f"{_runs(count)} {'has' if count == 1 else 'have'} too few earlier runs left to be judged."] if count else []
    )


def _histories(before: int, after: int) -> str:
    if before == after:
        return (
            f"It stays in the histories of {_runs(after)}." if after else "It is in no later run's history, as before."
        )
    if not after:
        return f"It leaves the histories of {_runs(before)}, all that had it."
    if not before:
        return f"It enters the histories of {_runs(after)}."
    return f"It is in the histories of {_runs(after)} instead of {before:,}."


def _normal(before: int, after: int) -> str:
    """Of the empirical null."""
    if before == after:
        same = f"Its scores count as normal for {_runs(after)}, as before."
        return same if after else "Its scores count as normal for no later run, as before."
    if not after:
        return f"Its scores no longer count as normal for {_runs(before)}."
    if not before:
        return f"Its scores count as normal for {_runs(after)} from now on."
    return f"Its scores count as normal for {_runs(after)} instead of {before:,}."


def _runs(count: int) -> str:
    return f"{count:,} later run{'' if count == 1 else 's'}"
