"""Figures of merit of verdicts and scores, with bootstrap intervals.

A run is a target in many repeats; its cases are not independent. The bootstrap therefore draws whole runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BOOTSTRAPS = 200
COVERAGE = 0.95


@dataclass(frozen=True)
class Judged:
    """Cases: (n,) each.

    Attributes:
        group: code of the run a case belongs to.
        is_anomalous: the truth.
        alarm: the verdict.
        score: larger is more anomalous; any scale, for the ranking.
    """

    group: NDArray[np.int64]
    is_anomalous: NDArray[np.bool_]
    alarm: NDArray[np.bool_]
    score: NDArray[np.float64]


def figures(cases: Judged, *, seed: int, with_ranking: bool) -> dict[str, Any]:
    """Counts, figures and their intervals.

    Undefined figures are None (no positives, no alarms). `with_ranking` adds bootstrap intervals of the ranking
    figures, which take longer.
    """
    groups, index = np.unique(cases.group, return_inverse=True)
    counts = np.zeros((len(groups), 4))
    kind = np.where(cases.is_anomalous, np.where(cases.alarm, 0, 3), np.where(cases.alarm, 2, 1))
    np.add.at(counts, (index, kind), 1)
    tp, tn, fp, fn = (int(value) for value in counts.sum(axis=0))
    result: dict[str, Any] = {"tp": tp, "tn": tn, "fp": fp, "fn": fn}
    result.update(_rates(counts.sum(axis=0)))
    result["roc_auc"] = roc_auc(cases.is_anomalous, cases.score)
    result["average_precision"] = average_precision(cases.is_anomalous, cases.score)
    generator = np.random.default_rng([seed, len(cases.group)])
    weights = generator.multinomial(len(groups), np.full(len(groups), 1 / len(groups)), size=BOOTSTRAPS)
    samples = [_rates(row) for row in weights @ counts]
    names = ("precision", "recall", "f1", "false_positive_rate", "mcc")
    intervals = {name: _interval([sample[name] for sample in samples]) for name in names}
    if with_ranking:
        drawn = [_repeated(index, row) for row in weights[: BOOTSTRAPS // 4]]
        intervals["roc_auc"] = _interval([roc_auc(cases.is_anomalous[some], cases.score[some]) for some in drawn])
    result["intervals"] = intervals
    return result


def _repeated(index: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(index)), weights[index])


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


def roc_auc(is_anomalous: NDArray[np.bool_], score: NDArray[np.float64]) -> float | None:
    """Probability that an anomalous case scores above a normal one; ties count half. None without both kinds."""
    positives = int(is_anomalous.sum())
    negatives = len(is_anomalous) - positives
    if positives == 0 or negatives == 0:
        return None
    _, inverse, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[inverse]
    return float((rank[is_anomalous].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def average_precision(is_anomalous: NDArray[np.bool_], score: NDArray[np.float64]) -> float | None:
    """Mean precision over the anomalous cases, by falling score; tied cases count together. None without positives."""
    positives = int(is_anomalous.sum())
    if positives == 0:
        return None
    order = np.argsort(-score, kind="stable")
    hits = np.cumsum(is_anomalous[order])
    last = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)
    precision = hits[last] / (last + 1)
    gained = np.diff(np.concatenate([[0], hits[last]])) / positives
    return float((precision * gained).sum())
