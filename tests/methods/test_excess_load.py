"""The two-state model against slow, obvious references."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats

from perfreg_assets.methods.excess_load import BURST_S, SHARES, Compared, UsualDifferences, find_excess
from perfreg_assets.methods.excess_load_kernels import forward_backward


def test_forward_backward_equals_the_sum_over_all_state_sequences():
    generator = np.random.default_rng(0)
    enter, leave = 0.1, 0.3
    steps = np.array([[1 - enter, enter], [leave, 1 - leave]])
    start = np.array([leave, enter]) / (enter + leave)
    for _ in range(5):
        log_density = generator.normal(size=(8, 2))
        total, inside = 0.0, np.zeros(8)
        for states in product((0, 1), repeat=8):
            weight = start[states[0]] * np.prod([steps[one, other] for one, other in pairwise(states)])
            weight *= np.exp(sum(log_density[t, state] for t, state in enumerate(states)))
            total += weight
            inside += weight * np.array(states)
        evidence, probability = forward_backward(
            np.ascontiguousarray(log_density[:, 0]), np.ascontiguousarray(log_density[:, 1]), enter, leave
        )
        assert evidence == pytest.approx(np.log(total), rel=1e-12)
        np.testing.assert_allclose(probability, inside / total, rtol=1e-10)


def test_the_density_of_usual_differences_integrates_to_one_and_follows_them():
    generator = np.random.default_rng(1)
    runs = [generator.normal(0, 0.1, 2000) for _ in range(5)]
    usual = UsualDifferences([Compared(run, np.full(2000, 0.2)) for run in runs])
    grid = np.linspace(-3, 3, 60001)
    density = np.exp(usual.log_likelihood(Compared(grid, np.full_like(grid, 0.2))))
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=0.01)
    centre = np.exp(usual.log_likelihood(Compared(np.array([0.0]), np.array([0.2]))))[0]
    assert centre == pytest.approx(1 / (0.1 * np.sqrt(2 * np.pi)), rel=0.1)


def test_the_density_is_a_sum_of_bells_of_a_fifth_of_an_arsinh_unit():
    """Of the size of the typical difference: near ± 1 all samples lie so close together that only the bell is seen."""
    differences = np.random.default_rng(6).normal(np.repeat([-1.0, 1.0], 1000), 0.03)
    usual = UsualDifferences([Compared(differences, np.full(2000, 0.2))])
    typical = np.median(np.abs(differences))
    at = np.linspace(-3, 3, 121)
    apart = np.arcsinh(at / typical)[:, None] - np.arcsinh(differences / typical)
    slow = stats.norm.pdf(apart, scale=0.2).mean(axis=1) / np.hypot(at, typical)
    found = np.exp(usual.log_likelihood(Compared(at, np.full(121, 0.2))))
    np.testing.assert_allclose(found, slow, atol=0.02 * slow.max())


def test_heights_are_tried_from_what_is_common_to_what_is_rare_or_the_runs_own_tallest():
    normal = np.random.default_rng(7).normal(0, 0.1, 4000)
    usual = UsualDifferences([Compared(normal, np.full(4000, 0.2))])
    common, rare = np.quantile(np.abs(normal), [0.8, 0.999])
    for own, tallest in ((0.0, rare), (5.0, 5.0)):
        heights = usual.heights(np.full(50, own))
        assert heights[[0, -1]] == pytest.approx([common, tallest])
        assert np.diff(np.log(heights)) == pytest.approx(np.log(heights[1] / heights[0]))
    # Where most differences are nothing at all, less than what is seen is no height.
    quiet = UsualDifferences([Compared(np.repeat([0.0, 1.0], [950, 50]), np.full(1000, 0.2))])
    assert (quiet.heights(np.zeros(50)) > 0).all()


@pytest.mark.parametrize("interval_s", [0.1, 1.0])
def test_the_division_is_the_likeliest_of_all_that_are_tried(interval_s):
    """Of each height, mean duration of an excess and share of the time that is spent in one."""
    generator = np.random.default_rng(8)
    expected = np.full(200, 0.2)
    usual = UsualDifferences([Compared(generator.normal(0, 0.05, 200), expected) for _ in range(6)])
    for length in (0, 4, 60):
        differences = generator.normal(0, 0.05, 200) + 0.12 * (np.arange(200) < length)
        run, tried = Compared(differences, expected), []
        for height, burst_s, share in product(usual.heights(differences), BURST_S, SHARES):
            leave = interval_s / burst_s
            enter = leave * share / (1 - share)  # so many samples begin an excess as end one
            evidence, probability = forward_backward(
                usual.log_likelihood(run), usual.log_likelihood(run, height), enter, leave
            )
            tried.append((evidence - usual.log_likelihood(run).sum(), height, probability))
        evidence, height, probability = max(tried, key=lambda one: one[0])
        found = find_excess(usual, run, interval_s)
        assert (found.evidence, found.height) == pytest.approx((evidence, height))
        np.testing.assert_allclose(found.probability, probability, atol=1e-9)


def test_heavy_load_may_scatter_more_than_idle_time():
    generator = np.random.default_rng(2)
    load = np.repeat([0.0, 0.5, 1.0], 1000)
    differences = generator.normal(0, np.repeat([0.01, 0.05, 0.3], 1000))
    usual = UsualDifferences([Compared(differences, load)])
    idle, busy = usual.log_likelihood(Compared(np.array([0.3, 0.3]), np.array([0.0, 1.0])))
    assert idle < busy - 3


def test_the_start_may_scatter_more_than_the_rest_of_the_session():
    generator = np.random.default_rng(4)
    load = np.full(300, 0.2)

    def run():
        return Compared(generator.normal(0, np.where(np.arange(300) < 15, 0.5, 0.02)), load, 15)

    usual = UsualDifferences([run() for _ in range(10)])
    surprise = -usual.log_likelihood(Compared(np.full(300, 0.3), load, 15))
    assert surprise[:15].max() < surprise[15:].min() - 3
    assert find_excess(usual, run(), 1.0).probability[:15].max() < 0.5


def test_a_lifted_stretch_is_found_and_pure_noise_is_no_evidence():
    generator = np.random.default_rng(3)
    noise = [generator.standard_t(4, 300) * 0.05 for _ in range(8)]
    expected = np.full(300, 0.2)
    usual = UsualDifferences([Compared(one, expected) for one in noise])
    run = generator.standard_t(4, 300) * 0.05
    clean = find_excess(usual, Compared(run, expected), 1.0)
    run[100:110] += 0.4
    lifted = find_excess(usual, Compared(run, expected), 1.0)
    assert lifted.evidence > clean.evidence + 20
    assert lifted.height == pytest.approx(0.4, abs=0.2)
    assert (lifted.probability[100:110] > 0.5).all()
    assert (np.delete(lifted.probability, range(98, 112)) > 0.5).mean() < 0.02
