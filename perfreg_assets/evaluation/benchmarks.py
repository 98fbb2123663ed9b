"""`--protocol benchmarks`: how often intervals hold the truth, how often the same build alarms, what are found.

The noise is simulated in two layers, as launches of real benchmarks show it: a launch has a level of its own (memory
layout, compilation), around which its iterations scatter. A recorded history is judged beside that, where one is given.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from rich.table import Table

from perfreg_assets.catalogue import benchmark_definition
from perfreg_assets.evaluation.cases import Progress
from perfreg_assets.methods import benchmark_statistics as statistics
from perfreg_assets.methods.calibration import omega_of_level
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.omega_rule import is_anomalous, threshold
from perfreg_assets.methods.scalar_values import predictive
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.terminal import console_on

SIMULATED = "simulated"
BETWEEN_SD, WITHIN_SD, ITERATIONS, TESTS = 0.02, 0.03, 10, 10
LAUNCHES = (2, 3, 5, 10)
HISTORIES = (5, 12)
LEVELS = (0.05, 0.01)
CHANGES = (0.02, 0.05, 0.10, 0.20)
_SERIES = benchmark_definition("simulated", unit="ns", worse="more")
_COLUMNS = ("benchmark", "version_name", "score")


def evaluate(
    dataset: Path, *, settings: Settings, history: int, repeats: int, seed: int, progress: Progress | None = None
) -> dict[str, Any]:
    """Coverage, false alarms and power on simulated noise; false alarms of a recorded history of unchanged builds.

    Args:
        dataset: the word "simulated", or a CSV with columns benchmark, version_name and score, in order of time.
        repeats: thirtieths of the simulated cases: 30 are 3,000 comparisons each.

    Returns:
        JSON types only: dataset, protocol, repeats, history, seed, seconds, coverage, false_alarms, power, recorded.

    Raises:
        Rejected: DATASET_UNREADABLE, DATASET_INVALID, DATASET_TOO_SMALL.
    """
    begin = time.perf_counter()
    show = progress or (lambda *_: None)
    cases = 100 * repeats
    recorded = [] if dataset.name == SIMULATED else _recorded(dataset, settings, history)
    show(0, 3, "coverage")
    coverage = [_coverage(launches, cases, seed) for launches in LAUNCHES]
    show(1, 3, "false alarms")
    alarms = [row for size in sorted({*HISTORIES, history}) for row in _false_alarms(size, cases, seed, settings)]
    show(2, 3, "power")
    power = [_power(change, launches, cases, seed, settings) for change in CHANGES for launches in LAUNCHES]
    return {
        "dataset": dataset.stem,
        "protocol": "benchmarks",
        "repeats": repeats,
        "history": history,
        "seed": seed,
        "seconds": time.perf_counter() - begin,
        "coverage": coverage,
        "false_alarms": alarms,
        "power": power,
        "recorded": recorded,
    }


def _scores(random: np.random.Generator, *shape: int) -> tuple[Floats, Floats]:
    """(scores of launches, iterations of each) of builds that are the same."""
    levels = random.normal(0, BETWEEN_SD, (*shape, 1))
    iterations = np.exp(levels + random.normal(0, WITHIN_SD, (*shape, ITERATIONS)))
    return np.median(iterations, axis=-1), iterations


def _coverage(launches: int, cases: int, seed: int) -> dict[str, Any]:
    """Of the interval of a mean over tests, of one test, and (what is not done) of one drawn from one launch."""
    random = np.random.default_rng([seed, launches])
    hits = {"mean": 0, "test": 0, "iterations": 0}
    drawn = max(1, cases // 20)  # drawing takes long
    for case in range(cases):
        (a, raw_a), (b, raw_b) = (_scores(random, TESTS, launches) for _ in range(2))
        changes = [statistics.of_launches(one, other, -1) for one, other in zip(a, b, strict=True)]
        mean = statistics.mean_change(changes, np.full(TESTS, 1 / TESTS))
        hits["mean"] += mean.low <= 0 <= mean.high
        hits["test"] += changes[0].low <= 0 <= changes[0].high
        if case < drawn:
            one = statistics.of_iterations(raw_a[0, 0], raw_b[0, 0], -1, random)
            hits["iterations"] += one.low <= 0 <= one.high
    return {
        "launches": launches,
        "cases": cases,
        "nominal": statistics.CONFIDENCE,
        "mean": hits["mean"] / cases,
        "test": hits["test"] / cases,
        "iterations_of_one_launch": hits["iterations"] / drawn,
    }


def _false_alarms(size: int, cases: int, seed: int, settings: Settings) -> list[dict[str, Any]]:
    """Of one more result of the same build beside a history."""
    random = np.random.default_rng([seed, size])
    values, _ = _scores(random, cases, size + 1)
    return _alarms_of([(row[:-1], float(row[-1])) for row in values], settings, {"history": size})


def _alarms_of(cases: Sequence[tuple[Floats, float]], settings: Settings, told: dict[str, Any]) -> list[dict[str, Any]]:
    minimum = float(np.log1p(settings.benchmark_change_minimum))
    scores = [predictive(known, value, _SERIES) for known, value in cases]
    enough = [abs(np.log(value / np.median(known))) >= minimum for known, value in cases]
    rows = []
    for level in LEVELS:
        omega = omega_of_level(level)
        alarms = [is_anomalous(score, omega) for score in scores]
        judged = [alarm and one for alarm, one in zip(alarms, enough, strict=True)]
        rows.append(
            {
                **told,
                "level": level,
                "cases": len(cases),
                "alarms": float(np.mean(alarms)),
                "alarms_of_change_minimum": float(np.mean(judged)),
            }
        )
    return rows


def _power(change: float, launches: int, cases: int, seed: int, settings: Settings) -> dict[str, Any]:
    """How often a build that takes longer by `change` alarms: by its history (12 results), and by comparing it once."""
    random = np.random.default_rng([seed, launches, round(1000 * change)])
    omega, minimum = omega_of_level(LEVELS[0]), float(np.log1p(settings.benchmark_change_minimum))
    few = max(1, cases // 10)
    by_history = by_comparison = 0
    for _ in range(few):
        known = np.exp(np.mean(np.log(_scores(random, 12, launches)[0]), axis=1))
        a, b = _scores(random, launches)[0], _scores(random, launches)[0] * (1 + change)
        value = float(np.exp(np.mean(np.log(b))))
        score = predictive(known, value, _SERIES)
        is_enough = np.log(value / np.median(known)) >= minimum
        by_history += bool(is_enough and score.distance > threshold(score, omega))
        one = statistics.of_launches(a, b, -1)
        by_comparison += bool(one.p_value <= LEVELS[0] and -one.log_ratio >= minimum)
    return {
        "change": change,
        "launches": launches,
        "cases": few,
        "by_history": by_history / few,
        "by_comparison": by_comparison / few,
    }


def _recorded(dataset: Path, settings: Settings, size: int) -> list[dict[str, Any]]:
    """Alarms of each result beside the `size` before it of other versions, of a history that is taken for unchanged."""
    try:
        with dataset.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Rejected(Reason.DATASET_UNREADABLE, f"{dataset} ({error})") from error
    by_name: dict[str, list[tuple[str, float]]] = {}
    for number, row in enumerate(rows, 2):
        try:
            name, version, score = (row[column] for column in _COLUMNS)
            value = float(score)
        except (KeyError, TypeError, ValueError) as error:
            detail = f"{dataset}, line {number}: columns {', '.join(_COLUMNS)} are needed, score a number"
            raise Rejected(Reason.DATASET_INVALID, detail) from error
        if not 0 < value < np.inf:
            raise Rejected(Reason.DATASET_INVALID, f"{dataset}, line {number}: score is {score}")
        by_name.setdefault(name, []).append((version, value))
    cases = [
        (np.array(known[-size:]), value)
        for entries in by_name.values()
        for place, (version, value) in enumerate(entries)
        for known in [[other for own, other in entries[:place] if own != version]]
        if len(known) >= size
    ]
    if not cases:
        raise Rejected(Reason.DATASET_TOO_SMALL, f"{dataset}: no benchmark has {size + 1} versions")
    return _alarms_of(cases, settings, {"history": size, "benchmarks": len(by_name)})


def print_report(told: dict[str, Any], stream: IO[str]) -> None:
    """The figures as tables."""
    console = console_on(stream, 120, highlight=False)
    titles = {
        "coverage": "Share of 95 % intervals that hold the truth, by launches",
        "false_alarms": "Share of results of the same build that alarm, simulated",
        "power": f"Share of builds that take longer which alarm, level {LEVELS[0]:g}",
        "recorded": "Share of results of the recorded history that alarm",
    }
    for name, title in titles.items():
        rows = told[name]
        if not rows:
            continue
        drawn = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for column in rows[0]:
            drawn.add_column(column.replace("_", " "), justify="right")
        for row in rows:
            drawn.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()))
        console.print(drawn)
        console.print()
