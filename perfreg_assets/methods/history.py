"""Which earlier runs a new run is compared with (thesis 4.2.3).

Of the runs of the app that started earlier: same configuration, recorded with the same sources as far as they change
the load, of the same scenario, no functional problems, a whole trace, another version than the new run's (unless
allowed), not reviewed out, a similar path; of those the latest k. A scenario that both runs name stands for the path
where one of them has none. Where too few went a similar way, the latest k of any path can still be compared screen by
screen (`methods.screens_detector`): they are told beside the history and are no members of it.

Pure: what is known about the runs comes in, the selection and its explanation go out. Runs that started later are not
looked at, so they never change an earlier run's history. Every run that is left out has exactly one reason, the first
that holds in the order of `EXCLUDE_REASONS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Literal

from perfreg_assets.detection import Way
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.path_similarity import similarities
from perfreg_assets.reasons import Reason

EXCLUDE_REASONS = (
    Reason.OTHER_CONFIGURATION,
    Reason.OTHER_RECORDING,
    Reason.OTHER_SCENARIO,
    Reason.INCOMPLETE_TRACE,
    Reason.FUNCTIONAL_PROBLEMS,
    Reason.FUNCTIONAL_PROBLEMS_UNKNOWN,
    Reason.EXCLUDED,
    Reason.SAME_VERSION,
    Reason.REVIEWED_OUT,
    Reason.ANOMALOUS,
    Reason.BEFORE_ACCEPTED,
    Reason.BEYOND_SIZE,
    Reason.PATH_DISSIMILAR,
)
NEAR_MISS_LIMIT = 20
_BLOCK = 2  # times k runs' paths are asked for at once
# These say what kind of run it is, not that it nearly was a member.
_FAR_MISSES = {
    *(Reason.OTHER_CONFIGURATION, Reason.OTHER_RECORDING, Reason.OTHER_SCENARIO),
    *(Reason.SAME_VERSION, Reason.BEYOND_SIZE),
}
_NOT_A_REGRESSION = {"rejected", "accepted"}  # reviews that overrule an anomalous verdict


@dataclass(frozen=True)
class RunFacts:
    """What the selection needs to know of a run.

    Attributes:
        config_hash: equal for equal configurations C (device, strategy, time limit, interval between actions).
        started_at: with time zone.
        has_functional_problems: None where the tester did not say; such a run is in no history.
        state_hashes: the path, one hash per step; whoever has many runs may leave it out, see `select_history`.
        review: the review in force: confirmed, rejected (a false alarm), accepted (the new normal) or None.
        is_excluded: taken out by hand.
        is_anomalous: the current verdict; None if not judged.
        load_sources: the data sources it was recorded with that change the load, in order of their names.
        scenario: what a script did; None where nobody says.
    """

    run_id: str
    app: str
    version_name: str
    config_hash: str
    started_at: datetime
    has_functional_problems: bool | None
    is_complete: bool
    review: str | None
    is_excluded: bool
    is_anomalous: bool | None
    load_sources: tuple[str, ...] = ()
    scenario: str | None = None
    state_hashes: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[datetime, str]:
        """Where the run stands in time; of runs that started together the one with the smaller run_id is earlier."""
        return self.started_at, self.run_id

    def is_recorded_like(self, other: RunFacts) -> bool:
        """Whether the two differ neither in configuration nor in the sources that change the load."""
        return self.config_hash == other.config_hash and (
            self.load_sources == other.load_sources or set(self.load_sources) == set(other.load_sources)
        )

    def is_comparable_with(self, other: RunFacts) -> bool:
        """Whether the two are recorded alike and of the same scenario."""
        return self.is_recorded_like(other) and self.scenario == other.scenario


@dataclass(frozen=True)
class HistoryRules:
    """Attributes:
    size: k, the most members.
    minimum: members that a verdict needs.
    similarity_minimum: lowest path similarity, 0 to 1.
    same_version: whether earlier runs of the judged version may be members.
    excludes_anomalous: whether runs judged anomalous are left out (unless a review overrules the verdict).
    """

    size: int
    minimum: int
    similarity_minimum: float
    same_version: bool
    excludes_anomalous: bool


@dataclass(frozen=True)
class Candidate:
    """A run that was considered: a member (`rank`, 1 = latest) or left out (`exclude_reason`).

    `similarity` is None when it was not needed, or (`path_dissimilar`) when a bound settled it. `screens_rank`: its
    place among the runs of any path that it can be compared with screen by screen, 1 = latest.
    """

    run_id: str
    similarity: float | None
    rank: int | None
    exclude_reason: Reason | None
    screens_rank: int | None = None


@dataclass(frozen=True)
class HistorySelection:
    """Attributes:
    way: what the run is compared with: the members, or, where they are too few and these are not, `of_any_path`.
    members: rank 1 (latest) first.
    of_any_path: the latest k that nothing but their path could keep out, latest first; members may be among them.
    near_misses: at most `NEAR_MISS_LIMIT` runs that only a run's own fault kept out, latest first, and all of
        `of_any_path` that are no members.
    candidate_count: earlier runs of the app.
    excluded_counts: how many of them were left out, by reason; with the members they add up to `candidate_count`.
    explanation: the selection in one or two sentences.
    """

    state: Literal["ready", "not_enough_history"]
    way: Way
    members: tuple[Candidate, ...]
    of_any_path: tuple[Candidate, ...]
    near_misses: tuple[Candidate, ...]
    candidate_count: int
    excluded_counts: dict[Reason, int]
    explanation: str


Paths = Callable[[Sequence[RunFacts]], Sequence[Sequence[str]]]
"""The paths of some runs, one hash per step."""


def _own_paths(runs: Sequence[RunFacts]) -> list[tuple[str, ...]]:
    return [run.state_hashes for run in runs]


def select_history(
    new: RunFacts, others: Sequence[RunFacts], rules: HistoryRules, paths: Paths = _own_paths
) -> HistorySelection:
    """The history of a run among the others, in whatever order they come; the run itself may be among them.

    Args:
        paths: where the paths come from, asked in blocks and only for runs that nothing else keeps out; default: the
            `state_hashes` of the facts.
    """
    (new_path,) = paths([new])
    # An app has thousands of runs: each says its place once.
    place = new.place
    placed = [(where, run) for run in others if run.app == new.app and (where := run.place) < place]
    placed.sort(key=itemgetter(0), reverse=True)
    candidates = [run for _, run in placed]
    accepted = max(
        (run.place for run in candidates if run.review == "accepted" and run.is_comparable_with(new)), default=None
    )
    outcomes: dict[str, tuple[float | None, Reason | None]] = {
        run.run_id: (None, reason)
        for run in candidates
        if (reason := _reason_without_path(new, run, rules, accepted)) is not None
    }
    comparable = [run for run in candidates if run.run_id not in outcomes]
    outcomes |= _compare_paths(comparable, new_path, rules, paths, has_scenario=new.scenario is not None)
    places = _places_of_any_path(comparable, rules, paths) if new_path else {}
    members: list[Candidate] = []
    near_misses: list[Candidate] = []
    counts: Counter[Reason] = Counter()
    for run in candidates:
        ratio, reason = outcomes[run.run_id]
        of_any = places.get(run.run_id)
        if reason is None:
            members.append(Candidate(run.run_id, ratio, len(members) + 1, None, of_any))
            continue
        counts[reason] += 1
        if of_any is not None or (reason not in _FAR_MISSES and len(near_misses) < NEAR_MISS_LIMIT):
            near_misses.append(Candidate(run.run_id, ratio, None, reason, of_any))
    excluded = {code: counts[code] for code in EXCLUDE_REASONS if counts[code]}
    is_ready = len(members) >= rules.minimum
    of_any_path = [one for one in (*members, *near_misses) if one.screens_rank is not None]
    of_any_path.sort(key=lambda one: one.screens_rank or 0)
    way: Way = "any_path" if not is_ready and len(of_any_path) >= rules.minimum else "path"
    explanation = _explanation(new, bool(new_path), members, len(candidates), excluded, rules)
    if way == "any_path":
        explanation += f" So it is compared screen by screen with the latest {len(of_any_path)} of any path."
    return HistorySelection(
        state="ready" if is_ready else "not_enough_history",
        way=way,
        members=tuple(members),
        of_any_path=tuple(of_any_path),
        near_misses=tuple(near_misses),
        candidate_count=len(candidates),
        excluded_counts=excluded,
        explanation=explanation,
    )


def _places_of_any_path(comparable: Sequence[RunFacts], rules: HistoryRules, paths: Paths) -> dict[str, int]:
    """run_id → place among the latest k that have a path at all, of runs, latest first, that only it can keep out."""
    places: dict[str, int] = {}
    block = _BLOCK * rules.size
    for start in range(0, len(comparable), block):
        runs = comparable[start : start + block]
        for run, path in zip(runs, paths(runs), strict=True):
            if path:
                places[run.run_id] = len(places) + 1
            if len(places) == rules.size:
                return places
    return places


def _compare_paths(
    comparable: Sequence[RunFacts], new_path: Sequence[str], rules: HistoryRules, paths: Paths, *, has_scenario: bool
) -> dict[str, tuple[float | None, Reason | None]]:
    """(similarity, reason) by run_id of runs, latest first, that only their path can keep out.

    Where all are of one scenario, it tells what was done of a run without a path; its similarity is None.

    In blocks and only until k runs passed: older ones are beyond the size whatever their path.
    """
    outcomes: dict[str, tuple[float | None, Reason | None]] = {}
    needs_no_path: set[str] = set()
    passed = 0
    block = _BLOCK * rules.size
    for start in range(0, len(comparable), block):
        runs = comparable[start : start + block]
        values: Sequence[float | None] = [None] * len(runs)
        if passed < rules.size:
            own = paths(runs)
            values = similarities(own, new_path, minimum=rules.similarity_minimum)
            if has_scenario:
                needs_no_path |= {run.run_id for run, path in zip(runs, own, strict=True) if not (path and new_path)}
        for run, value in zip(runs, values, strict=True):
            if passed == rules.size:
                outcomes[run.run_id] = None, Reason.BEYOND_SIZE
            elif run.run_id in needs_no_path:
                outcomes[run.run_id] = None, None
                passed += 1
            elif value is None or value < rules.similarity_minimum:
                outcomes[run.run_id] = value, Reason.PATH_DISSIMILAR
            else:
                outcomes[run.run_id] = value, None
                passed += 1
    return outcomes


def _reason_without_path(  # noqa: PLR0911  (of thousands of runs: what comes after the first is not looked at)
    new: RunFacts, run: RunFacts, rules: HistoryRules, accepted: tuple[datetime, str] | None
) -> Reason | None:
    """The first reason that needs no comparison of paths."""
    if run.config_hash != new.config_hash:
        return Reason.OTHER_CONFIGURATION
    if not run.is_recorded_like(new):
        return Reason.OTHER_RECORDING
    if run.scenario != new.scenario:
        return Reason.OTHER_SCENARIO
    if not run.is_complete:
        return Reason.INCOMPLETE_TRACE
    if run.has_functional_problems is not False:
        return Reason.FUNCTIONAL_PROBLEMS if run.has_functional_problems else Reason.FUNCTIONAL_PROBLEMS_UNKNOWN
    if run.is_excluded:
        return Reason.EXCLUDED
    if run.version_name == new.version_name and not rules.same_version:
        return Reason.SAME_VERSION
    if run.review == "confirmed":
        return Reason.REVIEWED_OUT
    if rules.excludes_anomalous and run.is_anomalous and run.review not in _NOT_A_REGRESSION:
        return Reason.ANOMALOUS
    if accepted is not None and run.place < accepted:
        return Reason.BEFORE_ACCEPTED
    return None


def _explanation(
    new: RunFacts,
    has_path: bool,
    members: Sequence[Candidate],
    candidate_count: int,
    excluded: dict[Reason, int],
    rules: HistoryRules,
) -> str:
    if candidate_count == 0:
        return f"There is no earlier run of {new.app}; a verdict needs {rules.minimum}."
    similar = min((member.similarity for member in members if member.similarity is not None), default=None)
    scenario = "" if new.scenario is None else f" (scenario {new.scenario})"
    paths = "" if similar is None else f", paths {similar:.2f} similar or more"
    first = f"{len(members)} of {candidate_count} earlier runs of {new.app} form the history{scenario}{paths}"
    if len(members) == candidate_count < rules.minimum:
        are = "is" if candidate_count == 1 else "are"
        first = (
            f"There {are} {how_many(candidate_count, 'earlier run')} of {new.app} to compare with{scenario}, "
            f"a verdict needs {rules.minimum}"
        )
    elif len(members) < rules.minimum:
        first = (
            f"Only {len(members)} of {candidate_count} earlier runs of {new.app} can be compared with{scenario}, "
            f"a verdict needs {rules.minimum}"
        )
    parts = [f"{count} {reason.label}" for reason, count in excluded.items()]
    left_out = f"; left out: {', '.join(parts)}" if parts else ""
    no_path = "" if has_path or scenario else " The run has no path, so only runs without one are similar to it."
    return f"{first}{left_out}.{no_path}"
