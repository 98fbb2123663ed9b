"""The AB-join against stumpy, and the kernels against the libraries as `perfreg doctor` runs it.

The one module that loads stumpy. Compiling it costs up to a minute, so by day its sources compute as plain Python, and
at night also what numba makes of them, as `perfreg doctor` has it.
"""

from __future__ import annotations

import sys

import numba
import numpy as np
import pytest

from perfreg_assets.methods import jit, self_check
from perfreg_assets.methods.discords import thesis_discords
from perfreg_assets.methods.matrix_profile import ab_join


@pytest.fixture(autouse=True, scope="module", params=["plain", pytest.param("compiled", marks=pytest.mark.nightly)])
def stumpy(request):
    def forget():
        jit.load_stumpy.cache_clear()
        for name in [name for name in sys.modules if name.partition(".")[0] == "stumpy"]:
            del sys.modules[name]

    forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", request.param == "plain")  # read by what decorates a function
        loaded = jit.load_stumpy()
    assert hasattr(loaded.core._mass, "py_func") is (request.param == "compiled")
    yield
    forget()


def both(target, reference, window, normalize):
    return [ab_join(target, reference, window, normalize=normalize, backend=backend) for backend in ("numba", "stumpy")]


@pytest.mark.parametrize("normalize", [True, False])
def test_equal_on_series_without_constant_windows(rng, normalize):
    for n, m, window in [(300, 300, 10), (250, 400, 30), (400, 120, 60), (40, 30, 3)]:
        target, reference = rng.normal(size=n).cumsum(), rng.normal(size=m).cumsum()
        own, theirs = both(target, reference, window, normalize)
        assert own.shape == theirs.shape == (n - window + 1,)
        np.testing.assert_allclose(own, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:A large number of values in `P`")  # advice for self-joins
@pytest.mark.parametrize("normalize", [True, False])
def test_the_same_conventions_on_constant_windows(rng, normalize):
    target, reference = rng.normal(size=200), rng.normal(size=200)
    steps = np.repeat(rng.integers(0, 5, size=20), 10).astype(float)
    target[50:80] = 3.0
    mixed = reference.copy()
    mixed[100:150] = -1.0
    flat, ramp = np.full(60, 7.0), np.arange(60.0)
    for a, b in [(target, reference), (target, mixed), (reference, mixed), (steps, mixed), (steps, steps[::-1])]:
        own, theirs = both(a, b, 8, normalize)
        np.testing.assert_allclose(own, theirs, rtol=1e-9, atol=1e-6)  # stumpy's zeros are roots of rounding errors
    for a, b in [(flat, ramp), (ramp, flat), (flat, flat + 1)]:
        np.testing.assert_allclose(*both(a, b, 8, normalize), rtol=1e-9, atol=1e-6)


def test_memory_in_bytes(sessions):
    drift = np.random.default_rng(2)
    target, reference = (
        one + drift.integers(0, 200, size=len(one)).cumsum() * 4096.0 for one in sessions(2, 250, kind="memory")
    )
    for normalize in (True, False):
        np.testing.assert_allclose(*both(target, reference, 20, normalize), rtol=1e-6, atol=1e-5)


def test_discords_are_the_same_with_either_backend(rng):
    target, reference = rng.normal(size=300).cumsum(), rng.normal(size=300).cumsum()
    own, theirs = (
        thesis_discords(target, reference, window=12, skip_start=15, skip_end=8, backend=backend)
        for backend in ("numba", "stumpy")
    )
    assert [(w.start, w.end, w.peak) for w in own.windows] == [(w.start, w.end, w.peak) for w in theirs.windows]
    assert len(own.windows) > 1


@pytest.mark.filterwarnings("ignore:A large number of values in `P`")  # stumpy's advice for self-joins
def test_the_kernels_agree_here_and_a_broken_one_is_named(monkeypatch):
    rows = self_check.check_kernels(seed=3)
    assert [row.name.split(",")[0] for row in rows] == ["DTW", "DBA", "matrix profile", "raw matrix profile"]
    assert all(row.is_ok and row.largest_difference <= row.tolerance for row in rows)
    right = self_check.dtw_distance
    monkeypatch.setattr(self_check, "dtw_distance", lambda a, b: right(a, b) + 1e-6)
    assert [row.is_ok for row in self_check.check_kernels(seed=3)] == [False, True, True, True]
    monkeypatch.setattr(self_check, "dtw_distance", lambda a, b: float("nan"))
    assert not self_check.check_kernels(seed=3)[0].is_ok
