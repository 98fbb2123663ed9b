"""Which direction is a regression is the catalogue's to say, for detectors and localisation alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.detectors import Sample, make_detector
from perfreg_assets.methods.localisation import CONVINCING, PROBABLE, Localiser, localise
from perfreg_assets.methods.omega_rule import state

FRAMES, FREQUENCY, CPU, MEMORY = (definition_of(name) for name in ("frames_app", "cpu_freq_0", "cpu_app", "rss_app"))
OMEGAS = (0.0, 0.5, 0.75, 1.0, 1.5)


def frames(generator, per_s=58.0, seconds=120):
    """Frames per second with a dip after each action."""
    values = per_s + generator.normal(0, 0.8, seconds)
    values[::7] -= generator.uniform(2, 8, len(values[::7]))
    return Sample(values)


def judged(series, history, *targets, detector="default"):
    return make_detector(detector).score_all(history, targets, series=series, interval_s=1.0)


def test_falling_frames_are_a_regression_and_rising_ones_never():
    generator = np.random.default_rng(0)
    history = [frames(generator) for _ in range(12)]
    fallen, risen, usual = judged(FRAMES, history, frames(generator, 30.0), frames(generator, 75.0), frames(generator))
    for omega in OMEGAS:
        assert state(fallen, omega) == "anomalous"
        assert state(risen, omega) == "improved"
        assert state(usual, omega) == "normal"
    assert (fallen.direction, risen.direction) == ("less", "more")
    assert fallen.sentence.startswith("Frames of the app: ")
    assert "frames/s; the 12 comparable runs" in fallen.sentence


def test_the_thesis_rule_knows_no_direction_but_never_calls_falling_frames_an_improvement():
    generator = np.random.default_rng(0)
    history = [frames(generator) for _ in range(12)]
    (fallen,) = judged(FRAMES, history, frames(generator, 30.0), detector="iqr")
    assert all(state(fallen, omega) == "anomalous" for omega in OMEGAS)
    assert fallen.direction == "less"


def test_where_either_is_worse_both_are_anomalous_and_nothing_is_improved():
    generator = np.random.default_rng(1)
    history = [frames(generator, 1.4e6) for _ in range(12)]
    low, high, usual = judged(
        FREQUENCY, history, frames(generator, 9e5), frames(generator, 2.2e6), frames(generator, 1.4e6)
    )
    assert [state(one, 0.75) for one in (low, high, usual)] == ["anomalous", "anomalous", "normal"]
    assert [one.direction for one in (low, high)] == ["less", "more"]
    assert {one.improvement for one in (low, high, usual)} == {None}


def test_less_is_worse_is_the_mirror_image_of_more_is_worse():
    generator = np.random.default_rng(2)
    history = [frames(generator) for _ in range(8)]
    targets = [frames(generator, level) for level in (50, 57, 58, 59, 70)]
    straight = judged(FRAMES, history, *targets)
    negated = [[Sample(-one.values) for one in some] for some in (history, targets)]
    mirrored = judged(replace(FRAMES, worse="more"), negated[0], *negated[1])
    for one, other in zip(straight, mirrored, strict=True):
        assert one.distance == pytest.approx(other.distance, abs=1e-9)
        assert one.improvement == pytest.approx(other.improvement, abs=1e-9)
        assert one.direction != other.direction


@pytest.mark.parametrize(
    "series", [replace(CPU, worse="less"), replace(MEMORY, worse="less")], ids=lambda one: one.kind
)
def test_load_and_memory_of_which_less_is_worse(series):
    generator = np.random.default_rng(3)

    def run(factor=1.0):
        values = generator.gamma(4, 0.1, 120) if series.kind == "load" else 1e8 + 1e6 * generator.normal(size=120)
        return Sample(factor * values)

    less, more = judged(series, [run() for _ in range(12)], run(0.4), run(2.0))
    assert state(less, 0.75) == "anomalous"
    assert state(more, 0.75) == "improved"


@pytest.mark.parametrize("series", [FRAMES, FREQUENCY, replace(CPU, worse="either")], ids=lambda one: one.worse)
def test_false_alarms_come_at_the_nominal_rate_in_every_direction(series):
    generator = np.random.default_rng(4)
    runs = [frames(generator, 58 + generator.normal(), seconds=80) for _ in range(60)]
    scores = []
    for _ in range(60):
        chosen = generator.permutation(60)[:17]
        scores += judged(series, [runs[i] for i in chosen[:12]], *(runs[i] for i in chosen[12:]))
    distances = np.array([score.distance for score in scores])
    for level, z in ((0.25, 0.6745), (0.05, 1.6449)):
        assert (distances > z).mean() == pytest.approx(level, abs=0.03 + level / 4)


@pytest.mark.parametrize(
    ("series", "factor", "is_found"),
    [(FRAMES, 0.5, True), (FRAMES, 1.5, False), (FREQUENCY, 0.5, True), (FREQUENCY, 1.5, True)],
)
def test_windows_lie_on_the_worse_side(series, factor, is_found):
    generator = np.random.default_rng(5)
    history = [frames(generator) for _ in range(10)]
    values = frames(generator).values
    values[60:80] *= factor
    found = localise(history, Sample(values), series=series, interval_s=1.0)
    assert (found.profile[62:78] > CONVINCING).all() == is_found
    assert (found.profile[62:78] > PROBABLE).any() == is_found


def test_normal_frames_are_hardly_ever_flagged():
    generator = np.random.default_rng(6)
    localiser = Localiser([frames(generator) for _ in range(12)], series=FRAMES, interval_s=1.0)
    assert sum(len(localiser.find(frames(generator)).windows) > 0 for _ in range(30)) <= 6
