"""Runs of one build combined: the level holds for 1 to 10 of them, whatever builds differ by; repeats add up."""

import numpy as np
import pytest
from scipy import stats

from perfreg_assets.methods import repeats

VERSIONS = [f"1.{number // 3}" for number in range(12)]
LEVEL_05 = 1.645


def _alarms(share: float, runs: int, shift: float = 0.0, cases: int = 400) -> float:
    """Share of builds above the threshold of level .05 whose runs are `shift` sd worse, where builds differ."""
    draw, found = np.random.default_rng([int(100 * share), runs]), 0
    for _ in range(cases):
        builds = np.repeat(np.sqrt(share) * draw.normal(size=4), 3)
        history = builds + np.sqrt(1 - share) * draw.normal(size=12)
        judged = shift + np.sqrt(share) * draw.normal() + np.sqrt(1 - share) * draw.normal(size=runs)
        t = (judged - history.mean()) / history.std(ddof=1) / np.sqrt(1 + 1 / 12)
        alike = repeats.correlation(history, VERSIONS, 12)
        found += repeats.combined_score(repeats.score_of_t(t, 11), 11, alike) > LEVEL_05
    return found / cases


@pytest.mark.parametrize("runs", [1, 3, 10])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
def test_the_level_holds_for_one_to_ten_runs_of_a_build(share: float, runs: int) -> None:
    assert _alarms(share, runs) <= 0.08


def test_repeats_of_equal_builds_are_not_taken_for_more_or_less_than_they_say() -> None:
    found = [_alarms(0.0, runs, shift=1.5) for runs in (1, 3, 10)]
    assert found == sorted(found)
    assert found[2] > found[0] + 0.35


def test_one_run_keeps_its_score_and_no_run_is_an_error() -> None:
    assert repeats.combined_score(np.array([7.5]), 11, 0.2) == 7.5
    with pytest.raises(ValueError, match="at least one"):
        repeats.combined_score(np.array([]), 11, 0.2)


def test_one_wild_run_of_ten_is_no_regression_and_hides_none() -> None:
    calm = np.array([0.3, -0.4, 0.1, 0.6, -0.8, 0.0, 0.2, -0.1, 0.5])
    assert repeats.combined_score(np.append(calm, 8.0), 11, 0.15) < LEVEL_05
    assert repeats.combined_score(np.append(calm + 1.6, -8.0), 11, 0.15) > LEVEL_05


@pytest.mark.parametrize("omega_score", [1.7, 4.0, 7.0])
def test_a_build_whose_runs_are_all_above_a_threshold_is_above_it(omega_score: float) -> None:
    assert repeats.combined_score(np.full(3, omega_score), 11, 0.3) > omega_score


def test_builds_that_differ_are_told_from_equal_ones_and_the_prior_speaks_where_the_history_cannot() -> None:
    draw = np.random.default_rng(0)
    equal = [repeats.build_share(draw.normal(size=12), VERSIONS) for _ in range(50)]
    other = [
        repeats.build_share(np.repeat(2 * draw.normal(size=4), 3) + 0.5 * draw.normal(size=12), VERSIONS)
        for _ in range(50)
    ]
    assert np.mean(equal) < 0.22
    assert np.mean(other) > 0.5
    of_one = repeats.build_share(draw.normal(size=12), ["1.0"] * 12)
    of_each = repeats.build_share(draw.normal(size=12), [str(number) for number in range(12)])
    assert of_one == pytest.approx(of_each) == pytest.approx(0.2, abs=0.01)


def test_two_runs_have_their_build_and_the_historys_mean_in_common() -> None:
    """Beside the covariance of all runs written out: two judged ones of one build, and those of the history."""
    scores = np.random.default_rng(3).normal(size=12)
    versions = ["a"] * 7 + ["b"] * 4 + ["c"]
    share = repeats.build_share(scores, versions)
    build = np.array([*versions, "new", "new"])
    covariance = share * (build[:, None] == build) + (1 - share) * np.eye(14)
    beside = np.hstack([np.full((2, 12), -1 / 12), np.eye(2)])  # each less the history's mean
    found = beside @ covariance @ beside.T
    assert repeats.correlation(scores, versions, 12) == pytest.approx(found[0, 1] / found[0, 0])


def test_the_mean_of_runs_scatters_as_their_correlation_says() -> None:
    """Runs that agree wholly say as much as one, independent ones √n times as much; degrees so many that t is z."""
    scores, many = np.array([0.5, 1.0, 1.5, 1.0]), 1e9
    for alike, spread in ((1.0, 1.0), (0.0, 0.5), (0.2, 0.4**0.5)):
        assert repeats.combined_score(scores, many, alike) == pytest.approx(1 / spread, rel=1e-6)


@pytest.mark.parametrize("runs", range(1, 10))
def test_most_runs_of_a_build_are_enough_and_of_six_and_more_half_of_them(runs: int) -> None:
    """Above a limit by their number exactly when that many of them are above it, in whatever order."""
    needed = runs / 2 if runs in (6, 8) else runs // 2 + 1
    for above in range(runs + 1):
        scores = np.random.default_rng(above).permutation([2.0] * above + [0.0] * (runs - above))
        assert (repeats.score_by_number(scores) > 1) == (above >= needed)
        assert (repeats.majority_score(scores) > 1) == (above > runs / 2)


def test_equal_scores_and_the_order_of_the_history_change_nothing() -> None:
    assert 0 < repeats.correlation(np.zeros(6), ["a", "a", "b", "b", "c", "c"], 6) < 1
    scores, order = np.random.default_rng(1).normal(size=12), np.random.default_rng(2).permutation(12)
    shuffled = [VERSIONS[place] for place in order]
    assert repeats.build_share(scores[order], shuffled) == pytest.approx(repeats.build_share(scores, VERSIONS))


@pytest.mark.parametrize("degrees", [4, 7, 11, 30])
def test_the_closed_formula_is_student_t(degrees: int) -> None:
    score = np.linspace(-3, 3, 61)
    t = stats.t.isf(stats.norm.sf(score), degrees)
    assert repeats.score_of_t(t, degrees) == pytest.approx(score, abs=0.03)
    assert repeats.t_of_score(repeats.score_of_t(t, degrees), degrees) == pytest.approx(t)
