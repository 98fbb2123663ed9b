"""LOF with a floor equals its definition; without one scikit-learn's, copies of points included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import LocalOutlierFactor

from perfreg_assets.methods.local_outlier import fit_neighbourhood


def slow_factor(points, query, k, floor):
    """Breunig et al. 2000, every distance at least the floor; scikit-learn's guard."""

    def distance(a, b):
        return max(math.dist(a, b), floor)

    def neighbours(of, skipped=None):
        others = [i for i in range(len(points)) if i != skipped]
        return sorted(others, key=lambda i: math.dist(points[i], of))[:k]

    def k_distance(i):
        return distance(points[i], points[neighbours(points[i], i)[-1]])

    def density(of, near):
        return 1 / (sum(max(distance(of, points[i]), k_distance(i)) for i in near) / k + 1e-10)

    near = neighbours(query)
    around = [density(points[i], neighbours(points[i], i)) for i in near]
    return sum(around) / k / density(query, near)


def some(seed, n, d):
    return np.random.default_rng(seed).random((n, d))


@pytest.mark.parametrize("floor", [0.0, 0.05, 0.4])
def test_factors_and_mean_distances_equal_the_definition(floor):
    points, queries = some(1, 40, 3), some(2, 12, 3) * 1.5
    fitted = fit_neighbourhood(points, neighbours=5, floor=floor)
    slow = [slow_factor(points.tolist(), query.tolist(), 5, floor) for query in queries]
    assert fitted.outlier_factors(queries) == pytest.approx(slow, rel=1e-12)
    near = np.sort(np.linalg.norm(points[None] - queries[:, None], axis=2), axis=1)[:, :5]
    assert fitted.mean_distances(queries) == pytest.approx(np.maximum(near, floor).mean(axis=1), rel=1e-12)


def test_without_a_floor_the_factors_are_scikit_learns():
    points, queries = some(3, 400, 6), some(4, 100, 6)
    oracle = LocalOutlierFactor(n_neighbors=20, novelty=True, algorithm="kd_tree").fit(points)
    fitted = fit_neighbourhood(points, neighbours=20)
    assert fitted.outlier_factors(queries) == pytest.approx(-oracle.score_samples(queries), rel=1e-9)


def test_copies_make_the_factor_of_the_next_window_enormous_as_scikit_learn_does_and_a_floor_cures_it():
    copies = np.tile([[0.5, 0.5]], (30, 1))
    near = np.array([[0.51, 0.49]])
    oracle = LocalOutlierFactor(n_neighbors=20, novelty=True, algorithm="kd_tree").fit(copies)
    plain = fit_neighbourhood(copies, neighbours=20).outlier_factors(near)
    assert plain == pytest.approx(-oracle.score_samples(near), rel=1e-9)
    assert plain[0] > 1e7
    assert fit_neighbourhood(copies, neighbours=20, floor=0.05).outlier_factors(near) == pytest.approx([1.0])


@given(st.integers(0, 2**32 - 1), st.floats(0.001, 0.5))
def test_a_larger_floor_never_makes_a_mean_distance_smaller_and_a_copy_of_all_points_is_usual(seed, floor):
    points = np.random.default_rng(seed).random((30, 2))
    low, high = (fit_neighbourhood(points, neighbours=5, floor=one) for one in (floor, 2 * floor))
    query = np.random.default_rng(seed + 1).random((4, 2))
    assert (high.mean_distances(query) >= low.mean_distances(query)).all()
    everything = fit_neighbourhood(points, neighbours=5, floor=2.0)
    assert everything.outlier_factors(query) == pytest.approx(np.ones(4))


def test_too_few_points_are_refused():
    with pytest.raises(ValueError, match="20 points have no 20 neighbours"):
        fit_neighbourhood(np.zeros((20, 2)), neighbours=20)
