"""Benchmark results beside earlier ones of the same benchmark: what is due, and every detector's distances.

A result is judged like a measurement of a run; its history is the last results of the same benchmark with the same
parameters, from the same device, variant and runner, of other versions. A change below `benchmark_change_minimum` is
taken out by the second check: builds of the same code differ by a percent or two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from statistics import median
from typing import cast

import numpy as np

from perfreg_assets.catalogue import Worse, benchmark_definition
from perfreg_assets.detection import DetectorDefinition, detectors
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.detectors import Detector, make_detector
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.provenance import code_version
from perfreg_assets.readable import readable_quantity
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.benchmarks import BenchmarkDistanceRow, JudgedRow, Score, Standing
from perfreg_assets.warehouse.connection import Reader, Warehouse

PARAMETERS = ("history_size", "history_minimum", "benchmark_change_minimum")
SPARE_RUNS = 4
"""So many runs more than a history has are read at first: a result may be missing in some."""
CONFIRMED, ACCEPTED = "confirmed", "accepted"


@dataclass(frozen=True)
class DueBenchmark:
    """A benchmark run whose distances do not hold."""

    benchmark_run_id: str
    partition_key: str
    why: str


def due(reader: Reader, settings: Settings, keys: Iterable[str] | None = None) -> list[DueBenchmark]:
    """What is due of the benchmark runs of some partitions (default: all), the earliest first."""
    wanted = None if keys is None else set(keys)
    rules = _rules(settings_table.in_force(reader, settings))
    return [
        DueBenchmark(
            one.benchmark_run_id,
            one.partition_key,
            "earlier results, their reviews, the rules or the code changed" if one.input_hash else "not measured yet",
        )
        for one in _stale(table.standings(reader, wanted), rules, wanted)
    ]


def _stale(standings: Sequence[Standing], rules: str, wanted: Container[str] | None) -> list[Standing]:
    """Those whose distances do not hold, of some partitions (None: of all)."""
    return [
        one
        for one in standings
        if (wanted is None or one.partition_key in wanted) and one.input_hash != _input_hash(one, rules)
    ]


def measure_due(
    warehouse: Warehouse, settings: Settings, watch: Stopwatch, keys: Iterable[str] | None = None
) -> list[str]:
    """Measures the benchmark runs that are due in some partitions (default: all), by every detector; their ids."""
    wanted = None if keys is None else set(keys)
    with warehouse.reading() as reader:
        standings = table.standings(reader, wanted)
        if not standings:
            return []
        settings = settings_table.in_force(reader, settings)
        rules = _rules(settings)
        ids = {one.benchmark_run_id for one in _stale(standings, rules, wanted)}
        if not ids:
            return []
        families = {one.family for one in standings if one.benchmark_run_id in ids}
        everyone = [one for one in standings if one.family in families]
        scores = _scores(reader, everyone, ids, settings.history_size)
    with watch.measure("model"):
        rows = _measure([one for one in everyone if one.benchmark_run_id in ids], everyone, scores, settings)
    code = code_version("methods")
    judged = [
        JudgedRow(benchmark_run_id=one.benchmark_run_id, input_hash=_input_hash(one, rules), code_version=code)
        for one in everyone
        if one.benchmark_run_id in ids
    ]
    with watch.measure("warehouse"), warehouse.writing() as writer:
        table.replace_distances(writer, judged, rows)
    return sorted(ids)


def _rules(settings: Settings) -> str:
    names = {name for one in detectors().values() for name in one.parameters}
    return f"{settings.hash_of(*PARAMETERS, *names)}|{','.join(detectors())}|{code_version('methods')}"


def _input_hash(one: Standing, rules: str) -> str:
    return hashlib.sha256(f"{one.benchmark_run_id}|{one.mark}|{rules}".encode()).hexdigest()


def _scores(reader: Reader, everyone: Sequence[Standing], ids: Collection[str], size: int) -> list[Score]:
    """The results that targets are measured from: their own, and those of the runs just before them; of a benchmark
    that was measured seldom, so that these hold too few of it, all."""
    by_family: dict[tuple[str, str, str, str], list[Standing]] = {}
    for one in everyone:
        by_family.setdefault(one.family, []).append(one)
    near: set[str] = set()
    for runs in by_family.values():
        for place, target in enumerate(runs):
            if target.benchmark_run_id in ids:
                near |= {target.benchmark_run_id, *_just_before(target, runs[:place], size + SPARE_RUNS)}
    found = table.scores(reader, ids, near)
    if len(near) == len(everyone):
        return found
    histories = _Histories(everyone, found, size)
    targets = {one.benchmark_run_id: one for one in everyone if one.benchmark_run_id in ids}
    seldom = {
        one.result_name
        for one in found
        if one.benchmark_run_id in targets and len(histories.of(targets[one.benchmark_run_id], one)) < size
    }
    often = [one for one in found if one.result_name not in seldom]
    return often + table.scores(reader, ids, [one.benchmark_run_id for one in everyone], seldom) if seldom else often


def _just_before(target: Standing, earlier: Sequence[Standing], count: int) -> list[str]:
    """The latest runs of a family that may be in a history."""
    usable = (
        one.benchmark_run_id
        for one in reversed(earlier)
        if one.version_name != target.version_name and one.status != CONFIRMED
    )
    return list(islice(usable, count))


@dataclass(frozen=True, slots=True)
class _Known:
    """A score in a history, with its place in time."""

    at: datetime
    run_id: str
    version_name: str
    score: float
    unit: str


def _measure(
    targets: Sequence[Standing], everyone: Sequence[Standing], scores: Sequence[Score], settings: Settings
) -> list[BenchmarkDistanceRow]:
    """Rows of the targets by every detector."""
    own: dict[str, list[Score]] = {}
    for one in scores:
        own.setdefault(one.benchmark_run_id, []).append(one)
    histories = _Histories(everyone, scores, settings.history_size)
    makers = [(one, make_detector(one.name, {name: getattr(settings, name) for name in one.parameters}))
              for one in detectors().values()]  # fmt: skip

    def of_run(run: Standing) -> list[BenchmarkDistanceRow]:
        rows = []
        for one in own.get(run.benchmark_run_id, ()):
            history = histories.of(run, one)
            rows += [_row(run, one, history, definition, detector, settings) for definition, detector in makers]
        return rows

    with ThreadPoolExecutor() as workers:
        return [row for rows in workers.map(of_run, targets) for row in rows]


class _Histories:
    """Of each result the earlier ones that it is compared with, at most `size`."""

    def __init__(self, everyone: Sequence[Standing], scores: Sequence[Score], size: int) -> None:
        standing = {one.benchmark_run_id: one for one in everyone}
        self._size = size
        self._begins = _begins(everyone)
        self._pools: dict[tuple[tuple[str, str, str, str], str], list[_Known]] = {}
        for one in scores:
            run = standing[one.benchmark_run_id]
            if one.score is not None and one.is_adequate and run.status != CONFIRMED:
                known = _Known(run.started_at, run.benchmark_run_id, run.version_name, one.score, one.unit)
                self._pools.setdefault((run.family, one.result_name), []).append(known)
        for pool in self._pools.values():
            pool.sort(key=lambda known: (known.at, known.run_id))

    def of(self, run: Standing, one: Score) -> list[float]:
        """The scores, the latest first."""
        return history_of(run, one.unit, self._pools.get((run.family, one.result_name), ()), self._begins, self._size)


def _begins(everyone: Sequence[Standing]) -> Mapping[tuple[str, str, str, str], list[tuple[datetime, str]]]:
    """Family → the runs that were accepted as the new normal, in order of time."""
    found: dict[tuple[str, str, str, str], list[tuple[datetime, str]]] = {}
    for one in everyone:
        if one.status == ACCEPTED:
            found.setdefault(one.family, []).append((one.started_at, one.benchmark_run_id))
    return found


def history_of(
    run: Standing,
    unit: str,
    pool: Sequence[_Known],
    begins: Mapping[tuple[str, str, str, str], list[tuple[datetime, str]]],
    size: int,
) -> list[float]:
    """The latest scores, at most `size`, of earlier runs of other versions since the last one that was accepted.

    Args:
        pool: of the benchmark, adequate and not confirmed as regressions, in order of time.
    """
    place = (run.started_at, run.benchmark_run_id)
    begin = max((one for one in begins.get(run.family, ()) if one < place), default=None)
    found: list[float] = []
    for known in reversed(pool):
        at = (known.at, known.run_id)
        if at >= place or known.version_name == run.version_name or known.unit != unit:
            continue
        if begin is not None and at < begin:
            break
        found.append(known.score)
        if len(found) == size:
            break
    return found


def _row(
    run: Standing, one: Score, history: list[float], definition: DetectorDefinition, detector: Detector,
    settings: Settings,
) -> BenchmarkDistanceRow:  # fmt: skip
    blank = BenchmarkDistanceRow(
        benchmark_run_id=run.benchmark_run_id,
        result_name=one.result_name,
        detector=definition.name,
        state="scored",
        state_reason=None,
        history_size=len(history),
    )
    if one.score is None:
        return replace(blank, state="invalid", state_reason=one.reason or "There is no result.")
    if not one.is_adequate:
        return replace(blank, state="inadequate", state_reason=f"Not judged: {one.warnings or 'not adequate'}.")
    if len(history) < settings.history_minimum:
        found = how_many(len(history), "comparable earlier result")
        why = f"Only {found} of other versions, {settings.history_minimum} are needed."
        return replace(blank, state="not_enough_history", state_reason=why)
    known = np.array(history)
    worse = cast(Worse, one.worse)
    score = detector.score_value(
        known, one.score, series=benchmark_definition(one.result_name, unit=one.unit, worse=worse)
    )
    low, middle, high = min(history), median(history), max(history)
    told = [readable_quantity(number, one.unit) for number in (one.score, low, high)]
    is_enough = abs(float(np.log(one.score / middle))) >= float(np.log1p(settings.benchmark_change_minimum))
    return replace(
        blank,
        distance=score.distance,
        q1=score.q1,
        q3=score.q3,
        improvement=score.improvement if is_enough else None,
        is_recheck_passed=is_enough,
        p_value=score.p_value,
        earlier_low=low,
        earlier_median=middle,
        earlier_high=high,
        evidence_text=(
            f"{told[0]}, {one.score / middle - 1:+.1%} against the median of {len(history)} comparable earlier results "
            f"({told[1]} to {told[2]})"
        ),
    )
