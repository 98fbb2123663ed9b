"""Where the regression lies: seconds of extra load, onset of extra memory."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods import localisation
from perfreg_assets.methods.barycenter import dba
from perfreg_assets.methods.discords import thesis_discords
from perfreg_assets.methods.excess_load import Excess
from perfreg_assets.methods.localisation import CONVINCING, Localiser, localise
from perfreg_assets.methods.omega_rule import FAR_ALARM
from perfreg_assets.methods.samples import Sample
from perfreg_assets.methods.states import StatePath, state_codes

CPU, MEMORY, LEVEL = definition_of("cpu_app"), definition_of("rss_app"), definition_of("something_else")
SECONDS = 240
STEPS = [(float(second), f"screen {second // 4 % 5}") for second in range(0, SECONDS, 4)]


def load_values(generator):
    """An action every 4 s on one of five screens, each with its own burst."""
    values = 0.05 + generator.gamma(2, 0.01, SECONDS)
    for second in range(0, SECONDS, 4):
        height = 0.2 + 0.15 * (second // 4 % 5)
        values[second : second + 3] += generator.normal(height, 0.05) * np.array([1.0, 0.5, 0.2])
    return np.maximum(values, 0)


def memory_values(generator):
    time = np.arange(SECONDS)
    level = 1.5e8 * (1 + 0.01 * generator.normal()) * (1 - np.exp(-(time + 2) / 4))
    return level + 3e6 * (time % 13) / 13 + 1e6 * generator.normal(size=SECONDS)


def flags(found, length=SECONDS):
    mask = np.zeros(length, dtype=bool)
    for window in found.windows:
        mask[window.start : window.end] = True
    return mask


def test_extra_load_is_found_where_it_was_injected():
    generator = np.random.default_rng(0)
    history = [Sample(load_values(generator)) for _ in range(10)]
    values = load_values(generator)
    injected = np.zeros(SECONDS, dtype=bool)
    for start in (50, 90, 151, 200):
        injected[start : start + 6] = True
    values[injected] += 0.7
    found = localise(history, Sample(values), series=CPU, interval_s=1.0)
    hit = flags(found)
    assert all(hit[start : start + 6].any() for start in (50, 90, 151, 200))
    assert (hit & injected).sum() >= 0.6 * injected.sum()
    assert (hit & ~injected).sum() <= 2
    assert [window.start for window in found.windows] == sorted(window.start for window in found.windows)
    for window in found.windows:
        assert CONVINCING < window.profile_value <= 1
        assert window.start <= window.peak < window.end
        assert window.profile_value == found.profile[window.peak]
        assert window.confidence == round(window.profile_value, 2)


@pytest.mark.parametrize(("series", "make"), [(CPU, load_values), (MEMORY, memory_values)])
def test_normal_runs_are_hardly_ever_flagged(series, make):
    generator = np.random.default_rng(1)
    localiser = Localiser([Sample(make(generator)) for _ in range(12)], series=series, interval_s=1.0)
    counts = [len(localiser.find(Sample(make(generator))).windows) for _ in range(30)]
    assert sum(count > 0 for count in counts) <= 6


@pytest.mark.parametrize("shape", ["ramp", "sawtooth", "step"])
def test_extra_memory_is_flagged_from_its_onset_to_the_end(shape):
    generator = np.random.default_rng(2)
    history = [Sample(memory_values(generator)) for _ in range(10)]
    since = np.maximum(np.arange(SECONDS) - 120, 0)
    extra = {"ramp": 3e5 * since, "sawtooth": 1e6 * (since % 40), "step": 3e7 * (since > 0)}[shape]
    found = localise(history, Sample(memory_values(generator) + extra), series=MEMORY, interval_s=1.0)
    assert len(found.windows) == 1
    assert found.windows[0].start == pytest.approx(120, abs=15)
    assert found.windows[0].end == SECONDS
    assert found.profile[:60].max() < 0.01
    assert found.profile[-60:].min() > 0.99


def test_start_and_end_are_examined_beside_those_of_the_history():
    """What all sessions do in their first seconds is usual there; what is above it is found, there as elsewhere."""
    generator = np.random.default_rng(3)
    (codes,) = state_codes([StatePath(STEPS)], [SECONDS], 1.0)

    def session(extra=()):
        values = load_values(generator)
        values[:15] += 1.5 * np.exp(-np.arange(15) / 5) * generator.uniform(0.8, 1.2)
        values[[*extra]] += 1.0
        return Sample(values, codes)

    localiser = Localiser([session() for _ in range(10)], series=CPU, interval_s=1.0)
    assert sum(flags(localiser.find(session()))[:15].any() for _ in range(20)) <= 1
    injected = [*range(3, 13), *range(100, 110), *range(SECONDS - 6, SECONDS)]
    found = localiser.find(session(injected))
    hit = flags(found)
    assert found.examined == (0, SECONDS)
    assert hit[injected].mean() > 0.8
    assert hit.sum() <= len(injected) + 4


def test_an_alarm_has_its_strongest_window_where_the_run_as_a_whole_looks_like_chance(monkeypatch):
    generator = np.random.default_rng(8)
    localiser = Localiser([Sample(load_values(generator)) for _ in range(10)], series=CPU, interval_s=1.0)
    values = load_values(generator)
    values[50:56] += 0.7
    values[120:132] += 0.7
    target = Sample(values)
    several = localiser.find(target)
    assert len(several.windows) == 2
    near, far = 1.7, FAR_ALARM + 0.1
    assert localiser.find(target, alarm=near).windows == several.windows, "the evidence is strong"
    monkeypatch.setattr(localisation, "LOAD_GATE", np.inf)
    assert localiser.find(target).windows == ()
    monkeypatch.setattr(localisation, "NEAR_ALARM_GATE", np.inf)
    assert localiser.find(target, alarm=far).windows == several.windows, "the verdict leaves little doubt"
    one = localiser.find(target, alarm=near)
    assert one.windows == several.windows[1:], "the longer one"
    assert not one.profile[: one.windows[0].start].any(), "the profile shows what is flagged, no more"


@pytest.mark.parametrize("shape", ["ramp", "step"])
def test_extra_memory_of_an_alarm_is_placed_however_much_memory_grows_by_chance(shape, monkeypatch):
    generator = np.random.default_rng(9)
    since = np.maximum(np.arange(SECONDS) - 120, 0)
    target = Sample(memory_values(generator) + {"ramp": 3e5 * since, "step": 3e7 * (since > 0)}[shape])
    localiser = Localiser([Sample(memory_values(generator)) for _ in range(10)], series=MEMORY, interval_s=1.0)
    monkeypatch.setattr(localisation, "MEMORY_GATE", np.inf)
    assert localiser.find(target).windows == ()
    (window,) = localiser.find(target, alarm=1.7).windows
    assert (window.start, window.end) == (pytest.approx(120, abs=15), SECONDS)


def test_load_on_the_quietest_screens_is_not_taken_for_something_that_is_there_all_along():
    """Two fifths of the session are on two screens that are usually idle; there, and only there, work is added."""
    generator = np.random.default_rng(10)
    heights = {"list": 0.05, "settings": 0.06, "editor": 0.3, "chart": 0.5, "feed": 0.4}
    weights = [0.2, 0.2, 0.2, 0.2, 0.2]

    def visit(extra):
        screens = generator.choice(list(heights), 60, p=weights)
        values = np.repeat([heights[str(one)] for one in screens], 4) + generator.gamma(2, 0.01, 240)
        values[np.isin(np.repeat(screens, 4), extra)] += 0.4
        return values, screens, StatePath([(4.0 * step + 4.0, str(one)) for step, one in enumerate(screens)])

    runs = [visit([]) for _ in range(10)] + [visit(["list", "settings"])]
    codes = state_codes([path for _, _, path in runs], [240] * 11, 1.0)
    samples = [Sample(values, code) for (values, _, _), code in zip(runs, codes, strict=True)]
    injected = np.isin(np.repeat(runs[-1][1], 4), ["list", "settings"])
    hit = flags(localise(samples[:-1], samples[-1], series=CPU, interval_s=1.0, alarm=2.0))
    assert (hit & injected).sum() >= 0.8 * injected.sum()
    assert (hit & ~injected).sum() <= 0.1 * hit.sum()


def test_an_alignment_does_not_explain_extra_load_away():
    """Visits of a screen differ much in height, so some run of the history has a busy one to warp extra load onto."""
    generator = np.random.default_rng(13)
    heights, path = generator.gamma(2, 0.25, 8), generator.integers(0, 8, 120)

    def session():
        visits = []
        for screen in path:
            decay = np.exp(-np.arange(max(1, round(generator.normal(3, 1)))) / 1.5)
            visits.append(heights[screen] * generator.lognormal(0, 0.5) * decay)
        load = np.concatenate(visits)
        return load + np.abs(generator.normal(0, 0.02, len(load)))

    localiser = Localiser([Sample(session()) for _ in range(12)], series=CPU, interval_s=1.0)
    met = flagged = total = 0
    for _ in range(5):
        values = session()
        injected = np.zeros(len(values), dtype=bool)
        for start in range(20, len(values) - 5, 30):
            injected[start : start + 4] = True
        hit = flags(localiser.find(Sample(values + 0.8 * injected), alarm=2.0), len(values))
        met, flagged, total = met + (hit & injected).sum(), flagged + hit.sum(), total + injected.sum()
    assert met >= 0.75 * total
    assert met >= 0.9 * flagged


@pytest.mark.parametrize("way", [localisation.LARGEST_LOAD_DIFFERENCES, None])
def test_either_way_of_aligning_may_say_that_a_run_is_more_than_chance(way, monkeypatch):
    generator = np.random.default_rng(8)
    localiser = Localiser([Sample(load_values(generator)) for _ in range(10)], series=CPU, interval_s=1.0)
    values = load_values(generator)
    values[50:56] += 0.7
    windows = localiser.find(Sample(values)).windows
    assert len(windows) == 1
    monkeypatch.setattr(localisation._Beside, "score", lambda self, _: np.inf if self._largest == way else -np.inf)
    assert localiser.find(Sample(values)).windows == windows
    monkeypatch.setattr(localisation._Beside, "score", lambda *_: -np.inf)
    assert localiser.find(Sample(values)).windows == ()


def test_known_states_tell_usual_load_where_the_order_of_screens_differs():
    """Runs visit the same screens in other orders: alignment cannot match them, the screen can."""
    generator = np.random.default_rng(4)
    heights = {"list": 0.1, "editor": 0.5, "chart": 0.9}

    def visit(extra_on=None):
        screens = generator.permutation(list(heights) * 20)
        values = 0.05 + generator.gamma(2, 0.01, 240)
        for step, screen in enumerate(screens):
            values[4 * step : 4 * step + 4] += heights[screen] + generator.normal(0, 0.03)
            if screen == extra_on and step % 2:
                values[4 * step : 4 * step + 4] += 0.3
        return values, StatePath([(4.0 * step + 4.0, str(screen)) for step, screen in enumerate(screens)])

    runs = [visit() for _ in range(10)] + [visit("list")]
    codes = state_codes([path for _, path in runs], [240] * 11, 1.0)
    samples = [Sample(values, code) for (values, _), code in zip(runs, codes, strict=True)]
    injected = np.repeat([screen == "list" and step % 2 == 1 for step, (_, screen) in enumerate(runs[-1][1].until)], 4)
    hit = flags(localise(samples[:-1], samples[-1], series=CPU, interval_s=1.0))
    blind = flags(
        localise([Sample(one.values) for one in samples[:-1]], Sample(samples[-1].values), series=CPU, interval_s=1.0)
    )
    kept = slice(15, 232)
    assert (hit & injected)[kept].sum() >= 0.9 * injected[kept].sum()
    assert (hit & ~injected).sum() <= 0.1 * hit.sum()
    assert (hit & injected).sum() > (blind & injected).sum()


def test_mode_thesis_is_the_thesis():
    generator = np.random.default_rng(5)
    history, target = [Sample(load_values(generator)) for _ in range(5)], Sample(load_values(generator))
    center = dba([one.values for one in history])
    found = localise(history, target, series=CPU, interval_s=1.0, mode="thesis", window_s=12)
    expected = thesis_discords(target.values, center.values, window=12, skip_start=15, skip_end=8)
    assert found.windows == expected.windows
    np.testing.assert_array_equal(found.profile, expected.profile)
    given = localise(history, target, series=CPU, interval_s=1.0, mode="thesis", window_s=12, barycenter=center)
    assert given.windows == found.windows
    alone = localise(history[:1], target, series=CPU, interval_s=1.0, mode="thesis")  # one run is its own barycenter
    assert (
        alone.windows == thesis_discords(target.values, history[0].values, window=10, skip_start=15, skip_end=8).windows
    )


@pytest.mark.parametrize(("series", "make"), [(CPU, load_values), (MEMORY, memory_values)])
def test_windows_are_the_same_bits_on_any_number_of_threads(series, make):
    generator = np.random.default_rng(6)
    history, target = [Sample(make(generator)) for _ in range(6)], make(generator)
    target[100:130] *= 1.5

    def find(_):
        return localise(history, Sample(target), series=series, interval_s=1.0)

    alone = find(0)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(find, range(16)):
            np.testing.assert_array_equal(found.profile, alone.profile)
            assert found.windows == alone.windows


@pytest.mark.parametrize("series", [CPU, MEMORY, LEVEL], ids=lambda one: one.name)
@pytest.mark.parametrize("length", [8, 20, 70])
def test_short_and_constant_series_are_survived(series, length):
    history = [Sample(np.full(length, 3.0)) for _ in range(4)]
    with np.errstate(divide="raise", invalid="raise"):
        assert localise(history, history[0], series=series, interval_s=1.0).windows == ()
        found = localise(history, Sample(np.linspace(3, 9, length)), series=series, interval_s=1.0)
    assert np.isfinite(found.profile).all()
    assert len(found.profile) == length


def test_what_cannot_be_compared_is_refused():
    run = Sample(np.arange(30.0))
    with pytest.raises(ValueError, match="at least 3"):
        localise([run, run], run, series=CPU, interval_s=1.0)
    with pytest.raises(ValueError, match="default or thesis"):
        localise([run] * 3, run, series=CPU, interval_s=1.0, mode="magic")
    with pytest.raises(ValueError, match="NaN"):
        localise([run] * 3, Sample(np.full(30, np.nan)), series=MEMORY, interval_s=1.0)


def test_a_probability_that_is_rounded_above_one_is_one(monkeypatch):
    generator = np.random.default_rng(6)
    history, target = [Sample(load_values(generator)) for _ in range(5)], Sample(load_values(generator))
    above = np.full(len(target.values), 1.0000000000000002)
    monkeypatch.setattr(localisation, "find_excess", lambda *args: Excess(1e9, 1.0, above))
    found = Localiser(history, series=CPU, interval_s=1.0).find(target, alarm=2.0)
    assert found.profile.max() == 1.0
    assert [window.confidence for window in found.windows] == [1.0]
    assert [(window.start, window.end) for window in found.windows] == [found.examined]
