"""State codes: the screen and the seconds since the last action, alike in every run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.states import LONGEST_S, UNKNOWN, state_codes


def test_codes_follow_screen_and_seconds_since_the_action():
    codes = state_codes(np.array([1.0, 3.0]), ["list", "chart"], count=6, interval_s=1.0)
    other = state_codes(np.array([0.0, 2.0]), ["chart", "list"], count=4, interval_s=1.0)
    assert codes[0] == UNKNOWN
    assert list(codes[1:3]) == list(other[2:4])  # list, 0 and 1 s after the action
    assert list(codes[3:5]) == list(other[0:2])
    assert len(set(codes[1:])) == 5


def test_long_waits_share_one_code():
    codes = state_codes(np.array([0.0]), ["list"], count=LONGEST_S + 10, interval_s=1.0)
    assert len(set(codes[LONGEST_S:])) == 1


def test_a_screen_without_a_time_is_refused():
    with pytest.raises(ValueError, match="one time per screen"):
        state_codes(np.array([0.0]), [], count=3, interval_s=1.0)


@given(
    steps=st.lists(st.tuples(st.floats(0, 50), st.sampled_from("abc")), min_size=1, max_size=20),
    count=st.integers(1, 60),
)
def test_codes_equal_a_plain_walk(steps, count):
    codes = state_codes(np.array([t for t, _ in steps]), [s for _, s in steps], count=count, interval_s=1.0)
    ordered = sorted(steps, key=lambda step: step[0])
    seen: dict[int, tuple[str, int]] = {}
    for index in range(count):
        past = [step for step in ordered if step[0] <= index + 0.5]
        if not past:
            assert codes[index] == UNKNOWN
            continue
        state = (past[-1][1], min(int(index + 0.5 - past[-1][0]), LONGEST_S))
        assert seen.setdefault(int(codes[index]), state) == state
