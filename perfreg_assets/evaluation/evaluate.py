"""One evaluation: a labelled data set, a protocol, detectors; the result is public format 2."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfreg_assets import detection
from perfreg_assets.evaluation.cases import Case, Progress, judge
from perfreg_assets.evaluation.dataset import Dataset, read_dataset
from perfreg_assets.evaluation.placement import place, placement_rows
from perfreg_assets.evaluation.protocol import PROTOCOLS, Draw, chronological_draws, draws_of, random_draws
from perfreg_assets.evaluation.reliability import reliability
from perfreg_assets.evaluation.tables import table_rows
from perfreg_assets.methods.history import HistoryRules
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

OMEGAS = (0.0, 0.5, 1.0, 1.5)  # thesis, table 5
LEVELS = (0.10, 0.05, 0.02)
LOCALISATION_REPEATS = 6


def evaluate(
    dataset_path: Path,
    *,
    protocol: str = "thesis",
    repeats: int = 30,
    history: int = 12,
    seed: int = 0,
    omegas: Sequence[float] = OMEGAS,
    levels: Sequence[float] = LEVELS,
    detectors: Sequence[str] | None = None,
    localisation_repeats: int = LOCALISATION_REPEATS,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measures detectors on a labelled data set.

    Args:
        protocol: thesis, aa (normal runs only) or chronological (the product's own history, see `protocol`).
        repeats: histories drawn per app; `chronological` has one.
        history: k, the size of a drawn history; `chronological` takes the settings' rules.
        seed: of draws and bootstraps.
        omegas, levels: the knobs; levels concern detectors whose ω has one (scale `score`).
        detectors: by default all that are registered, without those by screens where runs do not tell theirs.
        localisation_repeats: of the repeats, so many are localised as well (0: none).
        settings: rules of `chronological` and parameters of the detectors.
        progress: called with (draws done, draws in all, what).

    Returns:
        JSON types only: dataset, protocol, repeats, history, seed, seconds, rows, localisation, and beyond the
        contract: stage_seconds, counts (cases per detector, runs without a history), reliability.

    Raises:
        Rejected: the data set is not usable or the protocol not known.
        ValueError: a detector is not known.
    """
    settings = settings or Settings()
    watch = _Stages()
    dataset = read_dataset(Path(dataset_path))
    draws, without_history = _draws(dataset, protocol, repeats, history, seed, settings)
    watch.stage("draws")
    result: dict[str, Any] = {
        "dataset": dataset.name,
        "protocol": protocol,
        "repeats": 1 if protocol == "chronological" else repeats,
        "history": settings.history_size if protocol == "chronological" else history,
        "seed": seed,
        "rows": [],
        "localisation": [],
        "reliability": [],
        "counts": {
            "draws": len({(one.app, one.repeat, one.targets) for one in draws}),
            "without_history": without_history,
        },
    }
    for name in _names(dataset, detectors):
        of_detector = draws_of(detection.definition_of(name), draws)
        cases = judge(dataset, of_detector, name, vars(settings), progress)
        watch.stage(name)
        result["rows"] += table_rows(cases, name, omegas=omegas, levels=levels, seed=seed)
        result["reliability"] += reliability(cases, name, seed=seed)
        result["counts"][name] = _counts(cases)
        watch.stage(f"{name} tables")
        some = [draw for draw in of_detector if draw.repeat < localisation_repeats]
        if some and protocol != "aa":
            placed = place(dataset, some, cases, name, settings.omega, progress)
            result["localisation"] += placement_rows(placed, name, seed=seed)
            watch.stage(f"{name} localisation")
    result["seconds"], result["stage_seconds"] = watch.total, watch.stages
    return result


def _names(dataset: Dataset, detectors: Sequence[str] | None) -> list[str]:
    by_screens = {name for name, one in detection.detectors().items() if one.way == "any_path"}
    if detectors is None:
        return [name for name in detection.detector_names() if dataset.has_screens or name not in by_screens]
    if wrong := sorted(by_screens.intersection(detectors)) if not dataset.has_screens else []:
        detail = f"{dataset.name} has no step_screen, which detector {wrong[0]} compares by"
        raise Rejected(Reason.DATASET_INVALID, detail)
    return list(detectors)


def _draws(
    dataset: Dataset, protocol: str, repeats: int, history: int, seed: int, settings: Settings
) -> tuple[list[Draw], dict[str, int]]:
    if protocol not in PROTOCOLS:
        raise Rejected(Reason.PROTOCOL_UNKNOWN, repr(protocol))
    if protocol == "chronological":
        rules = HistoryRules(
            size=settings.history_size,
            minimum=settings.history_minimum,
            similarity_minimum=settings.path_similarity_minimum,
            same_version=settings.history_same_version,
            excludes_anomalous=settings.history_excludes_anomalous,
        )
        return chronological_draws(dataset, rules)
    with_anomalous = protocol == "thesis"
    return random_draws(dataset, history=history, repeats=repeats, seed=seed, with_anomalous=with_anomalous), {}


def _counts(cases: Sequence[Case]) -> dict[str, int]:
    series = [case for case in cases if case.series != "*"]
    return {
        "cases": len(series),
        "anomalous": sum(case.is_anomalous for case in series),
        "runs": len(cases) - len(series),
    }


class _Stages:
    """Seconds per stage."""

    def __init__(self) -> None:
        self._begin = self._last = time.perf_counter()
        self.stages: dict[str, float] = {}

    def stage(self, name: str) -> None:
        now = time.perf_counter()
        self.stages[name] = round(now - self._last, 3)
        self._last = now

    @property
    def total(self) -> float:
        return round(self._last - self._begin, 3)
