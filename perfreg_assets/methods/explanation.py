"""The numbers and the sentence that explain a score to people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition, display_unit
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.calibration import predictive_score
from perfreg_assets.methods.features import quantile_range, startup_samples, theil_sen_slope
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.patterns import count_falls, find_bursts, find_growth
from perfreg_assets.readable import readable

MEGABYTE = 1e6
NOTABLE_SCORE = 1.28  # one normal run in ten is above it
MANY_TIMES = 4  # falls of memory beside the history's most: with fewer times as many, noise is counted among the teeth


@dataclass(frozen=True)
class _Measure:
    """A number of a run after its start-up.

    Attributes:
        measure: of the values (n,), divided by `divisor`, and the interval between them in s.
        says: filled with the target's value and the history's lowest and highest, times `shown_factor`.
    """

    name: str
    measure: Callable[[Floats, float], float]
    says: str
    divisor: float = 1.0
    shown_factor: float = 1.0

    def of(self, run: Floats, interval_s: float) -> float:
        return self.measure(run[startup_samples(len(run), interval_s) :] / self.divisor, interval_s)


class Explainer:
    """Explains targets beside one history, whose own numbers are computed once.

    Args:
        history: the runs that the score compares with, k of (n_i,), unit of the series.
        set_aside: how many more there are that it does not, because they were disturbed.
    """

    def __init__(
        self, series: SeriesDefinition, history: list[Floats], interval_s: float, *, set_aside: int = 0
    ) -> None:
        self._measures = _measures_of(series)
        self._history = history
        self._set_aside = set_aside
        self._interval_s = interval_s
        self._known = [
            np.array([measure.of(run, interval_s) for run in history], dtype=np.float64) for measure in self._measures
        ]
        self._count = len(history)

    def explain(
        self, target: Floats, distance_ratio: float, *, is_higher: bool | None = None
    ) -> tuple[dict[str, float], str]:
        """Evidence and sentence.

        Args:
            target: (n,), unit of the series.
            distance_ratio: how many times as far the run is from its nearest history runs as they are from each other.
            is_higher: the side that the score is of, and the sentence with it; None: whichever is further.
        """
        evidence = {
            "history_size": float(self._count + self._set_aside),
            "history_set_aside": float(self._set_aside),
            "distance_ratio": distance_ratio,
        }
        values = [measure.of(target, self._interval_s) for measure in self._measures]
        for measure, value, known in zip(self._measures, values, self._known, strict=True):
            evidence[measure.name] = value
            evidence[f"{measure.name}_history_lowest"] = float(known.min())
            evidence[f"{measure.name}_history_highest"] = float(known.max())
        aside = f"; {how_many(self._set_aside, 'disturbed one')} set aside" if self._set_aside else ""
        return evidence, self._sentence(target, values, distance_ratio, evidence, is_higher) + aside

    def _sentence(
        self,
        target: Floats,
        values: list[float],
        distance_ratio: float,
        evidence: dict[str, float],
        is_higher: bool | None,
    ) -> str:
        """The measure that is furthest from the history's, in words; what it says of time goes into the evidence."""
        signed = [
            predictive_score(known, value, max(1e-3 * float(np.abs(known).max()), 1e-12))
            for value, known in zip(values, self._known, strict=True)
        ]
        scores = [abs(score) if is_higher is None else score if is_higher else -score for score in signed]
        if self._measures is _MEMORY and (leak := self._leak(target, values, scores, evidence)) is not None:
            return leak
        told = int(np.argmax(scores))
        value, known, factor = values[told], self._known[told], self._measures[told].shown_factor
        sentence = self._measures[told].says.format(
            value=readable(value * factor),
            usual=span_told(readable(float(known.min()) * factor), readable(float(known.max()) * factor)),
            count=self._count,
            pattern=self._pattern(target, values, evidence),
        )
        if max(scores) < NOTABLE_SCORE and distance_ratio > 1:
            return (
                f"{sentence}; its pattern is {distance_ratio:.2g} times as far from the nearest of them "
                "as they are from each other"
            )
        return sentence

    def _leak(self, target: Floats, values: list[float], scores: list[float], evidence: dict[str, float]) -> str | None:
        """Growth that no run of the history has, with rate and onset: a leak's range only follows from it."""
        if values[0] <= self._known[0].max() or scores[0] < NOTABLE_SCORE:
            return None
        found = find_growth(self._history, target, self._interval_s)
        if found is None:
            return None
        evidence["growth_onset_s"] = found.onset_s
        evidence["growth_since_onset_megabytes_per_s"] = found.rate / MEGABYTE
        rate, low, high = (readable(value / MEGABYTE) for value in (found.rate, found.low, found.high))
        since = f"from second {found.onset_s:.0f}"
        return f"memory grows {rate} MB/s {since}; the {self._count} comparable runs grew {span_told(low, high)}"

    def _pattern(self, target: Floats, values: list[float], evidence: dict[str, float]) -> str:
        """How what is told runs over time, as a part of the sentence; empty where nothing is to be said."""
        start = startup_samples(len(target), self._interval_s)
        if self._measures is _CORES:
            known = [run[startup_samples(len(run), self._interval_s) :] for run in self._history]
            bursts = find_bursts(known, target[start:], self._interval_s)
            if bursts is None:
                return ""
            evidence["burst_count"], evidence["burst_level_cores"] = float(bursts.count), bursts.level
            every = ""
            if bursts.period_s is not None:
                evidence["burst_period_s"] = bursts.period_s
                every = f" every {readable(bursts.period_s)} s"
            few = span_told(str(bursts.low), str(bursts.high))
            return f", in {bursts.count} bursts above {readable(bursts.level)} cores{every} (usually {few})"
        if self._measures is _MEMORY:
            height = values[1] * MEGABYTE  # what it ranges over
            falls = count_falls(target[start:], height, self._interval_s)
            usual = max(count_falls(run[start:], height, self._interval_s) for run in self._history)
            evidence["fall_count"], evidence["fall_count_history_highest"] = float(falls), float(usual)
            return f", falling back {falls} times" if falls > max(MANY_TIMES * usual, 1) else ""
        return ""


