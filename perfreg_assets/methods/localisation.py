"""Where in a series the regression lies.

`thesis`: discords of the z-normalised matrix profile against the barycenter (4.3), flagged by the profile's own
quantiles: some 5 to 10 % of every run, normal ones too, and blind to level.

`default`: extra load is found as samples in an excess state (`excess_load`), extra memory by its onset (`leak_onset`).
Both compare with the history itself, whose runs, each beside the others, say what chance brings: where the run as a
whole shows no more than that, nothing is flagged, but for runs whose verdict says already that they differ: of these
the strongest window is, and the others too where verdict and evidence leave less doubt. The profile is a probability
per sample, so its thresholds mean the same for every series: a window is where it is above one half, and counts if it
reaches seven tenths somewhere.
Where the path is known, usual load is what the history had in the same state (screen, seconds since the last action).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from perfreg_assets import detection
from perfreg_assets.catalogue import SeriesDefinition, Worse
from perfreg_assets.detection import SMALLEST_HISTORY
from perfreg_assets.methods.barycenter import Barycenter, dba
from perfreg_assets.methods.calibration import inlier_mask, predictive_score
from perfreg_assets.methods.discords import Localisation, Window, merge_windows, thesis_discords
from perfreg_assets.methods.dtw import align
from perfreg_assets.methods.excess_load import Compared, Excess, UsualDifferences, find_excess
from perfreg_assets.methods.features import (
    LoadScale,
    Scale,
    centred,
    levels_and_changes,
    log_memory,
    scale_of,
    startup_samples,
)
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.leak_onset import find_onset, median_course
from perfreg_assets.methods.omega_rule import is_far
from perfreg_assets.methods.samples import Sample, checked_history, checked_values

PROBABLE = 0.5
CONVINCING = 0.7
LOAD_GATE = 1.75  # score of the run's evidence beside the history's: 4 % of normal runs pass
NEAR_ALARM_GATE, FAR_ALARM_GATE = 2.5, 1.28  # of runs whose verdict is an alarm, which have one window below it, too
MEMORY_GATE = 1.28  # 10 %; a normal run that passes has one window, not several
RADIUS_SHARE = 0.15  # of the longer series; alignments further off the diagonal change nothing (measured)
SMALLEST_RADIUS = 20
LARGEST_LOAD_DIFFERENCES = (0.32, 0.55)
"""Of load's level (0.32: 38 % more) and weighted change that count in an alignment. Unbounded, the alignment explains
extra load away: it is cheaper to warp it onto some other run's busy screen than to leave it above its own."""
SMALLEST_STATE_SAMPLES = 3
SMALLEST_EVIDENCE_SD = 0.1
DISTURBED_LOG = 2.0  # of a logarithm of evidence: a factor of 7
SMALLEST_GAIN = 1e-7  # the square of a relative change of 0.03 %
_SIGNS: dict[Worse, tuple[int, ...]] = {"more": (1,), "less": (-1,), "either": (1, -1)}


def localise(
    history: Sequence[Sample],
    target: Sample,
    *,
    series: SeriesDefinition,
    interval_s: float,
    barycenter: Barycenter | None = None,
    mode: str = "default",
    window_s: float = 10.0,
    quantile_low: float = 0.90,
    quantile_high: float = 0.95,
    skip_start_s: float = 15.0,
    skip_end_s: float = 8.0,
    backend: str = "numba",
    alarm: float | None = None,
) -> Localisation:
    """Windows in which the target differs from its history.

    Args:
        history: k runs; at least 3 for `default`.
        series: its kind decides what is looked for, `worse` on which side (`default` only).
        interval_s: between samples.
        barycenter: of the history; `thesis` computes it when it is missing, `default` needs none.
        mode: one of `detection.localisation_names()`.
        window_s, quantile_low, quantile_high, skip_start_s, skip_end_s, backend: of `thesis`.
        alarm: of `default`, see `Localiser.find`.

    Returns:
        `default`: a profile (n,) of probabilities with window 1 sample, and windows whose confidence is the highest
        probability in them, in 0 to 1, to two digits: that the run carries extra load (memory) there, given that it
        differs from its history at all. `thesis`: see `thesis_discords`.

    Raises:
        ValueError: too few history runs, a series is too short or not finite, or the mode is not known.
    """
    if mode == "thesis":
        known, judged = checked_history(history, target, 1)
        center = barycenter or dba(known)
        return thesis_discords(
            judged,
            center.values,
            window=max(3, round(window_s / interval_s)),
            quantile_low=quantile_low,
            quantile_high=quantile_high,
            skip_start=round(skip_start_s / interval_s),
            skip_end=round(skip_end_s / interval_s),
            backend=backend,
        )
    if mode != "default":
        raise ValueError(f"localisation = {mode!r}: allowed is {' or '.join(detection.localisation_names())}")
    return Localiser(history, series=series, interval_s=interval_s).find(target, alarm=alarm)


