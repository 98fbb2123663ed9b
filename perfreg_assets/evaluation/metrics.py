"""Figures of merit of verdicts and scores, with bootstrap intervals.

A run is a target in many repeats; its cases are not independent. The bootstrap therefore draws whole runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

BOOTSTRAPS = 200
COVERAGE = 0.95


@dataclass(frozen=True)
class Labelled:
    """Cases: (n,) each.

    Attributes:
        group: code of the run a case belongs to.
        is_anomalous: the truth.
        score: larger is more anomalous; any scale, for the ranking.
    """

    group: NDArray[np.int64]
    is_anomalous: NDArray[np.bool_]
    score: NDArray[np.float64]


def verdict_figures(cases: Labelled, alarm: NDArray[np.bool_], *, seed: int) -> dict[str, Any]:
    """Counts and rates of verdicts (n,), with `intervals` of the rates; None where a rate is not defined."""
    groups, index = np.unique(cases.group, return_inverse=True)
    counts = np.zeros((len(groups), 4))
    kind = np.where(cases.is_anomalous, np.where(alarm, 0, 3), np.where(alarm, 2, 1))
    np.add.at(counts, (index, kind), 1)
    tp, tn, fp, fn = (int(value) for value in counts.sum(axis=0))
    samples = [_rates(row) for row in _weights(cases, len(groups), seed) @ counts]
    names = ("precision", "recall", "f1", "false_positive_rate", "mcc")
    return {
        **{"tp": tp, "tn": tn, "fp": fp, "fn": fn},
        **_rates(counts.sum(axis=0)),
        "intervals": {name: _interval([sample[name] for sample in samples]) for name in names},
    }


def ranking_figures(cases: Labelled, *, seed: int, with_interval: bool) -> dict[str, Any]:
    """ROC AUC and average precision by scikit-learn; None without anomalous cases (AUC: without either kind).

    `with_interval` adds `intervals` of the AUC from a quarter of the bootstraps: each takes some milliseconds.
    """
    result: dict[str, Any] = {"roc_auc": _roc_auc(cases, None), "average_precision": None}
    if cases.is_anomalous.any():
        average_precision = import_module("sklearn.metrics").average_precision_score
        result["average_precision"] = float(average_precision(cases.is_anomalous, cases.score))
    if with_interval:
        groups, index = np.unique(cases.group, return_inverse=True)
        drawn = _weights(cases, len(groups), seed)[: BOOTSTRAPS // 4]
        result["intervals"] = {"roc_auc": _interval([_roc_auc(cases, row[index]) for row in drawn])}
    return result


def rate_interval(groups: NDArray[np.int64], hits: NDArray[np.bool_], *, seed: int) -> tuple[float, float]:
    """Interval of the mean of hits (n,), bootstrapped over their groups (n,), whose members are not independent."""
    _, index = np.unique(groups, return_inverse=True)
    counts, sums = np.bincount(index).astype(float), np.bincount(index, weights=hits)
    weights = np.random.default_rng(seed).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), BOOTSTRAPS)
    rates = (weights @ sums) / (weights @ counts)
    low, high = np.quantile(rates, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return float(low), float(high)


def _roc_auc(cases: Labelled, weight: NDArray[np.int64] | None) -> float | None:
    """Probability that an anomalous case scores above a normal one; ties count half. Cases count `weight` times."""
    present = np.ones(len(cases.group), dtype=bool) if weight is None else weight > 0
    if len(np.unique(cases.is_anomalous[present])) < 2:
        return None
    # Imported here: half a second, and only an evaluation pays for it.
    roc_auc = import_module("sklearn.metrics").roc_auc_score
    return float(roc_auc(cases.is_anomalous, cases.score, sample_weight=weight))


def _weights(cases: Labelled, group_count: int, seed: int) -> NDArray[np.int64]:
    """How often each run is drawn, (bootstraps, runs)."""
    generator = np.random.default_rng([seed, len(cases.group)])
    return generator.multinomial(group_count, np.full(group_count, 1 / group_count), size=BOOTSTRAPS)


def _rates(counts: NDArray[np.float64]) -> dict[str, float | None]:
    tp, tn, fp, fn = (float(value) for value in counts)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return {
        "precision": _share(tp, tp + fp),
        "recall": _share(tp, tp + fn),
        "f1": _share(2 * tp, 2 * tp + fp + fn),
        "false_positive_rate": _share(fp, fp + tn),
        "mcc": (tp * tn - fp * fn) / math.sqrt(product) if product > 0 else None,
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _interval(values: Sequence[float | None]) -> list[float] | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values) / 2:
        return None
    low, high = np.quantile(known, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return [float(low), float(high)]
