"""Onset of extra memory against a least-squares fit of numpy."""

import numpy as np
import pytest

from perfreg_assets.methods.leak_onset import find_onset, median_course
from perfreg_assets.methods.leak_onset_kernels import gains_of_shapes


def test_gains_equal_numpys_least_squares():
    generator = np.random.default_rng(0)
    values = generator.normal(size=60).cumsum()
    gains, _ = gains_of_shapes(values, 5)
    constant = ((values - values.mean()) ** 2).sum()
    for onset in (0, 7, 30, 49):
        tail = np.arange(60 - onset)
        shapes, teeth = [tail.astype(float), np.ones(60 - onset)], 5
        while teeth <= (60 - onset) // 2:
            shapes.append((tail % teeth).astype(float))
            teeth += max(1, teeth // 12)
        best = 0.0
        for shape in shapes:
            full = np.concatenate([np.zeros(onset), shape])
            if np.ptp(full) == 0:
                continue
            design = np.column_stack([np.ones(60), full])
            solution, *_ = np.linalg.lstsq(design, values, rcond=None)
            if solution[1] > 0:
                best = max(best, constant - ((values - design @ solution) ** 2).sum())
        assert gains[onset] == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_falling_memory_is_no_leak():
    found = find_onset(-np.linspace(0, 1, 100), 1.0, 0.0)
    assert found.gain == pytest.approx(0.0, abs=1e-12) or found.height > 0
    assert find_onset(np.zeros(100), 1.0, 0.0).gain == 0.0


def test_the_onset_is_sharp_where_the_leak_is_large_beside_chance():
    generator = np.random.default_rng(1)
    course = 0.002 * np.maximum(np.arange(300) - 120, 0) + generator.normal(0, 0.005, 300)
    found = find_onset(course, 1.0, 1e-6)
    assert found.height == pytest.approx(0.36, rel=0.1)
    assert int(np.argmax(found.begun > 0.5)) == pytest.approx(120, abs=12)
    assert (np.diff(found.begun) >= 0).all()
    vague = find_onset(course, 1.0, 0.1)
    assert (vague.begun > 0.05).sum() > (found.begun > 0.05).sum()


def test_long_courses_are_averaged_down_and_keep_their_length():
    course = 0.001 * np.maximum(np.arange(3600) - 1800, 0)
    found = find_onset(course, 1.0, 1e-6)
    assert len(found.begun) == 3600
    assert int(np.argmax(found.begun > 0.5)) == pytest.approx(1800, abs=60)


def test_the_typical_course_holds_its_last_value_where_runs_have_ended():
    courses = [np.full(length, level) for length, level in ((50, 1.0), (60, 2.0), (100, 3.0), (55, 2.0))]
    typical = median_course(courses, 120, 1.0)
    assert len(typical) == 120
    assert typical[0] == pytest.approx(2.0)
    np.testing.assert_array_equal(typical[60:], typical[60])


def test_the_course_of_a_probability_rises_to_1_and_no_further():
    generator = np.random.default_rng(2)
    for _ in range(200):
        course = generator.uniform(0, 0.01) * np.maximum(np.arange(70) - generator.integers(10, 50), 0)
        begun = find_onset(course + generator.normal(0, 0.01, 70), 1.0, 1e-5).begun
        assert begun.min() >= 0
        assert begun.max() <= 1
        assert (np.diff(begun) >= 0).all()
