"""What limits the localisation of extra load: `localisation_limit.py [FIRST-LAST]`, seeds of the second generator.

Seconds F1 of alarms in `cpu_app`, by the size of the extra load: of the product, of the product with alignments where
differences count whatever their size, and of two that know more. One aligns a run as if nothing had been added, so it
shows what the alignment costs; the other knows the screen of each second with its mean load, how high the extra load is
and how long it lasts and pauses, so it shows what remains that no alignment could mend.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perfreg_assets.catalogue import definition_of
from perfreg_assets.evaluation.cases import judge, rows_of, samples_of
from perfreg_assets.evaluation.dataset import Dataset, LabelledSeries, read_dataset
from perfreg_assets.evaluation.protocol import random_draws
from perfreg_assets.methods import localisation
from perfreg_assets.methods.dtw import align
from perfreg_assets.methods.excess_load import Compared, UsualDifferences, find_excess
from perfreg_assets.methods.excess_load_kernels import forward_backward
from perfreg_assets.methods.features import levels_and_changes, scale_of, startup_samples
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.omega_rule import is_anomalous
from perfreg_assets.methods.samples import Sample
from perfreg_assets.settings import Settings
from tests.evaluation.other_generator import OtherGenerator, write_set

SERIES = "cpu_app"
HISTORY, REPEATS = 12, 6
CLASSES = {"5, 10 %": (5, 10), "15 to 25 %": (15, 20, 25), "35 % and more": (35, 60, 100)}
Find = Callable[[LabelledSeries, Sample, float], Floats]  # the run, its samples, its verdict's score


class Truth(NamedTuple):
    """Of a run: `extra` load that was added (n,), and the mean load of each second's screen (n,)."""

    extra: Floats
    usual: Floats


class Told(OtherGenerator):
    """The generator, telling what it did: `truths` by app and run."""

    def __init__(self, seed: int, noise: float) -> None:
        super().__init__(seed, noise)
        self.truths: dict[tuple[str, str], Truth] = {}
        self._extra: Floats = np.zeros(0)

    def _app(self) -> Any:
        self._model = super()._app()
        return self._model

    def _session(self, model: Any) -> Any:
        session = super()._session(model)
        self._screens, self._extra = session[3], np.zeros(len(session[0]))
        return session

    def _excess(self, load: Any, screens: Any, which: int) -> Any:
        self._extra, truth = super()._excess(load, screens, which)
        return self._extra, truth

    def _row(self, app: str, index: int, series: str, values: Any, truth: Any) -> Any:
        row = OtherGenerator._row(app, index, series, values, truth)
        if series == SERIES:
            self.truths[app, row["run_id"]] = Truth(self._extra, self._mean_load())
        return row

    def _mean_load(self) -> Floats:
        entered = np.flatnonzero(np.diff(self._screens, prepend=-1))
        second = np.arange(len(self._screens)) - np.repeat(entered, np.diff(entered, append=len(self._screens)))
        screens = self._model["screens"]
        height, decay, idle = (np.array([one[name] for one in screens]) for name in ("height", "decay", "idle"))
        shown = self._screens
        return height[shown] * np.exp(-second / decay[shown]) + idle[shown]


def product(history: list[Sample], interval_s: float, *, is_bounded: bool = True) -> Find:
    shipped = localisation.LARGEST_LOAD_DIFFERENCES
    if not is_bounded:
        localisation.LARGEST_LOAD_DIFFERENCES = (np.inf, np.inf)
    try:
        localiser = localisation.Localiser(history, series=definition_of(SERIES), interval_s=interval_s)
    finally:
        localisation.LARGEST_LOAD_DIFFERENCES = shipped

    def find(row: LabelledSeries, target: Sample, score: float) -> Floats:
        flags = np.zeros(len(target.values))
        for window in localiser.find(target, alarm=score).windows:
            flags[window.start : window.end] = 1.0
        return flags

    return find


