"""Every detector and every way of localising: name, scale, how series combine into a run, and where its code is.

The one home of these facts: settings, command line, evaluation, charts and the table behind `marts.detectors` follow
from it. To add a detector: its class in methods/ and a row here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scale = Literal["score", "distance"]
"""What `distance` is. score: a standard-normal score, comparable between series. distance: in the series' unit."""
RunRule = Literal["sidak", "any"]
"""How a run's verdict follows from its series'. sidak: each series' score is corrected for their number, and the worst
decides. any: the uncorrected worst one does (the thesis)."""

Way = Literal["path", "any_path"]
"""What a run is compared with. path: earlier runs that went a similar way (the thesis). any_path: earlier runs
whatever their way, by what they did on the same screens."""


@dataclass(frozen=True, kw_only=True)
class DetectorDefinition:
    """Attributes:
    implementation: "module:class" of a `methods.detectors.Detector`; loaded when it is first used.
    parameters: the settings that its constructor takes, by name.
    localisation: the way of localising that belongs to it, by default.
    has_empirical_null: whether a series' score is judged by what earlier runs of the app scored; of scale `score` only.
    way: what it compares a run with.
    fallback: the detector that stands in for runs with too few earlier runs of a similar path; None: they are not
        judged.
    """

    name: str
    summary: str
    scale: Scale
    run_rule: RunRule
    localisation: str
    implementation: str
    parameters: tuple[str, ...] = ()
    has_empirical_null: bool = False
    way: Way = "path"
    fallback: str | None = None


@dataclass(frozen=True, kw_only=True)
class LocalisationDefinition:
    """A way to say where in a series the difference lies."""

    name: str
    summary: str


SMALLEST_HISTORY = 3
"""Fewest runs of a history that every detector and every way of localising can work with."""

EVALUATED_ONLY = (
    *("calibrated", "calibrated-units", "calibrated-unseen", "calibrated-reviewed", "calibrated-whole"),
    *("calibrated-conformal", "calibrated-studentised", "calibrated-trimmed", "calibrated-smoothed"),
    "peers",
)
"""What `perfreg evaluate --protocol shifts` measures beside the registered detectors. `default` stands for its theory
there, and `calibrated` for what the product makes of it once an app has earlier scores."""

BY_SCREENS = "default"
"""The way of localising runs that are compared with others of any path."""

OF_DETECTOR = "detector"  # the setting that follows the detector

_KNOWN: dict[str, DetectorDefinition] = {}

LOCALISATIONS: dict[str, LocalisationDefinition] = {
    one.name: one
    for one in (
        LocalisationDefinition(name="default", summary="hidden states for load, onset fit for memory"),
        LocalisationDefinition(name="thesis", summary="discords of the matrix profile against the barycenter"),
    )
}


def way_of(detector: DetectorDefinition, chosen: Way) -> Way:
    """How a detector compares a run.

    Args:
        chosen: of the run's history: how it is compared by detectors that take what there is enough of.
    """
    return chosen if detector.fallback is not None else detector.way


def register(definition: DetectorDefinition) -> None:
    """Makes a detector known to everything.

    Raises:
        ValueError: there is another one of that name, or it cannot have an empirical null.
    """
    if _KNOWN.get(definition.name, definition) != definition:
        raise ValueError(f"detector {definition.name!r} is registered already; choose another name")
    if definition.has_empirical_null and definition.scale != "score":
        raise ValueError(f"detector {definition.name!r}: an empirical null needs scale 'score'")
    _KNOWN[definition.name] = definition


def unregister(name: str) -> None:
    """Forgets a detector; unknown names are ignored."""
    _KNOWN.pop(name, None)


def detectors() -> dict[str, DetectorDefinition]:
    """Name → definition, in the order of their registration."""
    return dict(_KNOWN)


def detector_names() -> tuple[str, ...]:
    return tuple(_KNOWN)


def localisation_names() -> tuple[str, ...]:
    """What the setting `localisation` may be: one of the ways, or the one that belongs to the detector in force."""
    return (OF_DETECTOR, *LOCALISATIONS)


def localisation_of(setting: str, detector: str) -> str:
    """The way of localising that a setting means for a detector.

    Raises:
        ValueError: there is no such detector.
    """
    return definition_of(detector).localisation if setting == OF_DETECTOR else setting


def definition_of(name: str) -> DetectorDefinition:
    """Raises ValueError: there is no such detector."""
    if name not in _KNOWN:
        raise ValueError(f"detector = {name!r}: allowed is {' or '.join(_KNOWN)}")
    return _KNOWN[name]


register(
    DetectorDefinition(
        name="default",
        summary="this project's calibrated score",
        scale="score",
        run_rule="sidak",
        localisation="default",
        implementation="perfreg_assets.methods.calibrated_detector:CalibratedDetector",
        has_empirical_null=True,
        fallback="screens",
    )
)
register(
    DetectorDefinition(
        name="iqr",
        summary="the thesis' rule: DTW distance to the history's barycenter",
        scale="distance",
        run_rule="any",
        localisation="thesis",
        implementation="perfreg_assets.methods.iqr_detector:IqrDetector",
        parameters=(
            *("recheck", "dbscan_eps", "dbscan_min_samples", "lof_neighbors", "lof_threshold"),
            *("barycenter_backend", "barycenter_iterations"),
        ),
    )
)
register(
    DetectorDefinition(
        name="screens",
        summary="what the app takes on each screen, beside earlier runs of any path",
        scale="score",
        run_rule="sidak",
        localisation="default",
        implementation="perfreg_assets.methods.screens_detector:ScreensDetector",
        has_empirical_null=True,
        way="any_path",
    )
)