class Localiser:
    """Mode `default` for several targets beside one history: what chance brings is learned once."""

    def __init__(self, history: Sequence[Sample], *, series: SeriesDefinition, interval_s: float) -> None:
        """See `localise`.

        Raises:
            ValueError: fewer than 3 history runs, or a series is too short or not finite.
        """
        self._interval_s = interval_s
        self._has_startup = series.kind == "memory"  # what it holds there says nothing; of load all is examined
        known = checked_values(history, SMALLEST_HISTORY)
        self._models: list[_CourseModel | _MemoryModel]
        if series.kind == "memory":
            self._models = [_MemoryModel(known, interval_s, sign) for sign in _SIGNS[series.worse]]
        else:
            scale = scale_of(series.kind, known)
            self._models = [_CourseModel(history, known, scale, interval_s, sign) for sign in _SIGNS[series.worse]]

    def find(self, target: Sample, *, alarm: float | None = None) -> Localisation:
        """Windows of the target, (n,), and its profile (n,) of probabilities.

        Args:
            alarm: its verdict's score, standard normal without a regression, where that is an alarm (0 where it is of
                another scale): it departs from its history already. Then something is shown where the models alone
                would call it chance, the strongest window; and all windows of load only where the verdict lies far out
                or the evidence is strong, for most false alarms have neither.

        Raises:
            ValueError: the series is too short or not finite.
        """
        (judged,) = checked_values([target], 1)
        courses = [model.course(target, judged, alarm) for model in self._models]
        passed = [course.probability for course in courses if course.is_more_than_chance]
        profile: Floats = np.max(passed, axis=0) if passed else np.zeros(len(judged))
        if alarm is not None and not passed:
            profile = _strongest([course.probability for course in courses])
        first = startup_samples(len(judged), self._interval_s) if self._has_startup else 0
        return Localisation(profile, 1, PROBABLE, CONVINCING, _windows(profile), (first, len(judged)))


def _strongest(profiles: Sequence[Floats]) -> Floats:
    """Of several profiles (n,) the one window with the most samples in excess, by their probabilities; 0 elsewhere."""
    kept = np.zeros_like(profiles[0])
    most = 0.0
    for profile in profiles:
        for window in _windows(profile):
            inside = slice(window.start, window.end)
            if profile[inside].sum() > most:
                most = float(profile[inside].sum())
                kept = np.zeros_like(profile)
                kept[inside] = profile[inside]
    return kept


class _Course(NamedTuple):
    """What a model says of a run.

    Attributes:
        probability: (n,), each in 0 to 1, given that the run differs from its history at all.
        is_more_than_chance: whether the run's evidence for that is more than normal runs have.
    """

    probability: Floats
    is_more_than_chance: bool


def _windows(profile: Floats) -> tuple[Window, ...]:
    merged = merge_windows(
        profile, PROBABLE, CONVINCING, cover=(0, 1), confidence_low=PROBABLE, confidence_high=CONVINCING
    )
    # To two digits: windows that look equally sure are, and the first of them leads.
    return tuple(
        replace(one, confidence=round(one.profile_value, 2)) for one in merged if one.profile_value > CONVINCING
    )


def _score(known: Floats, value: float) -> float:
    """How far the logarithm of a run's evidence is beyond what chance brings."""
    usual = known[inlier_mask([known], DISTURBED_LOG)]
    return float(predictive_score(usual, value, SMALLEST_EVIDENCE_SD))


def _load_gate(alarm: float | None) -> float:
    if alarm is None:
        return LOAD_GATE
    return FAR_ALARM_GATE if is_far(alarm) else NEAR_ALARM_GATE


class _CourseModel:
    """What load (or another level) the history has at each place; `sign` -1 looks for less of it instead of more."""

    def __init__(
        self,
        history: Sequence[Sample],
        known: list[Floats],
        scale: Scale,
        interval_s: float,
        sign: int,
    ) -> None:
        self._interval_s = interval_s
        self._scale, self._sign = scale, sign
        self._runs = [_Run(sample, values, scale, sign) for sample, values in zip(history, known, strict=True)]
        self._largest = LARGEST_LOAD_DIFFERENCES if isinstance(scale, LoadScale) else None
        self._beside = _Beside(self._runs, self._largest, interval_s)

    def course(self, target: Sample, judged: Floats, alarm: float | None) -> _Course:
        """Probabilities (n,) of excess load."""
        run, gate = _Run(target, judged, self._scale, self._sign), _load_gate(alarm)
        found = self._beside.find(run)
        probability: Floats = np.clip(found.probability, 0.0, 1.0)  # sums may be rounded to the next number above 1
        is_more = self._beside.score(found) > gate or self._score_however_aligned(run) > gate
        return _Course(probability, is_more)

    def _score_however_aligned(self, run: _Run) -> float:
        """How far the run stands out although its alignment may explain away whatever it can: the history's runs then
        differ less by chance, so some load shows here only."""
        return -np.inf if self._largest is None else self._freely.score(self._freely.find(run))

    @cached_property
    def _freely(self) -> _Beside:
        """For those few runs that need it."""
        return _Beside(self._runs, None, self._interval_s)


