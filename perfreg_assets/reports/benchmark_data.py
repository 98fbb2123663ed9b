"""What the pages of benchmarks show: levels by version, means by area."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from perfreg_assets.methods import adequacy
from perfreg_assets.readable import readable_quantity
from perfreg_assets.warehouse.benchmarks import Family

VERSIONS = 30
"""The latest, on a page."""
BENCHMARKS = 400
"""The most on a page, those that changed most first."""


@dataclass(frozen=True)
class Point:
    """The level of a benchmark in a version.

    Attributes:
        score: of the files that are adequate; None where there is none.
        low, middle, high: of the earlier results that it was compared with; None without.
        state: the worst of the version's results.
        left_out: why, of each file that is no part of the level because others are adequate.
    """

    version_name: str
    score: float | None
    low: float | None
    middle: float | None
    high: float | None
    state: str
    explanation: str | None
    warnings: tuple[str, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trend:
    """A benchmark over the versions, the latest last; `places` says which versions these are."""

    area: str
    name: str
    unit: str
    worse: str
    is_primary: bool
    places: tuple[int, ...]
    points: tuple[Point, ...]

    @property
    def latest(self) -> Point:
        return self.points[-1]

    @property
    def told(self) -> str:
        return "–" if self.latest.score is None else readable_quantity(self.latest.score, self.unit)

    @property
    def change(self) -> float | None:
        """Of the latest level against the median of the earlier ones, a ratio − 1."""
        last = self.latest
        return None if not last.middle or last.score is None else last.score / last.middle - 1

    @property
    def speed_change(self) -> float:
        """Logarithm, above 0 is quicker; 0 where nothing is known."""
        return _speed(self.latest, self.worse) or 0.0


@dataclass(frozen=True)
class Cell:
    """An area in a version: geometric mean of its benchmarks' speeds over the earlier results', as a ratio − 1.

    Attributes:
        count: benchmarks that were measured, `adequate` ones of them with a level.
    """

    change: float | None
    count: int
    adequate: int
    anomalous: int


@dataclass(frozen=True)
class FamilyView:
    """What the page of a family shows of its versions.

    Attributes:
        cells: area → one per version.
        without_score: benchmark → why the latest version has no result of it.
    """

    family: Family
    versions: tuple[str, ...]
    started: tuple[datetime, ...]
    trends: tuple[Trend, ...]
    cells: dict[str, list[Cell]]
    without_score: dict[str, str] = field(default_factory=dict)


def family_view(family: Family, rows: Sequence[dict[str, Any]]) -> FamilyView:
    """The view of a family from rows of `warehouse.benchmarks.levels`."""
    started: dict[str, datetime] = {}
    for row in rows:
        started.setdefault(row["version_name"], row["started_at"])
    versions = tuple(started)
    by_name: dict[str, dict[str, list[dict[str, Any]]]] = {}
    without: dict[str, str] = {}
    for row in rows:
        if row["score"] is not None:
            by_name.setdefault(row["result_name"], {}).setdefault(row["version_name"], []).append(row)
        elif row["version_name"] == versions[-1]:
            without[row["result_name"]] = row["explanation"] or ""
    trends = [_trend(name, of_version, versions) for name, of_version in by_name.items()]
    trends.sort(key=lambda one: (one.area, one.name))
    return FamilyView(
        family,
        versions,
        tuple(started.values()),
        tuple(trends),
        _cells(trends, versions),
        without,
    )


_WORST = ("anomalous", "improved", "normal", "not_enough_history", "inadequate", "invalid")


def _trend(name: str, of_version: dict[str, list[dict[str, Any]]], versions: Sequence[str]) -> Trend:
    first = next(iter(of_version.values()))[0]
    points = []
    for version in [one for one in versions if one in of_version]:
        rows = of_version[version]
        worst = min(rows, key=lambda row: _WORST.index(row["state"]))
        known = [row for row in rows if row["earlier_median"] is not None]
        counted, left = adequacy.counted(rows, _is_adequate)
        scores = [row["score"] for row in counted if _is_adequate(row)]
        points.append(
            Point(
                version_name=version,
                score=math.exp(float(np.mean(np.log(scores)))) if scores else None,
                low=min((row["earlier_low"] for row in known), default=None),
                middle=float(np.median([row["earlier_median"] for row in known])) if known else None,
                high=max((row["earlier_high"] for row in known), default=None),
                state=worst["state"],
                explanation=worst["explanation"],
                warnings=tuple(sorted({code for row in counted for code in row["warnings"] or ()})),
                left_out=tuple(adequacy.why_inadequate(row["warnings"] or ()) for row in left),
            )
        )
    places = tuple(place for place, version in enumerate(versions) if version in of_version)
    is_primary = bool(first["is_primary"])
    return Trend(first["area"] or "", name, first["unit"], first["worse"], is_primary, places, tuple(points))


def _speed(point: Point, worse: str) -> float | None:
    """Logarithm of the speed over that of the earlier results, above 0 is quicker."""
    if point.score is None or not point.middle or worse == "either":
        return None
    change = math.log(point.score / point.middle)
    return -change if worse == "more" else change


def _cells(trends: Sequence[Trend], versions: Sequence[str]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for area in sorted({one.area for one in trends if one.is_primary}):
        cells = []
        for place in range(len(versions)):
            points = [
                (one, one.points[one.places.index(place)])
                for one in trends
                if one.area == area and one.is_primary and place in one.places
            ]
            speeds = [_speed(point, one.worse) for one, point in points]
            known = [speed for speed in speeds if speed is not None]
            change = math.expm1(float(np.mean(known))) if known else None
            adequate = sum(point.score is not None for _, point in points)
            anomalous = sum(point.state == "anomalous" for _, point in points)
            cells.append(Cell(change, len(points), adequate, anomalous))
        found[area] = cells
    return found


def _is_adequate(row: dict[str, Any]) -> bool:
    return bool(row["state"] != "inadequate")
