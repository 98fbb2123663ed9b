"""What a review would do, in sentences: each figure of the model's once, and nothing that it does not say."""

from __future__ import annotations

import pytest

from perfreg_assets.model.review_effects import Effect
from perfreg_assets.reports import review_wording
from perfreg_assets.reports.review_wording import effects
from perfreg_assets.warehouse import reviews


def effect(**changes: object) -> Effect:
    usual = {"later_count": 30, "history_before": 0, "history_after": 0, "null_before": 0, "null_after": 0}
    return Effect(**{**usual, "judged_again": (), "unjudged_count": 0, "is_at_least": False, **changes})  # type: ignore[arg-type]


CASES = {
    "nothing later": ({"later_count": 0}, ["There is no later run to be compared with it, so no verdict changes."]),
    "nothing changes": (
        {},
        [
            "It is in no later run's history, as before.",
            "Its scores count as normal for no later run, as before.",
            "No later run is judged again.",
        ],
    ),
    "it stays": (
        {"history_before": 5, "history_after": 5, "null_after": 14, "judged_again": tuple("abcdefghijklmn")},
        [
            "It stays in the histories of 5 later runs.",
            "Its scores count as normal for 14 later runs from now on.",
            "14 later runs are judged again.",
        ],
    ),
    "it leaves": (
        {"history_before": 1, "null_before": 2, "judged_again": ("a",), "unjudged_count": 1},
        [
            "It leaves the histories of 1 later run, all that had it.",
            "Its scores no longer count as normal for 2 later runs.",
            "1 later run is judged again.",
            "1 later run has too few earlier runs left to be judged.",
        ],
    ),
    "it enters": (
        {"history_after": 1200, "null_before": 3, "null_after": 3, "judged_again": ("a", "b"), "is_at_least": True},
        [
            "It enters the histories of 1,200 later runs.",
            "Its scores count as normal for 3 later runs, as before.",
            "At least 2 later runs are judged again.",
        ],
    ),
    "more or fewer": (
        {"history_before": 3, "history_after": 4, "null_before": 9, "null_after": 6, "unjudged_count": 2},
        [
            "It is in the histories of 4 later runs instead of 3.",
            "Its scores count as normal for 6 later runs instead of 9.",
            "No later run is judged again.",
            "2 later runs have too few earlier runs left to be judged.",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_figure_is_said(case):
    changes, sentences = CASES[case]
    assert effects(effect(**changes)) == sentences


def test_every_status_has_its_words():
    statuses = {*reviews.STATUSES, reviews.WITHDRAWN}
    for words in (review_wording.LABELS, review_wording.QUESTIONS, review_wording.BUTTONS, review_wording.MEANINGS):
        assert set(words) == statuses
    assert list(review_wording.WORDS) == list(reviews.STATUSES)
