"""The thesis' rule as a plain transcription, and what all detectors promise."""

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from scipy import stats
from sklearn.cluster import DBSCAN
from tslearn.barycenters import dtw_barycenter_averaging
from tslearn.metrics import dtw
from tslearn.utils import to_time_series_dataset

from perfreg_assets import detection
from perfreg_assets.catalogue import definition_of
from perfreg_assets.evaluation.dataset import read_dataset
from perfreg_assets.methods.barycenter import dba
from perfreg_assets.methods.calibration import QUARTILE, predictive_score
from perfreg_assets.methods.detectors import Sample, make_detector
from perfreg_assets.methods.features import scale_of
from perfreg_assets.methods.iqr_detector import IqrDetector
from perfreg_assets.methods.multiple_testing import correct
from perfreg_assets.methods.omega_rule import is_anomalous, state, threshold
from perfreg_assets.methods.run_measures import CourseMeasures, MemoryMeasures
from perfreg_assets.methods.states import codes_of

RECORDED = Path(__file__).parents[1] / "data" / "evaluation" / "recorded.parquet"
OMEGAS = (0.0, 0.5, 1.0, 1.5)
DETECTORS = detection.detector_names()
CPU, MEMORY, LEVEL = definition_of("cpu_app"), definition_of("rss_app"), definition_of("something_else")


