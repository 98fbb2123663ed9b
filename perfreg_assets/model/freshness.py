"""What is due, and why: the one place that says whether a stored result still holds.

A result is due when it is not there or was made from other inputs, parameters or code than hold now; inputs are told by
hashes (`model.inputs`), never by whether somebody "handled" an event. (Traces that could not be read are files, see
`model.trying_again`.) A run's stages build on each other, so a run is
due at its earliest stage that does not hold; what follows is looked at again when that is done. Pages are the reports'
own concern (`reports.site.due_pages`).

`due` decides; `due_now` asks it only about the versions in which something is different from when it last found nothing
due (`model.settled`). The steps of a job ask for their own stage (`model.readiness`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from perfreg_assets.detection import definition_of, detectors
from perfreg_assets.model import comparisons, inputs, trying_again
from perfreg_assets.model.comparisons import Comparison, Planned
from perfreg_assets.model.past_scores import PastScores
from perfreg_assets.model.settled import Memory
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import settings_table, states
from perfreg_assets.warehouse.connection import Reader


class Stage(IntEnum):
    """What is computed for a run, in this order. A page comes after all of them."""

    TRACE = 1
    HISTORY = 2
    BARYCENTER = 3
    DISTANCE = 4
    VERDICT = 5
    DISCORD = 6
    CAUSE = 7


@dataclass(frozen=True)
class Due:
    """A run's earliest stage that does not hold, and why not; later stages follow from it."""

    run_id: str
    partition_key: str
    stage: Stage
    why: str


def due(
    reader: Reader, settings: Settings, keys: Iterable[str] | None = None, *, upto: Stage = Stage.CAUSE
) -> list[Due]:
    """What is due of the runs of some partitions (default: all), oldest run first.

    Args:
        upto: later stages are not looked at.
    """
    decided = decide(reader, settings_table.in_force(reader, settings), keys, upto=upto)
    return [
        Due(run.run_id, run.partition_key, *decided.found[run.run_id])
        for run in decided.registered
        if run.run_id in decided.found
    ]


def due_now(reader: Reader, settings: Settings) -> list[Due]:
    """What `due` says of all runs, oldest first, without deciding again about those of which nothing has changed."""
    memory = Memory(settings_table.in_force(reader, settings))
    with memory.looking(reader) as look:
        found = due(reader, settings, look.keys) if look.keys is None or look.keys else []
        memory.remember(reader, look, {one.partition_key for one in found})
    return found


def told_now(reader: Reader, settings: Settings) -> dict[str, str]:
    """Run → why something of it is due, as its page says it."""
    return told_of(due_now(reader, settings))


def told_of(due: Sequence[Due]) -> dict[str, str]:
    """As `told_now`, of what was found."""
    return {one.run_id: one.why for one in due}


_Found = dict[str, tuple[Stage, str]]


@dataclass(frozen=True)
class Decided:
    """What was decided about some runs.

    Attributes:
        upto: the last stage that was looked at.
        registered: all of them, oldest first.
        found: run → its earliest stage that does not hold, and why not; of those that have one.
        planned: comparisons of those that hold to their history; None where no later stage was looked at.
    """

    upto: Stage
    registered: Sequence[states.Registered]
    found: Mapping[str, tuple[Stage, str]]
    planned: Planned | None = None

    def at(self, stage: Stage) -> set[str]:
        """Runs that wait for this stage and nothing before it."""
        return {run_id for run_id, (earliest, _) in self.found.items() if earliest is stage}


def decide(
    reader: Reader, settings: Settings, keys: Iterable[str] | None, *, upto: Stage, known: Decided | None = None
) -> Decided:
    """Looks at one stage after the other, at each at the runs that are due at none before.

    Args:
        settings: those in force.
        known: what still holds of a decision about the same partitions: only the stages after it are looked at.
    """
    registered = states.registered(reader, keys) if known is None else known.registered
    found = dict(known.found) if known is not None else {}
    planned = known.planned if known is not None else None
    for stage in list(Stage)[known.upto if known is not None else 0 : upto]:
        rest = [run for run in registered if run.run_id not in found]
        if stage is Stage.TRACE:
            found |= _traces(rest, settings)
        elif stage is Stage.HISTORY:
            found |= _histories(reader, rest, settings)
        else:
            planned = planned or comparisons.plan(reader, [run.run_id for run in rest], settings)
            found |= _LOOKS[stage](reader, planned.without(found), settings)
    return Decided(upto, registered, found, planned)


