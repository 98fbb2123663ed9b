"""The one door to the detectors; which there are, and what each is, stands in `perfreg_assets.detection`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from perfreg_assets import detection
from perfreg_assets.catalogue import SeriesDefinition
from perfreg_assets.methods.barycenter import Barycenter
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.samples import Sample, Score

__all__ = ["Detector", "Sample", "Score", "make_detector"]


class Detector(Protocol):
    """Judges one series of one run beside the same series of its history.

    A class that derives from it has `score` for nothing.
    """

    @property
    def name(self) -> str:
        """As in the registry."""
        ...

    def score(
        self,
        history: Sequence[Sample],
        target: Sample,
        *,
        series: SeriesDefinition,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> Score:
        """The score of the target, (n,).

        Args:
            history: k runs of (n_i,), in any order.
            series: what is judged: its kind decides what is looked at, `worse` which side is a regression.
            interval_s: between samples.
            barycenter: of the history, if it is at hand: `iqr` need not average it again, others do not use it.

        Raises:
            ValueError: too few history runs, a series is too short or not finite, or its kind is `scalar`.
        """
        return self.score_all(history, [target], series=series, interval_s=interval_s, barycenter=barycenter)[0]

    def score_all(
        self,
        history: Sequence[Sample],
        targets: Sequence[Sample],
        *,
        series: SeriesDefinition,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> list[Score]:
        """`score` of several targets against one history.

        Raises:
            ValueError: as `score`.
        """
        ...

    def score_value(self, history: Floats, value: float, *, series: SeriesDefinition) -> Score:
        """The score of one value beside the history's values (k,), for what has no time axis; unit of the series.

        Raises:
            ValueError: too few values in the history, or one is not finite.
        """
        ...


def make_detector(name: str, parameters: Mapping[str, Any] | None = None) -> Detector:
    """The detector of that name; its code is imported now.

    Args:
        parameters: values by the names of settings (`vars(settings)`); those that the registry lists for the detector
            go to its constructor, whose defaults stand in for what is not given.

    Raises:
        ValueError: there is no such detector.
    """
    definition = detection.definition_of(name)
    module, implementation = definition.implementation.split(":")
    given = {key: value for key, value in (parameters or {}).items() if key in definition.parameters}
    return cast(Detector, getattr(import_module(module), implementation)(**given))


def detectors_by_way(
    definition: detection.DetectorDefinition, parameters: Mapping[str, Any] | None = None
) -> dict[detection.Way, Detector]:
    """What does a detector's work by each way of comparing: itself, and what stands in for it."""
    names = {definition.way: definition.name}
    if definition.fallback is not None:
        names[detection.definition_of(definition.fallback).way] = definition.fallback
    return {way: make_detector(name, parameters) for way, name in names.items()}