def seen(values):
    """The series with what the app showed meanwhile: four screens in turn, six seconds each."""
    seconds = np.arange(len(values))
    return Sample(values, codes_of(seconds // 6 % 4, seconds % 6))


def load_run(generator, seconds=120, extra=0.0):
    """Bursts of work after random actions; `extra` cores of work for three seconds now and then."""
    values = np.full(seconds, 0.05) + generator.gamma(2, 0.005, seconds)
    for start in range(0, seconds, 6):
        values[start : start + 3] += generator.gamma(6, 0.07) * np.array([1.0, 0.5, 0.2])[: seconds - start]
    for start in range(20, seconds - 5, 30):
        values[start : start + 3] += extra
    return seen(values)


def memory_run(generator, seconds=120, leak_per_s=0.0, offset=0.0):
    """Start-up, then a level of its own with allocations; `leak_per_s` bytes from second 40 on."""
    time = np.arange(seconds)
    values = 1.5e8 * (1 + offset + 0.01 * generator.normal()) * (1 - np.exp(-(time + 2) / 4))
    values += 2e6 * generator.normal(size=seconds) + 4e6 * (time % 17) / 17
    return seen(values + leak_per_s * np.maximum(time - 40, 0))


@pytest.fixture(scope="module")
def recorded():
    (series,) = read_dataset(RECORDED).rows.values()
    return {name: [row.values for row in runs.values()] for name, runs in series.items()}


@pytest.mark.parametrize("name", ["cpu_app", "cpu_total", "rss_app"])
def test_iqr_equals_a_plain_transcription_of_the_thesis_on_recorded_runs(recorded, name):
    """tslearn's DBA and DTW, numpy's quantiles, scikit-learn's DBSCAN, written down as the thesis says it."""
    history, targets = recorded[name][:12], recorded[name][12:20]
    barycenter = dtw_barycenter_averaging(to_time_series_dataset(history), max_iter=30, tol=1e-5)
    own = [dtw(one, barycenter) for one in history]
    q1, q3 = np.quantile(own, [0.25, 0.75])
    scores = make_detector("iqr").score_all(
        [Sample(one) for one in history], [Sample(one) for one in targets], series=definition_of(name), interval_s=1.0
    )
    percentiles = np.array([np.percentile(one, [0, 25, 50, 75, 100]) for one in history])
    for target, score in zip(targets, scores, strict=True):
        distance = dtw(target, barycenter)
        assert score.distance == pytest.approx(distance, rel=1e-9)
        assert (score.q1, score.q3) == pytest.approx((q1, q3), rel=1e-9)
        np.testing.assert_allclose(score.history_distances, own, rtol=1e-9)
        is_outside = True
        if name == "rss_app":
            points = np.vstack([percentiles, np.percentile(target, [0, 25, 50, 75, 100])]) / percentiles.std(axis=0)
            is_outside = DBSCAN(eps=2.0, min_samples=3).fit(points).labels_[-1] == -1
        for omega in OMEGAS:
            assert is_anomalous(score, omega) == (distance > q3 + omega * (q3 - q1) and is_outside)


def test_the_re_check_only_takes_alarms_away():
    generator = np.random.default_rng(1)
    history = [memory_run(generator) for _ in range(10)]
    targets = [memory_run(generator, leak_per_s=leak) for leak in (0, 2e5, 2e6)]
    checked = make_detector("iqr").score_all(history, targets, series=MEMORY, interval_s=1.0)
    plain = make_detector("iqr").score_all(history, targets, series=LEVEL, interval_s=1.0)
    for with_check, without in zip(checked, plain, strict=True):
        assert without.is_recheck_passed is None
        for omega in OMEGAS:
            assert is_anomalous(with_check, omega) <= is_anomalous(without, omega)
    assert is_anomalous(checked[-1], 1.5)


def test_a_given_barycenter_is_used_and_saves_the_averaging():
    generator = np.random.default_rng(2)
    history, target = [load_run(generator) for _ in range(6)], load_run(generator)
    center = dba([one.values for one in history])
    detector = IqrDetector(barycenter_iterations=1)
    given = detector.score(history, target, series=CPU, interval_s=1.0, barycenter=center)
    assert given.distance == make_detector("iqr").score(history, target, series=CPU, interval_s=1.0).distance
    assert given.distance != detector.score(history, target, series=CPU, interval_s=1.0).distance


def test_the_scale_of_default_is_the_same_for_every_series_and_history():
    generator = np.random.default_rng(3)
    for size in (4, 12):
        for series, make in ((CPU, load_run), (MEMORY, memory_run)):
            history = [make(generator) for _ in range(size)]
            score = make_detector("default").score(history, make(generator), series=series, interval_s=1.0)
            assert (score.q1, score.q3) == (-QUARTILE, QUARTILE)
            assert len(score.history_distances) == size


def test_more_load_is_a_regression_and_less_load_an_improvement():
    generator = np.random.default_rng(4)
    history = [load_run(generator) for _ in range(12)]
    more, usual, less = make_detector("default").score_all(
        history,
        [load_run(generator, extra=0.6), load_run(generator), Sample(0.4 * load_run(generator).values)],
        series=CPU,
        interval_s=1.0,
    )
    assert is_anomalous(more, 1.0)
    assert more.direction == "more"
    assert not is_anomalous(usual, 1.0)
    assert not is_anomalous(less, 0.0)
    assert less.direction == "less"
    assert less.improvement > threshold(less, 1.0)
    assert more.improvement < threshold(more, 0.0)


def one_more_by_hand(known, value, smallest_sd):
    """Prediction interval of one more value as a standard-normal score within ± 8, with slightly heavy tails."""
    spread = 1.1 * max(stdev(known), smallest_sd) * math.sqrt(1 + 1 / len(known))
    t = (value - fmean(known)) / spread
    return math.copysign(min(8.0, -stats.norm.ppf(stats.t.sf(abs(t), len(known) - 1))), t)


def drop_by_hand(known, value):
    """By how many standard deviations a level lies below the others, beyond half of one, at most 8."""
    scale = max(stdev(known), 0.02) * math.sqrt(1 + 1 / len(known))
    below = (fmean(known) - value) / scale
    return math.copysign(min(max(abs(below) - 0.5, 0.0), 8.0), below)


def default_by_hand(components, level, sign, *, is_memory):
    """(distance, improvement, is higher) of each target, and the history's own scores, number by number."""
    known_level, levels = level.known.tolist(), level.judged.tolist()
    others = [known_level[:at] + known_level[at + 1 :] for at in range(len(known_level))]

    def sums(side):
        """Of the history, and of the targets: towards `side`, less what a better level takes off."""
        known, judged = [0.0] * len(known_level), [0.0] * len(levels)
        for part in components:
            way = part.weight * (side if part.sign else 1)
            mean, spread = fmean(part.known), max(stdev(part.known), 0.02)
            known = [one + way * (value - mean) / spread for one, value in zip(known, part.known, strict=True)]
            judged = [one + way * (value - mean) / spread for one, value in zip(judged, part.judged, strict=True)]
        drops = [side * drop_by_hand(rest, one) for rest, one in zip(others, known_level, strict=True)]
        known = [one - max(drop, 0) for one, drop in zip(known, drops, strict=True)]
        drops = [side * drop_by_hand(known_level, one) for one in levels]
        return known, [one - max(drop, 0) for one, drop in zip(judged, drops, strict=True)]

    own, judged = sums(sign)
    better, improved = sums(-sign)
    found = []
    for at, one in enumerate(levels):
        height = one_more_by_hand(known_level, one, 0.02)
        score, improvement = one_more_by_hand(own, judged[at], 0.1), None
        if sign:
            improvement = min(one_more_by_hand(better, improved[at], 0.1), -sign * height)
            if -sign * height > 3 and sign * one < min(sign * value for value in known_level):
                improvement = -sign * height
            if sign * height < -1.645:
                score = min(score, sign * height)
            if is_memory and height > 4 and one > max(known_level) + math.log(1.5):
                score = max(score, height)
            found.append((score, improvement, (score >= improvement) == (sign > 0)))
        else:
            found.append((score, None, height >= 0))
    return found, [one_more_by_hand(own[:at] + own[at + 1 :], one, 0.1) for at, one in enumerate(own)]


@pytest.mark.parametrize(
    ("name", "make", "sign"),
    [("cpu_app", load_run, 1), ("rss_app", memory_run, 1), ("frames_app", load_run, -1), ("cpu_freq_0", load_run, 0)],
)
@pytest.mark.parametrize("size", [5, 12])
def test_default_is_a_plain_transcription_of_its_steps(name, make, sign, size):
    series, generator = definition_of(name), np.random.default_rng([17, size])
    history = [make(generator) for _ in range(size)]
    factors = (0.2, 0.75, 0.9, 1.0, 1.0, 1.1, 1.35, 1.6, 4.0)
    targets = [Sample(factor * make(generator).values) for factor in factors]
    targets += [Sample(make(generator).values + generator.gamma(1, 0.5, 120) * size) for size in (0.1, 0.5)]
    values, judged = ([one.values for one in some] for some in (history, targets))
    is_memory = name == "rss_app"
    measures = MemoryMeasures(values, 1.0) if is_memory else CourseMeasures(values, scale_of(series.kind, values))
    wanted, own = default_by_hand(*measures.of(judged), sign, is_memory=is_memory)
    found = make_detector("default").score_all(history, targets, series=series, interval_s=1.0)
    assert found[0].evidence["history_set_aside"] == 0
    for one, (distance, improvement, is_higher) in zip(found, wanted, strict=True):
        assert one.distance == pytest.approx(distance, abs=1e-6)
        assert one.improvement == (None if improvement is None else pytest.approx(improvement, abs=1e-6))
        assert one.direction == ("more" if is_higher else "less")
        assert one.history_distances == pytest.approx(own, abs=1e-6)
    assert len({one.direction for one in found}) == 2


def test_a_leak_is_told_in_megabytes_per_second():
    generator = np.random.default_rng(5)
    history = [memory_run(generator) for _ in range(12)]
    score = make_detector("default").score(
        history, memory_run(generator, leak_per_s=6e5), series=MEMORY, interval_s=1.0
    )
    assert is_anomalous(score, 1.5)
    assert score.evidence["growth_megabytes_per_s"] == pytest.approx(0.6, abs=0.1)
    assert score.evidence["growth_megabytes_per_s_history_highest"] < 0.2
    assert "12 comparable runs" in score.sentence
    assert score.sentence.startswith("memory ")


def test_memory_that_is_higher_all_along_is_a_regression_too():
    generator = np.random.default_rng(6)
    history = [memory_run(generator) for _ in range(12)]
    score = make_detector("default").score(history, memory_run(generator, offset=0.3), series=MEMORY, interval_s=1.0)
    assert is_anomalous(score, 1.0)


@pytest.mark.parametrize("name", ["cpu_app", "cpu_total", "rss_app"])
def test_half_of_the_usual_is_an_improvement_however_far_runs_scatter(name):
    """On their scale low loads are near each other, and half the memory grows by half: that hid what the level says."""
    series, told = definition_of(name), {0.5: [], 1.0: []}
    for of_series in read_dataset(RECORDED.with_name("simulated_noise2.parquet")).rows.values():
        of_app = [one for one in of_series.get(name, {}).values() if not one.is_anomalous]
        if not of_app:
            continue
        history = [Sample(one.values) for one in of_app[:12]]
        for factor, states in told.items():
            targets = [Sample(factor * one.values) for one in of_app[12:24]]
            scores = make_detector("default").score_all(
                history, targets, series=series, interval_s=of_app[0].interval_s
            )
            states += [state(correct(one, 3, "sidak"), 0.75) == "improved" for one in scores]
    assert np.mean(told[0.5]) > 0.9
    assert np.mean(told[1.0]) < 0.01


def test_as_little_as_some_earlier_run_took_is_no_improvement_by_its_level():
    """Be it set aside as disturbed."""
    generator = np.random.default_rng(13)
    history = [load_run(generator) for _ in range(12)]
    half = seen(load_run(generator).values * 0.4)
    detector = make_detector("default")
    alone = detector.score(history, half, series=CPU, interval_s=1.0)
    beside = detector.score([*history[1:], seen(half.values * 0.99)], half, series=CPU, interval_s=1.0)
    assert alone.improvement >= 3
    assert beside.improvement < alone.improvement - 0.5


@pytest.mark.parametrize("factor", [2.0, 3.0, 4.0])
def test_memory_that_is_a_multiple_of_every_earlier_run_is_a_regression_however_it_moves(factor):
    """A constant added shrinks how a run grows and ranges relative to its size, which spoke for it."""
    generator = np.random.default_rng(8)
    for _ in range(20):
        history, usual = [memory_run(generator) for _ in range(12)], memory_run(generator)
        raised = seen(usual.values + (factor - 1) * np.median(usual.values))
        score = make_detector("default").score(history, raised, series=MEMORY, interval_s=1.0)
        assert score.distance >= 4.0
        assert score.direction == "more"


@pytest.mark.parametrize("share", [1, 3])
def test_memory_as_high_as_that_of_some_earlier_runs_is_not_judged_by_its_level(share):
    """Be they set aside as disturbed."""
    generator = np.random.default_rng(9)
    history = [seen(memory_run(generator).values + (1.5e8 if number < share else 0.0)) for number in range(12)]
    twice = seen(memory_run(generator).values + 1.5e8)
    detector = make_detector("default")
    alone = detector.score(history[share:], twice, series=MEMORY, interval_s=1.0)
    beside = detector.score(history, twice, series=MEMORY, interval_s=1.0)
    assert alone.distance >= 4.0
    assert beside.distance < alone.distance - 0.5


@pytest.mark.parametrize("series", [CPU, MEMORY, LEVEL], ids=lambda one: one.name)
@pytest.mark.parametrize("name", DETECTORS)
def test_constant_and_tied_series_do_not_divide_by_zero(name, series):
    flat = [seen(np.full(60, 5e7)) for _ in range(6)]
    detector = make_detector(name)
    with np.errstate(all="raise"):
        same, other = detector.score_all(flat, [flat[0], seen(np.full(60, 9e7))], series=series, interval_s=1.0)
    assert not is_anomalous(same, 0.0)
    assert np.isfinite([same.distance, other.distance]).all()
    assert other.distance > same.distance


@pytest.mark.parametrize("name", DETECTORS)
def test_a_history_of_zeros_is_judged(name):
    zeros = [seen(np.zeros(60)) for _ in range(5)]
    score = make_detector(name).score(zeros, seen(np.ones(60)), series=CPU, interval_s=1.0)
    assert is_anomalous(score, 1.5)


@pytest.mark.parametrize("name", DETECTORS)
def test_what_cannot_be_judged_is_refused_in_words(name):
    good = [Sample(np.arange(20.0)) for _ in range(4)]
    detector = make_detector(name)
    with pytest.raises(ValueError, match="NaN, infinite"):
        detector.score(good, Sample(np.full(20, np.nan)), series=CPU, interval_s=1.0)
    with pytest.raises(ValueError, match="NaN, infinite"):
        detector.score([*good, Sample(np.array([1.0, np.inf] * 10))], good[0], series=CPU, interval_s=1.0)
    with pytest.raises(ValueError, match="at least"):
        detector.score([], good[0], series=CPU, interval_s=1.0)
    with pytest.raises(ValueError, match="3 samples"):
        detector.score(good, Sample(np.arange(3.0)), series=CPU, interval_s=1.0)


def test_an_unknown_detector_is_refused():
    with pytest.raises(ValueError, match="default or iqr"):
        make_detector("magic")


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("series", [CPU, MEMORY], ids=lambda one: one.name)
def test_the_order_of_the_history_changes_no_bit(name, series):
    generator = np.random.default_rng(7)
    make = load_run if series is CPU else memory_run
    history, target = [make(generator) for _ in range(8)], make(generator)
    order = generator.permutation(8)
    straight = make_detector(name).score(history, target, series=series, interval_s=1.0)
    shuffled = make_detector(name).score([history[i] for i in order], target, series=series, interval_s=1.0)
    assert straight.distance == shuffled.distance
    assert straight.improvement == shuffled.improvement
    assert straight.sentence == shuffled.sentence
    np.testing.assert_array_equal(straight.history_distances[order], shuffled.history_distances)


@pytest.mark.parametrize("name", DETECTORS)
def test_scores_are_the_same_bits_on_one_and_sixteen_threads(name):
    generator = np.random.default_rng(8)
    histories = [[load_run(generator) for _ in range(6)] for _ in range(16)]
    targets = [load_run(generator) for _ in range(16)]

    def judge(index):
        return make_detector(name).score(histories[index], targets[index], series=CPU, interval_s=1.0)

    alone = [judge(index).distance for index in range(16)]
    with ThreadPoolExecutor(16) as pool:
        together = [score.distance for score in pool.map(judge, range(16))]
    assert alone == together


def test_one_target_or_many_make_no_difference():
    generator = np.random.default_rng(9)
    history, targets = [load_run(generator) for _ in range(6)], [load_run(generator) for _ in range(4)]
    detector = make_detector("default")
    many = detector.score_all(history, targets, series=CPU, interval_s=1.0)
    for target, score in zip(targets, many, strict=True):
        assert detector.score(history, target, series=CPU, interval_s=1.0).distance == score.distance
    assert detector.score_all(history, [], series=CPU, interval_s=1.0) == []


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_disturbed_runs_in_the_history_do_not_blind_the_detector(count):
    generator = np.random.default_rng(10)
    history = [memory_run(generator) for _ in range(12)]
    for index in range(count):
        history[3 * index] = Sample(history[3 * index].values + np.where(np.arange(120) > 60, 1.5e8, 0.0))
    leak, usual = make_detector("default").score_all(
        history, [memory_run(generator, leak_per_s=6e5), memory_run(generator)], series=MEMORY, interval_s=1.0
    )
    assert is_anomalous(leak, 1.0)
    assert not is_anomalous(usual, 1.0)
    assert sorted(np.flatnonzero(leak.history_distances > 3)) == [3 * index for index in range(count)]


@pytest.mark.parametrize("series", [CPU, MEMORY], ids=lambda one: one.name)
@pytest.mark.parametrize("size", [5, 12])
def test_false_alarms_come_at_the_nominal_rate_on_exchangeable_runs(series, size):
    """Every run is one of the same kind, so any alarm is false; half of the allowance is chance (300 draws)."""
    generator = np.random.default_rng([11, size])
    make = load_run if series is CPU else memory_run
    runs = [make(generator, seconds=80) for _ in range(60)]
    detector = make_detector("default")
    scores = []
    for _ in range(60):
        chosen = generator.permutation(60)[: size + 5]
        scores += detector.score_all(
            [runs[i] for i in chosen[:size]], [runs[i] for i in chosen[size:]], series=series, interval_s=1.0
        )
    distances = np.array([score.distance for score in scores])
    for level, z in ((0.25, 0.6745), (0.10, 1.2816), (0.05, 1.6449)):
        assert (distances > z).mean() == pytest.approx(level, abs=0.03 + level / 4)


def test_small_histories_widen_the_threshold():
    """The same surplus over the same scatter counts for less when fewer runs say what is usual."""
    scores = [predictive_score(np.resize([-1.0, 1.0], size), 4.0, 1e-9) for size in (2, 4, 8, 16, 64)]
    assert scores == sorted(scores)
    assert scores[0] < 1.3
    assert scores[-1] > 3.0
