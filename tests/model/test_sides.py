"""Sides of a comparison: which series are compared, and what makes sides unlike."""

from __future__ import annotations

import numpy as np

from perfreg_assets.model.sides import (
    RunOfSide,
    SeriesLeftOut,
    Side,
    courses_of,
    left_out,
    mean_course,
    on_both,
    other_load,
)
from perfreg_assets.settings import Settings


def side(*runs):
    return Side("s", tuple(runs))


def run(load_sources=(), **series):
    values = {name: np.array(own, float) for name, own in series.items()}
    return RunOfSide("r", values, dict.fromkeys(series, "u"), None, frozenset(load_sources))


def test_series_of_both_sides_are_compared_judged_ones_first_and_odd_ones_left_out():
    a = side(run(cpu_app=[1, 2], rss_app=[5], swap_app=[1], frames_app=[1]), run(cpu_app=[np.nan, 1], rss_app=[]))
    b = side(run(cpu_app=[3], rss_app=[6], swap_app=[1], net_sent=[1]))
    found = courses_of(a, b, Settings())
    assert list(found) == ["cpu_app", "rss_app", "swap_app"]
    assert [one.is_judged for one in found.values()] == [True, True, False]
    assert [one.is_memory for one in found.values()] == [False, True, True]
    assert len(found["cpu_app"].a) == len(found["rss_app"].a) == 1


def test_what_was_recorded_and_is_not_compared_is_told_with_its_run():
    """A rail whose first interval nothing covers left no trace in the comparison, which called the rest normal."""
    rails = side(run(cpu_app=[1, 2], power_rail_cpu=[np.nan, 80.0], heap_app=[]))
    assert courses_of(rails, rails, Settings()).keys() == {"cpu_app"}
    assert left_out(rails, rails) == [
        SeriesLeftOut(key, "r", name, why)
        for key in ("a", "b")
        for name, why in (("heap_app", "no samples"), ("power_rail_cpu", "not all samples are known"))
    ]


def test_what_one_side_alone_recorded_is_told_with_its_runs():
    """A trace without memory beside one with it: CPU was compared, and nothing said that memory was not."""
    whole, without = side(run(cpu_app=[1], rss_app=[5])), side(run(cpu_app=[2]))
    alone = "no run of the other side has it"
    assert left_out(whole, without) == [SeriesLeftOut("a", "r", "rss_app", alone)]
    assert left_out(without, whole) == [SeriesLeftOut("b", "r", "rss_app", alone)]
    holed = side(run(cpu_app=[2], rss_app=[np.nan]))  # told of the side that has the hole
    assert left_out(whole, holed) == [SeriesLeftOut("b", "r", "rss_app", "not all samples are known")]


def test_what_is_judged_wherever_it_was_recorded_is_judged_between_sides_too():
    one = side(run(cpu_app=[1], power_rail_cpu=[80.0], power_rail_gpu=[9.0]))
    found = courses_of(one, one, Settings())
    assert {name: own.is_judged for name, own in found.items()} == {
        "cpu_app": True, "power_rail_cpu": True, "power_rail_gpu": False,
    }  # fmt: skip


def test_sources_that_change_the_load_on_one_side_only_are_named():
    assert other_load(side(run(load_sources=["atrace"])), side(run(load_sources=["atrace", "heap"]))) == {"heap"}
    assert other_load(side(run()), side(run())) == set()


def known(label, *known_by, exploration=None):
    return RunOfSide(label, {}, {}, None, known_by=frozenset(known_by), exploration=exploration)


def test_runs_are_on_both_sides_by_what_their_traces_are_known_by():
    stored = side(known("7f", "file", "content", "run 7f"), known("8a", "run 8a"))
    assert on_both(stored, side(known("a.gz", "packed", "content"), known("b", "other"))) == ["a.gz"]
    assert on_both(stored, stored) == ["7f", "8a"]  # of one nothing but its id is known
    assert on_both(side(known("a"), known("b")), side(known("a"), known("b"))) == []  # a name alone says nothing


def test_two_parts_of_one_recording_are_two_runs():
    first = side(known("a", "content", exploration=(0, 5)))
    assert on_both(first, side(known("b", "content", exploration=(5, 9)))) == []
    assert on_both(first, side(known("b", "content", exploration=(0, 5)))) == ["b"]
    assert on_both(first, side(known("whole", "content"))) == ["whole"]


def test_the_mean_course_goes_as_far_as_the_shortest_run():
    assert mean_course([np.array([1.0, 3.0, 9.0]), np.array([3.0, 5.0])]).tolist() == [2.0, 4.0]
