"""The ranking of what grew: formula, listing, new methods, services without a history; and how the index counts."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets.methods.call_trees import build_trees
from perfreg_assets.methods.causes import growth, rank_methods
from perfreg_assets.methods.folded import folded_lines
from perfreg_assets.methods.method_uses import Profile, method_scores, method_uses, profile_of
from perfreg_assets.methods.service_times import MAX_WINDOWS, TimeWindows, service_times, slowest_calls, time_windows


def _beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


columns = _beside("call_columns").columns


def test_z_is_the_formula():
    history = np.array([[1.0, 4.0], [1.2, 4.0], [0.9, 4.0], [1.1, 4.0]])
    found = growth(np.array([3.0, 3.0]), history, 0.005)
    med, mad = 1.05, 1.4826 * np.median([0.05, 0.15, 0.15, 0.05])
    assert found.median.tolist() == pytest.approx([1.05, 4.0])
    assert found.mad.tolist() == pytest.approx([mad, 0.0])
    assert found.z[0] == pytest.approx((3 - med) / np.sqrt(mad**2 + (0.1 * med) ** 2 + 0.005**2))
    assert found.z[1] == pytest.approx(-1 / np.sqrt(0.4**2 + 0.005**2))
    assert found.growth_share.tolist() == [1.0, 0.0]


def test_listed_is_what_stands_out_and_is_a_share_of_the_growth():
    history = np.array([[10.0, 0.1, 10.0]] * 5)
    found = growth(np.array([30.0, 1.0, 11.0]), history, 0.01)
    assert (found.z >= 3).tolist() == [True, True, False]
    assert found.growth_share.tolist() == pytest.approx([20 / 21.9, 0.9 / 21.9, 1 / 21.9])
    assert found.is_listed.tolist() == [True, False, False]


def profile(calls, **self_ms):
    """Self times per call."""
    return Profile({"S": calls}, {"S": {name: calls * ms for name, ms in self_ms.items()}})


def test_methods_are_compared_per_call_of_their_service():
    causes = rank_methods(profile(10, a=5, b=6), [profile(1000, a=5, b=2), profile(3, a=5, b=2)])
    assert [(one.rank, one.method, one.before_ms, one.after_ms) for one in causes] == [
        (1, "b", pytest.approx(2), pytest.approx(6)),
        (None, "a", pytest.approx(5), pytest.approx(5)),
    ]
    assert causes[0].growth_share == 1.0
    # The floor is a thousandth of the service's usual time.
    assert causes[0].z == pytest.approx(4 / np.sqrt(0.2**2 + 0.007**2))


def test_nothing_is_listed_when_nothing_grew():
    assert [one.rank for one in rank_methods(profile(10, a=5, b=6), [profile(10, a=5, b=6)] * 3)] == [None, None]
    assert rank_methods(profile(10, a=5), []) == []


def test_a_new_method_starts_from_0_and_is_called_new():
    first, *_ = rank_methods(profile(10, a=5, new=3), [profile(10, a=5)] * 2)
    assert (first.method, first.before_ms, first.is_new, first.rank) == ("new", 0.0, True, 1)
    gone = rank_methods(profile(10, a=5), [profile(10, a=5, old=3)])
    assert {one.method: one.rank for one in gone} == {"a": None, "old": None}


def test_a_baseline_counts_only_for_the_services_that_it_has():
    other = Profile({"T": 4}, {"T": {"a": 4.0}})
    causes = rank_methods(Profile({"S": 1, "U": 1}, {"S": {"a": 9.0}, "U": {"a": 1.0}}), [other, profile(1, a=2)])
    assert [(one.service, one.history_count) for one in causes] == [("S", 1)], "nothing is said about services new here"


ROWS = [
    ("t1", "S", "1", "a", 10.0, 0), ("t1", "S", "1.1", "b", 8.0, 1), ("t1", "S", "1.1.1", "a", 5.0, 2),
    ("t2", "S", "1", "a", 30.0, 61_000), ("t3", "T", "1", "c", 4.0, 200_000), ("t3", "T", "1.1", "a", 4.0, 200_000),
    ("t4", "T", "1.7", "a", 99.0, 0),
]  # fmt: skip


@pytest.fixture
def trees():
    return build_trees(columns(ROWS))


def test_the_index_counts_a_recursion_once(trees):
    uses = {(use.service, use.method): use for use in method_uses(trees)}
    recursive = uses["S", "a"]
    # Three calls: 10 (own 2), 5 within it (own 5), 30 (own 30); of the 40 ms of S, 3 are spent in b below a.
    assert (recursive.call_count, recursive.self_ms, recursive.children_ms) == (3, 37.0, 3.0)
    assert (recursive.self_share, recursive.children_share) == pytest.approx((37 / 40, 3 / 40))
    assert (recursive.mean_ms, recursive.max_ms) == (15.0, 30.0)
    assert (uses["S", "b"].self_share, uses["S", "b"].children_share) == pytest.approx((3 / 40, 5 / 40))
    assert uses["T", "c"].self_ms == 0


def test_scores_are_of_the_services_that_call_a_method(trees):
    scores = {one.method: one for one in method_scores(method_uses(trees))}
    shares = np.array([37 / 40, 103 / 103])
    assert scores["a"].score.score == pytest.approx(np.sqrt(np.mean(shares**2)) - np.std(shares))
    assert scores["a"].score.service_count == 2
    assert (scores["a"].call_count, scores["a"].max_ms) == (5, 99.0)
    assert scores["c"].score.service_count == 1


def test_times_of_services_leave_orphans_out(trees):
    s, t = service_times(trees)
    assert (s.service, s.call_count, s.min_ms, s.mean_ms, s.max_ms, s.std_ms, s.tree_count) == (
        "S",
        2,
        10,
        20,
        30,
        10,
        2,
    )
    assert (t.call_count, t.max_ms) == (1, 4)


def test_the_slowest_calls_come_one_by_one(trees):
    found = slowest_calls(trees, 2)
    assert [(one.rank, one.transaction, one.elapsed_ms, one.time_ms) for one in found] == [
        (1, "t2", 30.0, 61_000),
        (2, "t1", 10.0, 0),
    ]


def test_windows_hold_throughput_and_response_time_and_empty_ones_a_zero(trees):
    found = [(one.service, one.window_index, one.call_count, one.mean_ms) for one in time_windows(trees, 60.0).windows]
    assert found == [
        ("S", 0, 1, 10.0), ("S", 1, 1, 30.0), ("S", 2, 0, None), ("S", 3, 0, None),
        ("T", 0, 0, None), ("T", 1, 0, None), ("T", 2, 0, None), ("T", 3, 1, 4.0),
    ]  # fmt: skip
    assert time_windows(trees, 60.0).windows[1].calls_per_s == pytest.approx(1 / 60)
    assert time_windows(trees, 60.0).windows[1].start_ms == 60_000
    assert time_windows(build_trees(columns([row[:5] for row in ROWS])), 60.0) == TimeWindows([], 0)
    with pytest.raises(ValueError, match="longer than 0"):
        time_windows(trees, 0)


def test_the_response_time_of_a_window_is_the_mean_and_the_longest_of_its_calls():
    calls = [(0, 10.0), (20_000, 40.0), (59_999, 4.0), (60_000, 7.0)]
    rows = [(f"t{number}", "S", "1", "a", elapsed, at) for number, (at, elapsed) in enumerate(calls)]
    found = time_windows(build_trees(columns(rows)), 60.0).windows
    assert [(one.start_ms, one.call_count, one.mean_ms, one.max_ms) for one in found] == [
        (0, 3, pytest.approx(18.0), 40.0),
        (60_000, 1, 7.0, 7.0),
    ]


def windows_at(*times_ms, window_s=60.0, services="S"):
    rows = [
        (f"t{number}", service, "1", "a", 5.0, at)
        for number, (at, service) in enumerate(zip(times_ms, itertools.cycle(services), strict=False))
    ]
    return time_windows(build_trees(columns(rows)), window_s)


def rates(found):
    return [(one.service, one.call_count, one.calls_per_s) for one in found.windows]


def test_the_rate_of_the_last_window_is_by_the_time_up_to_the_last_call():
    assert rates(windows_at(*range(0, 400_000, 1000))) == [("S", 60, 1.0)] * 6 + [("S", 40, 1.0)]
    assert rates(windows_at(0, 2500, 5000, 7500, 10_000)) == [("S", 5, 0.4)]
    assert rates(windows_at(*range(0, 10_500, 500), services="ST")) == [("S", 11, 1.0), ("T", 10, 1.0)]


def test_the_rate_of_a_window_with_no_call_before_the_last_is_not_known():
    assert rates(windows_at(0, 30_000, 60_000)) == [("S", 2, 2 / 60), ("S", 1, None)]
    assert rates(windows_at(5000)) == [("S", 1, None)]
    assert rates(windows_at(0, 1000, 60_000, services="SST"))[1:] == [("S", 0, None), ("T", 0, 0.0), ("T", 1, None)]
    assert rates(windows_at(0, 61_000)) == [("S", 1, 1 / 60), ("S", 1, None)], "a call is not a rate of 0"


def test_a_time_that_is_wrong_by_years_neither_fills_the_memory_nor_hides_the_others():
    year = 365 * 86_400_000
    usual = range(50 * year, 50 * year + 300_000, 10_000)
    right = windows_at(*usual)
    for wrong in (0, 80 * year):
        found = windows_at(*usual, wrong)
        assert (found.windows, found.outside_count) == (right.windows, 1)
    assert right.outside_count == 0
    found = windows_at(*range(MAX_WINDOWS + 7), window_s=1e-3)
    assert (len(found.windows), found.outside_count) == (MAX_WINDOWS, 7), "a long log, and windows too short for it"


def test_folded_stacks_have_before_and_after_in_microseconds_per_call(trees):
    before = profile_of(build_trees(columns([("t", "S", "1", "a", 12.0), ("t", "S", "1.2", "g;o\tne", 2.0)])))
    assert list(folded_lines(trees, [before])) == [
        "S;a 10000 16000",
        "S;a;b 0 1500",
        "S;a;b;a 0 2500",
        "S;a;g:o ne 2000 0",
        "T;a 0 99000",
        "T;c 0 0",
        "T;c;a 0 4000",
    ]
