"""History selection: the facts it needs about an app's runs, and what it decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from perfreg_assets import __version__
from perfreg_assets.methods.history import RunFacts
from perfreg_assets.warehouse import paths, run_conditions, run_numbers
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.moments import of_epoch_us
from perfreg_assets.warehouse.rows import OF_RUN, Table, delete_runs, insert, load, now_utc, to_arrow
from perfreg_assets.warehouse.verdicts import verdicts_of_app


@dataclass(frozen=True, kw_only=True)
class HistoryRow:
    """A row of core.history_sets."""

    run_id: str
    state: str
    way: str | None = "path"
    history_size: int
    history_maximum: int
    history_minimum: int
    similarity_minimum: float
    candidate_count: int
    excluded_counts: dict[str, int]
    explanation: str | None = None
    parameters_hash: str
    input_hash: str | None = None
    code_version: str = __version__
    selected_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True, kw_only=True)
class CandidateRow:
    """A row of core.history_candidates: a member has a rank (1 = latest), a near miss a reason.

    `screens_rank`: its place among the runs of any path that the run can be compared with screen by screen.
    """

    run_id: str
    history_run_id: str
    history_rank: int | None
    screens_rank: int | None = None
    similarity_ratio: float | None
    exclude_reason: str | None


HISTORY_SETS = Table("core.history_sets", HistoryRow, ("run_id",), keys=("run_id",), numbers=OF_RUN)
CANDIDATES = Table(
    "core.history_candidates",
    CandidateRow,
    ("run_id",),
    keys=("run_id", "history_run_id"),
    numbers=(*OF_RUN, ("history_run_no", "history_run_id")),
)

_FACTS = """
SELECT
    runs.run_id, runs.app, runs.version_name, runs.config_hash, epoch_us(runs.started_at) AS started_at,
    runs.functional_problem_count > 0 AS has_functional_problems, coalesce(traces.is_complete, false) AS is_complete,
    reviews.status AS review, runs.is_excluded, verdicts.is_anomalous, list_sort(traces.load_sources) AS load_sources,
    runs.scenario, runs.run_no
FROM core.runs AS runs
LEFT JOIN core.traces AS traces ON traces.run_no = runs.run_no
LEFT JOIN core.reviews_in_force AS reviews ON reviews.run_no = runs.run_no
LEFT JOIN ({verdicts}) AS verdicts ON verdicts.run_no = runs.run_no
WHERE runs.app = $app AND NOT runs.is_quarantined
ORDER BY runs.started_at, runs.run_id
"""


def facts(reader: Reader, app: str, *, with_verdicts: bool) -> list[RunFacts]:
    """The facts of all runs of an app that are not quarantined, oldest first, in one query.

    Without their paths: a selection asks `Paths` for those of the few runs that it has to compare.

    Args:
        with_verdicts: whether the current verdicts are asked for; else `is_anomalous` is None.
    """
    found = reader.rows(_FACTS.format(verdicts=verdicts_of_app(is_asked=with_verdicts)), {"app": app})
    run_numbers.note(reader, ((row[0], row[-1]) for row in found))
    return [
        # By place: an app has thousands of runs, and names cost more than all the rest.
        RunFacts(
            run_id, of_app, version, config, of_epoch_us(started_us), has_problems, is_complete, review, is_excluded,
            is_anomalous, tuple(sources or ()), scenario,
        )
        for (
            run_id, of_app, version, config, started_us, has_problems, is_complete, review, is_excluded,
            is_anomalous, sources, scenario, _,
        ) in found
    ]  # fmt: skip


class Paths:
    """The paths of runs as selections ask for them, each read once. Use it while the reader is open."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[str, tuple[str, ...]] = {}

    def __call__(self, runs: Sequence[RunFacts]) -> list[tuple[str, ...]]:
        """The state at each step of each run; () for one without steps."""
        asked = {run.run_id for run in runs} - self._known.keys()
        if asked:
            self._known |= dict.fromkeys(asked, ()) | paths.states(self._reader, asked)
        return [self._known[run.run_id] for run in runs]


