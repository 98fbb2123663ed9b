"""One value per run: false alarms at the nominal rate, both directions, and no trace of the order of the history."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perfreg_assets import detection
from perfreg_assets.catalogue import SeriesDefinition
from perfreg_assets.methods.calibration import HEAVY_TAILS, omega_of_level
from perfreg_assets.methods.detectors import Sample, make_detector
from perfreg_assets.methods.omega_rule import is_anomalous, state

OMEGAS = (0.0, 0.5, 0.75, 1.5)
DETECTORS = detection.detector_names()
values = st.lists(st.floats(0.01, 1e4), min_size=3, max_size=15)


def metric(worse="more", unit="s"):
    return SeriesDefinition(
        name="startup", unit=unit, kind="scalar", axis="startup", worse=worse,
        label="Start-up time", short="Start-up", description="Time to the first frame.",
    )  # fmt: skip


def judged(history, value, series=None, detector="default"):
    return make_detector(detector).score_value(np.asarray(history, float), value, series=series or metric())


@pytest.mark.parametrize("size", [5, 12, 30])
@pytest.mark.parametrize("worse", ["more", "less", "either"])
def test_false_alarms_of_log_normal_values_come_at_the_nominal_rate(size, worse):
    """1.1 standard deviations are taken for 1, so the rate is a little below what is promised, never above."""
    generator = np.random.default_rng([1, size])
    omega = omega_of_level(0.05)
    draws = np.exp(generator.normal(0, 0.3, (3000, size + 1)))
    alarms = np.mean([is_anomalous(judged(draw[:-1], draw[-1], metric(worse)), omega) for draw in draws])
    assert 0.02 < alarms < 0.06


@pytest.mark.parametrize("worse", ["more", "less", "either"])
def test_the_history_itself_is_judged_at_the_nominal_rate(worse):
    generator = np.random.default_rng(2)
    draws = np.exp(generator.normal(0, 0.3, (400, 13)))
    own = np.concatenate([judged(draw[:-1], draw[-1], metric(worse)).history_distances for draw in draws])
    assert (own > 1.6449).mean() == pytest.approx(0.04, abs=0.015)


def test_the_score_is_the_prediction_interval_of_logarithms():
    known = np.array([1.0, 1.2, 0.9, 1.1, 1.3, 0.8])
    logs = np.log(known)
    t = (np.log(1.7) - logs.mean()) / (HEAVY_TAILS * logs.std(ddof=1) * np.sqrt(1 + 1 / 6))
    score = judged(known, 1.7)
    assert score.distance == pytest.approx(stats.norm.isf(stats.t.sf(t, 5)), rel=1e-9)
    assert score.p_value == pytest.approx(stats.t.sf(t, 5), rel=1e-9)
    assert score.improvement == -score.distance


@pytest.mark.parametrize("detector", DETECTORS)
@given(known=values, value=st.floats(0.01, 1e4), source=st.randoms())
def test_the_order_of_the_history_changes_no_bit(detector, known, value, source):
    straight = judged(known, value, detector=detector)
    order = list(range(len(known)))
    source.shuffle(order)
    shuffled = judged([known[i] for i in order], value, detector=detector)
    assert (straight.distance, straight.improvement, straight.sentence, straight.q3) == (
        *(shuffled.distance, shuffled.improvement, shuffled.sentence, shuffled.q3),
    )
    np.testing.assert_array_equal(straight.history_distances[order], shuffled.history_distances)


@given(known=values, value=st.floats(0.01, 1e4), factor=st.sampled_from([1e-3, 1e3]))
def test_the_unit_does_not_matter(known, value, factor):
    one, other = judged(known, value), judged([factor * each for each in known], factor * value)
    assert one.distance == pytest.approx(other.distance, abs=1e-6)


@pytest.mark.parametrize("detector", DETECTORS)
@given(known=values, value=st.floats(0.01, 1e4))
def test_more_and_less_are_mirrored_and_either_is_never_improved(detector, known, value):
    more, less, either = (judged(known, value, metric(worse), detector) for worse in ("more", "less", "either"))
    assert (more.distance, more.improvement) == (less.improvement, less.distance)
    assert either.improvement is None
    for omega in OMEGAS:
        assert not is_anomalous(more, omega) or state(less, omega) in {"improved", "normal"}
        if detector == "iqr":
            assert is_anomalous(either, omega) == (is_anomalous(more, omega) or is_anomalous(less, omega))


@given(known=values, value=st.floats(0.01, 1e4), omega=st.floats(0, 3))
def test_iqr_is_tukeys_fences_on_the_values(known, value, omega):
    q1, q3 = np.quantile(known, [0.25, 0.75])
    limit = omega * (q3 - q1)
    more, less = (judged(known, value, metric(worse), "iqr") for worse in ("more", "less"))
    assert is_anomalous(more, omega) == (value > q3 + limit)
    if abs(value - (q1 - limit)) > 1e-6 * max(known):  # the reflection rounds
        assert is_anomalous(less, omega) == (value < q1 - limit)


def test_a_longer_start_is_told_in_words():
    score = judged([0.8, 0.9, 1.1, 1.0, 0.95, 1.05, 0.85, 0.9, 1.0, 1.02, 0.97, 0.93], 1.234)
    assert score.sentence == "takes 1.23 s; the 12 comparable runs took 0.8 to 1.1 s"
    assert (score.evidence["value"], score.evidence["value_history_highest"]) == (1.234, 1.1)
    assert state(score, 0.75) == "anomalous"
    other = judged([2e6, 2.1e6, 1.9e6, 2.2e6], 5e6, metric(unit="bytes"))
    assert other.sentence == "is 5 MB; the 4 comparable runs were 1.9 to 2.2 MB"


def test_a_disturbed_value_in_the_history_does_not_blind():
    known = [1.0, 1.05, 0.95, 1.02, 0.98, 1.01, 0.99, 1.03, 0.97, 1.0, 1.04, 9.0]
    score = judged(known, 1.6)
    assert is_anomalous(score, 1.5)
    assert score.sentence.endswith("the 11 comparable runs took 0.95 to 1.05 s; 1 disturbed one set aside")
    assert score.history_distances[11] > 3


@pytest.mark.parametrize("detector", DETECTORS)
def test_zeros_negatives_and_equal_values_are_survived(detector):
    with np.errstate(all="raise"):
        for known in ([0.0] * 6, [2.0] * 6, [-3.0, -1.0, 0.0, 2.0, 1.0]):
            usual, more = judged(known, known[0], detector=detector), judged(known, 50.0, detector=detector)
            assert not is_anomalous(usual, 0.75)
            assert is_anomalous(more, 0.75)
            assert np.isfinite([usual.distance, more.distance, *usual.history_distances]).all()


@pytest.mark.parametrize("detector", DETECTORS)
def test_what_cannot_be_judged_is_refused_in_words(detector):
    with pytest.raises(ValueError, match="at least"):
        judged([], 1.0, detector=detector)
    with pytest.raises(ValueError, match="the history has 1 values that are NaN"):
        judged([1.0, np.nan, 2.0], 1.0, detector=detector)
    with pytest.raises(ValueError, match="the value"):
        judged([1.0, 1.0, 2.0], np.inf, detector=detector)
    run = Sample(np.arange(20.0))
    with pytest.raises(ValueError, match="score_value"):
        make_detector(detector).score([run] * 5, run, series=metric(), interval_s=1.0)


def test_a_value_that_some_of_mostly_zero_runs_had_is_usual():
    history = [0.0] * 9 + [1.0] * 3
    assert judged(history, 1.0, metric(unit="count")).distance < 1.7
    assert judged(history, 9.0, metric(unit="count")).distance > 3
    assert "set aside" not in judged(history, 1.0, metric(unit="count")).sentence


@pytest.mark.parametrize("unit", ["errors", "ms", "bytes"])
@pytest.mark.parametrize("rate", [0.1, 0.3, 1.0])
def test_false_alarms_of_what_is_rare_stay_near_the_level(rate, unit):
    """Where a history of twelve showed nothing, the first event was of the highest score, and with rates of .1 to .5
    one run in eleven was an alarm, as no interval was wider than that history."""
    generator = np.random.default_rng([3, round(100 * rate)])
    counts = generator.poisson(rate, (400, 13))
    counts = np.column_stack([counts, 10 * counts[:, -1] + 10])
    sizes = {"errors": counts, "ms": generator.gamma(4 * np.maximum(counts, 1), 10), "bytes": 4e5 * counts}
    draws = np.where(counts > 0, sizes[unit], 0.0)
    usual = np.array([judged(row[:12], row[12], metric(unit=unit)).distance for row in draws])
    assert np.mean(usual > 1.686) < 0.06
    assert np.mean(usual > 4) < 0.003
    assert np.mean([judged(row[:12], row[13], metric(unit=unit)).distance > 1.686 for row in draws[:100]]) > 0.9


@pytest.mark.parametrize(
    ("unit", "first", "few", "much"),
    [
        ("errors", 1.0, 3.0, 30.0),
        ("ms", 80.0, 300.0, 3000.0),
        ("s", 0.08, 0.3, 3.0),
        ("bytes", 4096.0, 3e6, 30e6),
        ("ratio", 0.01, 0.03, 0.3),
        ("", 0.013, 3.2, 30.5),
    ],
)
def test_what_is_new_is_judged_by_how_much_it_is(unit, first, few, much):
    """Whatever there was of a metric that was 0 in all earlier runs, its score was the highest there is."""
    scores = [judged([0.0] * 12, value, metric(unit=unit)) for value in (0.0, first, few, much)]
    assert -1 < scores[0].distance < scores[1].distance < 1.686
    assert 2.3 < scores[2].distance < 3.3
    assert scores[3].distance > 4.5
    assert min(one.improvement for one in scores) > -8
    mirrored = judged([0.0] * 12, few, metric("less", unit))
    assert (mirrored.distance, mirrored.improvement) == (scores[2].improvement, scores[2].distance)
    assert judged([0.0] * 12, few, metric("either", unit)).distance < scores[2].distance


@given(
    some=st.lists(st.sampled_from([1.0, 2.0, 7.0]) | st.floats(0.01, 50), max_size=7),
    two=st.lists(st.integers(0, 40).map(float) | st.floats(0, 40), min_size=2, max_size=2).map(sorted),
    unit=st.sampled_from(["errors", "s", "ms", "ratio"]),
)
def test_more_of_what_is_rare_never_scores_less(some, two, unit):
    less, more = (judged([0.0] * 5 + some, value, metric(unit=unit)).distance for value in two)
    assert less <= more + 1e-9


def test_counts_that_few_runs_lack_are_judged_as_before():
    history = [0.0] * 3 + [4.0, 5.0, 6.0] * 3
    mean, sd = np.mean(history), np.std(history, ddof=1)
    score = judged(history, 12.0, metric(unit="errors"))
    t = (12 - mean) / (HEAVY_TAILS * sd * np.sqrt(1 + 1 / 12))
    assert score.distance == pytest.approx(stats.norm.isf(stats.t.sf(t, 11)), rel=1e-9)


@pytest.mark.parametrize("history", [[3.0] * 6, [3.0001, 3.0002, 3.0, 3.0, 3.0001, 3.0]])
def test_a_history_that_reads_as_one_number_is_told_as_one(history):
    for detector in DETECTORS:
        told = judged(history, 4.0, metric(unit="count"), detector).sentence
        assert told.startswith("is 4")
        assert "comparable runs were 3" in told
        assert " to " not in told
