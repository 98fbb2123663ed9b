"""What grew in suspicious windows, from what is stored: a run's beside what its history did on the same screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.thread_times import REST, RUNNING
from perfreg_assets.methods.window_causes import Ranking, Recorded, rank_load, rank_memory
from perfreg_assets.model.windows import Window
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import causes as table
from perfreg_assets.warehouse import histories, recorded, thread_times
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Reader

RANKED, NOT_ENOUGH_HISTORY, SOURCE_MISSING = "ranked", "not_enough_history", "source_missing"
_NO_THREADS = "nothing is stored about its threads: the trace was gone before a release that keeps it read it"
_NO_KINDS = "the trace does not tell the kinds of the app's memory"


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

    def sources(self) -> list[tuple[str, str | None, int]]:
        """(source, why it is not there or None, runs of the history that have it), of those that every run keeps."""
        times, memory = self._run.times, self._run.memory
        known = [one.times for one in self._history if one.times is not None]
        has_waits = times is not None and any(state != RUNNING for state in times.recorded)
        no_waits = self._missing or "the trace does not tell what threads waited for"
        return [
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
        ]


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
    members = histories.compared_with(reader, ids)
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
