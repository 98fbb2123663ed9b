"""How well the injected seconds are found: in seconds and, as the thesis counts, by event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfreg_assets import detection
from perfreg_assets.catalogue import SeriesDefinition, definition_of
from perfreg_assets.evaluation.cases import Case, Progress, each, rows_of, samples_of
from perfreg_assets.evaluation.dataset import Dataset, LabelledSeries
from perfreg_assets.evaluation.protocol import Draw
from perfreg_assets.methods.barycenter import dba
from perfreg_assets.methods.discords import Window
from perfreg_assets.methods.localisation import Localiser, localise
from perfreg_assets.methods.omega_rule import is_anomalous
from perfreg_assets.methods.samples import Sample

SHIFTS = 20  # random circular shifts of the flags: what placement by chance would score


@dataclass(frozen=True)
class Placed:
    """The windows of one target.

    Attributes:
        windows: as of a run of which nothing is known.
        shown: as people see them; none without an alarm.
        is_alarm: the detector's verdict at the ω in force.
    """

    row: LabelledSeries
    windows: tuple[Window, ...]
    shown: tuple[Window, ...]
    is_alarm: bool


class Flagged(NamedTuple):
    """A series with injected intervals, and those windows of it that are counted."""

    row: LabelledSeries
    windows: tuple[Window, ...]


def place(
    dataset: Dataset,
    draws: Sequence[Draw],
    cases: Sequence[Case],
    detector: str,
    omega: float,
    progress: Progress | None,
) -> list[Placed]:
    """Localises every series of every target of the draws, whatever its verdict."""
    alarms = {
        (case.app, case.repeat, case.run_id, case.series): case.score.distance
        for case in cases
        if is_anomalous(case.score, omega)
    }
    mode = detection.definition_of(detector).localisation

    def work(draw: Draw) -> list[Placed]:
        def alarm_of(row: LabelledSeries) -> float | None:
            return alarms.get((row.app, draw.repeat, row.run_id, row.series))

        return [one for series in dataset.rows[draw.app] for one in _placed(dataset, draw, series, mode, alarm_of)]

    found = each(draws, work, f"{detector}, localisation", progress)
    return [one for some in found for one in some]


def _placed(
    dataset: Dataset, draw: Draw, name: str, mode: str, alarm_of: Callable[[LabelledSeries], float | None]
) -> list[Placed]:
    rows = rows_of(dataset, draw, name)
    if rows is None:
        return []
    history, targets = rows
    series, interval_s = definition_of(name), history[0].interval_s
    samples = samples_of([*history, *targets])
    known, judged = samples[: len(history)], samples[len(history) :]
    find = _finder(known, series, interval_s, mode)
    found = []
    for row, one in zip(targets, judged, strict=True):
        alarm = alarm_of(row)
        shown = () if alarm is None else find(one, alarm)
        found.append(Placed(row, find(one, None), shown, alarm is not None))
    return found


def _finder(
    known: Sequence[Sample], series: SeriesDefinition, interval_s: float, mode: str
) -> Callable[[Sample, float | None], tuple[Window, ...]]:
    """(target, its score where that is an alarm) → windows; what the targets share is computed once."""
    if mode == "default":
        localiser = Localiser(known, series=series, interval_s=interval_s)
        return lambda one, alarm: localiser.find(one, alarm=alarm).windows
    center = dba([one.values for one in known])

    def thesis(one: Sample, _: float | None) -> tuple[Window, ...]:
        found = localise(known, one, series=series, interval_s=interval_s, barycenter=center, mode="thesis")
        return found.windows

    return thesis


def placement_rows(placed: Sequence[Placed], detector: str, *, seed: int) -> list[dict[str, Any]]:
    """Rows of `localisation` in public format 2; `runs` says over which runs.

    `all`: every anomalous run, found or not, localised as one of which nothing is known. `alarmed`: the anomalous runs
    that raised an alarm, as people see them; clean runs without an alarm then have no flags, for nobody sees any.
    """
    rows = []
    for series in ["all", *sorted({one.row.series for one in placed})]:
        some = [one for one in placed if series in {"all", one.row.series}]
        clean = [one for one in some if not one.row.is_anomalous]
        injected = [one for one in some if one.row.is_anomalous and one.row.intervals]
        for runs in ("all", "alarmed"):
            if runs == "all":
                anomalous = [Flagged(one.row, one.windows) for one in injected]
                flagged = sum(len(one.windows) for one in clean)
            else:
                anomalous = [Flagged(one.row, one.shown) for one in injected if one.is_alarm]
                flagged = sum(len(one.shown) for one in clean)
            per_clean = flagged / len(clean) if clean else None
            rows += [
                {
                    "detector": detector,
                    "series": series,
                    "runs": runs,
                    "unit": unit,
                    "cases": len(anomalous),
                    **measure(anomalous, seed),
                    "flagged_per_clean_run": per_clean,
                }
                for unit, measure in (("seconds", _in_seconds), ("events", _by_event))
            ]
    return rows


def _in_seconds(placed: Sequence[Flagged], seed: int) -> dict[str, Any]:
    tp = fp = fn = total = 0.0
    for one in placed:
        truth, flags = one.row.injected, _flags(one)
        seconds = one.row.interval_s
        tp += float((truth & flags).sum()) * seconds
        fp += float((flags & ~truth).sum()) * seconds
        fn += float((truth & ~flags).sum()) * seconds
        total += len(truth) * seconds
    by_chance = (tp + fn) / total if total else None
    return _figures(tp, fp, fn, by_chance)


def _by_event(placed: Sequence[Flagged], seed: int) -> dict[str, Any]:
    """Precision: windows that meet an injected interval. Recall: injected intervals that a window meets."""
    generator = np.random.default_rng(seed)
    tp = fp = found = missed = by_chance = 0.0
    for one in placed:
        truth, flags = one.row.injected, _flags(one)
        hits = sum(bool(truth[window.start : window.end].any()) for window in one.windows)
        tp += hits
        fp += len(one.windows) - hits
        for start_s, end_s in one.row.intervals:
            inside = flags[round(start_s / one.row.interval_s) : round(end_s / one.row.interval_s)]
            found += bool(inside.any())
            missed += not inside.any()
        for shift in generator.integers(0, len(truth), SHIFTS if one.windows else 0):
            moved = np.roll(truth, shift)  # the same as moving the windows the other way
            by_chance += sum(bool(moved[window.start : window.end].any()) for window in one.windows) / SHIFTS
    precision = tp / (tp + fp) if tp + fp else None
    recall = found / (found + missed) if found + missed else None
    chance = by_chance / (tp + fp) if tp + fp else None
    return {
        "tp": int(found),
        "fp": int(fp),
        "fn": int(missed),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if precision and recall else None,
        "lift": precision / chance if precision is not None and chance else None,
    }


def _figures(tp: float, fp: float, fn: float, by_chance: float | None) -> dict[str, Any]:
    precision = tp / (tp + fp) if tp + fp else None
    return {
        "tp": round(tp),
        "fp": round(fp),
        "fn": round(fn),
        "precision": precision,
        "recall": tp / (tp + fn) if tp + fn else None,
        "f1": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None,
        "lift": precision / by_chance if precision is not None and by_chance else None,
    }


def _flags(one: Flagged) -> NDArray[np.bool_]:
    flags = np.zeros(len(one.row.values), dtype=bool)
    for window in one.windows:
        flags[window.start : window.end] = True
    return flags
