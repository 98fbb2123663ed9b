"""How a difference runs over time, in numbers and in the sentence of the default detector."""

from __future__ import annotations

import numpy as np
import pytest

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.calibrated_detector import CalibratedDetector
from perfreg_assets.methods.explanation import Explainer
from perfreg_assets.methods.patterns import count_falls, find_bursts, find_growth, period_of
from perfreg_assets.methods.samples import Sample

MEGABYTE = 1e6
LENGTH = 300


def memory(seed, *, extra=None):
    generator = np.random.default_rng(seed)
    seconds = np.arange(LENGTH)
    usual = 180 + 20 * np.tanh(seconds / 8) + generator.normal(0.05, 0.01) * seconds + generator.normal(0, 1.5, LENGTH)
    return (usual + (0 if extra is None else extra)) * MEGABYTE


def load(seed, *, bursts=()):
    generator = np.random.default_rng(seed)
    values = 0.3 + generator.gamma(2, 0.03, LENGTH)
    for start in bursts:
        values[start : start + 3] += 0.8
    return values


def told(name, history, target):
    return Explainer(definition_of(name), history, 1.0).explain(target, 1.0)


MEMORIES = [memory(seed) for seed in range(12)]
LOADS = [load(seed) for seed in range(12)]


def leak(rate, onset):
    return rate * np.maximum(np.arange(LENGTH) - onset, 0.0)


@pytest.mark.parametrize(("rate", "onset"), [(0.6, 100), (0.6, 15), (2.0, 200), (0.3, 60)])
def test_a_leak_is_told_with_its_rate_and_onset_and_not_as_a_swing(rate, onset):
    evidence, sentence = told("rss_app", MEMORIES, memory(99, extra=leak(rate, onset)))
    assert evidence["growth_onset_s"] == pytest.approx(onset, abs=12)
    assert evidence["growth_since_onset_megabytes_per_s"] == pytest.approx(rate + 0.05, rel=0.1)
    assert sentence.startswith(f"memory grows {evidence['growth_since_onset_megabytes_per_s']:.3g} MB/s from second ")
    assert "; the 12 comparable runs grew 0.0" in sentence
    assert "swings" not in sentence


def test_what_is_told_lies_on_the_side_that_the_score_is_of():
    """Less of something is no reason to be worse: memory that is higher, without the ups and downs of the others."""
    seconds = np.arange(LENGTH)
    saws = [(memory(seed) + MEGABYTE * (20 + seed) * ((seconds + 7 * seed) % 50) / 50) for seed in range(12)]
    flat = np.full(LENGTH, 255 * MEGABYTE) + np.random.default_rng(5).normal(0, MEGABYTE / 2, LENGTH)
    history = [Sample(values) for values in saws]
    (score,) = CalibratedDetector().score_all(history, [Sample(flat)], series=definition_of("rss_app"), interval_s=1.0)
    evidence = score.evidence
    assert score.direction == "more"
    assert evidence["range_megabytes"] < evidence["range_megabytes_history_lowest"]
    assert evidence["high_megabytes"] > evidence["high_megabytes_history_highest"]
    assert score.sentence.startswith(f"memory reaches {evidence['high_megabytes']:.3g} MB; the 12 comparable runs ")


@pytest.mark.parametrize(("is_higher", "words"), [(True, "in its busiest 5 % of seconds"), (False, "on average")])
def test_less_load_with_one_peak_is_told_by_the_side_asked_for(is_higher, words):
    target = load(99) * 0.5
    target[100:120] += 0.6
    evidence, sentence = Explainer(definition_of("cpu_app"), LOADS, 1.0).explain(target, 1.0, is_higher=is_higher)
    assert evidence["mean_cores"] < evidence["mean_cores_history_lowest"]
    assert evidence["busiest_cores"] > evidence["busiest_cores_history_highest"]
    assert words in sentence


@pytest.mark.parametrize("seed", range(20, 30))
def test_normal_memory_has_no_onset(seed):
    assert "growth_onset_s" not in told("rss_app", MEMORIES, memory(seed))[0]


def test_a_saw_is_told_by_how_often_it_falls_back():
    saw = 60 * (np.arange(LENGTH) % 50) / 50
    evidence, sentence = told("rss_app", MEMORIES, memory(99, extra=saw))
    assert evidence["fall_count"] == 5
    assert ", falling back 5 times; the 12 comparable runs " in sentence


def test_falls_are_counted_once_each_however_many_samples_they_take():
    values = np.array([0, 4, 8, 10, 7, 4, 1, 5, 9, 9, 0, 0, 3.0])
    assert count_falls(values, 10.0, 1.0) == 2
    assert count_falls(values, 100.0, 1.0) == 0
    assert count_falls(values[:1], 10.0, 1.0) == 0


def test_bursts_are_told_by_their_number_and_by_their_period_where_they_have_one():
    evidence, sentence = told("cpu_app", LOADS, load(99, bursts=range(20, 290, 30)))
    assert (evidence["burst_count"], evidence["burst_period_s"]) == (9, 30)
    assert ", in 9 bursts above 0." in sentence
    assert " cores every 30 s (usually " in sentence
    evidence, sentence = told("cpu_app", LOADS, load(99, bursts=(20, 26, 60, 61, 140, 150, 210, 222, 280)))
    assert "burst_period_s" not in evidence
    assert " every " not in sentence
    assert " bursts above " in sentence


def test_a_run_with_bursts_like_its_history_has_none_to_tell():
    history = [load(seed, bursts=(30 + seed, 130, 200 + seed)) for seed in range(12)]
    assert find_bursts(history, load(99, bursts=(40, 130, 210)), 1.0) is None
    assert "bursts" not in told("cpu_app", history, load(99, bursts=(40, 130, 210)))[1]


def test_a_period_needs_several_events_and_most_of_them_regular():
    assert period_of([0, 10, 20]) is None
    assert period_of([0, 10, 21, 30, 41]) == 10.5
    assert period_of([0, 10, 25, 30, 60]) is None
    assert period_of([]) is None


def test_growth_in_the_last_seconds_has_no_slope_to_tell():
    assert find_growth(MEMORIES, memory(99, extra=leak(5.0, LENGTH - 8)), 1.0) is None
