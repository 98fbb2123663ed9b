"""`--protocol versions`: several runs of a build judged together: how often equal builds alarm, what is found.

Of each app's normal runs a history is drawn and dealt to earlier builds of three runs each. A build without a
regression is n of the other normal runs; one with a regression is n anomalous runs of one kind and of neighbouring
severity, as the repeats of one regression are. Each is judged by the rule of marts.version_verdicts.
"""

from __future__ import annotations

import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from rich.table import Table

from perfreg_assets.evaluation.cases import Case, Progress, judge
from perfreg_assets.evaluation.dataset import Dataset, injected_excess, read_dataset
from perfreg_assets.evaluation.protocol import Draw, random_draws
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.calibration import QUARTILE, omega_of_level
from perfreg_assets.methods.multiple_testing import series_scores, version_score
from perfreg_assets.methods.repeats import correlation
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.settings import Settings
from perfreg_assets.terminal import console_on

DETECTOR = "default"
RUNS_PER_BUILD = (1, 2, 3, 5, 10)
RUNS_PER_EARLIER_BUILD = 3
BUILDS_PER_DRAW = 4
LEVELS = (0.10, 0.05)
ALL = "all"


@dataclass(frozen=True)
class Build:
    """A judged build: `scores` by series, and of the build as a whole ('*') corrected for their number."""

    app: str
    is_anomalous: bool
    run_count: int
    scores: dict[str, float]


def evaluate(
    dataset: Path, *, settings: Settings, history: int, repeats: int, seed: int, progress: Progress | None = None
) -> dict[str, Any]:
    """False alarms and recall of verdicts on versions, by the number of their runs.

    An app with too few normal runs for a history and a build of n runs has a smaller history for that n.

    Returns:
        JSON types only: dataset, protocol, repeats, history, seed, seconds, detector and `rows`, each {series, runs,
        level, omega, false_positive_rate, normal_cases, recall, anomalous_cases}; series 'all' pools them, '*' is the
        version as a whole.

    Raises:
        Rejected: DATASET_UNREADABLE, DATASET_INVALID, DATASET_TOO_SMALL.
    """
    begin = time.perf_counter()
    known = read_dataset(dataset)
    draws = random_draws(known, history=history, repeats=repeats, seed=seed)
    builds = list(_builds(known, draws, RUNS_PER_BUILD, settings, seed, progress))
    short = {n: [app for app in known.rows if len(known.normal_runs(app)) - history < n] for n in RUNS_PER_BUILD}
    for runs, apps in short.items():
        for app in apps:
            smaller = len(known.normal_runs(app)) - runs
            if smaller >= settings.history_minimum:
                some = replace(known, rows={app: known.rows[app]})
                draws = random_draws(some, history=smaller, repeats=repeats, seed=seed, with_anomalous=False)
                builds += _builds(some, draws, (runs,), settings, seed, progress)
    return {
        "dataset": known.name,
        "protocol": "versions",
        "repeats": repeats,
        "history": history,
        "seed": seed,
        "seconds": round(time.perf_counter() - begin, 3),
        "detector": DETECTOR,
        "rows": [
            row for runs in RUNS_PER_BUILD for row in _rows([one for one in builds if one.run_count == runs], runs)
        ],
    }


def _builds(
    dataset: Dataset,
    draws: Sequence[Draw],
    sizes: Sequence[int],
    settings: Settings,
    seed: int,
    progress: Progress | None,
) -> Iterator[Build]:
    cases: dict[tuple[str, int], dict[str, dict[str, Case]]] = defaultdict(lambda: defaultdict(dict))
    for case in judge(dataset, draws, DETECTOR, vars(settings), progress):
        if case.series != RUN_LEVEL:
            cases[case.app, case.repeat][case.run_id][case.series] = case
    for (app, repeat), runs in sorted(cases.items()):
        draw = np.random.default_rng([seed, zlib.crc32(app.encode()), repeat, 1])
        normal = [run_id for run_id, one in runs.items() if not any(case.is_anomalous for case in one.values())]
        combiner = _Combiner(runs[next(iter(runs))], draw)
        for size in sizes:
            for _ in range(BUILDS_PER_DRAW if size < len(normal) else size == len(normal)):
                chosen = draw.choice(normal, size=size, replace=False)
                yield Build(app, False, size, combiner.scores([runs[run_id] for run_id in chosen]))
            for alike in _repeats_of_one(dataset, app, [one for one in runs if one not in set(normal)], size):
                yield Build(app, True, size, combiner.scores([runs[run_id] for run_id in alike]))


