"""Made-up lives of apps, version after version, in which normal runs are not what a textbook's noise is.

Two families of apps that share no seed and no app: `developers`, which constants are chosen by, and `held-out`, which
figures are quoted from. They differ in how apps are drawn (`_Family`), too. An app walks a fixed path over screens with
a burst of load on each; memory warms up and is collected. Sessions scatter by `noise`. A shift is something that
happens to normal runs (`SHIFTS`); with every version some of its runs are judged once more with a regression added.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.samples import Sample
from perfreg_assets.methods.states import codes_of

SERIES = ("cpu_app", "rss_app")
INTERVAL_S = 1.0
VERSIONS, RUNS_PER_VERSION, TWINS_PER_VERSION = 15, 4, 2
DEVIATION_SHARE = 0.02  # of steps at noise 1
LEAKS = (0.05, 0.08, 0.12, 0.2)  # of the median memory
EXCESSES = (0.15, 0.25, 0.4, 0.7)  # of the core-seconds


@dataclass(frozen=True, kw_only=True)
class Shift:
    """What normal runs are like.

    Attributes:
        history: k, the runs that are compared with.
        seconds: (shortest, longest) session of an app.
        burst_ratio: share of runs during which something else runs for 8 to 24 s.
        unit_ratio: load and memory of the judged runs' device beside the one that the histories are from.
        drift: what each version adds to load and memory, as a ratio.
        step: what every `STEP_EVERY`th version adds and is accepted for.
        has_own_paths: whether each session takes a way of its own; else all take the app's.
        is_brief: whether regressions are 8 to 24 s in one place; else leaks, and load that stays or comes again.
    """

    name: str
    summary: str
    history: int = 12
    seconds: tuple[int, int] = (110, 150)
    burst_ratio: float = 0.0
    unit_ratio: float = 1.0
    drift: float = 0.0
    step: float = 0.0
    has_own_paths: bool = False
    is_brief: bool = False


STEP_EVERY = 4
SHIFTS = (
    Shift(name="base", summary="nothing; 12 runs of history"),
    Shift(name="bursts", summary="something else runs in 10 % of the runs", burst_ratio=0.1),
    Shift(name="unit", summary="the judged runs' device is 8 % heavier", unit_ratio=1.08),
    Shift(name="drift 1 %", summary="each version adds 1 %", drift=0.01),
    Shift(name="drift .5 %", summary="each version adds .5 %", drift=0.005),
    Shift(name="accepted", summary="every fourth version adds 10 % and is accepted", step=0.1),
    Shift(name="5 runs", summary="5 runs of history", history=5),
    Shift(name="6 runs", summary="6 runs of history", history=6),
    Shift(name="60-90 s", summary="sessions of 60 to 90 s", seconds=(60, 90)),
    Shift(name="brief", summary="regressions are 8 to 24 s in one place", is_brief=True),
    Shift(name="brief, bursts", summary="so where bursts are", is_brief=True, burst_ratio=0.1),
    Shift(name="any path", summary="each session takes a way of its own", has_own_paths=True),
    Shift(name="any path, 5", summary="so with 5 runs of history", has_own_paths=True, history=5),
)


@dataclass(frozen=True, kw_only=True)
class _Family:
    """How apps are drawn: counts, seconds and cores as (lowest, highest), memory in MB."""

    key: int
    screens: tuple[int, int]
    dwell_s: tuple[float, float]
    decay_s: tuple[float, float]
    height_shape: float
    idle: float
    base_mb: tuple[float, float]
    collected_mb: tuple[float, float]
    spike_ratio: float


FAMILIES = {
    "developers": _Family(
        key=11, screens=(4, 9), dwell_s=(2.0, 4.0), decay_s=(0.6, 3.0), height_shape=2.0, idle=0.08,
        base_mb=(90, 220), collected_mb=(5, 14), spike_ratio=0.02,
    ),
    "held-out": _Family(
        key=12, screens=(7, 16), dwell_s=(1.5, 5.0), decay_s=(0.4, 4.0), height_shape=1.2, idle=0.05,
        base_mb=(60, 320), collected_mb=(3, 20), spike_ratio=0.03,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Session:
    """One run: series → (n,), cores and bytes; `states` (n,) as `methods.states` codes them."""

    series: dict[str, Floats]
    states: NDArray[np.int64]

    def sample(self, name: str) -> Sample:
        return Sample(self.series[name], self.states)


@dataclass(frozen=True)
class VersionStep:
    """A version's runs beside the history that all of them have.

    Attributes:
        history: k sessions of earlier versions, the latest ones.
        normal: its runs.
        anomalous: some of them once more, each with a regression.
        is_accepted: people saw that the version adds something and took it as the new normal; its alarms are right.
        is_other_unit: its runs are of another device unit than the history.
    """

    number: int
    history: tuple[Session, ...]
    normal: tuple[Session, ...]
    anomalous: tuple[Session, ...]
    is_accepted: bool
    is_other_unit: bool = False


def stream(family: str, shift: Shift, *, noise: float, seed: int, number: int) -> Iterator[VersionStep]:
    """The life of one app, in order of time; the same for the same arguments, whatever else is asked for.

    Args:
        number: of the app; with family and seed it makes one.

    Raises:
        ValueError: there is no such family.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r}: allowed is {' or '.join(FAMILIES)}")
    rules = FAMILIES[family]
    app = _App(rules, shift, noise, np.random.default_rng([rules.key, seed, number]))
    draw = np.random.default_rng([rules.key, seed, number, zlib.crc32(shift.name.encode()), round(1000 * noise)])
    # Where units differ, runs of the history's unit go on beside the judged ones; else the judged runs are the history.
    has_own_unit = shift.unit_ratio != 1.0
    known = [app.session(draw, 1.0) for _ in range(shift.history)]
    for version in range(1, VERSIONS + 1):
        level = (1 + shift.drift) ** version * (1 + shift.step) ** (version // STEP_EVERY)
        normal = tuple(app.session(draw, level * shift.unit_ratio) for _ in range(RUNS_PER_VERSION))
        worse = _with_brief_regression if shift.is_brief else _with_regression
        anomalous = tuple(
            worse(one, TWINS_PER_VERSION * version + index, draw)
            for index, one in enumerate(normal[:TWINS_PER_VERSION])
        )
        is_accepted = shift.step > 0 and version % STEP_EVERY == 0
        yield VersionStep(version, tuple(known[-shift.history :]), normal, anomalous, is_accepted, has_own_unit)
        known += [app.session(draw, level) for _ in normal] if has_own_unit else normal


class _App:
    """One app and how its sessions scatter."""

    def __init__(self, rules: _Family, shift: Shift, noise: float, draw: np.random.Generator) -> None:
        count = int(draw.integers(*rules.screens))
        self._heights = draw.gamma(rules.height_shape, 0.5 / rules.height_shape, count)
        self._decays = draw.uniform(*rules.decay_s, count)
        self._idle = draw.uniform(0, rules.idle, count)
        self._allocates = draw.uniform(0.1, 1.5, count)
        self._base, self._collected_at = draw.uniform(*rules.base_mb), draw.uniform(*rules.collected_mb)
        self._dwell = draw.uniform(*rules.dwell_s)
        self._path = draw.integers(count, size=max(8, round(draw.uniform(*shift.seconds) / self._dwell)))
        self._spikes, self._noise, self._bursts = rules.spike_ratio, noise, shift.burst_ratio
        self._has_own_paths = shift.has_own_paths

    def session(self, draw: np.random.Generator, level: float) -> Session:
        """One more run, `level` times as heavy."""
        noise, steps = self._noise, len(self._path)
        strays = draw.random(steps) < DEVIATION_SHARE * noise
        elsewhere = draw.integers(len(self._heights), size=steps)
        path = elsewhere if self._has_own_paths else np.where(strays, elsewhere, self._path)
        dwell = np.maximum(1, np.round(draw.normal(self._dwell, 0.4 * noise, steps))).astype(int)
        screens = np.repeat(path, dwell)
        count = len(screens)
        since = np.arange(count) - np.repeat(np.cumsum(dwell) - dwell, dwell)
        heights = self._heights[path] * draw.lognormal(0.04 * noise * draw.normal(), 0.2 * noise, steps)
        load = np.repeat(heights, dwell) * np.exp(-since / self._decays[screens]) + self._idle[screens]
        load += np.abs(draw.normal(0, 0.01 * noise, count))
        load += np.where(draw.random(count) < self._spikes * noise, draw.gamma(2, 0.15, count), 0.0)
        load *= level
        heap = np.cumsum(self._allocates[screens] * draw.lognormal(0, 0.3 * noise, count))
        heap = (heap + draw.uniform(0, self._collected_at)) % (self._collected_at * (1 + 0.05 * noise * draw.normal()))
        seconds = np.arange(count)
        cache = 0.03 * self._base * (1 - np.exp(-seconds / 60))
        base = self._base * (1 + 0.03 * noise * draw.normal()) * (1 - 0.7 * np.exp(-(seconds + 1) / 5))
        memory = level * (base + cache + heap) + 0.2 * draw.normal(size=count)
        if draw.random() < self._bursts:
            begin, length = int(draw.uniform(0.15, 0.8) * count), int(draw.integers(8, 25))
            load[begin : begin + length] += draw.uniform(0.5, 1.2)
            memory[begin : begin + length] += draw.uniform(0.05, 0.15) * self._base
        states = codes_of(screens, since)
        return Session({"cpu_app": load, "rss_app": 1e6 * np.maximum(memory, 1.0)}, states)


def _with_regression(session: Session, number: int, draw: np.random.Generator) -> Session:
    """A leak (linear or sawtooth) or extra load (constant, periodic or in bursts), by turns."""
    load, memory = session.series["cpu_app"], session.series["rss_app"]
    count = len(load)
    begin = int(draw.uniform(0.1, 0.4) * count)
    if number % 2 == 0:
        since = np.arange(count - begin) / (count - begin)
        ramp = since if number % 4 == 0 else (3 * since) % 1
        grown = memory.copy()
        grown[begin:] += LEAKS[number // 2 % len(LEAKS)] * float(np.median(memory)) * ramp
        return replace(session, series={**session.series, "rss_app": grown})
    places = np.zeros(count, dtype=bool)
    kind = number // 2 % 3
    if kind == 0:
        places[begin:] = True
    elif kind == 1:
        places = (np.arange(count) - begin) % 20 < 4
    else:
        for start in draw.integers(8, count - 8, 6):
            places[start : start + 4] = True
    extra = EXCESSES[number // 2 % len(EXCESSES)] * float(load.sum()) / int(places.sum())
    return replace(session, series={**session.series, "cpu_app": load + extra * places})


def _with_brief_regression(session: Session, number: int, draw: np.random.Generator) -> Session:
    """More memory or load in one place, by turns, of the same sizes; it looks like a burst."""
    load, memory = session.series["cpu_app"], session.series["rss_app"]
    count = len(load)
    begin, length = int(draw.uniform(0.15, 0.8) * count), int(draw.integers(8, 25))
    places = (np.arange(count) >= begin) & (np.arange(count) < begin + length)
    if number % 2 == 0:
        extra = LEAKS[number // 2 % len(LEAKS)] * float(np.median(memory))
        return replace(session, series={**session.series, "rss_app": memory + extra * places})
    extra = EXCESSES[number // 2 % len(EXCESSES)] * float(load.sum()) / int(places.sum())
    return replace(session, series={**session.series, "cpu_app": load + extra * places})
