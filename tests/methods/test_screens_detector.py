"""Detector `screens`: what a run took on each screen beside runs of any path, and a slow reference of what is usual."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.calibrated_detector import CalibratedDetector
from perfreg_assets.methods.calibration import predictive_score
from perfreg_assets.methods.samples import Sample, UnlikeHistoryError
from perfreg_assets.methods.screen_load import LEANING_S, SEEN_S, UsualLoad
from perfreg_assets.methods.screens_detector import ANY_PATH_RUNS, ScreensDetector
from perfreg_assets.methods.states import UNKNOWN, codes_of, screen_of
from perfreg_assets.readable import readable

CPU, MEMORY, FRAMES = (definition_of(name) for name in ("cpu_app", "rss_app", "frames_app"))
LEVELS = np.array([0.1, 0.4, 0.9, 0.2, 0.6])
SECONDS = 120


def session(seed, *, extra=0.0, on=None, screens=5):
    """A walk of its own over the screens, four seconds on each, what each takes decays after the action."""
    draw = np.random.default_rng(seed)
    path = np.repeat(draw.integers(screens, size=SECONDS // 4), 4)
    since = np.tile(np.arange(4), SECONDS // 4)
    load = LEVELS[path] * np.exp(-since / 2) * draw.lognormal(0, 0.1, SECONDS) * draw.lognormal(0, 0.03)
    load += extra * (np.ones(SECONDS) if on is None else path == on)
    return Sample(load, codes_of(path, since))


def expected_by_hand(values, states, judged, interval_s):
    """State by state, in plain loops: (mean, share on known screens)."""
    weight = LEANING_S / interval_s
    pairs = zip(np.concatenate(states), np.concatenate(values), strict=True)
    pooled = [(code, value) for code, value in pairs if code != UNKNOWN]
    overall = sum(value for _, value in pooled) / len(pooled)
    told, known = [], 0
    for code in judged:
        if code == UNKNOWN:
            told.append(overall)
            continue
        screen = screen_of(np.array([code]))[0]
        of_screen = [value for other, value in pooled if screen_of(np.array([other]))[0] == screen]
        of_state = [value for other, value in pooled if other == code]
        usual = (sum(of_screen) + weight * overall) / (len(of_screen) + weight)
        told.append((sum(of_state) + weight * usual) / (len(of_state) + weight))
        known += len(of_screen) * interval_s >= SEEN_S
    return sum(told) / len(told), known / len(judged)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.5, 1.0]))
def test_what_is_usual_follows_from_the_states_of_the_others(seed, count, interval_s):
    draw = np.random.default_rng(seed)
    states = [draw.integers(-1, 40, size=draw.integers(8, 30)) for _ in range(count + 1)]
    values = [draw.gamma(2, size=len(codes)) for codes in states]
    if all((codes == UNKNOWN).all() for codes in states):
        return
    usual = UsualLoad(values, states, interval_s, state_count=40)
    judged = draw.integers(-1, 40, size=20)
    for without in (None, count):
        kept = slice(None) if without is None else slice(without)
        mean, known = expected_by_hand(values[kept], states[kept], judged, interval_s)
        found = usual.expected(judged, without=without)
        assert found.mean == pytest.approx(mean)
        assert found.known_ratio == pytest.approx(known)


def test_the_score_is_a_prediction_interval_of_what_is_beside_the_usual():
    history, target = [session(number) for number in range(8)], session(99, extra=0.05)
    found = ScreensDetector().score(history, target, series=CPU, interval_s=1.0)
    values, states = [one.values for one in history], [one.states for one in history]
    floor = 0.01 * np.concatenate(values).mean()

    def beside(run, others):
        mean, _ = expected_by_hand([values[one] for one in others], [states[one] for one in others], run.states, 1.0)
        return np.log((run.values.mean() + floor) / (mean + floor))

    own = np.array([beside(run, [other for other in range(8) if other != place]) for place, run in enumerate(history)])
    assert found.distance == pytest.approx(predictive_score(own * 7 / 8, beside(target, range(8)), 0.02))
    assert found.improvement == -found.distance
    assert found.direction == "more"
    assert found.evidence[ANY_PATH_RUNS] == 8
    low, high = (f"{np.exp(end(own) * 7 / 8):.2f}" for end in (np.min, np.max))
    assert low < high
    assert found.sentence.endswith(
        "are usual on the same screens; "
        f"the 8 earlier runs of any path were at {low} to {high} times what was usual on theirs"
    )


def test_of_a_rare_load_the_means_of_the_earlier_runs_are_told_and_which_runs_were_set_aside_of_others():
    events = [session(number) for number in range(8)]
    jank = [Sample(np.eye(SECONDS)[5] * (number > 4) * number, one.states) for number, one in enumerate(events)]
    found = ScreensDetector().score(jank, jank[7], series=definition_of("frames_janky_app"), interval_s=1.0)
    assert found.sentence.endswith(f"the 8 earlier runs of any path were at 0 to {readable(7 / SECONDS)} frames/s")
    wild = Sample(events[0].values * 9, events[0].states)
    beside = ScreensDetector().score([wild, *events[1:]], session(99), series=CPU, interval_s=1.0)
    assert beside.evidence["history_set_aside"] == 1
    assert "; the 7 earlier runs of any path were at " in beside.sentence
    assert beside.sentence.endswith("; 1 disturbed one set aside")


def test_another_way_through_the_app_is_no_regression_and_more_on_a_screen_is():
    history = [session(number) for number in range(12)]
    busy = [session(1000 + number, screens=3) for number in range(40)]  # only ever on the three first screens
    detector = ScreensDetector()
    normal = [one.distance for one in detector.score_all(history, busy, series=CPU, interval_s=1.0)]
    assert np.mean(np.array(normal) > 1.645) <= 0.15
    worse = [session(2000 + number, extra=0.4, on=2) for number in range(20)]
    found = [one.distance for one in detector.score_all(history, worse, series=CPU, interval_s=1.0)]
    assert np.mean(np.array(found) > 1.645) >= 0.9


def test_the_order_of_the_history_changes_no_bit_and_its_own_scores_follow_it():
    history, target = [session(number) for number in range(7)], session(50)
    for series in (CPU, FRAMES):
        one = ScreensDetector().score(history, target, series=series, interval_s=1.0)
        other = ScreensDetector().score(history[::-1], target, series=series, interval_s=1.0)
        assert one.distance == other.distance
        assert np.array_equal(one.history_distances, other.history_distances[::-1])
        assert len(set(one.history_distances)) == 7


def test_less_is_worse_where_the_catalogue_says_so():
    history, target = [session(number) for number in range(8)], session(99)
    fewer = Sample(target.values - 0.2, target.states)
    found = ScreensDetector().score(history, fewer, series=FRAMES, interval_s=1.0)
    assert found.direction == "less"
    assert found.distance > 1.645


def test_a_run_on_screens_that_nobody_knows_is_not_judged():
    history = [session(number, screens=3) for number in range(6)]
    elsewhere = session(99, screens=3)
    on_others = elsewhere.states + codes_of(np.array([7]), np.array([0]))
    codes = np.where(np.arange(SECONDS) < 80, on_others, elsewhere.states)
    with pytest.raises(UnlikeHistoryError, match=r"Only 33% of .* the 6 earlier runs showed, 50% are needed"):
        ScreensDetector().score(history, Sample(elsewhere.values, codes), series=CPU, interval_s=1.0)


def test_a_run_that_says_of_no_screen_when_is_not_judged_and_in_a_history_it_tells_little():
    history, target = [session(number) for number in range(6)], session(99)
    with pytest.raises(UnlikeHistoryError, match=r"Only 0% of the session"):
        ScreensDetector().score(history, Sample(target.values), series=CPU, interval_s=1.0)
    with pytest.raises(UnlikeHistoryError, match=r"Only 0% of the session"):
        ScreensDetector().score([Sample(one.values) for one in history], target, series=CPU, interval_s=1.0)
    mixed = [Sample(history[0].values), *history[1:]]
    found = ScreensDetector().score(mixed, target, series=CPU, interval_s=1.0)
    assert found.evidence["expected_mean"] == pytest.approx(
        ScreensDetector().score(history[1:], target, series=CPU, interval_s=1.0).evidence["expected_mean"]
    )
    assert abs(found.distance) < 3
    with pytest.raises(ValueError, match="at least 3 are needed"):
        ScreensDetector().score(history[:2], target, series=CPU, interval_s=1.0)


def test_memory_is_judged_by_its_growth_whatever_the_path():
    history = [Sample(1e8 + 1e8 * one.values, one.states) for one in (session(number) for number in range(8))]
    target = session(99)
    grown = Sample(1e8 + 1e8 * target.values + np.linspace(0, 3e8, SECONDS), target.states)
    found = ScreensDetector().score(history, grown, series=MEMORY, interval_s=1.0)
    plain = CalibratedDetector().score(history, grown, series=MEMORY, interval_s=1.0)
    assert found.distance == plain.distance > 1.645
    assert found.sentence == f"{plain.sentence} (runs of any path)"
    assert found.evidence[ANY_PATH_RUNS] == 8
