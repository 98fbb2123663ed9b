"""What is compared: each judged series or metric of a run, beside the same one of its history.

A comparison is planned from hashes alone, which is enough to tell whether it was measured already; samples are loaded
for those that were not. What is missing is a named state here and stays one from here on.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition, definition_of, judged_names
from perfreg_assets.detection import DetectorDefinition, Way, way_of
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.samples import SHORTEST, Sample
from perfreg_assets.methods.states import NO_PATH, UNKNOWN, StatePath, state_codes
from perfreg_assets.model import measurements
from perfreg_assets.reasons import Reason
from perfreg_assets.run import timed_screens
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import histories
from perfreg_assets.warehouse import paths as path_files
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader

SCORED = "scored"


@dataclass(frozen=True)
class Comparison:
    """One (run, series). `state` is 'scored' when it can be judged, else why not, in `state_reason`'s words.

    Attributes:
        target: what the run has of the series; None when it has nothing of that name, and for metrics.
        history: the history's runs that have it on the same grid, latest first; empty for metrics.
        is_in_history: whether the history has the series.
        value, known: of a metric, the run's value and those of its history (k,), latest run first.
        history_versions: (k,) versions of the history's runs that it is compared with, in their order.
    way: with a history of similar paths, or with runs of any path.
    paths: of `any_path`, what the paths of the run and of the history's runs are, in their order.
    """

    run_id: str
    definition: SeriesDefinition
    state: str
    state_reason: str | None
    target: series_table.SeriesHash | None
    history: tuple[series_table.SeriesHash, ...]
    is_in_history: bool
    engine_version: str | None
    value: float | None = None
    known: tuple[float, ...] = ()
    history_versions: tuple[str, ...] = ()
    way: Way = "path"
    paths: tuple[str | None, ...] = ()

    @property
    def series(self) -> str:
        return self.definition.name

    @property
    def is_scored(self) -> bool:
        return self.state == SCORED

    @property
    def has_course(self) -> bool:
        """It is judged, and not a single value: it has windows where it is anomalous."""
        return self.is_scored and self.definition.kind != "scalar"

    @property
    def has_barycenter(self) -> bool:
        """Only courses along similar paths have an average."""
        return self.has_course and self.way == "path"

    @property
    def is_missing_in_run(self) -> bool:
        """The run lacks what its history has: whatever the rest says, the run cannot be called normal."""
        return self.state == "series_missing" and self.is_in_history

    @property
    def interval_s(self) -> float:
        assert self.target is not None
        return self.target.interval_s

    @property
    def history_size(self) -> int:
        """How many runs of the history it is compared with."""
        return len(self.history) or len(self.known)

    @property
    def content_hash(self) -> str:
        """Of all that a score is computed from but the code and the detector; the history counts as a set. Of what is
        not scored, what is said of its history all the same."""
        parts = [self.series, self.definition.kind, self.definition.worse, self.state, self.state_reason or ""]
        if not self.is_scored and self.is_in_history:
            parts += [str(self.is_missing_in_run), str(self.history_size)]
        if self.is_scored and self.target is not None:
            parts += [str(self.interval_s), self.target.content]
            if self.way == "path":
                parts += sorted(one.content for one in self.history)
            else:
                own, *others = self.paths
                parts += [self.way, own or ""]
                parts += sorted(f"{one.content}/{path}" for one, path in zip(self.history, others, strict=True))
        if self.is_scored:
            parts += _grouped_by_version(self)
        if self.is_scored and self.value is not None:
            parts += [self.definition.unit, repr(self.value), *map(repr, sorted(self.known))]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _grouped_by_version(one: Comparison) -> list[str]:
    """Which runs of the history share a build, whatever its name: scores of a build's runs are combined by it."""
    contents = [row.content for row in one.history] or [repr(value) for value in one.known]
    groups: dict[str, list[str]] = defaultdict(list)
    for version, content in zip(one.history_versions, contents, strict=True):
        groups[version].append(content)
    return sorted("/".join(sorted(group)) for group in groups.values())


