"""State codes: the screen and the seconds since the last action, alike in every run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.states import LONGEST_WAIT_S, NO_PATH, UNKNOWN, StatePath, state_codes

until = st.lists(st.tuples(st.floats(0, 50), st.sampled_from("abc")), max_size=20).map(
    lambda path: sorted(path, key=lambda step: step[0])
)
paths_and_lengths = st.lists(
    st.tuples(st.builds(StatePath, until, st.sampled_from([None, "a", "d"])), st.integers(0, 60)),
    min_size=1,
    max_size=4,
)


def test_the_same_state_has_the_same_code_in_every_run():
    first, second = state_codes(
        [StatePath([(1.0, "home"), (3.0, "list")], "chart"), StatePath([(0.0, "home"), (2.0, "chart"), (9.0, "list")])],
        [6, 4],
        1.0,
    )
    assert list(first[1:3]) == list(second[2:4])  # list, 0 and 1 s after the action that led there
    assert list(first[3:5]) == list(second[0:2])
    assert len(set(first)) == 6
    assert UNKNOWN not in first


def test_before_the_first_action_its_screen_holds_and_is_told_from_the_same_one_after_an_action():
    (codes,) = state_codes([StatePath([(3.0, "home"), (5.0, "home")])], [6], 1.0)
    assert len(set(codes[:3])) == 1
    assert codes[0] not in codes[3:]


def test_after_the_last_action_nothing_is_known_unless_it_is_said():
    unsaid, said = state_codes([StatePath([(2.0, "home")]), StatePath([(2.0, "home")], "list")], [4, 4], 1.0)
    assert list(unsaid[2:]) == [UNKNOWN] * 2
    assert UNKNOWN not in said


def test_long_waits_share_one_code_and_a_run_without_path_is_unknown():
    waiting, without = state_codes([StatePath([(0.0, "home")], "list"), NO_PATH], [LONGEST_WAIT_S + 10, 3], 1.0)
    assert len(set(waiting[LONGEST_WAIT_S:])) == 1
    assert list(without) == [UNKNOWN] * 3


@given(runs=paths_and_lengths)
def test_codes_equal_a_plain_walk(runs):
    codes = state_codes([path for path, _ in runs], [length for _, length in runs], 1.0)
    seen: dict[int, tuple[str, int | None]] = {}
    for (path, length), of_run in zip(runs, codes, strict=True):
        assert len(of_run) == length
        for index, code in enumerate(of_run):
            sent = [step[0] for step in path.until if step[0] <= index + 0.5]
            shown = path.until[len(sent)][1] if len(sent) < len(path.until) else path.after if sent else None
            if shown is None:
                assert code == UNKNOWN
                continue
            state = (shown, min(int(index + 0.5 - sent[-1]), LONGEST_WAIT_S) if sent else None)
            assert seen.setdefault(int(code), state) == state
    assert len(set(seen.values())) == len(seen)
