"""Verdict: the IQR rule against its definition, the DBSCAN re-check against scikit-learn, and the direction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.methods.verdict import PERCENTILES, dbscan_is_outlier, direction, iqr_rule

distances = st.lists(st.floats(0, 1e6), min_size=1, max_size=20)


def quantile(values, share):
    """Linear interpolation between the order statistics (Hyndman & Fan type 7)."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@settings(deadline=None)
@given(distances, st.floats(0, 1e6), st.floats(0, 3))
def test_the_rule_is_its_definition(history, distance, omega):
    rule = iqr_rule(history, distance)
    q1, q3 = quantile(history, 0.25), quantile(history, 0.75)
    assert rule.q1 == pytest.approx(q1, rel=1e-12, abs=1e-12)
    assert rule.q3 == pytest.approx(q3, rel=1e-12, abs=1e-12)
    assert rule.threshold(omega) == rule.q3 + omega * (rule.q3 - rule.q1)
    assert rule.is_anomalous(omega) == (distance > rule.threshold(omega))


@settings(deadline=None)
@given(distances, st.floats(0, 1e6), st.randoms())
def test_the_order_of_the_history_changes_nothing_and_a_larger_omega_never_accuses(history, distance, source):
    rule = iqr_rule(history, distance)
    source.shuffle(history)
    assert iqr_rule(history, distance) == rule
    verdicts = [rule.is_anomalous(omega) for omega in (0, 0.5, 1, 1.5, 100)]
    assert verdicts == sorted(verdicts, reverse=True)


def test_a_distance_at_the_threshold_is_normal_and_equal_distances_have_no_spread():
    rule = iqr_rule([2.0] * 12, 2.0)
    assert (rule.q1, rule.q3, rule.threshold(1.5)) == (2.0, 2.0, 2.0)
    assert not rule.is_anomalous(0)
    assert rule.excess_ratio(0) == 1.0
    assert iqr_rule([2.0] * 12, 3.0).excess_ratio(1.5) == 1.5
    assert iqr_rule([0.0] * 12, 3.0).excess_ratio(1.5) is None


@pytest.mark.parametrize("history", [[], [1.0, float("nan")], [float("inf")]])
def test_a_rule_without_finite_distances_is_refused(history):
    with pytest.raises(ValueError, match="distances"):
        iqr_rule(history, 1.0)


def test_a_distance_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="the distance"):
        iqr_rule([1.0], float("nan"))


def test_the_recheck_is_scikit_learns_dbscan_on_percentiles_scaled_by_the_history(rng):
    dbscan = pytest.importorskip("sklearn.cluster").DBSCAN
    answers = set()
    for _ in range(150):
        history = [rng.normal(100 + rng.normal(), 1, size=50) for _ in range(12)]
        target = rng.normal(100 + rng.normal() * 3, 1, size=60)
        points = np.percentile(target, PERCENTILES)[None], [np.percentile(one, PERCENTILES) for one in history]
        scaled = np.concatenate(points) / np.std(points[1], axis=0)
        for eps, min_samples in [(1, 3), (2, 3), (2, 1), (1.5, 6), (3, 13), (3, 14)]:
            expected = dbscan(eps=eps, min_samples=min_samples).fit(scaled).labels_[0] == -1
            assert dbscan_is_outlier(target, history, eps=eps, min_samples=min_samples) == expected
            answers.add((eps, min_samples, bool(expected)))
    assert {(2, 3, True), (2, 3, False), (1.5, 6, True), (1.5, 6, False)} <= answers


def test_memory_far_from_every_run_is_an_outlier_and_memory_like_one_group_of_runs_is_not(rng):
    megabytes = 1e6
    two_groups = [rng.normal(level, 1, 100) * megabytes for level in [100] * 6 + [130] * 6]
    assert not dbscan_is_outlier(rng.normal(130, 1, 100) * megabytes, two_groups, eps=0.5)
    assert dbscan_is_outlier(rng.normal(115, 1, 100) * megabytes, two_groups, eps=0.5)
    assert dbscan_is_outlier(rng.normal(200, 1, 100) * megabytes, two_groups)


def test_constant_features_divide_by_nothing():
    flat = [[5e7] * 10] * 12
    assert not dbscan_is_outlier([5e7] * 3, flat)
    assert not dbscan_is_outlier([5e7 + 4096] * 10, flat)  # a page is no difference
    assert dbscan_is_outlier([6e7] * 10, flat)
    assert not dbscan_is_outlier([0.0] * 10, [[0.0] * 4] * 12)
    assert dbscan_is_outlier([4096.0] * 10, [[0.0] * 4] * 12)


def test_the_unit_of_memory_does_not_matter(rng):
    history = [rng.normal(100, 2, 50) for _ in range(8)]
    for target in (rng.normal(level, 2, 50) for level in np.linspace(90, 110, 21)):
        answers = {
            dbscan_is_outlier(target * unit, [one * unit for one in history]) for unit in (1.0, 1024.0, 2.0**-20)
        }
        assert len(answers) == 1


def test_fewer_runs_than_min_samples_make_no_cluster_and_one_sample_always_does(rng):
    history = [[1.0, 2.0], [1.0, 2.0]]
    assert dbscan_is_outlier([1.0, 2.0], history, min_samples=4)
    assert not dbscan_is_outlier([900.0], history, min_samples=1)


@pytest.mark.parametrize(
    ("options", "message"), [({"eps": 0}, "eps"), ({"eps": float("nan")}, "eps"), ({"min_samples": 0}, "min_samples")]
)
def test_bad_parameters_and_missing_history_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        dbscan_is_outlier([1.0], [[1.0]], **options)
    with pytest.raises(ValueError, match="history is empty"):
        dbscan_is_outlier([1.0], [])
    with pytest.raises(ValueError, match="history is empty"):
        direction([1.0], [])


def test_direction_sees_short_bursts():
    history = [[0.1] * 20] * 5
    assert direction([0.1] * 18 + [1.0] * 2, history) == "more"
    assert direction([0.1] * 18 + [0.0] * 2, history) == "less"
