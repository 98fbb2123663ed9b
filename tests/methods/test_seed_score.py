"""The seed article's score: its own examples, and its errata."""

from __future__ import annotations

import numpy as np
import pytest

from perfreg_assets.methods.seed_score import seed_score, seed_scores


@pytest.mark.parametrize(
    ("ratios", "rms", "std", "score", "distance"),
    [
        ((0.9, 0.2, 0.2), 0.544671, 0.329983, 0.214688, 0.943398),
        ((0.6, 0.5, 0.5), 0.535413, 0.047140, 0.488272, 0.927362),
        ((0.9, 0.8, 0.7), 0.804156, 0.081650, 0.722506, 1.392839),
        ((0.3, 0.4, 0.7), 0.496655, 0.169967, 0.326688, 0.860233),
    ],
)
def test_the_examples_to_the_last_digit(ratios, rms, std, score, distance):
    found = seed_score(ratios)
    assert (found.rms, found.std, found.score, found.distance) == pytest.approx((rms, std, score, distance), abs=5e-7)
    assert found.service_count == 3


def test_the_factor_weighs_the_spread_and_the_first_two_change_places_at_0327():
    one, other = (0.9, 0.2, 0.2), (0.6, 0.5, 0.5)
    for factor, of_one, of_other in (
        (0.25, 0.462, 0.524),
        (0.5, 0.380, 0.512),
        (1.5, 0.050, 0.465),
        (2, -0.115, 0.441),
    ):
        assert seed_score(one, factor).score == pytest.approx(of_one, abs=5e-4)
        assert seed_score(other, factor).score == pytest.approx(of_other, abs=5e-4)
    assert seed_score(one, 0.0326).score > seed_score(other, 0.0326).score
    assert seed_score(one, 0.0328).score < seed_score(other, 0.0328).score


def test_erratum_the_root_is_over_the_mean_of_squares():
    """As printed, sqrt(Σr²)/x, the examples come out elsewhere than the article says."""
    printed = [seed_score(r).distance / 3 for r in ((0.9, 0.2, 0.2), (0.6, 0.5, 0.5))]
    assert printed == pytest.approx([0.314, 0.309], abs=5e-4)
    assert [seed_score(r).rms for r in ((0.9, 0.2, 0.2), (0.6, 0.5, 0.5))] == pytest.approx([0.545, 0.535], abs=5e-4)


def test_erratum_27_services_are_farther_away_than_3():
    """The article calls the distances equal: .9 three times, and 27 values from .31 to .327."""
    assert seed_score((0.9,) * 3).distance == pytest.approx(1.559, abs=5e-4)
    assert seed_score(np.linspace(0.31, 0.327, 27)).distance == pytest.approx(1.657, abs=2e-3)
    assert seed_score((0.9,) * 3).score > seed_score(np.linspace(0.31, 0.327, 27)).score


def test_erratum_of_the_first_thirty_eleven_are_named():
    named = {1, 4, 8, 12, 23} | {4, 10, 15, 16, 21, 23, 26, 29}
    assert len(named) == 11
    assert round(100 * len(named) / 30) == 37  # printed: 43


def test_a_method_of_one_service_is_never_penalised_and_one_of_many_hides():
    assert seed_score((0.9,)).score == 0.9
    assert seed_score((0.9, *(0.01,) * 5)).score == pytest.approx(0.036, abs=5e-4)


def test_erratum_what_is_big_goes_before_what_grew():
    """The score has no history: nothing about it changes when a large method stays and a small one doubles."""
    shares = np.array([[0.6, 0.6], [0.05, 0.05], [0.35, 0.35]])
    grown = np.array([[0.6, 0.6], [0.1, 0.1], [0.35, 0.35]]) / 1.05
    for table in (shares, grown):
        scores = [one.score for one in seed_scores(table, table > 0)]
        assert np.argsort(scores)[::-1].tolist() == [0, 2, 1]


def test_only_services_that_call_a_method_count():
    found = seed_scores(np.array([[0.5, 0.0], [0.0, 0.0]]), np.array([[True, False], [False, False]]))
    assert (found[0].score, found[0].service_count, found[1]) == (0.5, 1, None)
    with pytest.raises(ValueError, match="no service"):
        seed_score(())
