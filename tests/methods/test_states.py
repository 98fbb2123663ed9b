"""State codes: the screen and the seconds since the last action, alike in every run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.states import LONGEST_WAIT_S, UNKNOWN, state_codes

steps = st.lists(st.tuples(st.floats(0, 50), st.sampled_from("abc")), max_size=20).map(
    lambda path: sorted(path, key=lambda step: step[0])
)


def test_the_same_state_has_the_same_code_in_every_run():
    first, second = state_codes([[(1.0, "list"), (3.0, "chart")], [(0.0, "chart"), (2.0, "list")]], [6, 4], 1.0)
    assert first[0] == UNKNOWN
    assert list(first[1:3]) == list(second[2:4])  # list, 0 and 1 s after the action
    assert list(first[3:5]) == list(second[0:2])
    assert len(set(first[1:])) == 5


def test_long_waits_share_one_code_and_a_run_without_path_is_unknown():
    waiting, without = state_codes([[(0.0, "list")], []], [LONGEST_WAIT_S + 10, 3], 1.0)
    assert len(set(waiting[LONGEST_WAIT_S:])) == 1
    assert list(without) == [UNKNOWN] * 3


@given(paths=st.lists(st.tuples(steps, st.integers(0, 60)), min_size=1, max_size=4))
def test_codes_equal_a_plain_walk(paths):
    codes = state_codes([path for path, _ in paths], [length for _, length in paths], 1.0)
    seen: dict[int, tuple[str, int]] = {}
    for (path, length), of_run in zip(paths, codes, strict=True):
        assert len(of_run) == length
        for index, code in enumerate(of_run):
            past = [step for step in path if step[0] <= index + 0.5]
            if not past:
                assert code == UNKNOWN
                continue
            state = (past[-1][1], min(int(index + 0.5 - past[-1][0]), LONGEST_WAIT_S))
            assert seen.setdefault(int(code), state) == state
    assert len(set(seen.values())) == len(seen)
