"""Injected regressions are of the size that their name says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.injection import INJECTIONS


@given(
    st.sampled_from(sorted(INJECTIONS)), st.integers(40, 400), st.floats(0.1, 200), st.sampled_from([0.5, 1.0, 2.0]),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_nothing_comes_before_the_onset_and_no_sample_falls(name, count, size, interval_s, seed):
    extra = INJECTIONS[name].extra(
        count, 50.0, size, interval_s, onset=count // 4, draw=np.random.default_rng(seed)
    )  # fmt: skip
    assert extra.shape == (count,)
    assert (extra[: count // 4] == 0).all()
    assert (extra >= 0).all()
    assert extra.max() > 0


@pytest.mark.parametrize("name", [name for name, one in INJECTIONS.items() if one.resource == "load"])
def test_load_adds_its_share_of_the_core_seconds(name):
    extra = INJECTIONS[name].extra(120, 60.0, 25.0, 1.0, onset=30, draw=np.random.default_rng(1))
    assert extra.sum() == pytest.approx(15.0)


def test_a_leak_grows_by_its_rate_and_a_sawtooth_is_freed_twice():
    draw = np.random.default_rng(1)
    leak = INJECTIONS["leak"].extra(91, 0.0, 6.0, 1.0, onset=31, draw=draw)
    assert leak[-1] == pytest.approx(6e6 * 59 / 60)
    assert np.diff(leak[31:]) == pytest.approx(np.full(59, 1e5))
    saw = INJECTIONS["sawtooth"].extra(91, 0.0, 6.0, 1.0, onset=31, draw=draw)
    assert saw.max() == pytest.approx(6e6 * 19 / 60)
    assert (np.diff(saw) < 0).sum() == 2


def test_an_onset_beyond_the_end_is_refused():
    with pytest.raises(ValueError, match="40 samples"):
        INJECTIONS["leak"].extra(40, 0.0, 1.0, 1.0, onset=40, draw=np.random.default_rng(0))
