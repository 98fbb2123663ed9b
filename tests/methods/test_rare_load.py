"""Loads that many runs have nothing of: an event as some runs had one is usual, many more of them are not."""

import numpy as np
import pytest

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.detectors import make_detector
from perfreg_assets.methods.rare_load import event_of, is_rare, rare_amount, smallest_scatter
from perfreg_assets.methods.samples import Sample
from perfreg_assets.methods.states import codes_of

SECONDS = 120
STATES = codes_of(np.arange(SECONDS) // 6 % 4, np.arange(SECONDS) % 6)
JANK, SENT, CPU, FRAMES = map(definition_of, ("frames_janky_app", "net_sent_app", "cpu_app", "frames_app"))
DETECTORS = ("default", "screens")


def course(generator, rate, size=lambda generator: 1.0):
    """As many events as chance gives, each in a second of its own or in a shared one."""
    values = np.zeros(SECONDS)
    for _ in range(generator.poisson(rate)):
        values[generator.integers(SECONDS)] += size(generator)
    return Sample(values, STATES)


def scores(detector, history, targets, series=JANK):
    return make_detector(detector).score_all(history, targets, series=series, interval_s=1.0)


def test_what_more_runs_lack_than_can_be_set_aside_is_rare():
    some, none = np.eye(SECONDS)[5], np.zeros(SECONDS)
    assert is_rare(JANK, [none] * 4 + [some] * 8)
    assert not is_rare(JANK, [none] * 3 + [some] * 9)
    assert not is_rare(FRAMES, [none] * 12)  # no load: that there are none says something
    assert not is_rare(CPU, [some + 0.1] * 12)


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize(("series", "size"), [(JANK, lambda _: 1.0), (SENT, lambda draw: draw.lognormal(7, 0.8))])
@pytest.mark.parametrize("rate", [0.1, 0.3, 1.0])
def test_false_alarms_of_sparse_courses_stay_near_the_level(detector, series, size, rate):
    """Beside runs that mostly had none, one event was an alarm of score 8, in one run of five, and where every third
    had none, ten times as many were found in one case of three. Histories that by chance have nothing count, too."""
    generator = np.random.default_rng([4, round(100 * rate)])
    usual, more = [], []
    while len(usual) < 300:
        history = [course(generator, rate, size) for _ in range(12)]
        targets = [course(generator, one, size) for one in (rate, rate, 10 * rate + 10)]
        told = [one.distance for one in scores(detector, history, targets, series)]
        usual += told[:2]
        more += told[2:]
    assert np.mean(np.array(usual) > 1.686) < 0.1
    assert np.mean(np.array(usual) > 4) < 0.005
    assert np.mean(np.array(more) > 1.686) > 0.6


@pytest.mark.parametrize("detector", DETECTORS)
def test_an_event_as_some_runs_had_is_usual_and_told_in_its_own_unit(detector):
    def having(*places):
        return Sample(np.isin(np.arange(SECONDS), places).astype(float), STATES)

    history = [*[having()] * 9, having(30), having(60), having(70, 90)]
    none, one, many = scores(detector, history, [having(), having(44), having(*range(20, 60, 2))])
    assert none.direction == "less"
    assert -1 < none.distance < one.distance < 1.686
    assert many.distance > 3.5
    assert many.direction == "more"
    assert none.improvement < 1.686
    assert "set aside" not in one.sentence
    assert many.evidence["mean"] > many.evidence.get("mean_history_highest", many.evidence.get("expected_mean"))
    assert "frames/s" in many.sentence
    again = scores(detector, history[::-1], [having(44)])[0]
    assert again.distance == one.distance
    assert np.array_equal(again.history_distances, one.history_distances[::-1])


def test_counts_scatter_evenly_whatever_their_number():
    """A Poisson count's root has a variance of a quarter: nine times as many events scatter no more."""
    draw = np.random.default_rng(9)
    spread = [np.std([rare_amount(float(one)) for one in draw.poisson(rate, 4000)]) for rate in (10, 90)]
    assert spread == pytest.approx([0.5, 0.5], rel=0.06)
    assert rare_amount(-1e-18) == 0.0  # a mean of rates may end up there


@pytest.mark.parametrize("detector", DETECTORS)
def test_beside_nothing_at_all_nothing_is_usual(detector):
    empty = Sample(np.zeros(SECONDS), STATES)
    none, some = scores(detector, [empty] * 12, [empty, course(np.random.default_rng(1), 30)])
    assert none.distance < 1
    assert some.distance > 4


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("amount", [1.0, 0.002, 7e6])
def test_a_first_event_is_none_that_the_next_run_could_not_have_and_many_are(detector, amount):
    """Of a Poisson count whose rate nobody knows, 0 in twelve runs, the next is 1 or more with .04 (Jeffreys' prior),
    3 or more with .0005; a single one was of the highest score there is."""

    def having(count):
        return Sample(np.isin(np.arange(SECONDS), np.arange(count) * 3) * amount, STATES)

    one, three, many = scores(detector, [having(0)] * 12, [having(count) for count in (1, 3, 30)])
    assert 1.3 < one.distance < 1.686
    assert 2.3 < three.distance < 3.3
    assert many.distance > 4.5
    assert min(one.improvement, three.improvement, many.improvement) > -8


def test_an_event_is_what_the_history_shows_or_else_the_run():
    some, other, none = np.eye(SECONDS)[5] * 4, np.eye(SECONDS)[9] * 100, np.zeros(SECONDS)
    assert event_of([none, some, none]) == 4
    assert event_of([none]) == 0
    assert smallest_scatter(4, other) == pytest.approx(0.5 * np.sqrt(4 / SECONDS))
    assert smallest_scatter(0, other) == pytest.approx(0.5 * np.sqrt(100 / SECONDS))
    assert smallest_scatter(0, none) > 0  # ties divide by nothing