def span_told(low: str, high: str) -> str:
    """ "3 to 5", of numbers as they are read: "3" where both read alike."""
    return low if low == high else f"{low} to {high}"


def _growth(values: Floats, interval_s: float) -> float:
    return theil_sen_slope(values, interval_s)


def _range(values: Floats, interval_s: float) -> float:
    return quantile_range(values)


def _high(values: Floats, interval_s: float) -> float:
    return float(np.quantile(values, 0.95))


def _low(values: Floats, interval_s: float) -> float:
    return float(np.quantile(values, 0.05))


def _mean(values: Floats, interval_s: float) -> float:
    return float(values.mean())


def _busiest(values: Floats, interval_s: float) -> float:
    return float(values[values >= np.quantile(values, 0.95)].mean())


_MEMORY = (
    _Measure(
        "growth_megabytes_per_s",
        _growth,
        "memory grows {value} MB/s; the {count} comparable runs grew {usual}",
        divisor=MEGABYTE,
    ),
    _Measure(
        "range_megabytes",
        _range,
        "memory swings over {value} MB after start-up{pattern}; the {count} comparable runs over {usual}",
        divisor=MEGABYTE,
    ),
    _Measure(
        "high_megabytes",
        _high,
        "memory reaches {value} MB{pattern}; the {count} comparable runs reached {usual}",
        divisor=MEGABYTE,
    ),
)
_CORES = (
    _Measure(
        "mean_cores",
        _mean,
        "uses {value} cores on average after start-up{pattern}; the {count} comparable runs used {usual}",
    ),
    _Measure(
        "busiest_cores",
        _busiest,
        "uses {value} cores in its busiest 5 % of seconds{pattern}; the {count} comparable runs used {usual}",
    ),
)


def _measures_of(series: SeriesDefinition) -> tuple[_Measure, ...]:
    if series.kind == "memory" and series.unit == "bytes":
        return _MEMORY
    if series.unit == "core-seconds/s":
        return _CORES
    unit = display_unit(series.unit)
    name = f" {unit.axis}" if unit.axis else ""
    label = series.label.replace("{", "{{").replace("}", "}}")  # another tool's data set may call a series anything

    def measure(key: str, of: Callable[[Floats, float], float], word: str, unit_name: str = name) -> _Measure:
        says = f"{label}: {word} {{value}}{unit_name}; the {{count}} comparable runs {{usual}}{unit_name}"
        return _Measure(key, of, says, shown_factor=unit.factor)

    if series.kind == "memory":
        return measure("growth_per_s", _growth, "grows by", f"{name} per s"), measure("highest", _high, "up to")
    return (
        measure("mean", _mean, "on average"),
        *((measure("highest", _high, "up to"),) if series.worse != "less" else ()),
        *((measure("lowest", _low, "down to"),) if series.worse != "more" else ()),
    )