@dataclass(frozen=True)
class Planned:
    """The comparisons of some runs, one family per run and way.

    Attributes:
        by_path, by_any_path: run_id → comparisons.
        ways: run_id → how the run is compared by detectors that take what there is enough of.
    """

    by_path: dict[str, list[Comparison]]
    by_any_path: dict[str, list[Comparison]]
    ways: dict[str, Way]

    @property
    def run_ids(self) -> list[str]:
        return list(self.by_path)

    def of(self, detector: DetectorDefinition) -> dict[str, list[Comparison]]:
        """run_id → what the detector judges."""
        return {run_id: self.family(run_id, detector) for run_id in self.by_path}

    def family(self, run_id: str, detector: DetectorDefinition) -> list[Comparison]:
        """What the detector judges of one run: by its own way, or by that of the one that stands in for it."""
        way = way_of(detector, self.ways[run_id])
        return (self.by_path if way == "path" else self.by_any_path)[run_id]

    def everything(self) -> list[Comparison]:
        """All of both ways."""
        return [one for families in (self.by_path, self.by_any_path) for family in families.values() for one in family]

    def only(self, run_ids: Iterable[str]) -> Planned:
        """Of some of the runs, in this order."""
        ids = list(run_ids)
        by_path, by_any_path = ({one: of[one] for one in ids} for of in (self.by_path, self.by_any_path))
        return Planned(by_path, by_any_path, self.ways)

    def without(self, run_ids: Collection[str]) -> Planned:
        """Of the other runs."""

        def rest(families: dict[str, list[Comparison]]) -> dict[str, list[Comparison]]:
            return {run_id: family for run_id, family in families.items() if run_id not in run_ids}

        return Planned(rest(self.by_path), rest(self.by_any_path), self.ways)


def plan(reader: Reader, run_ids: Iterable[str], settings: Settings) -> Planned:
    """For each run the comparisons of its judged series, in the order of the setting, and of its metrics, by name.

    Every run is in the result, and every judged series of it; what is judged where recorded, if the run or its history
    has it.
    """
    run_ids = list(run_ids)
    selections = histories.find(reader, run_ids)
    of_ways: dict[Way, dict[str, tuple[str, ...]]] = {
        "path": histories.members(reader, run_ids),
        "any_path": histories.of_any_path(reader, run_ids),
    }
    everyone = sorted(
        {*run_ids, *(member for members in of_ways.values() for ids in members.values() for member in ids)}
    )
    names = judged_names(settings.judged_series)
    facts = _Facts(
        traces=trace_table.find(reader, run_ids),
        selections=selections,
        hashes=series_table.hashes(reader, everyone, names),
        versions=run_table.versions_of(reader, everyone),
        paths=run_table.path_hashes(reader, everyone),
    )
    by_path, by_any_path = (
        _families(reader, run_ids, settings, way, members, facts) for way, members in of_ways.items()
    )
    return Planned(by_path, by_any_path, {run_id: _way(selections.get(run_id)) for run_id in run_ids})


def _way(selection: histories.HistoryRow | None) -> Way:
    return "any_path" if selection is not None and selection.way == "any_path" else "path"


@dataclass(frozen=True)
class _Facts:
    """What comparisons are planned from; of the runs, and `hashes`, `versions` and `paths` of their histories' too."""

    traces: Mapping[str, trace_table.TraceRow]
    selections: Mapping[str, histories.HistoryRow]
    hashes: Mapping[tuple[str, str], series_table.SeriesHash]
    versions: Mapping[str, str]
    paths: Mapping[str, str | None]


def _families(
    reader: Reader,
    run_ids: Sequence[str],
    settings: Settings,
    way: Way,
    members: Mapping[str, tuple[str, ...]],
    facts: _Facts,
) -> dict[str, list[Comparison]]:
    planned: dict[str, list[Comparison]] = {}
    metrics: dict[str, list[measurements.MetricComparison]] = defaultdict(list)
    for metric in measurements.load(reader, run_ids, members, history_minimum=settings.history_minimum):
        metrics[metric.run_id].append(metric)
    for run_id in run_ids:
        trace, selection, known = facts.traces.get(run_id), facts.selections.get(run_id), members.get(run_id, ())
        unready = _unready(selection) if way == "path" else _few_of_any_path(len(known), settings)
        planned[run_id] = []
        for name in judged_names(settings.judged_series):
            target = facts.hashes.get((run_id, name))
            having = [row for one in known for row in [facts.hashes.get((one, name))] if row and not _missing(row)]
            is_in_run = target is not None and target.is_there
            if name not in settings.judged_series and not is_in_run and not having:
                continue
            same_grid = tuple(row for row in having if target is not None and row.interval_s == target.interval_s)
            state, why = (
                _unread(trace)
                or _missing(target)
                or unready
                or _few(len(same_grid), len(known), settings)
                or (SCORED, None)
            )
            planned[run_id].append(
                Comparison(
                    run_id=run_id,
                    definition=definition_of(name),
                    state=state,
                    state_reason=why,
                    target=target,
                    history=same_grid,
                    is_in_history=bool(having),
                    engine_version=trace.engine_version if trace else None,
                    history_versions=tuple(facts.versions[row.run_id] for row in same_grid),
                    way=way,
                    paths=tuple(facts.paths[one] for one in (run_id, *(row.run_id for row in same_grid))),
                )
            )
        planned[run_id] += [_of_metric(one, trace, unready, way) for one in metrics[run_id]]
    return planned


