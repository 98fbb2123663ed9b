"""What a chart of one series shows, whoever draws it: the page's scripts, its still (`still_chart`), a picture
(`charts`).

Amounts are in the unit that is shown; times in seconds since the series' start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.reports import wording
from perfreg_assets.reports.data import Band, Profile, SeriesView

FAINTEST, DARKENING = 0.08, 0.32
"""Opacity of a window of no confidence, and what full confidence adds."""
RUN_KEY, BARYCENTER_KEY, WINDOW_KEY, UNEXAMINED_KEY = "this run", "barycenter", "suspicious", "not examined"
"""What a picture's legend calls what it shows."""


@dataclass(frozen=True, slots=True)
class ChartWindow:
    """A suspicious window; the surer, the darker."""

    start_s: float
    end_s: float
    confidence: float

    @property
    def opacity(self) -> float:
        return FAINTEST + DARKENING * self.confidence


@dataclass(frozen=True, slots=True)
class SeriesChart:
    """Lines, band and shades of a series that has values.

    Attributes:
        axis, exact: unit on the axis, and of single values.
        factor: what its own values were multiplied with.
        values, barycenter: (n,), NaN where nothing is known; the barycenter may be shorter or longer.
        is_from_zero: the axis begins at 0: of what is an amount of work, not of memory, of which only the change shows.
        unexamined: stretches in which windows were not looked for.
    """

    axis: str
    exact: str
    factor: float
    interval_s: float
    values: Floats
    barycenter: Floats | None
    band: Band | None
    windows: tuple[ChartWindow, ...]
    unexamined: tuple[tuple[float, float], ...]
    is_from_zero: bool
    profile: Profile | None

    @property
    def span_s(self) -> float:
        return len(self.values) * self.interval_s

    def range(self) -> tuple[float, float]:
        """Lowest and highest value shown, with some room around them."""
        lines = [self.values, self.barycenter, *((self.band.low, self.band.high) if self.band else ())]
        known = [line[np.isfinite(line)] for line in lines if line is not None]
        shown = np.concatenate(known) if known else np.empty(0)
        if not len(shown):
            return 0.0, 1.0
        low, high = float(shown.min()), float(shown.max())
        if self.is_from_zero:
            low = min(low, 0.0)
        room = 0.055 * (high - low or abs(high) or 1.0)
        return (low if self.is_from_zero and low == 0 else low - room), high + room


def series_chart(series: SeriesView) -> SeriesChart | None:
    """None where the series has no values."""
    if series.values is None:
        return None
    unit = wording.unit_of(series.name, series.unit)
    band = series.band
    return SeriesChart(
        axis=unit.axis,
        exact=unit.exact,
        factor=unit.factor,
        interval_s=series.interval_s,
        values=np.asarray(series.values, dtype=np.float64) * unit.factor,
        barycenter=None if series.barycenter is None else series.barycenter * unit.factor,
        band=None
        if band is None
        else Band(band.low * unit.factor, band.middle * unit.factor, band.high * unit.factor, band.run_count),
        windows=tuple(ChartWindow(one.start_s, one.end_s, one.confidence) for one in series.discords),
        unexamined=unexamined(series),
        is_from_zero=definition_of(series.name).kind != "memory",
        profile=series.profile if has_profile(series) else None,
    )


def band_key(band: Band) -> str:
    """What a picture's legend calls the band."""
    return f"{band.run_count} earlier runs, 10–90 %"


def unexamined(series: SeriesView) -> tuple[tuple[float, float], ...]:
    """Stretches of an anomalous series, in seconds, in which windows were not looked for; none where all was, or none
    at all was computed."""
    place = series.place
    if place is None or place.examined_start_s is None or place.examined_end_s is None or series.values is None:
        return ()
    length_s = len(series.values) * series.interval_s
    ends = ((0.0, place.examined_start_s), (place.examined_end_s, length_s))
    return tuple((start, end) for start, end in ends if end - start > 0.5 * series.interval_s)


def has_profile(series: SeriesView) -> bool:
    """Whether there is a profile worth drawing: one that is zero throughout says that no window differs."""
    return series.profile is not None and bool(np.any(np.nan_to_num(series.profile.values) > 0))