def _repeats_of_one(dataset: Dataset, app: str, run_ids: Sequence[str], size: int) -> Iterator[list[str]]:
    """Runs with a regression that could be repeats of one build: of one kind, next to each other in severity."""
    series = next(iter(dataset.rows[app].values()))
    kinds: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for run_id in run_ids:
        kinds[series[run_id].anomaly_kind or ""].append((injected_excess(series[run_id]) or 0.0, run_id))
    for found in kinds.values():
        ordered = [run_id for _, run_id in sorted(found)]
        yield from (ordered[start : start + size] for start in range(len(ordered) - size + 1))


class _Combiner:
    """Scores of builds beside one history, whose runs are dealt to earlier builds.

    Args:
        one: series → any case beside that history: what its own runs' scores are is the same in all.
    """

    def __init__(self, one: dict[str, Case], draw: np.random.Generator) -> None:
        self._degrees: dict[str, float] = {}
        self._alike: dict[str, float] = {}
        for series, case in one.items():
            own = case.score.history_distances
            kept = len(own) - int(case.score.evidence.get("history_set_aside", 0))
            places = draw.permutation(len(own)) // RUNS_PER_EARLIER_BUILD
            self._degrees[series] = kept - 1
            self._alike[series] = correlation(own, [str(place) for place in places], kept)

    def scores(self, runs: Sequence[dict[str, Case]]) -> dict[str, float]:
        """Series → score of the build that these are the runs of; '*': as a whole."""
        own = {series: np.array([one[series].score.distance for one in runs]) for series in self._degrees}
        found = series_scores(own, self._degrees, self._alike)
        return {**found, RUN_LEVEL: version_score(own, self._degrees, self._alike)}


def _rows(builds: Sequence[Build], runs: int) -> list[dict[str, Any]]:
    rows = []
    series = sorted({name for one in builds for name in one.scores} - {RUN_LEVEL})
    for name in (*series, ALL, RUN_LEVEL):
        scored = [
            (one.is_anomalous, score)
            for one in builds
            for of, score in one.scores.items()
            if of == name or (name == ALL and of != RUN_LEVEL)
        ]
        normal, worse = (np.array([score for bad, score in scored if bad is which]) for which in (False, True))
        for level in LEVELS:
            limit = QUARTILE + omega_of_level(level) * 2 * QUARTILE
            rows.append(
                {
                    "series": name,
                    "runs": runs,
                    "level": level,
                    "omega": omega_of_level(level),
                    "false_positive_rate": float((normal > limit).mean()) if len(normal) else None,
                    "normal_cases": len(normal),
                    "recall": float((worse > limit).mean()) if len(worse) else None,
                    "anomalous_cases": len(worse),
                }
            )
    return rows


def print_report(told: dict[str, Any], file: IO[str] | None = None) -> None:
    """False alarms and recall by series and number of runs, at each level."""
    console = console_on(file, 132 if file else None)
    console.print(
        f"data set {told['dataset']}, protocol {told['protocol']}, {told['repeats']} repeats, "
        f"history {told['history']}, seed {told['seed']}, {told['seconds']:.1f} s"
    )
    for level in LEVELS:
        table = Table(title=f"Versions, level {level:g}: false alarms / recall", title_justify="left")
        table.add_column("series")
        for runs in RUNS_PER_BUILD:
            table.add_column(how_many(runs, "run"), justify="right")
        cells = {(row["series"], row["runs"]): row for row in told["rows"] if row["level"] == level}
        for series in dict.fromkeys(name for name, _ in cells):
            table.add_row(
                "version" if series == RUN_LEVEL else series,
                *(_cell(cells.get((series, runs))) for runs in RUNS_PER_BUILD),
            )
        console.print(table)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    return " / ".join("–" if row[name] is None else f"{row[name]:.3f}" for name in ("false_positive_rate", "recall"))