def _traces(registered: Sequence[states.Registered], settings: Settings) -> _Found:
    code, parameters = code_version("traces"), inputs.trace_parameters(settings)

    def why(run: states.Registered) -> str | None:
        if run.read_code_version is None:
            return "the trace was not read yet"
        if run.read_sha256 != run.trace_sha256:
            return "the trace is another file than the one that was read"
        if run.cannot_be_read_again:  # what was read of it stays
            return None
        reasons = {
            "the trace was read by a release that kept no thread times": run.lacks_thread_times,
            "the trace's slices were not put on the screens of this path yet": run.lacks_slices,
            "the trace was read by a release that kept no energies": run.lacks_energies,
            "the run's power profile was chosen from others than are added now": run.has_old_profile,
            "the run's folder has another power profile": run.has_other_file,
            "the trace was read by another version of the code": run.read_code_version != code,
            "the trace was read with another interval, tolerance or power profile": run.read_parameters_hash
            != parameters,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    return {run.run_id: (Stage.TRACE, reason) for run in registered for reason in [why(run)] if reason is not None}


def _histories(reader: Reader, registered: Sequence[states.Registered], settings: Settings) -> _Found:
    of_app: dict[str, set[str]] = defaultdict(set)
    for run in registered:
        of_app[run.app].add(run.run_id)
    known = states.history_inputs(reader, [run.run_id for run in registered])
    found: _Found = {}
    for app, run_ids in of_app.items():
        wanted = inputs.history_hashes(reader, app, settings, run_ids)
        for run_id in run_ids:
            if run_id not in known:
                found[run_id] = Stage.HISTORY, "no history was selected yet"
            elif known[run_id] != wanted[run_id]:
                found[run_id] = Stage.HISTORY, "earlier runs, their reviews, the rules or the code changed"
    return found


def _barycenters(reader: Reader, planned: Planned, settings: Settings) -> _Found:
    known = states.averaged(reader, planned.run_ids)
    found: _Found = {}
    for run_id, family in planned.by_path.items():
        if known.get(run_id, {}) != {
            one.series: inputs.barycenter_id(one, settings) for one in family if one.has_barycenter
        }:
            found[run_id] = Stage.BARYCENTER, "the barycenters are not those of the history"
    return found


def _distances(reader: Reader, planned: Planned, settings: Settings) -> _Found:
    known = states.measured(reader, planned.run_ids)
    pasts = PastScores.of_detectors(reader, planned.run_ids)
    found: _Found = {}
    for name, detector in detectors().items():
        past = pasts.get(name)
        others = "inputs, parameters, earlier scores or code" if past else "inputs, parameters or code"
        for run_id, family in planned.of(detector).items():
            before = known.get((run_id, name))
            if before is None:
                found.setdefault(run_id, (Stage.DISTANCE, f"not measured by {name} yet"))
            elif before != (
                inputs.run_hash(detector, family, settings, past),
                inputs.measuring_parameters(detector, settings),
            ):
                found.setdefault(run_id, (Stage.DISTANCE, f"measured by {name} from other {others}"))
    return found


def _verdicts(reader: Reader, planned: Planned, settings: Settings) -> _Found:
    missing = states.without_verdict(reader, planned.run_ids, detector=settings.detector, omega=settings.omega)
    why = f"no verdict by {settings.detector} at ω = {settings.omega:g} yet"
    return dict.fromkeys(sorted(missing), (Stage.VERDICT, why))


def _windows(reader: Reader, planned: Planned, settings: Settings) -> _Found:
    known = states.localised(reader, planned.run_ids)
    wanted: dict[str, dict[str, str]] = defaultdict(dict)
    for one, score in anomalous(reader, planned, settings):
        wanted[one.run_id][one.series] = inputs.windows_hash(one, score, settings)
    found: _Found = {}
    for run_id in planned.run_ids:
        there, needed = known.get(run_id, {}), wanted.get(run_id, {})
        if missing := sorted(needed.keys() - there.keys()):
            found[run_id] = Stage.DISCORD, f"no windows of {', '.join(missing)} yet"
        elif there != needed:
            found[run_id] = Stage.DISCORD, "windows from other inputs, or of series that are not anomalous any more"
    return found


def _causes(reader: Reader, planned: Planned, settings: Settings) -> _Found:
    known = states.explained(reader, planned.run_ids)
    wanted = inputs.causes_hashes(states.explained_from(reader, planned.run_ids), settings)
    again = trying_again.readable_again(reader, settings, known)
    found: _Found = {}
    for run_id in planned.run_ids:
        if run_id in wanted and run_id not in known:
            found[run_id] = Stage.CAUSE, "no causes of its windows were looked for yet"
        elif known.get(run_id) != wanted.get(run_id):
            found[run_id] = Stage.CAUSE, "causes from other windows, thread times, traces, histories, rules or code"
        elif run_id in again:
            found[run_id] = Stage.CAUSE, again[run_id]
    return found


_LOOKS = {
    Stage.BARYCENTER: _barycenters,
    Stage.DISTANCE: _distances,
    Stage.VERDICT: _verdicts,
    Stage.DISCORD: _windows,
    Stage.CAUSE: _causes,
}


class Alarm(NamedTuple):
    """A series that is anomalous by its current verdict, as the detector in force compares it, and its verdict's score;
    0 where the detector's distances are of another scale."""

    comparison: Comparison
    score: float


def anomalous(reader: Reader, planned: Planned, settings: Settings) -> list[Alarm]:
    """The alarms of series with a course."""
    alarms, detector = states.alarms(reader, planned.run_ids), definition_of(settings.detector)
    return [
        Alarm(one, alarms[one.run_id, one.series] if detector.scale == "score" else 0.0)
        for family in planned.of(detector).values()
        for one in family
        if one.has_course and (one.run_id, one.series) in alarms
    ]
