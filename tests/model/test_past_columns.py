"""The nulls of judged runs, gathered from columns, are what going through the earlier runs one by one makes of them."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.empirical_null import TheoreticalScore
from perfreg_assets.methods.unit_offset import UnitOffset
from perfreg_assets.model.past_scores import PastScores
from perfreg_assets.warehouse.past_scores import WINDOW_RUNS, JudgedRun, PastRun

SERIES = ("cpu_app", "rss_app")
BEGIN = datetime(2026, 1, 1)

scores = st.sampled_from([-1.0, 0.3, 1.2, 2.2, 2.5, 3.9, 4.1, 6.5])
theories = st.tuples(scores, st.sampled_from([0.0, 1.0, 2.0, 5.0])).map(
    lambda two: TheoreticalScore(two[0], two[0] - two[1])
)
runs = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from([None, "rejected"]),
        st.dictionaries(st.sampled_from(SERIES), theories),
        st.sampled_from([None, None, "u1", "u2"]),
        st.sampled_from([0.0, 0.25, 1.0]),
    ),
    max_size=25,
)


def place(number):
    return BEGIN + timedelta(hours=number), f"run-{number:03}"


def slow_null(judged, past, series):
    """([(score, score without, versions ago)] in the runs' order, unit → offset, which runs those are)."""
    before = [run for run in past if run.place < judged.place][-WINDOW_RUNS:]
    before = [run for run in before if run.version_name != judged.version_name]
    newest_first = []
    for run in reversed(before):
        if run.version_name not in newest_first:
            newest_first.append(run.version_name)
    known = [run for run in before if series in run.scores]
    runs_of = Counter(run.version_name for run in known)
    disturbed_of = Counter(run.version_name for run in known if run.scores[series].is_transient)
    usual = []
    for run in known:
        theory = run.scores[series]
        runs, disturbed = runs_of[run.version_name], disturbed_of[run.version_name]
        if theory.is_transient and runs > 1 and 2 * disturbed > runs:
            theory = TheoreticalScore(theory.score, theory.score)
        if theory.score <= 4 or theory.is_transient or run.review == "rejected":
            usual.append((run, theory))
    offsets = {}
    for unit in {run.device_unit for run, _ in usual} - {None}:
        own = [(theory, run.foreign_ratio) for run, theory in usual if run.device_unit == unit]
        stays = [theory.without_transient if theory.is_transient else theory.score for theory, _ in own]
        offsets[unit] = UnitOffset.of(np.array(stays), np.array([ratio for _, ratio in own]))
    found = []
    for run, theory in usual:
        pair = tuple(theory)
        if run.device_unit:
            offset, ratio = offsets[run.device_unit], run.foreign_ratio
            pair = tuple((one - ratio * offset.mean) / math.sqrt(1 + ratio * ratio * offset.variance) for one in pair)
        found.append((*pair, float(newest_first.index(run.version_name) + 1)))
    return found, offsets, [run.place[1] for run, _ in usual]


@given(runs, st.integers(0, 25), st.sampled_from("abcd"), st.sampled_from([None, "u1", "u3"]))
def test_a_null_is_what_the_earlier_runs_say_one_by_one(described, at, version, unit):
    past = [PastRun(place(number), *facts) for number, facts in enumerate(described)]
    judged = JudgedRun(place(at), version, "alike", unit, 0.5)
    asked = PastScores({"judged": judged}, {"alike": past})
    for series in SERIES:
        expected, offsets, _ = slow_null(judged, past, series)
        null = asked.null("judged", series)
        assert np.column_stack([null.past, null.versions_ago]).tolist() == [list(one) for one in expected]
        assert null.unit == offsets.get(unit, UnitOffset())
        assert null.foreign_ratio == (0.5 if unit else 0.0)
    telling = {run_id for series in SERIES for run_id in slow_null(judged, past, series)[2]}
    assert {run.place[1] for run in past if asked.counts_for("judged", run.place[1])} == telling


def test_what_is_learned_of_a_run_is_what_it_says_from_then_on():
    past = [PastRun(place(number), "a", None, {"cpu_app": TheoreticalScore(0.1 * number, 0.0)}) for number in range(6)]
    asked = PastScores({"judged": JudgedRun(place(9), "b", "alike")}, {"alike": past})
    before = asked.hash_of("judged", SERIES)
    asked.learn({"run-003": {"cpu_app": TheoreticalScore(1.5, 1.5)}})
    assert asked.hash_of("judged", SERIES) != before
    assert np.asarray(asked.null("judged", "cpu_app").past)[3].tolist() == [1.5, 1.5]


def test_runs_that_nobody_judges_have_no_past():
    asked = PastScores({}, {"alike": [PastRun(place(0), "a", None, {"cpu_app": TheoreticalScore(0.0, 0.0)})]})
    assert len(asked.null("judged", "cpu_app")) == 0
    assert asked.hash_of("judged", SERIES) == ""
    assert not asked.counts_for("judged", "run-000")
