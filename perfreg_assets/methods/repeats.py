"""Several runs of one build, judged together: from the scores of its runs to one score of the build.

The runs of a build share its history, so their scores err together; and they share the build, whose level differs a
little from that of the next one even where nothing got worse. Their mean therefore says less than that of as many
independent runs: with correlation r of two of them, the variance of the mean of n is r + (1 - r) / n instead of 1 / n.
How much builds differ is learned from the history's own groups, the runs of one earlier version each.

A run's score stands for a value of Student's t (see `calibration`); the mean is taken of those, because the spread of
the history, which all of them were divided by, is uncertain for all of them at once. A single run keeps its score. What
several runs are given, one alone neither carries nor hides: a run counts for at most `LARGEST_REPEAT` either way,
unless half of the runs are as far out. Repeats of one regression are found by their mean; a build of which most runs,
or half of six and more, are anomalous, each in its own way, is found by their number (`score_by_number`).

The warehouse computes the same in SQL (marts.t_of_score, score_of_t, version_verdicts_at), from what is stored with
each distance; that both agree is tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.calibration import LARGEST_SCORE
from perfreg_assets.methods.inputs import Floats

LARGEST_REPEAT = 3.0
"""Of a run's score beside others of its build: one wild run among ten is no regression of the build."""
FEWEST_HALVED = 6
"""Runs of a build, of which half tell as much by their number as most of fewer."""
PRIOR_WEIGHT = 4.0
"""Builds differ little unless the history says so: Beta(1, 4) on their share of the variance, .2 on average."""
_SHARES: Floats = np.linspace(0.0, 0.8, 161)


def build_share(scores: Floats, versions: Sequence[str]) -> float:
    """Share of the variance of runs that lies between builds, 0 to 1, from a history's own runs.

    The posterior mean under the one-way random-effects model (restricted likelihood: mean and size of the scatter are
    unknown) and a prior that expects little. A history of one build, or of a run per build, cannot say: then the prior
    speaks.

    Args:
        scores: (k,) of the history's runs, any scale.
        versions: (k,) the build of each.
    """
    _, group = np.unique(np.asarray(versions, dtype=object).astype(str), return_inverse=True)
    count = np.bincount(group).astype(np.float64)
    mean = np.bincount(group, weights=scores) / count
    within = np.bincount(group, weights=(scores - mean[group]) ** 2)
    share = _SHARES[:, None]
    inflation = 1 - share + count * share
    weight = count / inflation
    total = weight.sum(axis=1)
    middle = (weight * mean).sum(axis=1) / total
    scatter = (within / (1 - share) + weight * (mean - middle[:, None]) ** 2).sum(axis=1)
    determinant = ((count - 1) * np.log(1 - share) + np.log(inflation)).sum(axis=1)
    floor = 1e-12 * max(float(scatter[0]), 1e-300)
    likelihood = -0.5 * (determinant + np.log(total) + (len(scores) - 1) * np.log(np.maximum(scatter, floor)))
    log_posterior = likelihood + (PRIOR_WEIGHT - 1) * np.log(1 - _SHARES)
    posterior = np.exp(log_posterior - log_posterior.max())
    return float((posterior * _SHARES).sum() / posterior.sum())


def correlation(scores: Floats, versions: Sequence[str], kept: int) -> float:
    """Correlation of the scores of two runs of one build, 0 to 1, that are compared with this history.

    Args:
        scores: (k,) of the history's runs, each beside the others.
        versions: (k,) the build of each.
        kept: runs that the history's mean and spread were taken from (k but for those set aside).
    """
    share = build_share(scores, versions)
    _, count = np.unique(np.asarray(versions, dtype=object).astype(str), return_counts=True)
    # What the two have in common: their own build, and the history's mean with its builds and runs.
    common = share * (1 + float(((count / count.sum()) ** 2).sum())) + (1 - share) / kept
    return common / (common + 1 - share)


def combined_score(scores: Floats, degrees: float, repeat_correlation: float) -> float:
    """Standard-normal score of a build from those of its runs (n,).

    Args:
        degrees: of freedom of the t that the scores were made from: runs of the history less 1.
        repeat_correlation: of two of the scores, see `correlation`.

    Raises:
        ValueError: there is no score.
    """
    if not len(scores):
        raise ValueError("a build without a judged run has no score; at least one is needed")
    if len(scores) == 1:
        return float(scores[0])
    middle = majority_score(scores)
    limited = np.clip(scores, min(-LARGEST_REPEAT, middle), max(LARGEST_REPEAT, middle))
    mean = float(t_of_score(limited, degrees).mean())
    spread = math.sqrt(repeat_correlation + (1 - repeat_correlation) / len(scores))
    return float(np.clip(score_of_t(np.array([mean / spread]), degrees)[0], -LARGEST_SCORE, LARGEST_SCORE))


def majority_score(scores: Floats) -> float:
    """The score that more than half of some runs (n,) reach: above a limit exactly when most of them are.

    Raises:
        ValueError: there is no score.
    """
    if not len(scores):
        raise ValueError("a build without a judged run has no score; at least one is needed")
    return float(np.quantile(scores, 0.5, method="inverted_cdf"))


def score_by_number(scores: Floats) -> float:
    """As `majority_score`, but half of `FEWEST_HALVED` runs and more are enough: at the level of the default ω chance
    makes three of six anomalous in one build of 600, which is less than two of three.

    Raises:
        ValueError: there is no score.
    """
    count = len(scores)
    if count >= FEWEST_HALVED and count % 2 == 0:
        return float(np.sort(scores)[count // 2])
    return majority_score(scores)


def t_of_score(score: Floats, degrees: float) -> NDArray[np.float64]:
    """Student's t with the tail probability of a standard-normal score, (n,); Wallace's formula (1959).

    Its error is below .03 of a score for 4 degrees of freedom and more, up to scores of 3.
    """
    wide = score * (8 * degrees + 3) / (8 * degrees + 1)
    return np.sign(score) * np.sqrt(degrees * np.expm1(wide**2 / degrees))


def score_of_t(t: Floats, degrees: float) -> NDArray[np.float64]:
    """The inverse of `t_of_score`, (n,)."""
    return np.sign(t) * (8 * degrees + 1) / (8 * degrees + 3) * np.sqrt(degrees * np.log1p(t**2 / degrees))
