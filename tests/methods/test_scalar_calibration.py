"""False alarms of the verdict on single values, measured on normal histories of several sizes and shapes."""

from __future__ import annotations

import numpy as np
import pytest

from perfreg_assets.catalogue import metric_definition
from perfreg_assets.methods.calibration import level_of_omega
from perfreg_assets.methods.detectors import make_detector
from perfreg_assets.methods.omega_rule import is_anomalous

RUNS = 3000
SHAPES = {
    "normal": lambda rng, size: 1.0 + 0.05 * rng.standard_normal(size),
    "lognormal": lambda rng, size: 0.5 * np.exp(0.3 * rng.standard_normal(size)),
}


def false_alarm_ratio(detector: str, shape: str, k: int, *, omega: float, worse: str) -> float:
    """Share of normal values that are called anomalous beside k others of the same distribution."""
    rng = np.random.default_rng([k, *shape.encode()])
    judge, definition = make_detector(detector), metric_definition("own.metric", unit="s", worse=worse)
    draws = SHAPES[shape](rng, (RUNS, k + 1))
    return float(
        np.mean([is_anomalous(judge.score_value(row[1:], float(row[0]), series=definition), omega) for row in draws])
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [5, 8, 12])
@pytest.mark.parametrize("omega", [0.0, 0.75, 1.5])
def test_false_alarms_of_the_calibrated_detector_are_near_nominal(shape, k, omega):
    nominal = level_of_omega(omega)  # .25, .046, .0035
    noise = 3 * np.sqrt(nominal * (1 - nominal) / RUNS)
    # The interval is wider than the normal distribution's (HEAVY_TAILS), so fewer alarms than nominal are meant.
    assert 0.5 * nominal - noise < false_alarm_ratio("default", shape, k, omega=omega, worse="more") < nominal + noise


def test_both_sides_together_have_the_nominal_rate():
    ratio = false_alarm_ratio("default", "lognormal", 12, omega=0.75, worse="either")
    assert 0.5 * level_of_omega(0.75) < ratio < level_of_omega(0.75) + 0.012


@pytest.mark.parametrize("k", [5, 8, 12])
def test_tukeys_rule_is_not_calibrated_and_gets_better_with_more_runs(k):
    # What the calibrated one is for: at ω = 1.5 Tukey's rule is meant for 0.35 % of normal values.
    assert false_alarm_ratio("iqr", "normal", k, omega=1.5, worse="more") > 3 * level_of_omega(1.5)
