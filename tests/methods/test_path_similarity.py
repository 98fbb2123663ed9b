"""Path similarity: value for value difflib's, and the traps that other settings fall into."""

from __future__ import annotations

import difflib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.methods.path_similarity import similarities, similarity

paths = st.lists(st.sampled_from("abcdef"), max_size=30)


def by_difflib(candidate, new):
    return difflib.SequenceMatcher(None, candidate, new, autojunk=False).ratio()


def explored(source, states, base, *, dropped=0.03, changed=0.05):
    """A path as another exploration of the same app leaves it."""
    kept = (state for state in base if source.random() > dropped)
    return [source.choice(states) if source.random() < changed else state for state in kept]


@pytest.fixture(scope="module")
def explorations():
    source = random.Random(7)
    states = [f"{source.getrandbits(256):064x}" for _ in range(49)]
    base = [source.choice(states) for _ in range(900)]
    others = [
        explored(source, states, base, dropped=source.choice([0.0, 0.05, 0.3]), changed=source.random() / 2)
        for _ in range(999)
    ]
    return [base, *others]


@settings(deadline=None, max_examples=300)
@given(paths, paths)
def test_equals_difflib(candidate, new):
    assert similarity(candidate, new) == by_difflib(candidate, new)


@settings(deadline=None, max_examples=200)
@given(st.lists(paths, max_size=6), paths, st.floats(0, 1))
def test_none_is_given_only_below_the_minimum_and_numbers_are_exact(candidates, new, minimum):
    for candidate, value in zip(candidates, similarities(candidates, new, minimum=minimum), strict=True):
        expected = by_difflib(candidate, new)
        assert value == expected or (value is None and expected < minimum)


def test_a_value_equal_to_the_minimum_is_kept():
    for total in range(1, 40):
        new = ["a"] * total + ["b"] * 3
        for length in range(1, total + 1):
            candidate = ["a"] * length
            expected = by_difflib(candidate, new)
            assert similarities([candidate], new, minimum=expected) == [expected]


def test_long_paths_are_compared_by_every_state_and_not_by_the_rare_ones_only(explorations):
    candidate, new = explorations[0], explorations[1]
    assert len(new) > 200
    assert similarity(candidate, new) == by_difflib(candidate, new)
    assert similarity(candidate, new) != difflib.SequenceMatcher(None, candidate, new).ratio()


def test_the_candidate_comes_first():
    candidate, new = list("tide"), list("diet")
    assert by_difflib(candidate, new) != by_difflib(new, candidate)
    assert similarity(candidate, new) == by_difflib(candidate, new) == 0.25
    assert similarities([candidate], new, minimum=0) == [0.25]


def test_empty_paths():
    assert similarity([], []) == 1.0
    assert similarity([], ["a"]) == similarity(["a"], []) == 0.0
    assert similarities([[], ["a"]], [], minimum=0.8) == [1.0, None]
    assert similarities([], ["a"], minimum=0.8) == []


def test_states_that_the_new_path_lacks_match_nothing_even_each_other():
    assert similarities([["x", "y", "a"]], ["z", "w", "a"], minimum=0) == [1 / 3]


def test_as_many_states_as_a_path_may_have_stay_distinct():
    new = [str(number) for number in range(100_000)]
    other = [f"other {number}" for number in range(100_000)]
    assert similarities([other, other[:90_000] + new[:10_000]], new, minimum=0.5) == [None, None]


def test_long_paths_with_few_states_are_counted_exactly():
    candidate, new = ["a", "b"] * 5000, ["b", "a", "a"] * 3333  # difflib needs over a minute
    assert similarity(candidate, new) == 2.0 * 7501 / 19_999


def test_of_a_thousand_candidates_of_nine_hundred_steps_the_dissimilar_ones_are_none(explorations):
    values = similarities(explorations, explorations[0], minimum=0.8)
    assert values[0] == 1.0
    assert None in values
    assert sum(value is not None and value >= 0.8 for value in values) > 100
    for index in range(0, 1000, 97):
        expected = by_difflib(explorations[index], explorations[0])
        assert values[index] == expected or (values[index] is None and expected < 0.8)
