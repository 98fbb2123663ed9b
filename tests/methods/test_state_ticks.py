"""Charge by the kernel's ticks: the note's figure, its checks, and calls of methods from entries and exits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.method_calls import Passage, calls, own_amounts
from perfreg_assets.methods.power_profile import MAS_PER_MAH, CoreCluster, PowerProfile
from perfreg_assets.methods.state_ticks import charge_mas, seconds_between

PROFILE = PowerProfile(
    profile_id="p", dialect="cores", base_ma={}, first_cores=(0,),
    clusters=(CoreCluster(khz=np.array([300e3, 600e3, 1200e3]), charge_ma=np.array([10.0, 20, 60])),),
)  # fmt: skip
BEFORE = {300e3: 1000, 600e3: 0, 1200e3: 5}


def test_ticks_are_paid_as_the_note_says():
    seconds = seconds_between(BEFORE, {300e3: 1050, 600e3: 60, 1200e3: 15}, 1.2)
    assert charge_mas(PROFILE, 0, seconds) == pytest.approx(23.0)
    assert charge_mas(PROFILE, 0, seconds) / MAS_PER_MAH == pytest.approx(0.0063889, abs=5e-8)


@pytest.mark.parametrize(
    ("after", "elapsed_s", "words"),
    [
        ({300e3: 999, 600e3: 60, 1200e3: 15}, 0.69, "at 300 MHz run backwards, from 1000 to 999"),
        ({300e3: 1050, 600e3: 60}, 1.2, "1200 MHz is there at one moment only"),
        ({300e3: 1050, 600e3: 60, 1200e3: 15}, 1.17, "the ticks are 1.20 s, 1.170 s passed"),
        ({300e3: 1050, 600e3: 60, 1200e3: 15}, 0.138, "0.138 s passed"),
    ],
)
def test_ticks_that_contradict_themselves_or_the_clock_are_refused(after, elapsed_s, words):
    with pytest.raises(ValueError, match=words):
        seconds_between(BEFORE, after, elapsed_s)


def test_two_ticks_are_within_what_both_ends_may_miss():
    assert seconds_between(BEFORE, {300e3: 1050, 600e3: 60, 1200e3: 15}, 1.18)[600e3] == pytest.approx(0.6)


# ---- calls ---------------------------------------------------------------------------------------
def passages(text):
    return [Passage(word[1:], word[0] == "+", number) for number, word in enumerate(text.split())]


def test_nested_calls_pair_and_recursion_counts_once():
    found = calls(passages("+a +b -b +a +b -b -a -a +b -b"))
    assert [(one.method, one.entry, one.exit, one.parent, one.is_outermost) for one in found] == [
        ("a", 0, 7, -1, True), ("b", 1, 2, 0, True), ("a", 3, 6, 0, False), ("b", 4, 5, 2, True), ("b", 8, 9, -1, True),
    ]  # fmt: skip
    assert own_amounts([one.parent for one in found], [one.exit - one.entry for one in found]) == [3, 1, 2, 1, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-a", "line 1 leaves a, entered is nothing"),
        ("+a -b", "line 2 leaves b, entered is a"),
        ("+a +b -a", "line 3 leaves a, entered is b"),
        ("+a +b -b", "a is entered and never left"),
    ],
)
def test_lost_lines_are_noticed(text, words):
    with pytest.raises(ValueError, match=words):
        calls(passages(text))


@given(st.lists(st.sampled_from("ab"), max_size=12), st.data())
def test_what_calls_take_themselves_adds_up_to_what_the_outer_ones_take(names, data):
    words, stack = [], []
    for name in names:
        words.append(f"+{name}")
        stack.append(name)
        while stack and data.draw(st.booleans()):
            words.append(f"-{stack.pop()}")
    words += [f"-{name}" for name in reversed(stack)]
    found = calls(passages(" ".join(words)))
    totals = [one.exit - one.entry for one in found]
    own = own_amounts([one.parent for one in found], totals)
    assert min(own, default=0) >= 0
    assert sum(own) == sum(total for one, total in zip(found, totals, strict=True) if one.parent < 0)
