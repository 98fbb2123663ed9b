"""What grew in the suspicious windows, as rows: a run's beside what its history did on the same screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.thread_times import REST, RUNNING
from perfreg_assets.methods.window_causes import Cause, Ranking, Recorded, rank_load, rank_memory
from perfreg_assets.model import freshness, inputs
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.provenance import code_version
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import causes as table
from perfreg_assets.warehouse import histories, recorded, settings_table, thread_times
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Reader, Warehouse

RANKED, NOT_ENOUGH_HISTORY, SOURCE_MISSING = "ranked", "not_enough_history", "source_missing"
BLOCK = 8
"""Runs whose histories are loaded together."""
MOST_LISTED = 50
"""Rows kept of a window; what comes behind has next to no share."""
_NO_THREADS = "nothing is stored about its threads: the trace was gone before a release that keeps it read it"
_NO_KINDS = "the trace does not tell the kinds of the app's memory"
_NOT_OPENED = "not looked at here: `perfreg causes RUN --details` reads them from the traces"


@dataclass(frozen=True)
class Window:
    """What is explained: part of a series, in seconds since its start and on the trace clock."""

    series: str
    start_s: float
    start_ns: int
    end_ns: int

    @property
    def end_s(self) -> float:
        return self.start_s + (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True)
class Explanation:
    """What grew in a window.

    Attributes:
        state: `RANKED`, `NOT_ENOUGH_HISTORY` (values without z) or `SOURCE_MISSING` (nothing to rank).
        state_reason: why it is not ranked.
        disturbance: what else grew so much that the run is disturbed, in words.
    """

    window: Window
    ranking: Ranking
    state: str
    state_reason: str | None
    disturbance: str | None


class Explainer:
    """Explains windows of one run.

    Args:
        run: the run. history: the runs of its history, latest first.
        missing: why the run has no thread times; None where it has.
    """

    def __init__(
        self, app: str, run: Recorded, history: Sequence[Recorded], *, missing: str | None, minimum: int
    ) -> None:
        self._app, self._run, self._history, self._minimum = app, run, history, minimum
        self._missing = missing

    def explain(self, window: Window) -> Explanation:
        """What grew in one window."""
        definition = definition_of(window.series)
        if definition.kind == "memory":
            ranking = rank_memory(
                window.start_ns, window.end_ns, self._app, self._run, self._history, minimum=self._minimum
            )
            missing = None if ranking.causes else _NO_KINDS
            if definition.axis != "memory":
                missing = "the kinds of the app's memory do not explain this one"
        else:
            ranking = rank_load(
                window.start_ns,
                window.end_ns,
                self._run,
                self._history,
                is_of_app=definition.is_of_app,
                is_busy_time=definition.is_busy_time,
                minimum=self._minimum,
            )
            missing = self._missing or self._outside(window)
        disturbance = _disturbance(ranking)
        if missing is not None:
            return Explanation(window, Ranking((), (), False), SOURCE_MISSING, missing, None)
        if not ranking.has_history:
            return Explanation(window, ranking, NOT_ENOUGH_HISTORY, _few(ranking, self._minimum), disturbance)
        return Explanation(window, ranking, RANKED, None, disturbance)

    def _outside(self, window: Window) -> str | None:
        times = self._run.times
        if times is None or (window.start_ns < times.end_ns and window.end_ns > times.start_ns):
            return None
        return "the window lies outside the time that threads are told of"

    def sources(self) -> list[tuple[str, bool, int, str | None]]:
        """(source, whether it was there, runs of the history that have it, why not)."""
        times, memory = self._run.times, self._run.memory
        known = [one.times for one in self._history if one.times is not None]
        has_waits = times is not None and any(state != RUNNING for state in times.recorded)
        no_waits = self._missing or "the trace does not tell what threads waited for"
        told = [
            (table.SCHED, self._missing, len(known)),
            (
                table.THREAD_STATE,
                None if has_waits else no_waits,
                sum(any(state != RUNNING for state in one.recorded) for one in known),
            ),
            (
                table.MEMORY,
                None if memory else _NO_KINDS,
                sum(bool(one.memory) for one in self._history),
            ),
            (table.SLICES, _NOT_OPENED, 0),
            (table.CALL_STACKS, _NOT_OPENED, 0),
        ]
        return [(source, reason is None, count, reason) for source, reason, count in told]


def _few(ranking: Ranking, minimum: int) -> str:
    count = max((one.history_count for one in ranking.causes), default=0)
    return f"{count} runs of the history can be compared with, {minimum} are needed: values stand without z."


def _disturbance(ranking: Ranking) -> str | None:
    """In words that follow a sentence."""
    grown = ranking.disturbances
    if not grown:
        return None
    (name, cores), *rest = grown
    more = f", {len(rest)} more" if rest else ""
    if name == REST:
        return f"other processes together grew by {cores:.2g} core{more}"
    return f"another process grew by {cores:.2g} core ({name}{more})"


def explainers(reader: Reader, run_ids: Iterable[str], settings: Settings) -> dict[str, Explainer]:
    """run_id → what explains its windows; of registered runs.

    Args:
        settings: those in force.

    Raises:
        Rejected: DATA_MISSING.
    """
    ids = list(run_ids)
    members = histories.members(reader, ids)
    everything = recorded.load(reader, {*ids, *(member for run in members.values() for member in run)})
    known = thread_times.find(reader, ids)
    apps = run_table.apps_of(reader, ids)
    found = {}
    for run_id in ids:
        row = known.get(run_id)
        missing = None
        if row is None:
            missing = _NO_THREADS
        elif row.is_missing:
            missing = row.reason or Reason.SERIES_MISSING.sentence
        found[run_id] = Explainer(
            apps[run_id],
            everything[run_id],
            [everything[member] for member in members.get(run_id, ())],
            missing=missing,
            minimum=settings.history_minimum,
        )
    return found


def explain_due(warehouse: Warehouse, settings: Settings, keys: Iterable[str], watch: Stopwatch) -> list[str]:
    """Finds the causes of the suspicious windows in some partitions, where that is due; the runs looked at."""
    found: list[table.Explained] = []
    with warehouse.reading() as reader:
        settings = settings_table.in_force(reader, settings)
        wanted = sorted(freshness.ready_runs(reader, settings, Stage.CAUSE, keys))
        hashes = inputs.causes_hashes(reader, wanted, settings)
        windows = table.suspicious(reader, wanted)
        threads = {run_id: row.values_hash for run_id, row in thread_times.find(reader, wanted).items()}
        for block in _blocks(list(hashes)):
            with watch.measure("warehouse"):
                ready = explainers(reader, block, settings)
            with watch.measure("model"):
                found += [
                    _rows(run_id, hashes[run_id], ready[run_id], windows[run_id], threads.get(run_id), settings)
                    for run_id in block
                ]
    with watch.measure("warehouse"), warehouse.writing() as writer:
        table.replace(writer, wanted, found)
    return wanted


def _blocks(run_ids: list[str]) -> list[list[str]]:
    """What is held in memory at once: thread times of so many runs and their histories."""
    return [run_ids[start : start + BLOCK] for start in range(0, len(run_ids), BLOCK)]


def window_of(one: table.Suspicious, settings: Settings) -> Window:
    """What is explained: of a whole run, not what windows are never looked for in."""
    if one.window_index is not None:
        return Window(one.series, one.start_s, one.start_ns, one.end_ns)
    skip_start_s, skip_end_s = settings.discord_skip_start_s, settings.discord_skip_end_s
    if skip_start_s + skip_end_s >= (one.end_s - one.start_s) / 2:
        skip_start_s = skip_end_s = 0.0
    return Window(
        one.series, skip_start_s, one.start_ns + round(skip_start_s * 1e9), one.end_ns - round(skip_end_s * 1e9)
    )


def _rows(
    run_id: str,
    input_hash: str,
    explainer: Explainer,
    windows: Sequence[table.Suspicious],
    threads_hash: str | None,
    settings: Settings,
) -> table.Explained:
    explained = [(row, explainer.explain(window_of(row, settings))) for row in windows]
    return table.Explained(
        table.RunRow(run_id=run_id, input_hash=input_hash, code_version=code_version("methods")),
        tuple(_window_row(row, one, threads_hash) for row, one in explained),
        tuple(
            _cause_row(row, cause, is_cause)
            for row, one in explained
            for is_cause, causes in ((True, one.ranking.causes), (False, one.ranking.also_grew))
            for cause in causes[:MOST_LISTED]
            if cause.rank is not None
        ),
        tuple(
            table.SourceRow(run_id=run_id, source=source, is_present=is_present, history_count=count, reason=reason)
            for source, is_present, count, reason in explainer.sources()
        ),
    )


def _window_row(row: table.Suspicious, one: Explanation, threads_hash: str | None) -> table.WindowRow:
    return table.WindowRow(
        run_id=row.run_id,
        series=row.series,
        window_index=row.window_index or 0,
        is_whole_run=row.window_index is None,
        start_s=one.window.start_s,
        end_s=one.window.end_s,
        start_ns=one.window.start_ns,
        end_ns=one.window.end_ns,
        confidence=row.confidence,
        state=one.state,
        state_reason=one.state_reason,
        disturbance=one.disturbance,
        history_count=max((cause.history_count for cause in one.ranking.causes), default=0),
        matched_count=max((cause.matched_count for cause in one.ranking.causes), default=0),
        windows_hash=row.windows_hash or "",
        threads_hash=threads_hash,
    )


def _cause_row(window: table.Suspicious, one: Cause, is_cause: bool) -> table.CauseRow:
    assert one.rank is not None
    return table.CauseRow(
        run_id=window.run_id,
        series=window.series,
        window_index=window.window_index or 0,
        is_cause=is_cause,
        rank=one.rank,
        kind=one.kind,
        scope=one.scope,
        process=one.process,
        thread=one.thread,
        name=one.name,
        path=None,
        value=one.value,
        history_median=one.history_median,
        history_mad=one.history_mad,
        growth=one.growth,
        growth_share=one.growth_share,
        z=one.z,
        is_new=one.is_new,
        matched_count=one.matched_count,
        history_count=one.history_count,
        source=SOURCE_OF[one.kind],
    )


SOURCE_OF = {"thread": table.SCHED, "wait": table.THREAD_STATE, "memory": table.MEMORY}
"""Kind of a cause → where it comes from."""
