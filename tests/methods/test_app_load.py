"""What an app uses against what it used in a reference: by hand, and at the edges."""

import numpy as np
import pytest

from perfreg_assets.methods.app_load import FEWEST_SECONDS, RISES_S, LoadLimits, limits_of, load_of


def test_core_seconds_are_the_mean_of_three_and_rises_are_of_half_a_minute():
    running, rises = np.zeros(60), np.zeros(60)
    running[10], running[0] = 0.9, 0.6
    rises[30] = 1000.0
    load = load_of(running, rises)
    assert load.core_seconds[9:12].tolist() == pytest.approx([0.3, 0.3, 0.3])
    assert load.core_seconds[0] == pytest.approx(0.3)  # of two: nothing is before
    assert np.flatnonzero(load.rise_bytes).tolist() == list(range(30 - RISES_S // 2, 30 + RISES_S // 2 + 1))
    assert load.rise_bytes[np.flatnonzero(load.rise_bytes)] == pytest.approx(1000.0)


def test_what_rises_steadily_counts_more_than_what_rises_at_once():
    at_once, steadily = np.zeros(100), np.zeros(100)
    at_once[50], steadily[45:55] = 1e6, 1e5
    both = [load_of(np.zeros(100), rises) for rises in (at_once, steadily)]
    assert both[0].rise_bytes.max() == pytest.approx(1e6)
    assert both[1].rise_bytes.max() == pytest.approx(1e8)
    excess = LoadLimits("a", 1.0, 5e7).excess(both[1])
    above = np.flatnonzero(excess > 1)
    # All of every half minute in which it rose as much: those that hold eight of the ten rises.
    assert (above[0], above[-1]) == (52 - RISES_S + 1, 47 + RISES_S - 1)
    assert len(above) == above[-1] - above[0] + 1


def test_what_is_above_the_limits_is_told_by_what_factor_and_what_is_not_known_never():
    load = load_of(np.full(30, 0.5), None)
    assert np.isnan(load.rise_bytes).all()
    assert LoadLimits("a", 0.25, 100.0).excess(load)[5] == pytest.approx(2.0)
    assert LoadLimits("a", np.nan, np.nan).excess(load).tolist() == [0.0] * 30
    grows = load_of(np.zeros(90), np.full(90, 8.0))
    assert LoadLimits("a", 0.25, 4.0 * RISES_S**3).excess(grows)[45] == pytest.approx(2.0)


def test_limits_are_of_correct_seconds_and_two_minutes_are_needed():
    rng = np.random.default_rng(0)
    usual = [load_of(rng.uniform(0, 0.2, 200), rng.uniform(0, 50, 200)) for _ in range(3)]
    limits = limits_of("a", usual)
    assert limits is not None
    assert (limits.excess(usual[0]) > 1).mean() < 0.01
    assert limits_of("a", [usual[0].within(0, FEWEST_SECONDS - 1)]) is None
    assert limits_of("a", []) is None
    unpolled = limits_of("a", [load_of(rng.uniform(0, 0.2, 200), None)])
    assert unpolled is not None
    assert np.isnan(unpolled.rise_bytes)


def test_of_no_seconds_there_is_nothing():
    load = load_of([], [])
    assert len(load.core_seconds) == len(load.rise_bytes) == 0
    assert len(LoadLimits("a", 1.0, 1.0).excess(load)) == 0
