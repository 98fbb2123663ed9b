"""Sides of a comparison: which series are compared, and what makes sides unlike."""

from __future__ import annotations

import numpy as np

from perfreg_assets.model.sides import (
    RunOfSide,
    Side,
    courses_of,
    mean_course,
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


def test_sources_that_change_the_load_on_one_side_only_are_named():
    assert other_load(side(run(load_sources=["atrace"])), side(run(load_sources=["atrace", "heap"]))) == {"heap"}
    assert other_load(side(run()), side(run())) == set()


def test_the_mean_course_goes_as_far_as_the_shortest_run():
    assert mean_course([np.array([1.0, 3.0, 9.0]), np.array([3.0, 5.0])]).tolist() == [2.0, 4.0]
