"""AB-join: against the definition, and what must hold for any series (stumpy: test_stumpy_agreement.py)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.methods.matrix_profile import ab_join


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("sizes", [(60, 60, 10), (80, 30, 7), (30, 80, 3), (20, 9, 9), (9, 9, 9)])
def test_equals_the_definition(reference, rng, normalize, sizes):
    n, m, window = sizes
    a, b = rng.normal(size=n).cumsum(), rng.normal(size=m).cumsum()
    found = ab_join(a, b, window, normalize=normalize)
    assert found.shape == (n - window + 1,)
    np.testing.assert_allclose(found, reference.ab_join(a, b, window, normalize), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("normalize", [True, False])
def test_memory_levels_lose_no_digits(reference, sessions, normalize):
    a, b = (one + np.arange(len(one)) ** 1.5 * 4096 for one in sessions(2, 120, kind="memory"))
    found = ab_join(a, b, 12, normalize=normalize)
    np.testing.assert_allclose(found, reference.ab_join(a, b, 12, normalize), rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("normalize", [True, False])
def test_windows_that_occur_in_the_reference_have_distance_zero(rng, normalize):
    b = rng.normal(size=400).cumsum()
    found = ab_join(b[100:300], b, 20, normalize=normalize)
    assert found.max() < 1e-10


def test_constant_windows_follow_the_convention():
    ramp = np.arange(10.0)
    flat = np.full(10, 3.0)
    assert ab_join(flat, flat + 5, 4).tolist() == [0.0] * 7
    assert ab_join(flat, ramp, 4).tolist() == [2.0] * 7
    assert ab_join(ramp, flat, 4).tolist() == [2.0] * 7
    assert ab_join(flat, flat + 5, 4, normalize=False).tolist() == [10.0] * 7


def test_differences_too_small_to_be_squared_count_as_none():
    tiny = np.tile([0.0, 1e-200], 5)
    assert ab_join(tiny, np.arange(10.0), 4).tolist() == [2.0] * 7
    assert ab_join(tiny, tiny, 4).tolist() == [0.0] * 7


@pytest.mark.parametrize("size", [1e-45, 1e-12, 1e-7])
def test_a_window_that_hardly_varies_is_found_beside_a_spike(reference, rng, size):
    spike = np.zeros(30)
    spike[[4, 11]] = 33.0, 1.0
    a, b = spike + size * rng.normal(size=30), size * rng.normal(size=60)
    b[40] = 2.5
    np.testing.assert_allclose(ab_join(a, b, 6), reference.ab_join(a, b, 6, True), rtol=1e-6, atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_a_constant_added_to_both_changes_nothing_and_one_added_to_one_only_the_raw_join(data):
    whole = st.lists(st.integers(-1000, 1000), min_size=8, max_size=40)
    a, b = np.array(data.draw(whole), float), np.array(data.draw(whole), float)
    constant = data.draw(st.integers(-(2**30), 2**30))
    np.testing.assert_allclose(
        ab_join(a + constant, b + constant, 5, normalize=False), ab_join(a, b, 5, normalize=False)
    )
    np.testing.assert_allclose(ab_join(a + constant, b, 5), ab_join(a, b, 5), atol=1e-7)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_is_bounded_and_a_longer_reference_never_raises_it(data):
    some = st.lists(st.floats(-100, 100, width=32), min_size=6, max_size=40)
    a, b, more = data.draw(some), data.draw(some), data.draw(some)
    for normalize in (True, False):
        short, long = ab_join(a, b, 4, normalize=normalize), ab_join(a, [*b, *more], 4, normalize=normalize)
        assert (short >= 0).all()
        assert (long <= short + 1e-5).all()
    assert ab_join(a, b, 4).max() <= np.sqrt(2 * 4 * 2) + 1e-9


def test_is_the_same_bytes_every_time_and_leaves_its_input_alone(rng):
    a, b = rng.normal(size=300), rng.normal(size=200)
    before = a.tobytes(), b.tobytes()
    for normalize in (True, False):
        results = {ab_join(a, b, 15, normalize=normalize).tobytes() for _ in range(3)}
        assert len(results) == 1
    assert (a.tobytes(), b.tobytes()) == before


@pytest.mark.parametrize(
    ("target", "window", "options", "message"),
    [
        (np.zeros(20), 21, {}, "longer than the target"),
        (np.zeros(40), 31, {}, r"the reference \(30\)"),
        (np.zeros(20), 2, {}, "at least 3"),
        (np.zeros(20), -4, {}, "at least 3"),
        (np.full(20, np.nan), 5, {}, "NaN"),
        ([], 5, {}, "is empty"),
        (np.zeros((20, 2)), 5, {}, "2 dimensions"),
        (np.zeros(20), 5, {"backend": "gpu"}, "numba or stumpy"),
    ],
)
def test_unusable_input_is_refused_in_words(target, window, options, message):
    with pytest.raises(ValueError, match=message):
        ab_join(target, np.zeros(30), window, **options)
