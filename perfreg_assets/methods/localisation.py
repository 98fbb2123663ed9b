"""Where in a series the regression lies.

`thesis`: discords of the z-normalised matrix profile against the barycenter (4.3), flagged by the profile's own
quantiles: some 5 to 10 % of every run, normal ones too, and blind to level.

`default`: extra load is found as samples in an excess state (`excess_load`), extra memory by its onset (`leak_onset`).
Both compare with the history itself, whose runs, each beside the others, say what chance brings: where the run as a
whole shows no more than that, nothing is flagged. The profile is a probability per sample, so its thresholds mean the
same for every series: a window is where it is above one half, and counts if it reaches seven tenths somewhere.
Where the path is known, usual load is what the history had in the same state (screen, seconds since the last action).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfreg_assets import detection
from perfreg_assets.catalogue import SeriesDefinition, Worse
from perfreg_assets.detection import SMALLEST_HISTORY
from perfreg_assets.methods.barycenter import Barycenter, dba
from perfreg_assets.methods.calibration import inlier_mask, predictive_score
from perfreg_assets.methods.discords import Localisation, Window, merge_windows, thesis_discords
from perfreg_assets.methods.dtw import align
from perfreg_assets.methods.excess_load import Excess, UsualDifferences, find_excess
from perfreg_assets.methods.features import (
    LARGEST_STARTUP_SHARE,
    Scale,
    centred,
    levels_and_changes,
    log_memory,
    scale_of,
    startup_samples,
)
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.leak_onset import find_onset, median_course
from perfreg_assets.methods.samples import Sample, checked_history, checked_values

PROBABLE = 0.5
CONVINCING = 0.7
LOAD_GATE = 1.75  # score of the run's evidence beside the history's: 4 % of normal runs pass
MEMORY_GATE = 1.28  # 10 %; a normal run that passes has one window, not several
RADIUS_SHARE = 0.15  # of the longer series; alignments further off the diagonal change nothing (measured)
SMALLEST_RADIUS = 20
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
) -> Localisation:
    """Windows in which the target differs from its history.

    Args:
        history: k runs; at least 3 for `default`.
        series: its kind decides what is looked for, `worse` on which side (`default` only).
        interval_s: between samples.
        barycenter: of the history; `thesis` computes it when it is missing, `default` needs none.
        mode: one of `detection.localisation_names()`.
        window_s, quantile_low, quantile_high, backend: of `thesis`.
        skip_start_s, skip_end_s: what is not examined; memory is flagged up to the end, where a leak is largest.

    Returns:
        `default`: a profile (n,) of probabilities with window 1 sample, and windows whose confidence is the highest
        probability in them, in 0 to 1: that the run carries extra load (memory) there, given that it differs from its
        history at all. `thesis`: see `thesis_discords`.

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
    localiser = Localiser(
        history, series=series, interval_s=interval_s, skip_start_s=skip_start_s, skip_end_s=skip_end_s
    )
    return localiser.find(target)


class Localiser:
    """Mode `default` for several targets beside one history: what chance brings is learned once."""

    def __init__(
        self,
        history: Sequence[Sample],
        *,
        series: SeriesDefinition,
        interval_s: float,
        skip_start_s: float = 15.0,
        skip_end_s: float = 8.0,
    ) -> None:
        """See `localise`.

        Raises:
            ValueError: fewer than 3 history runs, or a series is too short or not finite.
        """
        self._interval_s = interval_s
        self._skip_start = round(skip_start_s / interval_s)
        self._skip_end = round(skip_end_s / interval_s)
        known = checked_values(history, SMALLEST_HISTORY)
        self._models: list[_CourseModel | _MemoryModel]
        if series.kind == "memory":
            self._skip_end = 0
            self._models = [_MemoryModel(known, interval_s, sign) for sign in _SIGNS[series.worse]]
        else:
            scale = scale_of(series.kind, known)
            self._models = [
                _CourseModel(history, known, scale, interval_s, self._skip_end, sign) for sign in _SIGNS[series.worse]
            ]

    def find(self, target: Sample) -> Localisation:
        """Windows of the target, (n,), and its profile (n,) of probabilities.

        Raises:
            ValueError: the series is too short or not finite.
        """
        (judged,) = checked_values([target], 1)
        found = np.max([model.profile(target, judged) for model in self._models], axis=0)
        profile: Floats = np.clip(found, 0.0, 1.0)  # sums may be rounded to the next number above 1
        # What the models leave out at the start is not examined, however little is to be skipped.
        first = max(
            min(self._skip_start, int(LARGEST_STARTUP_SHARE * len(judged))),
            startup_samples(len(judged), self._interval_s),
        )
        end = len(judged) - _end_samples(len(judged), self._skip_end)
        profile[:first] = 0.0
        profile[end:] = 0.0
        return Localisation(profile, 1, PROBABLE, CONVINCING, _windows(profile), (first, end))