def aligned_without(history: list[Sample], truths: dict[tuple[str, str], Truth], interval_s: float) -> Find:
    known = [one.values for one in history]
    scale = scale_of("load", known)

    def usual(values: Floats, others: list[Floats]) -> Floats:
        channels, aligned = levels_and_changes(scale, values), []
        for other in others:
            radius = round(localisation.RADIUS_SHARE * max(len(values), len(other)))
            found = align(channels, levels_and_changes(scale, other), radius=radius)
            aligned.append(other[found.first_index])
        return np.median(aligned, axis=0)

    def compared(values: Floats, load: Floats) -> Compared:
        return Compared(values - load, load, startup_samples(len(values), interval_s))

    usual_differences = UsualDifferences(
        [compared(one, usual(one, [other for other in known if other is not one])) for one in known]
    )

    def find(row: LabelledSeries, target: Sample, score: float) -> Floats:
        load = usual(target.values - truths[row.app, row.run_id].extra, known)
        return find_excess(usual_differences, compared(target.values, load), interval_s).probability

    return find


def all_known(history: list[LabelledSeries], truths: dict[tuple[str, str], Truth], interval_s: float) -> Find:
    def compared(row: LabelledSeries) -> Compared:
        load = truths[row.app, row.run_id].usual
        return Compared(row.values - load, load, startup_samples(len(load), interval_s))

    usual_differences = UsualDifferences([compared(row) for row in history])

    def find(row: LabelledSeries, target: Sample, score: float) -> Floats:
        one, extra = compared(row), truths[row.app, row.run_id].extra
        share, length = (extra > 0).mean(), (extra > 0).sum() / len(row.intervals)
        leave = min(1 / length, 0.9)
        plain = usual_differences.log_likelihood(one)
        lifted = usual_differences.log_likelihood(one, float(extra.max()))
        probability: Floats = forward_backward(plain, lifted, min(share / (1 - share) * leave, 0.9), leave)[1]
        return probability

    return find


def found_in(dataset: Dataset, truths: dict[tuple[str, str], Truth]) -> Iterator[tuple[str, str, Floats, Floats]]:
    """(who, severity, injected (n,), probability (n,)) of each alarm that is none by chance."""
    draws = random_draws(dataset, history=HISTORY, repeats=REPEATS, seed=0)
    settings = Settings()
    alarms = {
        (case.app, case.repeat, case.run_id): case.score.distance
        for case in judge(dataset, draws, "default", vars(settings), None)
        if case.series == SERIES and is_anomalous(case.score, settings.omega)
    }
    for draw in draws:
        rows = rows_of(dataset, draw, SERIES)
        if rows is None:
            continue
        history, targets = rows
        samples = samples_of([*history, *targets])
        known, interval_s = samples[: len(history)], history[0].interval_s
        ways = {
            "the product": product(known, interval_s),
            "unbounded differences": product(known, interval_s, is_bounded=False),
            "aligned as if nothing were added": aligned_without(known, truths, interval_s),
            "screens, height and durations known": all_known(history, truths, interval_s),
        }
        for row, one in zip(targets, samples[len(history) :], strict=True):
            score = alarms.get((row.app, draw.repeat, row.run_id))
            if score is not None and row.is_anomalous:
                for who, find in ways.items():
                    yield who, row.severity or "", row.injected, find(row, one, score)


def main() -> None:
    first, last = (int(number) for number in (sys.argv[1:] or ["711-730"])[0].split("-"))
    for noise in (1.0, 2.0):
        counts: defaultdict[tuple[str, str], Floats] = defaultdict(lambda: np.zeros(4))
        for seed in range(first, last + 1):
            told = Told(seed, noise)
            rows = [row for row in told.rows() if row["series"] == SERIES]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"seed{seed}.parquet"
                write_set(rows, path)
                dataset = read_dataset(path)
            for who, severity, injected, probability in found_in(dataset, told.truths):
                flags, size = probability > localisation.PROBABLE, int(severity.split()[0])
                figures = [(injected & flags).sum(), (flags & ~injected).sum(), (injected & ~flags).sum(), 1]
                for name in (*(name for name, sizes in CLASSES.items() if size in sizes), "all"):
                    counts[who, name] += figures
        for who in dict.fromkeys(who for who, _ in counts):
            told_of = []
            for name in (*CLASSES, "all"):
                tp, fp, fn, runs = counts[who, name]
                told_of.append(f"{name}: {2 * tp / max(2 * tp + fp + fn, 1):.2f} ({runs:.0f} alarms)")
            tp, fp, fn, _ = counts[who, "all"]
            precision, recall = tp / max(tp + fp, 1), tp / max(tp + fn, 1)
            print(f"noise {noise:g}, {who}: {', '.join(told_of)}; P {precision:.2f} R {recall:.2f}", flush=True)


if __name__ == "__main__":
    main()
