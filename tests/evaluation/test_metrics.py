"""Figures of merit against scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as reference

from perfreg_assets.evaluation.metrics import Judged, average_precision, figures, roc_auc


def sample(seed, ties=False, size=300):
    generator = np.random.default_rng(seed)
    truth = generator.random(size) < 0.4
    score = generator.normal(size=size) + truth
    if ties:
        score = np.round(score)
    return Judged(np.arange(size) // 5, truth, score > 0.5, score)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_figures_equal_scikit_learns(seed, ties):
    cases = sample(seed, ties)
    found = figures(cases, seed=0, with_ranking=False)
    truth, alarm, score = cases.is_anomalous, cases.alarm, cases.score
    tn, fp, fn, tp = reference.confusion_matrix(truth, alarm).ravel().tolist()
    assert (found["tn"], found["fp"], found["fn"], found["tp"]) == (tn, fp, fn, tp)
    assert found["precision"] == pytest.approx(reference.precision_score(truth, alarm))
    assert found["recall"] == pytest.approx(reference.recall_score(truth, alarm))
    assert found["f1"] == pytest.approx(reference.f1_score(truth, alarm))
    assert found["mcc"] == pytest.approx(reference.matthews_corrcoef(truth, alarm))
    assert found["false_positive_rate"] == pytest.approx(fp / (fp + tn))
    assert found["roc_auc"] == pytest.approx(reference.roc_auc_score(truth, score))
    assert found["average_precision"] == pytest.approx(reference.average_precision_score(truth, score))


def test_what_is_not_defined_is_none():
    truth, score = np.zeros(6, dtype=bool), np.arange(6.0)
    found = figures(Judged(np.arange(6), truth, truth, score), seed=0, with_ranking=True)
    for name in ("precision", "recall", "f1", "mcc", "roc_auc", "average_precision"):
        assert found[name] is None
    assert found["false_positive_rate"] == 0.0
    assert found["intervals"]["recall"] is None
    assert roc_auc(~truth, score) is None
    assert average_precision(truth, score) is None


def test_intervals_hold_the_figure_and_shrink_with_more_runs():
    widths = []
    for size in (100, 1600):
        found = figures(sample(1, size=size), seed=0, with_ranking=True)
        for name in ("precision", "recall", "f1", "false_positive_rate", "mcc", "roc_auc"):
            low, high = found["intervals"][name]
            assert low <= found[name] <= high
        low, high = found["intervals"]["f1"]
        widths.append(high - low)
    assert widths[1] < widths[0] / 2


def test_intervals_draw_whole_runs():
    """A hundred repeats of the same ten runs tell no more than the ten runs."""
    once = sample(2, size=50)
    many = Judged(*(np.tile(one, 100) for one in (once.group, once.is_anomalous, once.alarm, once.score)))
    narrow, wide = (figures(cases, seed=0, with_ranking=False)["intervals"]["f1"] for cases in (many, once))
    assert narrow[1] - narrow[0] == pytest.approx(wide[1] - wide[0], rel=0.3)


def test_the_same_seed_gives_the_same_intervals():
    assert figures(sample(3), seed=5, with_ranking=True) == figures(sample(3), seed=5, with_ranking=True)
