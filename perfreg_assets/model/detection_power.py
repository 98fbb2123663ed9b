"""What would have been caught: regressions of rising size in an app's own normal runs, judged by the rule in force.

Each run keeps its own history, its path and the app's earlier scores; only its samples change. So what is measured is
what the product does, on this app, with as many comparable runs as it has.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from perfreg_assets.advance import Count
from perfreg_assets.detection import DetectorDefinition, definition_of
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.calibration import p_of_score
from perfreg_assets.methods.detectors import detectors_by_way
from perfreg_assets.methods.empirical_null import TheoreticalScore
from perfreg_assets.methods.injection import INJECTIONS, Injection
from perfreg_assets.methods.multiple_testing import combine, correct, version_score
from perfreg_assets.methods.omega_rule import is_anomalous, threshold
from perfreg_assets.methods.repeats import correlation
from perfreg_assets.methods.samples import Sample, Score, UnlikeHistoryError
from perfreg_assets.model import comparisons
from perfreg_assets.model.averaging import averages_of, stored_average
from perfreg_assets.model.comparisons import Comparison, SampleStore
from perfreg_assets.model.past_scores import PastScores
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import judged_runs, settings_table
from perfreg_assets.warehouse.connection import Reader

SIZES = {
    "memory": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0),
    "load": (5.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0, 200.0),
}
SERIES = {"memory": ("rss_app",), "load": ("cpu_app", "cpu_total")}
"""Where a regression of the app shows; those of them that are judged are changed."""
REPEATS = (1, 3, 5)
MOST_RUNS, FEWEST_RUNS = 24, 3
ONSETS = (0.1, 0.4)
"""Earliest and latest onset, as a share of the session."""
VERSIONS_DRAWN = 200
FEWEST_VERSIONS = 10
"""Different versions that can be made of the runs: of fewer no share of ten can be told."""


@dataclass(frozen=True)
class _Run:
    """One normal run, injected: (kind, size) → series → scores, one per onset; `plain`: what it scores without, its
    metrics among it."""

    run_id: str
    plain: Mapping[str, Score]
    injected: Mapping[tuple[str, float], Mapping[str, Sequence[Score]]]
    degrees: Mapping[str, float]
    alike: Mapping[str, float]

    def scores(self, kind: str, size: float, onset: int) -> dict[str, Score]:
        return {**self.plain, **{series: found[onset] for series, found in self.injected[kind, size].items()}}


def measure(reader: Reader, settings: Settings, app: str, *, onsets: int = 2, seed: int = 0) -> dict[str, Any]:
    """How often regressions of each kind and size would have been found.

    Args:
        onsets: per run, kind and size.

    Returns:
        JSON types only: dataset (the app), protocol `power`, detector, omega, seed, runs, history_sizes (smallest,
        largest) and `rows`, each {kind, unit, size, repeats, found, cases, share, low, high}; low and high are
        Wilson's 95 % interval of the share, a run or `repeats` of them counting as one case. `missing`: kind → why it
        could not be tried; `few_versions`: why versions of several runs could not, as {kind, repeats, why}. Versions of
        several runs only for detectors of scale `score`; no case is the same runs and onsets as another.

    Raises:
        Rejected: NOT_ENOUGH_HISTORY, the app has too few normal runs that were judged.
    """
    settings = settings_table.in_force(reader, settings)
    detector = definition_of(settings.detector)
    run_ids = judged_runs.normal(reader, app, limit=MOST_RUNS)
    planned = comparisons.plan(reader, run_ids, settings)
    families = {run_id: [one for one in family if one.is_scored] for run_id, family in planned.of(detector).items()}
    families = {run_id: family for run_id, family in families.items() if any(one.has_course for one in family)}
    measuring = _Measuring(reader, settings, detector, families)
    count = Count(len(families), "runs injected")
    runs = [run for run_id in count.over(iter(families)) if (run := measuring.run(run_id, onsets, seed)) is not None]
    if len(runs) < FEWEST_RUNS:
        detail = f"{app} has {len(runs)} normal runs with a verdict; {FEWEST_RUNS} are needed to inject something into"
        raise Rejected(Reason.NOT_ENOUGH_HISTORY, detail)
    rows = [row for kind in INJECTIONS.values() for row in _rows(runs, kind, detector, settings.omega, seed)]
    sizes = [one.history_size for run in runs for one in families[run.run_id] if one.has_course]
    return {
        "dataset": app,
        "protocol": "power",
        "detector": detector.name,
        "omega": settings.omega,
        "seed": seed,
        "runs": len(runs),
        "history_sizes": [min(sizes), max(sizes)],
        "rows": rows,
        "missing": {
            kind.name: f"none of {', '.join(SERIES[kind.resource])} is judged in these runs"
            for kind in INJECTIONS.values()
            if not any(name == kind.name for run in runs for name, _ in run.injected)
        },
        "few_versions": [
            {"kind": kind.name, "repeats": repeats, "why": why}
            for kind in INJECTIONS.values()
            if (having := sum(any(name == kind.name for name, _ in run.injected) for run in runs))
            for repeats in _repeats(detector)
            if (why := _too_few(having, repeats))
        ],
    }


class _Measuring:
    """The detector in force and what it needs of some runs."""

    def __init__(
        self,
        reader: Reader,
        settings: Settings,
        definition: DetectorDefinition,
        families: Mapping[str, Sequence[Comparison]],
    ) -> None:
        everything = [one for family in families.values() for one in family]
        self._families, self._settings, self._definition = families, settings, definition
        self._of_way = detectors_by_way(definition, vars(settings))
        self._store = SampleStore(reader, everything)
        self._averages = averages_of(reader, everything, settings)
        self._past = PastScores.of(reader, families, definition.name) if definition.has_empirical_null else None

    def run(self, run_id: str, onsets: int, seed: int) -> _Run | None:
        """None where the run has too little in common with its history to be judged but by its metrics."""
        family = self._families[run_id]
        with_course = [one for one in family if one.has_course]
        samples = {one.series: self._store.samples(one) for one in with_course}
        of_app = samples.get("cpu_app", samples.get("cpu_total"))
        total = float(of_app[1].values.sum()) if of_app else 0.0  # what the app uses, in whatever series it shows
        plain: dict[str, Score] = {}
        injected: dict[tuple[str, float], dict[str, Sequence[Score]]] = defaultdict(dict)
        for one in with_course:
            history, target = samples[one.series]
            keys, targets = [], [target]
            for kind, size, changed in _injected(one, target, total, onsets, seed):
                keys.append((kind, size))
                targets += changed
            try:
                scores = self._scores(one, history, targets, len(family))
            except UnlikeHistoryError:
                continue
            plain[one.series] = scores[0]
            for place, key in enumerate(keys):
                injected[key][one.series] = scores[1 + place * onsets : 1 + (place + 1) * onsets]
        if not plain:
            return None
        plain |= {one.series: self._score_of_metric(one, len(family)) for one in family if not one.has_course}
        degrees, alike = {}, {}
        for one in family:
            if one.series in plain:
                score = plain[one.series]
                kept = one.history_size - int(score.evidence.get("history_set_aside", 0))
                degrees[one.series] = float(kept - 1)
                alike[one.series] = correlation(score.history_distances, one.history_versions, kept)
        return _Run(run_id, plain, injected, degrees, alike)

    def _score_of_metric(self, one: Comparison, series_count: int) -> Score:
        assert one.value is not None
        score = self._of_way[one.way].score_value(np.array(one.known), one.value, series=one.definition)
        return correct(score, series_count, self._definition.run_rule)

    def _scores(
        self, one: Comparison, history: Sequence[Sample], targets: Sequence[Sample], series_count: int
    ) -> list[Score]:
        scores = self._of_way[one.way].score_all(
            history,
            targets,
            series=one.definition,
            interval_s=one.interval_s,
            barycenter=stored_average(one, self._averages, self._settings),
        )
        if self._past is not None:
            null = self._past.null(one.run_id, one.series)
            judged = [null.judged(TheoreticalScore.of(score.distance, score.evidence)) for score in scores]
            scores = [
                replace(score, distance=distance, p_value=p_of_score(distance))
                for score, distance in zip(scores, judged, strict=True)
            ]
        return [correct(score, series_count, self._definition.run_rule) for score in scores]


def _injected(
    one: Comparison, target: Sample, total: float, onsets: int, seed: int
) -> Iterator[tuple[str, float, list[Sample]]]:
    """(kind, size, the run with it, an onset each); all series of a run are changed at the same moments.

    Args:
        total: core-samples that the app uses without it.
    """
    for kind in INJECTIONS.values():
        if one.series not in SERIES[kind.resource]:
            continue
        for size in SIZES[kind.resource]:
            draw = np.random.default_rng([seed, *one.run_id.encode(), *kind.name.encode()])
            changed = []
            for _ in range(onsets):
                count = len(target.values)
                onset = int(draw.uniform(*ONSETS) * count)
                extra = kind.extra(count, total, size, one.interval_s, onset=onset, draw=draw)
                changed.append(replace(target, values=target.values + extra))
            yield kind.name, size, changed


def _rows(
    runs: Sequence[_Run], kind: Injection, detector: DetectorDefinition, omega: float, seed: int
) -> Iterator[dict[str, Any]]:
    for size in SIZES[kind.resource]:
        having = [run for run in runs if run.injected.get((kind.name, size))]
        if not having:
            continue
        for repeats in _repeats(detector):
            if _too_few(len(having), repeats):
                continue
            found = _found(having, kind.name, size, repeats, detector, omega, seed)
            low, high = _wilson(float(found.mean()), len(having) / repeats)
            yield {
                "kind": kind.name,
                "unit": kind.unit,
                "size": size,
                "repeats": repeats,
                "found": int(found.sum()),
                "cases": len(found),
                "share": float(found.mean()),
                "low": low,
                "high": high,
            }


def _repeats(detector: DetectorDefinition) -> tuple[int, ...]:
    """Of how many runs a version is that the detector can judge as one."""
    return REPEATS if detector.scale == "score" else (1,)


def _too_few(runs: int, repeats: int) -> str | None:
    """Why nothing can be told of versions of so many of the runs: drawn again and again they would be the same few."""
    different = math.comb(runs, repeats)
    if repeats == 1 or different >= FEWEST_VERSIONS:
        return None
    made = how_many(different, "different one") if different else "none"
    return f"{how_many(runs, 'normal run')} {'makes' if runs == 1 else 'make'} {made}, {FEWEST_VERSIONS} are needed"


def _found(
    runs: Sequence[_Run],
    kind: str,
    size: float,
    repeats: int,
    detector: DetectorDefinition,
    omega: float,
    seed: int,
) -> np.ndarray:
    """Whether each run, or each drawn version of several runs, is anomalous, (cases,)."""
    onsets = len(next(iter(runs[0].injected[kind, size].values())))
    if repeats == 1:
        wholes = [combine(run.scores(kind, size, place), detector.run_rule) for run in runs for place in range(onsets)]
        return np.array([is_anomalous(whole, omega) for whole in wholes])
    draw = np.random.default_rng([seed, repeats, *kind.encode()])
    found = []
    for places, chosen_onsets in _versions(len(runs), repeats, onsets, draw):
        chosen = [runs[place] for place in places]
        scores = [run.scores(kind, size, onset) for run, onset in zip(chosen, chosen_onsets, strict=True)]
        shared = set.intersection(*(set(one) for one in scores))
        whole = version_score(
            {series: np.array([_uncorrected(one[series]) for one in scores]) for series in shared},
            {series: min(run.degrees[series] for run in chosen) for series in shared},
            {series: max(run.alike[series] for run in chosen) for series in shared},
        )
        found.append(whole > threshold(scores[0][next(iter(shared))], omega))
    return np.array(found)


def _versions(
    runs: int, repeats: int, onsets: int, draw: np.random.Generator
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(runs, the onset in each) of different versions: all that there are, or some of them."""
    if math.comb(runs, repeats) * onsets**repeats <= VERSIONS_DRAWN:
        yield from product(combinations(range(runs), repeats), product(range(onsets), repeat=repeats))
        return
    drawn: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    while len(drawn) < VERSIONS_DRAWN:
        places = tuple(sorted(draw.choice(runs, size=repeats, replace=False).tolist()))
        one = places, tuple(draw.integers(onsets, size=repeats).tolist())
        if one not in drawn:
            drawn.add(one)
            yield one


def _uncorrected(score: Score) -> float:
    return score.distance if score.uncorrected_distance is None else score.uncorrected_distance


def _wilson(share: float, independent: float) -> tuple[float, float]:
    """Wilson's 95 % interval (1927) of a share among so many independent cases."""
    z = 1.959963984540054
    centre = (share + z**2 / (2 * independent)) / (1 + z**2 / independent)
    half = z / (1 + z**2 / independent) * np.sqrt(share * (1 - share) / independent + z**2 / (4 * independent**2))
    return max(0.0, min(share, float(centre - half))), min(1.0, max(share, float(centre + half)))