def upsert(writer: Writer, sets: Sequence[HistoryRow], candidates: Sequence[CandidateRow]) -> int:
    """Stores selections with all their candidates, replacing earlier ones of the same runs."""
    run_ids = [row.run_id for row in sets]
    delete_runs(writer, HISTORY_SETS.name, run_ids)
    delete_runs(writer, CANDIDATES.name, run_ids)
    if candidates:
        insert(writer, CANDIDATES, to_arrow(candidates, CandidateRow))
    return insert(writer, HISTORY_SETS, to_arrow(sets, HistoryRow)) if sets else 0


def find(reader: Reader, run_ids: Iterable[str]) -> dict[str, HistoryRow]:
    """run_id -> selection."""
    rows = load(reader, HISTORY_SETS, run_conditions.of(reader, run_ids))
    return {row.run_id: row for row in rows}


def members(reader: Reader, run_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """run_id -> ids of its history's runs, latest first; runs without a selection are not in it."""
    return _ranked(reader, run_ids, _OF_HISTORY)


def of_any_path(reader: Reader, run_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """run_id -> ids of the runs of any path that it can be compared with screen by screen, latest first."""
    return _ranked(reader, run_ids, _OF_ANY_PATH)


def compared_with(reader: Reader, run_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """run_id -> ids of the runs that the detector in force compares it with, latest first: its history, or runs of any
    path; runs that are compared with none are not in it."""
    found = reader.rows(
        "SELECT run_id, list(history_run_id ORDER BY compared_rank) FROM marts.compared_with "
        f"WHERE {run_conditions.of(reader, run_ids)} GROUP BY run_id"
    )
    return {run_id: tuple(ids) for run_id, ids in found}


_OF_HISTORY, _OF_ANY_PATH = "candidates.history_rank", "candidates.screens_rank"


def _ranked(reader: Reader, run_ids: Iterable[str], rank: str) -> dict[str, tuple[str, ...]]:
    found = reader.rows(
        f"SELECT sets.run_id, list(candidates.history_run_id ORDER BY {rank}) FILTER (({rank}) IS NOT NULL) "
        "FROM core.history_sets AS sets LEFT JOIN core.history_candidates AS candidates "
        "ON candidates.run_no = sets.run_no "
        f"WHERE {run_conditions.of(reader, run_ids, 'sets.run_no')} GROUP BY sets.run_id"
    )
    return {run_id: tuple(ids or ()) for run_id, ids in found}


@dataclass(frozen=True)
class Member:
    """A run that is in the history of runs of a partition.

    Attributes:
        of_partition: whose history.
        used_by: in how many of its runs' histories it is.
    """

    of_partition: str
    run_id: str
    app: str
    version_name: str
    partition_key: str
    used_by: int


_MEMBERS = """
SELECT own.partition_key, earlier.run_id, earlier.app, earlier.version_name, earlier.partition_key, count(*) AS used_by
FROM core.runs AS own
JOIN core.history_candidates AS candidates ON candidates.run_no = own.run_no AND candidates.history_rank IS NOT NULL
JOIN core.runs AS earlier ON earlier.run_no = candidates.history_run_no
WHERE {of}
GROUP BY own.partition_key, earlier.run_id, earlier.app, earlier.version_name, earlier.partition_key, earlier.started_at
ORDER BY own.partition_key, earlier.started_at DESC, earlier.run_id
"""


def members_of_partitions(reader: Reader, run_ids: Iterable[str]) -> dict[str, list[Member]]:
    """Partition key -> the runs that are in the histories of some of its runs, the latest first; none without one."""
    found: dict[str, list[Member]] = {}
    for row in reader.rows(_MEMBERS.format(of=run_conditions.of(reader, run_ids, "own.run_no"))):
        found.setdefault(row[0], []).append(Member(*row))
    return found
