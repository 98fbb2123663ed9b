"""The numbers and the sentence that explain a score to people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.calibration import predictive_score
from perfreg_assets.methods.features import quantile_range, startup_samples, theil_sen_slope
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.samples import Kind

MEGABYTE = 1e6
NOTABLE_SCORE = 1.28  # one normal run in ten is above it


@dataclass(frozen=True)
class _Fact:
    """A number of a run: `says` is filled with the target's value and the history's lowest and highest."""

    name: str
    value: float
    known: Floats
    says: str


class Explainer:
    """Explains targets beside one history, whose own numbers are computed once.

    Args:
        history: the runs that the score compares with.
        set_aside: how many more there are that it does not, because they were disturbed.
    """

    def __init__(self, kind: Kind, history: list[Floats], interval_s: float, *, set_aside: int = 0) -> None:
        self._kind: Kind = kind
        self._set_aside = set_aside
        self._interval_s = interval_s
        self._known = {
            name: np.array([_measure(kind, name, run, interval_s) for run in history]) for name, _ in _FACTS[kind]
        }
        self._count = len(history)

    def explain(self, target: Floats, distance_ratio: float) -> tuple[dict[str, float], str]:
        """Evidence and sentence.

        Args:
            distance_ratio: how many times as far the run is from its nearest history runs as they are from each other.
        """
        facts = [
            _Fact(name, _measure(self._kind, name, target, self._interval_s), self._known[name], says)
            for name, says in _FACTS[self._kind]
        ]
        evidence = {
            "history_size": float(self._count + self._set_aside),
            "history_set_aside": float(self._set_aside),
            "distance_ratio": distance_ratio,
        }
        for fact in facts:
            evidence[fact.name] = fact.value
            evidence[f"{fact.name}_history_lowest"] = float(fact.known.min())
            evidence[f"{fact.name}_history_highest"] = float(fact.known.max())
        aside = f"; {self._set_aside} disturbed ones set aside" if self._set_aside else ""
        return evidence, _sentence(facts, self._count, distance_ratio) + aside


def _sentence(facts: list[_Fact], count: int, distance_ratio: float) -> str:
    scores = [abs(predictive_score(fact.known, fact.value, _smallest_sd(fact))) for fact in facts]
    told = facts[int(np.argmax(scores))]
    low, high = _number(float(told.known.min())), _number(float(told.known.max()))
    sentence = told.says.format(value=_number(told.value), low=low, high=high, count=count)
    if max(scores) < NOTABLE_SCORE and distance_ratio > 1:
        return (
            f"{sentence}; its pattern is {distance_ratio:.2g} times as far from the nearest of them "
            "as they are from each other"
        )
    return sentence


def _smallest_sd(fact: _Fact) -> float:
    return max(1e-3 * float(np.abs(fact.known).max()), 1e-12)


_FACTS: dict[Kind, tuple[tuple[str, str], ...]] = {
    "memory": (
        (
            "growth_megabytes_per_s",
            "memory grows {value} MB/s; the {count} comparable runs grew {low} to {high}",
        ),
        (
            "range_megabytes",
            "memory swings over {value} MB after start-up; the {count} comparable runs over {low} to {high}",
        ),
        (
            "high_megabytes",
            "memory reaches {value} MB; the {count} comparable runs reached {low} to {high}",
        ),
    ),
    "cpu": (
        (
            "mean_cores",
            "uses {value} cores on average; the {count} comparable runs used {low} to {high}",
        ),
        (
            "busiest_cores",
            "uses {value} cores in its busiest 5 % of seconds; the {count} comparable runs used {low} to {high}",
        ),
    ),
    "other": (
        ("mean", "is {value} on average; the {count} comparable runs were {low} to {high}"),
        ("highest", "reaches {value}; the {count} comparable runs reached {low} to {high}"),
    ),
}


def _measure(kind: Kind, name: str, run: Floats, interval_s: float) -> float:
    values = run[startup_samples(len(run), interval_s) :]
    if kind == "memory":
        values = values / MEGABYTE
    if name.startswith("growth"):
        return theil_sen_slope(values, interval_s)
    if name.startswith("range"):
        return quantile_range(values)
    if name.startswith("mean"):
        return float(values.mean())
    if name.startswith("busiest"):
        return float(values[values >= np.quantile(values, 0.95)].mean())
    return float(np.quantile(values, 0.95))


def _number(value: float) -> str:
    """Three significant digits, no exponent where it is readable without."""
    if abs(value) >= 1e3:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1g}"
