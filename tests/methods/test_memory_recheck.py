"""The second check of memory, against scikit-learn's DBSCAN and the local outlier factor as its paper has it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN

from perfreg_assets.methods.memory_recheck import PERCENTILES, dbscan_is_outlier, lof_is_outlier


def test_the_recheck_is_dbscan_on_percentiles_scaled_by_the_history(rng):
    answers = set()
    for _ in range(150):
        history = [rng.normal(100 + rng.normal(), 1, size=50) for _ in range(12)]
        target = rng.normal(100 + rng.normal() * 3, 1, size=60)
        points = np.percentile(target, PERCENTILES)[None], [np.percentile(one, PERCENTILES) for one in history]
        scaled = np.concatenate(points) / np.std(points[1], axis=0)
        for eps, min_samples in [(1, 3), (2, 3), (2, 1), (1.5, 6), (3, 13), (3, 14)]:
            labels = DBSCAN(eps=eps, min_samples=min_samples, algorithm="brute").fit(scaled).labels_
            expected = labels[0] == -1
            assert dbscan_is_outlier(target, history, eps=eps, min_samples=min_samples) == expected
            answers.add((eps, min_samples, bool(expected)))
    assert {(2, 3, True), (2, 3, False), (1.5, 6, True), (1.5, 6, False)} <= answers


def test_memory_far_from_every_run_is_an_outlier_and_memory_like_one_group_of_runs_is_not(rng):
    megabytes = 1e6
    two_groups = [rng.normal(level, 1, 100) * megabytes for level in [100] * 6 + [130] * 6]
    assert not dbscan_is_outlier(rng.normal(130, 1, 100) * megabytes, two_groups, eps=0.5)
    assert dbscan_is_outlier(rng.normal(115, 1, 100) * megabytes, two_groups, eps=0.5)
    assert dbscan_is_outlier(rng.normal(200, 1, 100) * megabytes, two_groups)


def plain_local_outlier_factor(point, known, k):
    """Breunig et al. 2000, definitions 3 to 7; the new point has no part in the others' neighbourhoods."""

    def neighbours(of, among):
        order = sorted(among, key=lambda other: np.linalg.norm(of - other))[:k]
        return order, np.linalg.norm(of - order[-1])

    others = [[other for place, other in enumerate(known) if place != own] for own in range(len(known))]
    reach = {known[own].tobytes(): neighbours(known[own], others[own]) for own in range(len(known))}

    def density(of, near):
        return 1 / np.mean([max(reach[other.tobytes()][1], np.linalg.norm(of - other)) for other in near])

    near, _ = neighbours(point, known)
    return np.mean([density(other, reach[other.tobytes()][0]) for other in near]) / density(point, near)


def test_the_recheck_by_density_is_the_local_outlier_factor(rng):
    answers = set()
    for _ in range(60):
        history = [rng.normal(100 + rng.normal(), 1, size=50) for _ in range(12)]
        target = rng.normal(100 + rng.normal() * 3, 1, size=60)
        known = np.array([np.percentile(one, PERCENTILES) for one in history])
        scale = known.std(axis=0)
        for neighbors in (1, 3, 11, 20):
            factor = plain_local_outlier_factor(
                np.percentile(target, PERCENTILES) / scale, list(known / scale), min(neighbors, 11)
            )
            for threshold in (1.0, 1.5, 3.0):
                if abs(factor - threshold) > 1e-6:
                    found = lof_is_outlier(target, history, neighbors=neighbors, threshold=threshold)
                    assert found == (factor > threshold)
                    answers.add((neighbors, threshold, found))
    assert {(3, 1.5, True), (3, 1.5, False), (11, 1.5, True), (20, 1.5, False)} <= answers


def test_density_is_local_a_wide_group_takes_in_what_a_narrow_one_refuses(rng):
    narrow = [[100.0 + step / 100] * 9 for step in range(6)]
    wide = [[200.0 + step * 10] * 9 for step in range(6)]
    assert lof_is_outlier([103.0] * 9, narrow + wide, threshold=3.0)
    assert not lof_is_outlier([228.0] * 9, narrow + wide, threshold=3.0)


def test_among_runs_that_hardly_differ_a_page_is_no_outlier():
    flat = [[5e7] * 10] * 12
    assert not lof_is_outlier([5e7 + 4096] * 10, flat)
    assert lof_is_outlier([6e7] * 10, flat)


@pytest.mark.parametrize(("options", "message"), [({"neighbors": 0}, "neighbors"), ({"threshold": 0.9}, "threshold")])
def test_bad_parameters_of_the_factor_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        lof_is_outlier([1.0], [[1.0], [2.0]], **options)
    with pytest.raises(ValueError, match="history of one run"):
        lof_is_outlier([1.0], [[1.0]])
    with pytest.raises(ValueError, match="history is empty"):
        lof_is_outlier([1.0], [])


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
