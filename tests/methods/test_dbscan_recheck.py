"""The second check of memory, against DBSCAN written down from the paper."""

from __future__ import annotations

import numpy as np
import pytest

from perfreg_assets.methods.dbscan_recheck import PERCENTILES, dbscan_is_outlier


def plain_dbscan_outlier(points, eps, min_samples):
    """The first point is noise: within eps of no core point (itself included)."""
    near = np.linalg.norm(points[:, None] - points[None], axis=2) <= eps
    is_core = near.sum(axis=1) >= min_samples
    return not (near[0] & is_core).any()


def test_the_recheck_is_dbscan_on_percentiles_scaled_by_the_history(rng):
    answers = set()
    for _ in range(150):
        history = [rng.normal(100 + rng.normal(), 1, size=50) for _ in range(12)]
        target = rng.normal(100 + rng.normal() * 3, 1, size=60)
        points = np.percentile(target, PERCENTILES)[None], [np.percentile(one, PERCENTILES) for one in history]
        scaled = np.concatenate(points) / np.std(points[1], axis=0)
        for eps, min_samples in [(1, 3), (2, 3), (2, 1), (1.5, 6), (3, 13), (3, 14)]:
            expected = plain_dbscan_outlier(scaled, eps, min_samples)
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
