"""Where in a series the regression lies.

`thesis`: discords of the z-normalised matrix profile against the barycenter (4.3), flagged by the profile's own
quantiles: some 5 to 10 % of every run, normal ones too, and blind to level.

`default`: extra load is found as samples in an excess state (`excess_load`), extra memory by its onset (`leak_onset`).
Both compare with the history itself, whose runs, each beside the others, say what chance brings: where the run as a
whole shows no more than that, nothing is flagged. The profile is a probability per sample, so its thresholds mean the
same for every series: a window is where it is above one half, and counts if it reaches nine tenths somewhere.
Where the path is known, usual load is what the history had in the same state (screen, seconds since the last action).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from perfreg_assets.methods.barycenter import Barycenter, dba
from perfreg_assets.methods.calibration import predictive_score
from perfreg_assets.methods.discords import Localisation, Window, merge_windows, thesis_discords
from perfreg_assets.methods.dtw import align
from perfreg_assets.methods.excess_load import UsualDifferences, find_excess
from perfreg_assets.methods.features import LoadScale, centred, log_memory, startup_samples
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.leak_onset import find_onset, median_course
from perfreg_assets.methods.samples import Kind, Sample, checked_history

PROBABLE = 0.5
CERTAIN = 0.9
LOAD_GATE = 1.75  # score of the run's evidence beside the history's: 4 % of normal runs pass
MEMORY_GATE = 1.28  # 10 %; a normal run that passes has one window, not several
RADIUS_SHARE = 0.15  # of the longer series; alignments further off the diagonal change nothing (measured)
SMALLEST_RADIUS = 20
SMALLEST_STATE_SAMPLES = 3
SMALLEST_EVIDENCE_SD = 0.1


def localise(
    history: Sequence[Sample],
    target: Sample,
    *,
    kind: Kind,
    interval_s: float,
    barycenter: Barycenter | None = None,
    mode: Literal["default", "thesis"] = "default",
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
        barycenter: of the history; `thesis` computes it when it is missing, `default` needs none.
        window_s, quantile_low, quantile_high, backend: of `thesis`.
        skip_start_s, skip_end_s: what is never flagged; memory is flagged up to the end, where a leak is largest.

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
        raise ValueError(f"localisation = {mode!r}: allowed is default or thesis")
    known, judged = checked_history(history, target, 3)
    start = min(round(skip_start_s / interval_s), startup_samples(len(judged), interval_s))
    end = min(round(skip_end_s / interval_s), len(judged) // 10)
    if kind == "memory":
        profile = _memory_profile(known, judged, interval_s)
        end = 0
    else:
        profile = _load_profile([*history, target], [*known, judged], interval_s, end)
    profile[:start] = 0.0
    profile[len(profile) - end :] = 0.0
    return Localisation(profile, 1, PROBABLE, CERTAIN, _windows(profile))


def _windows(profile: Floats) -> tuple[Window, ...]:
    merged = merge_windows(profile, PROBABLE, CERTAIN, cover=(0, 1), confidence_low=PROBABLE, confidence_high=CERTAIN)
    return tuple(replace(one, confidence=one.profile_value) for one in merged if one.profile_value > CERTAIN)


def _load_profile(samples: list[Sample], runs: list[Floats], interval_s: float, end: int) -> Floats:
    """Probabilities (n,) of the last run; the ones before it are its history."""
    channels = [LoadScale.of(runs[:-1]).levels_and_changes(values) for values in runs]
    differences, expected = [], []
    for index, values in enumerate(runs):
        others = [other for other in range(len(runs) - 1) if other != index]
        usual = _expected_load(index, others, runs, channels, samples)
        kept = slice(startup_samples(len(values), interval_s), len(values) - end)
        differences.append((values - usual)[kept])
        expected.append(usual[kept])
    usual_differences = UsualDifferences(differences[:-1], expected[:-1])
    found = [find_excess(usual_differences, *pair, interval_s) for pair in zip(differences, expected, strict=True)]
    evidence = np.log1p(np.maximum([one.evidence for one in found], 0.0) / 4)
    profile: Floats = np.zeros(len(runs[-1]))
    if predictive_score(evidence[:-1], float(evidence[-1]), SMALLEST_EVIDENCE_SD) > LOAD_GATE:
        first = startup_samples(len(runs[-1]), interval_s)
        profile[first : first + len(found[-1].probability)] = found[-1].probability
    return profile


def _expected_load(
    index: int, others: list[int], runs: list[Floats], channels: list[Floats], samples: list[Sample]
) -> Floats:
    """What the other runs had at the same place: the median of the loads aligned with each sample (n,).

    Where the states are known, the median load of the others' samples in the same state instead.
    """
    aligned = []
    for other in others:
        radius = max(SMALLEST_RADIUS, round(RADIUS_SHARE * max(len(runs[index]), len(runs[other]))))
        first = align(channels[index], channels[other], radius=radius).first_index
        aligned.append(runs[other][first])
    usual: Floats = np.median(aligned, axis=0)
    states = samples[index].states
    pairs = [(samples[other].states, runs[other]) for other in others if samples[other].states is not None]
    if states is None or not pairs:
        return usual
    codes = np.concatenate([known for known, _ in pairs if known is not None])
    loads = np.concatenate([values for _, values in pairs])
    for code in np.unique(states[states >= 0]):
        same = loads[codes == code]
        if len(same) >= SMALLEST_STATE_SAMPLES:
            usual[states == code] = np.median(same)
    return usual


def _memory_profile(known: list[Floats], judged: Floats, interval_s: float) -> Floats:
    runs = [*known, judged]
    skips = [startup_samples(len(values), interval_s) for values in runs]
    courses = [centred(log_memory(values)[skip:]) for values, skip in zip(runs, skips, strict=True)]
    others = list(range(len(known)))
    differences = [
        course - median_course([courses[other] for other in others if other != index], len(course), interval_s)
        for index, course in enumerate(courses)
    ]
    own = np.array([find_onset(values, interval_s, 0.0).gain for values in differences[:-1]])
    found = find_onset(differences[-1], interval_s, float(np.median(own)))
    profile: Floats = np.zeros(len(judged))
    smallest = 1e-7  # a relative change of 0.03 %
    score = predictive_score(np.log(own + smallest), float(np.log(found.gain + smallest)), SMALLEST_EVIDENCE_SD)
    if score > MEMORY_GATE:
        profile[skips[-1] :] = found.begun
    return profile
