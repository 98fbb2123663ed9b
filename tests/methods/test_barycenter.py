"""DBA: against a plain Python version, tslearn, and what must hold for any history."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.methods.barycenter import dba
from perfreg_assets.methods.dtw import dtw_distances


@pytest.mark.parametrize("dims", [None, 1, 2])
@pytest.mark.parametrize("length", [None, 15, 40])
def test_equals_the_plain_version(reference, sessions, dims, length):
    history = sessions(4, 25, spread=6, dims=dims, seed=3)
    size = length or max(len(one) for one in history)
    for iterations in (1, 2, 30):
        found = dba(history, length=length, max_iterations=iterations)
        values, cost, count = reference.dba(history, size, iterations)
        assert found.values.shape == ((size,) if dims is None else (size, dims))
        np.testing.assert_allclose(found.values.reshape(values.shape), values, rtol=0, atol=1e-12)
        assert found.inertia == pytest.approx(cost, rel=1e-12)
        assert found.iterations == count


@pytest.mark.parametrize("kind", ["cpu", "memory"])
@pytest.mark.parametrize(
    ("spread", "dims", "length"), [(0, None, None), (60, None, None), (60, 3, None), (30, None, 120)]
)
def test_equals_tslearn(sessions, kind, spread, dims, length):
    tslearn = pytest.importorskip("tslearn.barycenters")
    history = sessions(12, 180, spread=spread, dims=dims, kind=kind, seed=5)
    # Memory in whole kilobytes makes alignments that cost the same: which one is taken differs by release of numpy.
    generator = np.random.default_rng(5)
    history = [one + generator.normal(size=one.shape) for one in history] if kind == "memory" else history
    expected = tslearn.dtw_barycenter_averaging(history, barycenter_size=length, max_iter=30, tol=1e-5)
    for backend in ("numba", "tslearn"):
        found = dba(history, length=length, backend=backend).values
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)


def test_both_backends_stop_at_the_same_update_with_the_same_inertia(sessions):
    history = sessions(12, 120, spread=40, seed=8)
    for iterations in (1, 5, 100):
        own, theirs = (dba(history, max_iterations=iterations, backend=backend) for backend in ("numba", "tslearn"))
        assert own.iterations == theirs.iterations
        assert own.inertia == pytest.approx(theirs.inertia, rel=1e-12)
    assert own.iterations < 100


def test_every_order_of_the_history_gives_the_same_bytes(sessions):
    history = sessions(5, 80, spread=20, kind="memory")
    history[3] = history[1].copy()
    first = dba(history)
    for order in itertools.islice(itertools.permutations(history), 0, 120, 7):
        assert dba(order).values.tobytes() == first.values.tobytes()


def test_threads_at_once_give_the_same_bits(sessions):
    history = sessions(8, 150, spread=30)
    alone = dba(history).values.tobytes()
    results = [b""] * 4

    def work(slot):
        results[slot] = dba(history).values.tobytes()

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [alone] * 4


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), min_size=1, max_size=5))
def test_stays_within_the_range_of_the_history_and_its_cost_is_that_of_the_step_before(history):
    found = dba(history)
    low, high = min(map(min, history)), max(map(max, history))
    slack = 1e-9 * (1 + abs(low) + abs(high))
    assert low - slack <= found.values.min()
    assert found.values.max() <= high + slack
    if found.iterations < 30:
        now = float(np.mean(dtw_distances(history, found.values) ** 2))
        assert now <= found.inertia * (1 + 1e-9) + 1e-9


def test_a_shift_of_all_series_shifts_the_barycenter(sessions):
    history = sessions(6, 90, spread=20, kind="memory")
    shifted = dba([one + 2.0**30 for one in history])
    np.testing.assert_allclose(shifted.values - 2.0**30, dba(history).values, rtol=1e-9)
    assert shifted.inertia == pytest.approx(dba(history).inertia, rel=1e-9)


def test_constant_single_and_one_sample_series_are_their_own_average():
    assert dba([[5.0] * 9, [5.0] * 4]).values.tolist() == [5.0] * 9
    assert dba([[5.0] * 9]).inertia == 0.0
    one = np.random.default_rng(0).random(30)
    assert dba([one]).values.tobytes() == one.tobytes()
    assert dba([[1.0], [3.0]]).values.tolist() == [2.0]
    assert dba([[0.0] * 6, [10.0] * 3]).values.tolist() == [5.0] * 6


def test_a_wide_band_is_no_band_and_a_narrow_one_still_averages(sessions):
    history = sessions(6, 100, spread=20)
    assert dba(history, radius=500).values.tobytes() == dba(history).values.tobytes()
    assert np.isfinite(dba(history, radius=5).values).all()


@pytest.mark.parametrize(
    ("history", "options", "message"),
    [
        ([], {}, "no series"),
        ([[1.0], []], {}, "series 1 is empty"),
        ([[1.0], [float("nan")]], {}, "series 1 has 1 values that are NaN"),
        ([[1.0], [[1.0, 2.0]]], {}, "differ in dimensions"),
        ([[1.0]], {"backend": "gpu"}, "numba or tslearn"),
        ([[1.0]], {"max_iterations": 0}, "max_iterations = 0"),
        ([[1.0]], {"length": 0}, "length = 0"),
        ([[1.0]], {"tolerance": float("nan")}, "tolerance = nan"),
        ([[1.0]], {"backend": "tslearn", "radius": 3}, "radius is not available"),
        ([np.zeros(70_000)], {}, "use a longer interval"),
    ],
)
def test_unusable_input_is_refused_in_words(history, options, message):
    with pytest.raises(ValueError, match=message):
        dba(history, **options)
