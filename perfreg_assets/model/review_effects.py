"""What a review would change, found out before it is given: by the selection of histories and the empirical nulls
themselves, with that review assumed. Nothing is written.

It holds for the results that are stored: where something is due, they are those of before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perfreg_assets.detection import detectors, way_of
from perfreg_assets.methods.history import HistoryRules, HistorySelection, RunFacts, select_history
from perfreg_assets.model.past_scores import PastScores
from perfreg_assets.model.selecting import history_rules
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import distances, histories, reviews, settings_table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.named import require_run

LOOKED_AT = 200
"""So many comparable later runs are looked at: no more earlier ones are asked what is normal."""
_ASKED_FIRST = 400
"""Earlier runs that a selection is made from at first: at 10,000 runs from all of them takes .1 s."""
_NUDGE = 1e-6
"""Stands for a score that will be another one: what rests on it is judged again."""


@dataclass(frozen=True)
class Effect:
    """What a status would do.

    Attributes:
        later_count: later runs of the app, whose histories are selected again.
        history_before, history_after: how many of them have the run in their history.
        null_before, null_after: for how many of them its scores tell what is normal.
        judged_again: those that are measured again: beside other runs, or by other earlier scores.
        unjudged_count: those of them that are left with too few earlier runs for a verdict.
        is_at_least: there may be more of them: after the ones that were looked at, or by what follows from verdicts.
    """

    later_count: int
    history_before: int
    history_after: int
    null_before: int
    null_after: int
    judged_again: tuple[str, ...]
    unjudged_count: int
    is_at_least: bool


def effect_of(reader: Reader, settings: Settings, run_id: str, status: str) -> Effect:
    """Of saying `status` (or `reviews.WITHDRAWN`) of a run now.

    Raises:
        Rejected: RUN_UNKNOWN.
    """
    require_run(reader, run_id)
    settings = settings_table.in_force(reader, settings)
    rules = history_rules(settings)
    app = reader.value("SELECT app FROM core.runs WHERE run_id = ? AND NOT is_quarantined", [run_id])
    facts = histories.facts(reader, app, with_verdicts=rules.excludes_anomalous) if app is not None else []
    run = next((one for one in facts if one.run_id == run_id), None)
    if run is None:  # in quarantine: no run is compared with it
        return Effect(0, 0, 0, 0, 0, (), 0, is_at_least=False)
    review = None if status == reviews.WITHDRAWN else status
    later = [one for one in facts if one.place > run.place]
    comparable = [one for one in facts if one.is_comparable_with(run)]
    looked_at = [one for one in comparable if one.place > run.place][:LOOKED_AT]
    selected = _selections(reader, run, replace(run, review=review), comparable, looked_at, rules)
    beside = {
        one: (_compared_with(before, settings, rules), _compared_with(after, settings, rules))
        for one, (before, after) in selected.items()
    }
    # Where there is no verdict either way, it is told by the history that is too small.
    changed = {
        one: bool(now)
        for one, (then, now) in beside.items()
        if (then != now if then or now else _members(selected[one][0]) != _members(selected[one][1]))
    }
    nulls = _nulls(reader, settings, run_id, review, [one.run_id for one in looked_at], changed)
    again = tuple(one.run_id for one in looked_at if one.run_id in changed.keys() | nulls.other)
    is_cut = len(looked_at) == LOOKED_AT and looked_at[-1].run_id in again
    return Effect(
        later_count=len(later),
        history_before=sum(run_id in _members(before) for before, _ in selected.values()),
        history_after=sum(run_id in _members(after) for _, after in selected.values()),
        null_before=nulls.before,
        null_after=nulls.after,
        judged_again=again,
        unjudged_count=sum(bool(before) and not after for before, after in beside.values()),
        is_at_least=bool(again) and (is_cut or rules.excludes_anomalous),
    )


def _members(selection: HistorySelection) -> tuple[str, ...]:
    return tuple(one.run_id for one in selection.members)


def _compared_with(selection: HistorySelection, settings: Settings, rules: HistoryRules) -> tuple[str, ...]:
    """The runs that the detector in force judges the run beside: none where they are too few."""
    way = way_of(detectors()[settings.detector], selection.way)
    chosen = selection.members if way == "path" else selection.of_any_path
    return tuple(one.run_id for one in chosen) if len(chosen) >= rules.minimum else ()


def _selections(
    reader: Reader,
    run: RunFacts,
    reviewed: RunFacts,
    comparable: Sequence[RunFacts],
    looked_at: Sequence[RunFacts],
    rules: HistoryRules,
) -> dict[str, tuple[HistorySelection, HistorySelection]]:
    """run_id → its history before and after, of those whose history may change.

    A history that is full of runs after the reviewed one stays: neither its place nor what it bars comes up. The others
    are selected twice, so that the difference is the review's alone, whatever else is due.
    """
    places = {one.run_id: one.place for one in comparable}
    stored = histories.members(reader, [one.run_id for one in looked_at])
    assumed = [reviewed if one.run_id == run.run_id else one for one in comparable]
    paths = histories.Paths(reader)
    found = {}
    for one in looked_at:
        known = stored.get(one.run_id, ())
        if len(known) == rules.size and all(other in places and places[other] > run.place for other in known):
            continue
        before, after = (_selected(one, others, rules, paths) for others in (comparable, assumed))
        found[one.run_id] = before, after
    return found


def _selected(
    one: RunFacts, comparable: Sequence[RunFacts], rules: HistoryRules, paths: histories.Paths
) -> HistorySelection:
    """A run's history; the latest runs before it are asked first: where they fill it, older ones are beyond its size.

    Args:
        comparable: oldest first, the run among them.
    """
    end = bisect_left(comparable, one.place, key=lambda other: other.place)
    for start in (max(0, end - _ASKED_FIRST), 0):
        selection = select_history(one, comparable[start:end], rules, paths)
        if len(selection.members) == rules.size or start == 0:
            break
    return selection


@dataclass(frozen=True)
class _Nulls:
    """For how many judged runs the reviewed one tells what is normal, and which have another null."""

    before: int
    after: int
    other: frozenset[str]


def _nulls(
    reader: Reader,
    settings: Settings,
    run_id: str,
    review: str | None,
    later: Sequence[str],
    changed: Mapping[str, bool],
) -> _Nulls:
    """
    Args:
        changed: later runs with another history, whose own scores will be others, and whether it is enough for a score.
    """
    detector = detectors()[settings.detector]
    if not detector.has_empirical_null:
        return _Nulls(0, 0, frozenset())
    scored = distances.scored_series(reader, later, detector.name)
    now, then = (
        PastScores.of(reader, later, detector.name),
        PastScores.of(reader, later, detector.name, assumed=(run_id, review)),
    )
    then.learn(
        {
            one: {series: theory._replace(score=theory.score + _NUDGE) for series, theory in scores.items()}
            for one, scores in then.known(changed.keys()).items()
        }
    )
    scored_then = {one for one in later if changed.get(one, one in scored)}
    return _Nulls(
        before=sum(now.counts_for(one, run_id) for one in scored),
        after=sum(then.counts_for(one, run_id) for one in scored_then),
        other=frozenset(one for one, series in scored.items() if now.hash_of(one, series) != then.hash_of(one, series)),
    )
