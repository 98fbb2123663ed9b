"""What others do judges as they say."""

import numpy as np
import pytest
from scipy import stats
from sklearn.neighbors import LocalOutlierFactor
from tslearn.metrics import dtw

from perfreg_assets.catalogue import definition_of
from perfreg_assets.evaluation.peers import PEERS, SMALLEST_SD
from perfreg_assets.methods.calibration import HEAVY_TAILS, predictive_score
from perfreg_assets.methods.omega_rule import is_anomalous
from perfreg_assets.methods.samples import Sample

DRAW = np.random.default_rng(0)
HISTORY = [Sample((1 + 0.03 * DRAW.normal()) * DRAW.gamma(4, 0.25, 60)) for _ in range(8)]
USUAL = Sample(np.concatenate([HISTORY[0].values[30:], HISTORY[3].values[:30]]))
GROWN = Sample(USUAL.values + np.linspace(0, 8, 60))


def judged(name, *targets):
    return PEERS[name].score_all(HISTORY, targets, series=definition_of("cpu_app"), interval_s=1.0)


@pytest.mark.parametrize("name", PEERS)
def test_each_finds_what_nobody_overlooks_and_leaves_a_usual_run_alone(name):
    usual, grown = judged(name, USUAL, GROWN)
    assert grown.distance > usual.distance
    assert is_anomalous(grown, 0.75)
    assert not is_anomalous(usual, 1.5)


def test_a_fixed_limit_is_the_same_at_every_level():
    known = np.mean([one.values.mean() for one in HISTORY])
    for ratio, expected in ((1.09, False), (1.11, True)):
        target = Sample(np.full(60, ratio * known))
        assert [is_anomalous(*judged("mean + 10 %", target), omega) for omega in (0.0, 0.75, 5.0)] == [expected] * 3


def test_an_interval_is_students():
    known = np.array([one.values.std() for one in HISTORY])
    t = (USUAL.values.std() - known.mean()) / (HEAVY_TAILS * known.std(ddof=1) * np.sqrt(1 + 1 / 8))
    (score,) = judged("sd, t interval", USUAL)
    assert stats.norm.sf(score.distance) == pytest.approx(stats.t.sf(t, 7))


@pytest.mark.parametrize("count", [1, 5])
def test_the_nearest_neighbours_are_those_of_tslearn(count):
    within = [
        np.mean(sorted(dtw(one.values, other.values) for other in HISTORY if other is not one)[:count])
        for one in HISTORY
    ]
    scores = judged(f"{count}-NN DTW", USUAL, GROWN)
    for score, target in zip(scores, (USUAL, GROWN), strict=True):
        nearest = np.mean(sorted(dtw(target.values, one.values) for one in HISTORY)[:count])
        assert score.distance == pytest.approx(predictive_score(np.array(within), nearest, SMALLEST_SD))


def test_the_outlier_factor_is_scikit_learns():
    def numbers(one):
        low, high = np.quantile(one.values, [0.25, 0.95])
        return [one.values.mean(), one.values.std(), high - low, one.values.max()]

    known = np.array([numbers(one) for one in HISTORY])
    scale = known.std(axis=0, ddof=1)
    model = LocalOutlierFactor(n_neighbors=5, novelty=True).fit(known / scale)
    (score,) = judged("LOF", USUAL)
    assert score.distance == pytest.approx(-model.score_samples(np.array([numbers(USUAL)]) / scale)[0])
