"""DTW: against a plain Python table, tslearn, and what must hold for any series."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.methods.dtw import align, dtw_distance, dtw_distances, dtw_pairwise
from perfreg_assets.methods.dtw_kernels import squared_distance

values = st.floats(-1e6, 1e6, allow_nan=False, width=32)
series = st.lists(values, min_size=1, max_size=25)


@pytest.mark.parametrize("dims", [None, 1, 3])
def test_equals_the_plain_table_for_all_lengths_and_dimensions(reference, rng, dims):
    for n, m in [(1, 1), (1, 7), (9, 1), (2, 3), (17, 17), (30, 11), (11, 30)]:
        x, y = (rng.normal(size=size if dims is None else (size, dims)) for size in (n, m))
        assert dtw_distance(x, y) == pytest.approx(reference.dtw(x, y), rel=1e-12)


def test_band_equals_the_plain_table(reference, rng):
    for n, m, radius in [(20, 20, 0), (20, 20, 3), (12, 31, 4), (31, 12, 4), (40, 37, 2), (5, 33, 7), (25, 26, 2)]:
        x, y = rng.normal(size=n), rng.normal(size=m)
        assert dtw_distance(x, y, radius=radius) == pytest.approx(reference.dtw(x, y, radius), rel=1e-12), (n, m)


levels = st.lists(st.integers(0, 3), min_size=1, max_size=14)


@settings(deadline=None, max_examples=200)
@given(levels, levels, st.none() | st.integers(15, 20))
def test_skipping_dear_cells_changes_neither_distance_nor_path_even_with_many_ties(reference, x, y, radius):
    assert dtw_distance(x, y, radius=radius) == reference.dtw(x, y)
    found, path = align(x, y, radius=radius), reference.path(x, y)
    assert found.first_index.tolist() == [min(j for i, j in path if i == step) for step in range(len(x))]
    np.testing.assert_allclose(found.matched, [np.mean([y[j] for i, j in path if i == step]) for step in range(len(x))])


@settings(deadline=None, max_examples=200)
@given(levels, levels, st.integers(0, 6))
def test_skipping_dear_cells_changes_nothing_within_a_band(reference, x, y, radius):
    narrowest = 0 if len(x) == len(y) else -(-max(len(x), len(y)) // min(len(x), len(y)))
    assert dtw_distance(x, y, radius=radius) == reference.dtw(x, y, max(radius, narrowest))


def test_a_band_too_narrow_for_any_path_is_widened_to_the_narrowest_that_has_one(rng):
    for n, m in [(2, 50), (50, 2), (7, 50), (49, 50), (1, 40), (40, 1)]:
        x, y = rng.normal(size=n), rng.normal(size=m)
        assert np.isfinite(dtw_distance(x, y, radius=0))
        assert dtw_distance(x, y, radius=0) >= dtw_distance(x, y) * (1 - 1e-12)


def test_equals_tslearn(sessions):
    dtw_path = pytest.importorskip("tslearn.metrics").dtw_path
    for kind in ("cpu", "memory"):
        for x, y in [sessions(2, 150, seed=s, spread=40, kind=kind) for s in range(3)]:
            path, distance = dtw_path(x, y)
            found = align(x, y)
            assert dtw_distance(x, y) == distance
            assert found.distance == distance
            matched = [[y[j] for i, j in path if i == step] for step in range(len(x))]
            np.testing.assert_allclose(found.matched, [np.mean(one) for one in matched], rtol=1e-14)
            assert found.first_index.tolist() == [min(j for i, j in path if i == step) for step in range(len(x))]


def test_alignment_follows_the_plain_path_in_several_dimensions(reference, rng):
    x, y = rng.integers(0, 3, size=(14, 2)).astype(float), rng.integers(0, 3, size=(19, 2)).astype(float)
    path = reference.path(x, y)
    found = align(x, y)
    assert found.matched.shape == x.shape
    for step in range(len(x)):
        cells = [j for i, j in path if i == step]
        np.testing.assert_allclose(found.matched[step], y[cells].mean(axis=0))
        assert found.first_index[step] == min(cells)


@settings(deadline=None, max_examples=200)
@given(st.data(), st.integers(1, 3))
def test_an_alignment_of_bounded_differences_equals_the_plain_path(reference, data, dims):
    one = st.lists(st.lists(st.integers(0, 5), min_size=dims, max_size=dims), min_size=1, max_size=12)
    x, y = (np.array(data.draw(one), dtype=np.float64) for _ in range(2))
    largest = data.draw(st.lists(st.integers(0, 4), min_size=dims, max_size=dims))
    found, path = align(x, y, largest=largest), reference.path(x, y, largest)
    assert found.distance**2 == pytest.approx(reference.accumulated(x, y, largest=largest)[-1][-1])
    assert found.first_index.tolist() == [min(j for i, j in path if i == step) for step in range(len(x))]


def test_bounds_that_nothing_reaches_change_nothing(sessions):
    x, y = sessions(2, 150, seed=1, spread=40, kind="cpu")
    plain, bounded = align(x, y, radius=20), align(x, y, radius=20, largest=[np.inf])
    assert bounded.distance == plain.distance
    assert bounded.first_index.tolist() == plain.first_index.tolist()


@pytest.mark.parametrize("largest", [[1.0], [1.0, 2.0, 3.0], [1.0, -0.1], [1.0, float("nan")]])
def test_a_bound_is_needed_for_each_dimension(largest):
    with pytest.raises(ValueError, match="must be 2 differences"):
        align(np.zeros((5, 2)), np.zeros((4, 2)), largest=largest)


@settings(deadline=None, max_examples=60)
@given(series, series, st.none() | st.integers(0, 8))
def test_is_symmetric_to_the_bit(x, y, radius):
    assert dtw_distance(x, y, radius=radius) == dtw_distance(y, x, radius=radius)


@settings(deadline=None, max_examples=60)
@given(series, st.none() | st.integers(0, 8))
def test_of_a_series_to_itself_is_zero(x, radius):
    assert dtw_distance(x, x, radius=radius) == 0.0


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(values, values), min_size=1, max_size=25), st.integers(0, 8))
def test_lies_between_zero_and_euclid_and_a_band_never_lowers_it(pairs, radius):
    x, y = np.array(pairs).T
    euclid = np.linalg.norm(x - y)
    banded = dtw_distance(x, y, radius=radius)
    assert 0 <= dtw_distance(x, y) <= banded * (1 + 1e-12)
    assert banded <= euclid * (1 + 1e-12)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=25),
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=25),
    st.integers(-(2**40), 2**40),
)
def test_a_constant_added_to_both_changes_nothing(x, y, constant):
    shifted = dtw_distance(np.array(x) + constant, np.array(y) + constant)  # exact below 2^53
    assert shifted == dtw_distance(x, y)


def test_the_group_functions_are_the_single_distance(sessions):
    for dims in (None, 2):
        group = sessions(4, 60, spread=15, dims=dims)
        single = np.array([[dtw_distance(a, b, radius=20) for b in group] for a in group])
        np.testing.assert_array_equal(dtw_pairwise(group, radius=20), single)
        np.testing.assert_array_equal(dtw_distances(group, group[2], radius=20), single[:, 2])


def test_threads_at_once_give_the_same_bits(sessions):
    group = sessions(6, 200, spread=50)
    alone = dtw_pairwise(group)
    results = [None] * 4

    def work(slot):
        results[slot] = dtw_pairwise(group)

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(result.tobytes() == alone.tobytes() for result in results)


def test_any_layout_and_number_type_runs_the_one_compiled_kernel(rng):
    x, y = rng.integers(0, 100, size=40), rng.integers(0, 100, size=80)
    expected = dtw_distance(x.astype(float), y.astype(float))
    compiled = len(squared_distance.signatures)
    assert dtw_distance(x.astype(np.float32), y.tolist()) == expected
    assert dtw_distance(np.repeat(x, 2)[::2], np.asfortranarray(y)) == expected
    assert len(squared_distance.signatures) == compiled


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([], "is empty"),
        ([1.0, float("nan")], "NaN, infinite"),
        ([float("inf")], "first at sample 0"),
        ([1e200], "beyond"),
        ([[[1.0]]], "3 axes"),
        (["a"], "not an array of numbers"),
        ([[1.0, 2.0]], "differ in dimensions"),
    ],
)
def test_unusable_series_are_refused_in_words(x, message):
    for function in (dtw_distance, align):
        with pytest.raises(ValueError, match=message):
            function(x, [1.0, 2.0])
        with pytest.raises(ValueError, match=message):
            function([1.0, 2.0], x)
    with pytest.raises(ValueError, match=message):
        dtw_distances([[1.0, 2.0], x], [1.0, 2.0])


def test_no_series_a_negative_radius_and_a_path_beyond_memory_are_refused():
    with pytest.raises(ValueError, match="no series"):
        dtw_pairwise([])
    with pytest.raises(ValueError, match="no series"):
        dtw_distances([], [1.0])
    with pytest.raises(ValueError, match="radius = -1"):
        dtw_distance([1.0], [1.0], radius=-1)
    with pytest.raises(ValueError, match=r"needs 10\.0 GB"):
        align(np.zeros(100_000), np.zeros(100_000))
