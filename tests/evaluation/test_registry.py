"""A detector is a class and a row of the registry: settings, evaluation and the one door follow."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from importlib import import_module

import numpy as np
import pytest

from perfreg_assets import detection
from perfreg_assets.evaluation.evaluate import evaluate
from perfreg_assets.methods.detectors import Score, make_detector
from perfreg_assets.settings import SettingError, Settings


@dataclass(frozen=True)
class MeanDetector:
    """Tukey's rule on the means of the runs."""

    history_minimum: int = 1
    name: str = "mean"

    def score_value(self, history, value, *, series):
        q1, q3 = np.quantile(history, [0.25, 0.75])
        return Score(value, q1, q3, None, None, None, "more", np.asarray(history))

    def score(self, history, target, *, series, interval_s, barycenter=None):
        return self.score_value([one.values.mean() for one in history], target.values.mean(), series=series)

    def score_all(self, history, targets, *, series, interval_s, barycenter=None):
        return [self.score(history, one, series=series, interval_s=interval_s) for one in targets]


@pytest.fixture
def third():
    definition = detection.DetectorDefinition(
        name="mean",
        summary="means",
        scale="distance",
        run_rule="any",
        localisation="thesis",
        implementation=f"{__name__}:MeanDetector",
        parameters=("history_minimum",),
    )
    detection.register(definition)
    yield definition
    detection.unregister("mean")


def test_a_registered_detector_is_made_set_and_evaluated(third, write, small_rows):
    settings = Settings(detector="mean")
    assert make_detector("mean", vars(settings)).history_minimum == settings.history_minimum
    (described,) = [row for row in Settings.describe() if row["name"] == "detector"]
    assert described["allowed"] == "default or iqr or screens or mean"
    result = evaluate(write(small_rows), repeats=1, history=5, localisation_repeats=1)
    assert {row["detector"] for row in result["rows"]} == {"default", "iqr", "screens", "mean"}
    assert {row["detector"] for row in result["localisation"]} == {"default", "iqr", "screens", "mean"}
    mine = [row for row in result["rows"] if row["detector"] == "mean"]
    assert {row["level"] for row in mine} == {None}
    assert {row["correction"] for row in mine if row["series"] == "*"} == {"none: any series"}


def test_without_its_row_it_is_refused():
    with pytest.raises(SettingError, match="default or iqr"):
        Settings(detector="mean")
    with pytest.raises(SettingError, match="default or thesis"):
        Settings(localisation="magic")
    with pytest.raises(ValueError, match="default or iqr"):
        make_detector("mean")


@pytest.mark.parametrize("name", detection.detector_names())
def test_the_registry_names_settings_that_the_constructor_takes(name):
    definition = detection.definition_of(name)
    settings = {spec.name: getattr(Settings(), spec.name) for spec in fields(Settings)}
    module, implementation = definition.implementation.split(":")
    taken = inspect.signature(getattr(import_module(module), implementation)).parameters
    assert set(definition.parameters) <= settings.keys() & taken.keys()
    made = make_detector(name, settings)
    assert made.name == name
    assert all(getattr(made, key) == settings[key] for key in definition.parameters)


def test_parameters_reach_the_detector_and_others_are_left_alone():
    detector = make_detector("iqr", {"dbscan_eps": 3.5, "barycenter_iterations": 2, "interval_s": 9.0})
    assert (detector.dbscan_eps, detector.barycenter_iterations, detector.barycenter_backend) == (3.5, 2, "numba")
