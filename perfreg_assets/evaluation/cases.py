"""Every target of every draw, judged by a detector: the raw material of all tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from perfreg_assets import detection
from perfreg_assets.catalogue import definition_of
from perfreg_assets.detection import RunRule
from perfreg_assets.evaluation.dataset import Dataset, LabelledSeries
from perfreg_assets.evaluation.protocol import Draw
from perfreg_assets.methods.detectors import Detector, detectors_by_way
from perfreg_assets.methods.multiple_testing import combine, correct
from perfreg_assets.methods.samples import Sample, Score, UnlikeHistoryError
from perfreg_assets.methods.states import NO_PATH, UNKNOWN, state_codes
from perfreg_assets.run import RUN_LEVEL

SMALLEST_HISTORY = 3  # runs of an app that have a series at all

Progress = Callable[[int, int, str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """One target of one draw, judged on one series (uncorrected) or ('*') as a run, by the product's run rule."""

    app: str
    run_id: str
    series: str
    repeat: int
    is_anomalous: bool
    anomaly_kind: str | None
    severity: str | None
    score: Score


def judge(
    dataset: Dataset,
    draws: Sequence[Draw],
    name: str,
    parameters: Mapping[str, Any],
    progress: Progress | None,
) -> list[Case]:
    """All cases of a detector, in the order of the draws whatever the number of threads; run level included.

    Args:
        name: of the detector.
        parameters: see `methods.detectors.make_detector`.
    """
    definition = detection.definition_of(name)
    by_way = detectors_by_way(definition, parameters)

    def of_draw(draw: Draw) -> list[Case]:
        return _judge_draw(dataset, draw, by_way[draw.way or definition.way], definition.run_rule)

    return [case for cases in each(draws, of_draw, name, progress) for case in cases]


def each(draws: Sequence[Draw], work: Callable[[Draw], T], what: str, progress: Progress | None) -> list[T]:
    """`work` on every draw, in threads (the kernels release the GIL), results in the order of the draws."""
    results: list[T] = []
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for result in pool.map(work, draws):
            results.append(result)
            if progress:
                progress(len(results), len(draws), what)
    return results


def samples_of(rows: Iterable[LabelledSeries]) -> list[Sample]:
    """The rows as detectors take them, with the states of the app where the paths are known."""
    rows = list(rows)
    paths = [row.provenance.screens if row.provenance else NO_PATH for row in rows]
    codes = state_codes(paths, [len(row.values) for row in rows], rows[0].interval_s if rows else 1.0)
    return [
        Sample(row.values, code if (code != UNKNOWN).any() else None) for row, code in zip(rows, codes, strict=True)
    ]


def rows_of(dataset: Dataset, draw: Draw, series: str) -> tuple[list[LabelledSeries], list[LabelledSeries]] | None:
    """(history, targets) that have the series; None where too few do."""
    runs = dataset.rows[draw.app][series]
    history = [runs[run_id] for run_id in draw.history if run_id in runs]
    targets = [runs[run_id] for run_id in draw.targets if run_id in runs]
    return (history, targets) if len(history) >= SMALLEST_HISTORY and targets else None


def _judge_draw(dataset: Dataset, draw: Draw, detector: Detector, run_rule: RunRule) -> list[Case]:
    cases = []
    per_run: dict[str, dict[str, tuple[LabelledSeries, Score]]] = {}
    for series in dataset.rows[draw.app]:
        rows = rows_of(dataset, draw, series)
        if rows is None:
            continue
        history, targets = rows
        samples = samples_of([*history, *targets])
        scores = _scores(detector, samples[: len(history)], samples[len(history) :], history[0])
        for row, score in zip(targets, scores, strict=True):
            if score is None:
                continue
            cases.append(_case(draw, row, series, row.is_anomalous, score))
            per_run.setdefault(row.run_id, {})[series] = (row, score)
    for judged in per_run.values():
        rows_of_run = [row for row, _ in judged.values()]
        worst = next((row for row in rows_of_run if row.is_anomalous), rows_of_run[0])
        corrected = {series: correct(score, len(judged), run_rule) for series, (_, score) in judged.items()}
        cases.append(_case(draw, worst, RUN_LEVEL, worst.is_anomalous, combine(corrected, run_rule)))
    return cases


def _scores(
    detector: Detector, known: Sequence[Sample], judged: Sequence[Sample], row: LabelledSeries
) -> list[Score | None]:
    """None where a run has too little in common with its history to be judged."""
    how: dict[str, Any] = {"series": definition_of(row.series), "interval_s": row.interval_s}
    with suppress(UnlikeHistoryError):  # of one of them at least: each says for itself
        return [*detector.score_all(known, judged, **how)]
    found: list[Score | None] = []
    for one in judged:
        try:
            found.append(detector.score(known, one, **how))
        except UnlikeHistoryError:
            found.append(None)
    return found


def _case(draw: Draw, row: LabelledSeries, series: str, is_anomalous: bool, score: Score) -> Case:
    return Case(
        app=row.app,
        run_id=row.run_id,
        series=series,
        repeat=draw.repeat,
        is_anomalous=is_anomalous,
        anomaly_kind=row.anomaly_kind,
        severity=row.severity,
        score=score,
    )
