"""History: who is a member, why the others are not, and that nothing depends on the order of listing."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.history import (
    EXCLUDE_REASONS,
    NEAR_MISS_LIMIT,
    HistoryRules,
    RunFacts,
    select_history,
)
from perfreg_assets.reasons import Reason

PATH = tuple("abcdefghij")
RULES = HistoryRules(size=12, minimum=5, similarity_minimum=0.8, same_version=False, excludes_anomalous=False)
START = datetime(2026, 11, 1, tzinfo=UTC)


def run(number, **changes):
    facts = RunFacts(
        run_id=f"run-{number:03}",
        app="com.rig.notes",
        version_name="1.4.0",
        config_hash="c",
        load_sources=("sched", "process_stats"),
        started_at=START + timedelta(hours=number),
        has_functional_problems=False,
        is_complete=True,
        state_hashes=PATH,
        review=None,
        is_excluded=False,
        is_anomalous=False,
    )
    return replace(facts, **changes)


NEW = run(500, version_name="1.5.0")


def ids(candidates):
    return [candidate.run_id for candidate in candidates]


def test_the_latest_k_are_members_ranked_from_the_latest():
    selection = select_history(NEW, [run(number) for number in range(20)], RULES)
    assert selection.state == "ready"
    assert ids(selection.members) == [f"run-{number:03}" for number in range(19, 7, -1)]
    assert [member.rank for member in selection.members] == list(range(1, 13))
    assert all(member.similarity == 1.0 and member.exclude_reason is None for member in selection.members)
    assert selection.candidate_count == 20
    assert selection.excluded_counts == {"beyond_size": 8}
    assert selection.explanation == (
        "12 of 20 earlier runs of com.rig.notes form the history, paths 1.00 similar or more; "
        "left out: 8 comparable, but older than the ones taken."
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"config_hash": "other"}, "other_configuration"),
        ({"load_sources": ("sched", "process_stats", "atrace")}, "other_recording"),
        ({"load_sources": ()}, "other_recording"),
        ({"is_complete": False}, "incomplete_trace"),
        ({"has_functional_problems": True}, "functional_problems"),
        ({"is_excluded": True}, "excluded"),
        ({"version_name": "1.5.0"}, "same_version"),
        ({"review": "confirmed"}, "reviewed_out"),
        ({"state_hashes": tuple("abcdefzyxw")}, "path_dissimilar"),
        ({"state_hashes": ()}, "path_dissimilar"),
    ],
)
def test_each_reason_keeps_a_run_out_and_is_counted(changes, reason):
    others = [run(number) for number in range(6)]
    others[3] = replace(others[3], **changes)
    selection = select_history(NEW, others, RULES)
    assert "run-003" not in ids(selection.members)
    assert selection.excluded_counts == {reason: 1}
    assert len(selection.members) == 5
    assert f"left out: 1 {Reason(reason).label}." in selection.explanation


def test_another_app_is_not_even_a_candidate_and_the_run_itself_neither():
    selection = select_history(NEW, [run(1, app="com.rig.shop"), NEW, run(2)], RULES)
    assert selection.candidate_count == 1
    assert ids(selection.members) == ["run-002"]


def test_the_judged_version_itself_may_be_allowed():
    others = [run(number, version_name="1.5.0") for number in range(6)]
    assert select_history(NEW, others, RULES).state == "not_enough_history"
    assert select_history(NEW, others, replace(RULES, same_version=True)).state == "ready"


def test_anomalous_runs_stay_in_unless_the_rule_says_otherwise_and_a_review_overrules_the_verdict():
    others = [
        run(0, is_anomalous=True),
        run(1, is_anomalous=True, review="rejected"),
        run(2, is_anomalous=None),
        run(3, is_anomalous=True, review="accepted", started_at=START - timedelta(days=1)),
    ]
    assert len(select_history(NEW, others, RULES).members) == 4
    selection = select_history(NEW, others, replace(RULES, excludes_anomalous=True))
    assert ids(selection.members) == ["run-002", "run-001", "run-003"]
    assert selection.excluded_counts == {"anomalous": 1}


def test_an_accepted_run_is_a_new_beginning():
    others = [run(number, review="accepted" if number in (3, 9) else None) for number in range(20)]
    selection = select_history(NEW, others, RULES)
    assert ids(selection.members) == [f"run-{number:03}" for number in range(19, 8, -1)]
    assert selection.excluded_counts == {"before_accepted": 9}


def test_an_accepted_run_of_another_configuration_or_after_the_new_run_begins_nothing():
    others = [run(number) for number in range(8)]
    others += [run(9, review="accepted", config_hash="other"), run(501, review="accepted")]
    others += [run(10, review="accepted", load_sources=("atrace",))]
    assert len(select_history(NEW, others, RULES).members) == 8


def test_too_few_members_are_explained_by_counts():
    others = [run(0), run(1), run(2, is_complete=False), run(3, config_hash="x"), run(4, config_hash="x")]
    selection = select_history(NEW, others, RULES)
    assert selection.state == "not_enough_history"
    assert ids(selection.members) == ["run-001", "run-000"]
    assert selection.explanation == (
        "Only 2 of 5 earlier runs of com.rig.notes can be compared with, a verdict needs 5; "
        "left out: 2 with another test configuration, 1 with an incomplete trace."
    )
    assert "no earlier run of com.rig.notes" in select_history(NEW, [], RULES).explanation
    for count, told in ((1, "There is 1 earlier run"), (2, "There are 2 earlier runs")):
        alike = select_history(NEW, [run(number) for number in range(count)], RULES)
        assert alike.explanation == f"{told} of com.rig.notes to compare with, a verdict needs 5."


def test_near_misses_are_bounded_latest_first_and_leave_out_runs_of_another_kind():
    others = [run(number, has_functional_problems=True) for number in range(NEAR_MISS_LIMIT + 10)]
    others += [run(100 + number, config_hash="x") for number in range(5)]
    others += [run(200, state_hashes=tuple("abcdefgzyx"))]
    selection = select_history(NEW, others, RULES)
    assert len(selection.near_misses) == NEAR_MISS_LIMIT
    first, second, *_ = selection.near_misses
    assert (first.run_id, first.exclude_reason, first.rank) == ("run-200", "path_dissimilar", None)
    assert second.run_id == f"run-{NEAR_MISS_LIMIT + 9:03}"
    assert not {miss.exclude_reason for miss in selection.near_misses} & {"other_configuration"}


def test_similarity_is_candidate_first():
    new = run(500, version_name="1.5.0", state_hashes=tuple("diet"))
    selection = select_history(new, [run(1, state_hashes=tuple("tide"))], replace(RULES, similarity_minimum=0.2))
    assert [member.similarity for member in selection.members] == [0.25]  # 0.5 the other way round


def test_the_order_in_which_sources_are_listed_is_no_difference():
    others = [run(number, load_sources=("process_stats", "sched")) for number in range(6)]
    assert select_history(NEW, others, RULES).state == "ready"


def test_of_runs_that_start_together_the_smaller_run_id_is_earlier():
    together = [run(number, started_at=START) for number in range(7)]
    assert ids(select_history(replace(together[5], version_name="2"), together, RULES).members) == [
        *("run-004", "run-003", "run-002", "run-001", "run-000"),
    ]


some_runs = st.lists(
    st.builds(
        lambda number, hours, **changes: run(number, started_at=START + timedelta(hours=hours), **changes),
        number=st.integers(0, 40),
        hours=st.integers(0, 9),
        version_name=st.sampled_from(["1.4.0", "1.5.0"]),
        config_hash=st.sampled_from("cccd"),
        load_sources=st.sampled_from([("sched",), ("sched",), ("sched", "atrace")]),
        is_complete=st.sampled_from([True, True, False]),
        has_functional_problems=st.sampled_from([False, False, True, None]),
        review=st.sampled_from([None, None, None, "accepted", "confirmed"]),
        is_anomalous=st.sampled_from([None, False, True]),
        state_hashes=st.sampled_from([PATH, PATH[::-1], ()]),
    ),
    max_size=25,
    unique_by=lambda one: one.run_id,
)


@given(runs=some_runs, source=st.randoms())
def test_a_selection_is_a_function_of_the_past_only(runs, source):
    """Any later run, and any order of arrival, changes nothing: neither members nor counts nor the explanation."""
    rules = replace(RULES, size=4, minimum=2, excludes_anomalous=True)
    in_order = sorted(runs, key=lambda one: (one.started_at, one.run_id))
    for index, one in enumerate(in_order):
        known = select_history(one, in_order[:index], rules)
        assert known.candidate_count == index
        assert len(known.members) + sum(known.excluded_counts.values()) == index
        everyone = list(runs)
        source.shuffle(everyone)
        assert select_history(one, everyone, rules) == known


def test_the_order_of_listing_changes_nothing_and_every_run_has_one_place():
    source = random.Random(3)
    others = [
        run(
            number,
            started_at=START + timedelta(hours=source.randrange(40)),  # equal starts occur
            version_name=source.choice(["1.4.0", "1.3.0", "1.5.0"]),
            config_hash=source.choice("ccccd"),
            load_sources=source.choice([("sched",), ("sched",), ("sched", "atrace"), ("atrace", "sched")]),
            is_complete=source.random() > 0.1,
            has_functional_problems=source.random() < 0.1,
            is_excluded=source.random() < 0.05,
            review=source.choice([None] * 20 + ["confirmed"]),
            state_hashes=tuple(source.sample(PATH, 10)) if source.random() < 0.5 else PATH,
        )
        for number in range(150)
    ]
    first = select_history(NEW, others, RULES)
    assert len(first.members) + sum(first.excluded_counts.values()) == first.candidate_count == 150
    assert list(first.excluded_counts) == [code for code in EXCLUDE_REASONS if code in first.excluded_counts]
    for _ in range(10):
        source.shuffle(others)
        assert select_history(NEW, others, RULES) == first


def test_a_run_without_a_path_is_compared_with_such_runs_only():
    others = [run(number, state_hashes=()) for number in range(5)] + [run(number) for number in range(5, 9)]
    selection = select_history(replace(NEW, state_hashes=()), others, RULES)
    assert ids(selection.members) == ["run-004", "run-003", "run-002", "run-001", "run-000"]
    assert selection.explanation.endswith("The run has no path, so only runs without one are similar to it.")


def of_scenario(name, paths, **changes):
    runs = [run(number, scenario=name, state_hashes=path) for number, path in enumerate(paths)]
    return select_history(run(500, version_name="1.5.0", scenario=name, **changes), runs, RULES)


def test_a_scenario_stands_for_the_path_where_one_of_the_runs_has_none():
    selection = of_scenario("cold-start", [()] * 6, state_hashes=())
    assert selection.state == "ready"
    assert len(selection.members) == 6
    assert all(member.similarity is None for member in selection.members)
    assert selection.explanation == "6 of 6 earlier runs of com.rig.notes form the history (scenario cold-start)."
    mixed = of_scenario("cold-start", [(), PATH, tuple("abcdefzyxw")] * 5, state_hashes=())
    assert len(mixed.members) == 12  # the new run has no path, so theirs do not matter


def test_runs_with_a_scenario_and_a_path_compare_by_both():
    selection = of_scenario("cold-start", [(), PATH, tuple("zyxwvzyxwv")] * 4)
    assert len(selection.members) == 8
    assert selection.excluded_counts == {Reason.PATH_DISSIMILAR: 4}


@pytest.mark.parametrize(("mine", "theirs"), [("a", "b"), ("a", None), (None, "a")])
def test_runs_of_different_scenarios_are_never_compared(mine, theirs):
    new = run(500, version_name="1.5.0", scenario=mine)
    selection = select_history(new, [run(number, scenario=theirs) for number in range(6)], RULES)
    assert selection.state == "not_enough_history"
    assert selection.excluded_counts == {Reason.OTHER_SCENARIO: 6}
    assert "6 of another scenario" in selection.explanation
    assert selection.near_misses == ()


def test_an_accepted_run_begins_the_normal_of_its_own_scenario_only():
    earlier = [run(number, scenario="a") for number in range(6)] + [run(9, scenario="b", review="accepted")]
    selection = select_history(run(500, version_name="1.5.0", scenario="a"), earlier, RULES)
    assert len(selection.members) == 6


def test_runs_of_any_path_are_told_beside_a_history_that_is_too_small():
    elsewhere = tuple("qrstuvwxyz")
    others = [run(number, state_hashes=elsewhere if number % 3 else PATH) for number in range(9)]
    selection = select_history(NEW, others, replace(RULES, size=6))
    assert (selection.state, selection.way) == ("not_enough_history", "any_path")
    assert ids(selection.members) == ["run-006", "run-003", "run-000"]
    assert ids(selection.of_any_path) == [f"run-{number:03}" for number in range(8, 2, -1)]
    assert [one.screens_rank for one in selection.of_any_path] == [1, 2, 3, 4, 5, 6]
    assert {one.exclude_reason for one in selection.of_any_path} == {None, "path_dissimilar"}
    assert selection.members[2].screens_rank is None
    assert selection.explanation.endswith("So it is compared screen by screen with the latest 6 of any path.")


def test_a_history_that_is_large_enough_stays_what_a_run_is_compared_with():
    others = [run(number, state_hashes=tuple("qrstuvwxyz") if number % 2 else PATH) for number in range(12)]
    selection = select_history(NEW, others, replace(RULES, size=6))
    assert (selection.state, selection.way) == ("ready", "path")
    assert len(selection.of_any_path) == 6
    assert "screen by screen" not in selection.explanation


@pytest.mark.parametrize(
    ("new", "others"),
    [
        (NEW, [run(number, state_hashes=tuple("qrstuvwxyz")) for number in range(4)]),
        (NEW, [run(number, state_hashes=()) for number in range(9)]),
        (replace(NEW, state_hashes=()), [run(number) for number in range(9)]),
    ],
    ids=["too few of any path", "they have no path", "it has no path"],
)
def test_without_enough_screens_a_run_stays_without_history(new, others):
    selection = select_history(new, others, RULES)
    assert (selection.state, selection.way) == ("not_enough_history", "path")


@pytest.mark.parametrize("without", [0, 23, 24, 25, 100])
def test_runs_of_any_path_are_found_however_many_runs_without_one_came_since(without):
    pathless = [run(100 + number, state_hashes=()) for number in range(without)]
    others = [run(number, state_hashes=tuple("qrstuvwxyz")) for number in range(14)]
    selection = select_history(NEW, [*others, *pathless], RULES)
    assert selection.way == "any_path"
    assert ids(selection.of_any_path) == [f"run-{number:03}" for number in range(13, 1, -1)]
    asked = []

    def paths(runs):
        asked.extend(one.run_id for one in runs)
        return [one.state_hashes for one in runs]

    select_history(NEW, [run(number) for number in range(500)], RULES, paths)
    assert len(set(asked)) <= 1 + 2 * RULES.size  # no more are read than are needed


def test_runs_of_any_path_past_the_limit_of_near_misses_are_kept():
    failed = [run(100 + number, has_functional_problems=True) for number in range(NEAR_MISS_LIMIT + 5)]
    others = [run(number, state_hashes=tuple("qrstuvwxyz")) for number in range(6)]
    selection = select_history(NEW, [*others, *failed], RULES)
    assert len(selection.of_any_path) == 6
    assert len(selection.near_misses) == NEAR_MISS_LIMIT + 6