def _of_metric(
    one: measurements.MetricComparison,
    trace: trace_table.TraceRow | None,
    unready: tuple[str, str | None] | None,
    way: Way,
) -> Comparison:
    state, why = _unread(trace) or unready or (one.state, one.state_reason)
    return Comparison(
        run_id=one.run_id,
        definition=one.definition,
        state=state,
        state_reason=why,
        target=None,
        history=(),
        is_in_history=one.state == "series_missing",
        engine_version=trace.engine_version if trace else None,
        value=one.value,
        known=tuple(map(float, one.history)),
        history_versions=one.history_versions,
        way=way,
    )


def _unread(trace: trace_table.TraceRow | None) -> tuple[str, str | None] | None:
    if trace is not None and trace.is_complete:
        return None
    return "incomplete_trace", trace.reason if trace else Reason.NOT_CHECKED.sentence


def _unready(selection: histories.HistoryRow | None) -> tuple[str, str | None] | None:
    if selection is not None and selection.state == "ready":
        return None
    why = selection.explanation if selection else None
    return "not_enough_history", why or Reason.NOT_ENOUGH_HISTORY.sentence


def _few_of_any_path(count: int, settings: Settings) -> tuple[str, str | None] | None:
    if count >= settings.history_minimum:
        return None
    have = f"Only {count} comparable earlier runs say which screens they showed"
    return "not_enough_history", f"{have}, {settings.history_minimum} are needed."


def _missing(target: series_table.SeriesHash | None) -> tuple[str, str | None] | None:
    if target is None or not target.is_there or not target.sample_count:
        return "series_missing", (target.reason if target else None) or Reason.SERIES_MISSING.sentence
    why = too_short(target.sample_count, target.interval_s)
    return None if why is None else ("series_missing", why)


def too_short(sample_count: int, interval_s: float) -> str | None:
    """Why a series of so many samples, one every `interval_s` seconds, is not judged; None where it can be."""
    if sample_count >= SHORTEST:
        return None
    have = f"The session has {how_many(sample_count, 'sample')} of {interval_s:g} s"
    return f"{have}, {SHORTEST} are needed to judge; a smaller interval_s gives more."


def _few(history_size: int, of: int, settings: Settings) -> tuple[str, str | None] | None:
    if history_size >= settings.history_minimum:
        return None
    have = f"Only {history_size} of the {of} comparable runs have this series"
    return "not_enough_history", f"{have}, {settings.history_minimum} are needed."


class SampleStore:
    """Samples of the runs of some comparisons, loaded once."""

    def __init__(self, reader: Reader, comparisons: Sequence[Comparison]) -> None:
        scored = [one for one in comparisons if one.has_course]
        runs = {row.run_id for one in scored for row in (one.target, *one.history) if row is not None}
        self._rows = series_table.find(reader, runs, {one.series for one in scored}) if scored else {}
        paths = path_files.find(reader, path_files.files_of(reader, runs)) if scored else {}
        self._screens = {run_id: timed_screens(path) for run_id, path in paths.items()}

    def values(self, one: Comparison) -> list[np.ndarray]:
        """Values of the history's runs, latest first."""
        return [self._values(row.run_id, one.series) for row in one.history]

    def samples(self, one: Comparison) -> tuple[list[Sample], Sample]:
        """(history, target) as the detectors take them, with the state of the app at each sample where it is known."""
        runs = [row.run_id for row in one.history] + [one.run_id]
        values = [self._values(run_id, one.series) for run_id in runs]
        paths = [self._path(run_id, one.series) for run_id in runs]
        codes = state_codes(paths, [len(row) for row in values], one.interval_s)
        samples = [
            Sample(row, code if (code != UNKNOWN).any() else None) for row, code in zip(values, codes, strict=True)
        ]
        return samples[:-1], samples[-1]

    def start_ns(self, one: Comparison) -> int:
        return self._rows[one.run_id, one.series].start_ns or 0

    def _values(self, run_id: str, series: str) -> np.ndarray:
        values = self._rows[run_id, series].values
        assert values is not None
        return values

    def _path(self, run_id: str, series: str) -> StatePath:
        """The run's path, in seconds since the first sample."""
        start_ns = self._rows[run_id, series].start_ns
        if start_ns is None or run_id not in self._screens:
            return NO_PATH
        return StatePath.since(start_ns, *self._screens[run_id])