class _Beside:
    """The history's runs as aligned in one way, and what chance brings then.

    Args of its making: the runs; `largest` differences that count, see `align`; seconds between samples.
    """

    def __init__(self, runs: list[_Run], largest: Sequence[float] | None, interval_s: float) -> None:
        self._runs, self._largest, self._interval_s = runs, largest, interval_s
        compared = [self._compared(run, [other for other in runs if other is not run]) for run in runs]
        self._usual = UsualDifferences(compared)
        self._evidence = np.array([_log_evidence(find_excess(self._usual, one, interval_s)) for one in compared])

    def find(self, run: _Run) -> Excess:
        return find_excess(self._usual, self._compared(run, self._runs), self._interval_s)

    def score(self, found: Excess) -> float:
        return _score(self._evidence, _log_evidence(found))

    def _compared(self, run: _Run, others: list[_Run]) -> Compared:
        usual = _expected_load(run, others, self._largest)
        differences = run.values - usual
        startup = startup_samples(len(usual), self._interval_s)
        return Compared(differences - _surplus(differences, usual), usual, startup)


def _surplus(differences: Floats, usual: Floats) -> float:
    """What is there all along (another background load), unit of the differences (n,): it lies nowhere in particular.

    Quiet seconds show it best, but where work was added on the quiet screens they show that; a load that is there all
    along is there in most seconds of the session as well.
    """
    quiet = differences[usual <= np.median(usual)]
    return float(min(np.median(quiet), np.median(differences)))


class _Run:
    def __init__(self, sample: Sample, values: Floats, scale: Scale, sign: int) -> None:
        self.states, self.values, self.channels = sample.states, sign * values, levels_and_changes(scale, values)


def _log_evidence(found: Excess) -> float:
    return float(np.log1p(max(found.evidence, 0.0) / 4))  # 4 nats: below that, evidence is no evidence


def _expected_load(run: _Run, others: list[_Run], largest: Sequence[float] | None) -> Floats:
    """What the other runs had at the same place: the median of the loads aligned with each sample (n,).

    Where the states are known, the median load of the others' samples in the same state instead.
    """
    aligned = []
    for other in others:
        radius = max(SMALLEST_RADIUS, round(RADIUS_SHARE * max(len(run.values), len(other.values))))
        found = align(run.channels, other.channels, radius=radius, largest=largest)
        aligned.append(other.values[found.first_index])
    usual: Floats = np.median(aligned, axis=0)
    pairs = [(other.states, other.values) for other in others if other.states is not None]
    if run.states is None or not pairs:
        return usual
    codes = np.concatenate([states for states, _ in pairs])
    loads = np.concatenate([values for _, values in pairs])
    for code in np.unique(run.states[run.states >= 0]):
        same = loads[codes == code]
        if len(same) >= SMALLEST_STATE_SAMPLES:
            usual[run.states == code] = np.median(same)
    return usual


class _MemoryModel:
    """How the history's memory grows; `sign` -1 looks for less of it instead of more."""

    def __init__(self, known: list[Floats], interval_s: float, sign: int) -> None:
        self._interval_s, self._sign = interval_s, sign
        self._courses = [self._course(values) for values in known]
        self._gains = np.array(
            [
                find_onset(
                    self._difference(course, self._courses[:index] + self._courses[index + 1 :]), interval_s, 0
                ).gain
                for index, course in enumerate(self._courses)
            ]
        )

    def course(self, target: Sample, judged: Floats, alarm: float | None) -> _Course:
        """Probabilities (n,) that extra memory has begun."""
        course = self._course(judged)
        found = find_onset(self._difference(course, self._courses), self._interval_s, float(np.median(self._gains)))
        known, value = np.log(self._gains + SMALLEST_GAIN), float(np.log(found.gain + SMALLEST_GAIN))
        probability: Floats = np.zeros(len(judged))
        probability[len(judged) - len(course) :] = np.clip(found.begun, 0.0, 1.0)
        return _Course(probability, _score(known, value) > MEMORY_GATE)

    def _course(self, values: Floats) -> Floats:
        return centred(self._sign * log_memory(values)[startup_samples(len(values), self._interval_s) :])

    def _difference(self, course: Floats, others: list[Floats]) -> Floats:
        return course - median_course(others, len(course), self._interval_s)