def _end_samples(length: int, skip_end: int) -> int:
    """Of a short run at most a tenth is left out at the end."""
    return min(skip_end, length // 10)


def _windows(profile: Floats) -> tuple[Window, ...]:
    merged = merge_windows(
        profile, PROBABLE, CONVINCING, cover=(0, 1), confidence_low=PROBABLE, confidence_high=CONVINCING
    )
    return tuple(replace(one, confidence=one.profile_value) for one in merged if one.profile_value > CONVINCING)


def _passes(known: Floats, value: float, gate: float) -> bool:
    """Whether the logarithm of a run's evidence is more than chance brings."""
    usual = known[inlier_mask([known], DISTURBED_LOG)]
    return predictive_score(usual, value, SMALLEST_EVIDENCE_SD) > gate


class _CourseModel:
    """What load (or another level) the history has at each place; `sign` -1 looks for less of it instead of more."""

    def __init__(
        self,
        history: Sequence[Sample],
        known: list[Floats],
        scale: Scale,
        interval_s: float,
        skip_end: int,
        sign: int,
    ) -> None:
        self._interval_s, self._skip_end = interval_s, skip_end
        self._scale, self._sign = scale, sign
        self._runs = [_Run(sample, values, scale, sign) for sample, values in zip(history, known, strict=True)]
        pairs = [self._differences(run, [other for other in self._runs if other is not run]) for run in self._runs]
        self._usual = UsualDifferences([difference for difference, _ in pairs], [load for _, load in pairs])
        self._evidence = np.array([_log_evidence(find_excess(self._usual, *pair, interval_s)) for pair in pairs])

    def profile(self, target: Sample, judged: Floats) -> Floats:
        """Probabilities (n,) of excess load; 0 where the run as a whole shows no more than chance brings."""
        pair = self._differences(_Run(target, judged, self._scale, self._sign), self._runs)
        found = find_excess(self._usual, *pair, self._interval_s)
        profile: Floats = np.zeros(len(judged))
        if _passes(self._evidence, _log_evidence(found), LOAD_GATE):
            first = startup_samples(len(judged), self._interval_s)
            profile[first : first + len(found.probability)] = found.probability
        return profile

    def _differences(self, run: _Run, others: list[_Run]) -> tuple[Floats, Floats]:
        """(difference to the usual load, usual load), without start-up and end."""
        usual = _expected_load(run, others)
        length = len(run.values)
        kept = slice(startup_samples(length, self._interval_s), length - _end_samples(length, self._skip_end))
        difference = (run.values - usual)[kept]
        # What is there all along (another background load) lies nowhere in particular; quiet seconds show it best.
        quiet = usual[kept] <= np.median(usual[kept])
        return difference - np.median(difference[quiet]), usual[kept]


class _Run:
    def __init__(self, sample: Sample, values: Floats, scale: Scale, sign: int) -> None:
        self.states, self.values, self.channels = sample.states, sign * values, levels_and_changes(scale, values)


def _log_evidence(found: Excess) -> float:
    return float(np.log1p(max(found.evidence, 0.0) / 4))  # 4 nats: below that, evidence is no evidence


def _expected_load(run: _Run, others: list[_Run]) -> Floats:
    """What the other runs had at the same place: the median of the loads aligned with each sample (n,).

    Where the states are known, the median load of the others' samples in the same state instead.
    """
    aligned = []
    for other in others:
        radius = max(SMALLEST_RADIUS, round(RADIUS_SHARE * max(len(run.values), len(other.values))))
        aligned.append(other.values[align(run.channels, other.channels, radius=radius).first_index])
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

    def profile(self, target: Sample, judged: Floats) -> Floats:
        """Probabilities (n,) that extra memory has begun; 0 where the run shows no more than chance brings."""
        course = self._course(judged)
        found = find_onset(self._difference(course, self._courses), self._interval_s, float(np.median(self._gains)))
        known, value = np.log(self._gains + SMALLEST_GAIN), float(np.log(found.gain + SMALLEST_GAIN))
        profile: Floats = np.zeros(len(judged))
        if _passes(known, value, MEMORY_GATE):
            profile[len(judged) - len(course) :] = found.begun
        return profile

    def _course(self, values: Floats) -> Floats:
        return centred(self._sign * log_memory(values)[startup_samples(len(values), self._interval_s) :])

    def _difference(self, course: Floats, others: list[Floats]) -> Floats:
        return course - median_course(others, len(course), self._interval_s)
