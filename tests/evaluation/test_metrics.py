"""Figures of merit against plain definitions and scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as reference

from perfreg_assets.evaluation.metrics import Labelled, ranking_figures, verdict_figures


def plain_roc_auc(truth, score):
    """Over all pairs of an anomalous and a normal case: how often the first is above the second; ties count half."""
    difference = score[truth][:, None] - score[~truth][None]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def plain_average_precision(truth, score):
    """The precision among all cases at least as high as each anomalous one, averaged."""
    return float(np.mean([truth[score >= one].mean() for one in score[truth]]))


def figures(cases, alarm, *, seed):
    verdicts, ranking = verdict_figures(cases, alarm, seed=seed), ranking_figures(cases, seed=seed, with_interval=True)
    return {**verdicts, **ranking, "intervals": {**verdicts["intervals"], **ranking["intervals"]}}


def sample(seed, ties=False, size=300):
    generator = np.random.default_rng(seed)
    truth = generator.random(size) < 0.4
    score = generator.normal(size=size) + truth
    if ties:
        score = np.round(score)
    return Labelled(np.arange(size) // 5, truth, score), score > 0.5


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_figures_equal_scikit_learns_and_their_definitions(seed, ties):
    cases, alarm = sample(seed, ties)
    found = figures(cases, alarm, seed=0)
    truth, score = cases.is_anomalous, cases.score
    tn, fp, fn, tp = reference.confusion_matrix(truth, alarm).ravel().tolist()
    assert (found["tn"], found["fp"], found["fn"], found["tp"]) == (tn, fp, fn, tp)
    assert found["precision"] == pytest.approx(reference.precision_score(truth, alarm))
    assert found["recall"] == pytest.approx(reference.recall_score(truth, alarm))
    assert found["f1"] == pytest.approx(reference.f1_score(truth, alarm))
    assert found["mcc"] == pytest.approx(reference.matthews_corrcoef(truth, alarm))
    assert found["false_positive_rate"] == pytest.approx(fp / (fp + tn))
    assert found["roc_auc"] == pytest.approx(plain_roc_auc(truth, score), rel=1e-12)
    assert found["average_precision"] == pytest.approx(plain_average_precision(truth, score), rel=1e-12)


def test_what_is_not_defined_is_none():
    truth, score = np.zeros(6, dtype=bool), np.arange(6.0)
    found = figures(Labelled(np.arange(6), truth, score), truth, seed=0)
    for name in ("precision", "recall", "f1", "mcc", "roc_auc", "average_precision"):
        assert found[name] is None
    assert found["false_positive_rate"] == 0.0
    assert found["intervals"]["recall"] is None
    assert found["intervals"]["roc_auc"] is None
    assert figures(Labelled(np.arange(6), ~truth, score), truth, seed=0)["roc_auc"] is None


def test_intervals_hold_the_figure_and_shrink_with_more_runs():
    widths = []
    for size in (100, 1600):
        found = figures(*sample(1, size=size), seed=0)
        for name in ("precision", "recall", "f1", "false_positive_rate", "mcc", "roc_auc"):
            low, high = found["intervals"][name]
            assert low <= found[name] <= high
        low, high = found["intervals"]["f1"]
        widths.append(high - low)
    assert widths[1] < widths[0] / 2


def test_intervals_draw_whole_runs():
    """A hundred repeats of the same ten runs tell no more than the ten runs."""
    once, alarm = sample(2, size=50)
    many = Labelled(*(np.tile(one, 100) for one in (once.group, once.is_anomalous, once.score)))
    narrow = figures(many, np.tile(alarm, 100), seed=0)["intervals"]
    wide = figures(once, alarm, seed=0)["intervals"]
    for name in ("f1", "roc_auc"):
        assert narrow[name][1] - narrow[name][0] == pytest.approx(wide[name][1] - wide[name][0], rel=0.3)


def test_an_interval_of_the_ranking_is_that_of_the_repeated_cases():
    cases, _ = sample(4, ties=True, size=60)
    found = ranking_figures(cases, seed=7, with_interval=True)["intervals"]["roc_auc"]
    weights = np.random.default_rng([7, 60]).multinomial(12, np.full(12, 1 / 12), size=200)[:50]
    drawn = [np.repeat(np.arange(60), row[cases.group]) for row in weights]
    expected = [plain_roc_auc(cases.is_anomalous[some], cases.score[some]) for some in drawn]
    assert found == pytest.approx(np.quantile(expected, [0.025, 0.975]).tolist(), rel=1e-12)


def test_the_same_seed_gives_the_same_intervals():
    assert figures(*sample(3), seed=5) == figures(*sample(3), seed=5)
