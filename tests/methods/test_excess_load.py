"""The two-state model against slow, obvious references."""

from itertools import pairwise, product

import numpy as np
import pytest

from perfreg_assets.methods.excess_load import Compared, UsualDifferences, find_excess
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
