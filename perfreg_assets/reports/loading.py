"""The marts as the dataclasses of run pages, of the runs that are asked for; `loading_lists` has the index and ω page.

`run_fingerprints` tells in a few queries which of some pages would come out different.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from perfreg_assets import detection
from perfreg_assets.methods.empirical_null import TRANSIENT_END_S, TRANSIENT_START_S, WITHOUT_TRANSIENT
from perfreg_assets.methods.path_similarity import similarity
from perfreg_assets.reports import bands
from perfreg_assets.reports.data import (
    Attachment,
    AxisVerdict,
    Band,
    Discord,
    Distances,
    Explained,
    History,
    HistoryMember,
    NearestRun,
    Place,
    Profile,
    Run,
    RunDetail,
    SeriesView,
    SimilarityMatrix,
    Verdict,
)
from perfreg_assets.reports.loading_causes import load_explained
from perfreg_assets.reports.loading_energies import load_energies
from perfreg_assets.reports.loading_metrics import load_measurements, metric_views
from perfreg_assets.reports.loading_unusual import load_unusual
from perfreg_assets.reports.run_order import RunOrder
from perfreg_assets.reports.wording import axis_place
from perfreg_assets.run import RUN_LEVEL, PathStep, timed_screens
from perfreg_assets.warehouse import barycenters, discords, stamps, states
from perfreg_assets.warehouse import paths as path_table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse.asked_once import rows_of
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.past_scores import PAST_RUNS, THEORETICAL_SCORE, TRANSIENT_RUNS, UNIT_RUNS
from perfreg_assets.warehouse.run_conditions import grouped, of
from perfreg_assets.warehouse.series import SeriesRow

_EPOCH = datetime.min.replace(tzinfo=UTC)


# ---- runs and verdicts --------------------------------------------------------------------------------------
_RENAMED = {"verdict": "run_verdict", "explanation": "run_explanation", "duration_s": "trace_duration_s"}
_COLUMNS = ", ".join(f"{_RENAMED.get(spec.name, spec.name)} AS {spec.name}" for spec in fields(Run))
_RUNS = f"SELECT {_COLUMNS} FROM marts.runs"


def load_runs(reader: Reader, run_ids: Sequence[str]) -> dict[str, Run]:
    """Those of some runs that are there, by id, oldest first."""

    def load(ids: Sequence[str]) -> dict[str, Run]:
        return {
            row["run_id"]: _run(row)
            for group in grouped(reader, ids)
            for row in reader.dicts(f"{_RUNS} WHERE {of(reader, group)}")
        }

    found = rows_of(reader, load_runs, run_ids, load)
    return dict(sorted(found.items(), key=lambda one: (one[1].started_at or _EPOCH, one[0])))


def _run(row: Mapping[str, Any]) -> Run:
    problems = json.loads(row["functional_problems"]) if row["functional_problems"] else None
    count = row["functional_problem_count"] or 0
    return Run(**{**row, "functional_problems": problems, "functional_problem_count": count})


_VERDICTS = """
SELECT run_id, series, state, detector, omega, is_anomalous, distance, q1, q3, improvement, threshold, critical_omega,
       direction, missing_series, explanation
FROM marts.verdicts WHERE is_current
"""


def load_verdicts(reader: Reader, run_ids: Sequence[str]) -> list[Verdict]:
    """Current verdicts of some runs, by run and series."""
    found = rows_of(reader, load_verdicts, sorted(run_ids), lambda ids: _verdicts(reader, ids))
    return [verdict for of_run in found.values() for verdict in of_run]


def _verdicts(reader: Reader, run_ids: Sequence[str]) -> dict[str, list[Verdict]]:
    found: dict[str, list[Verdict]] = defaultdict(list)
    for row in reader.dicts(f"{_VERDICTS} AND {of(reader, run_ids)} ORDER BY run_id, series"):
        verdict = Verdict(
            run_id=row["run_id"],
            series=row["series"],
            state=row["state"],
            detector=row["detector"],
            omega=row["omega"],
            is_anomalous=row["is_anomalous"],
            distance=row["distance"],
            q1=row["q1"],
            q3=row["q3"],
            threshold=row["threshold"],
            improvement=row["improvement"],
            critical_omega=row["critical_omega"],
            direction=row["direction"],
            missing_series=tuple(row["missing_series"] or ()),
            explanation=row["explanation"],
        )
        found[verdict.run_id].append(verdict)
    return found


_AXES = """
SELECT run_id, axis, state, series, excess_ratio, explanation FROM marts.axis_verdicts WHERE is_current
"""


def load_axis_verdicts(reader: Reader, run_ids: Sequence[str]) -> list[AxisVerdict]:
    """Current states of axes of some runs; a run's in the order of the catalogue."""
    found = [AxisVerdict(**row) for row in reader.dicts(f"{_AXES} AND {of(reader, run_ids)}")]
    return sorted(found, key=lambda one: (one.run_id, axis_place(one.axis)))


# ---- run pages -------------------------------------------------------------------------------------
_CANDIDATES = """
SELECT run_id, history_run_id, history_rank, screens_rank, similarity_ratio, exclude_reason, history_version_name,
       history_started_at
FROM marts.history_candidates WHERE {of} ORDER BY run_id, history_run_id
"""


def run_fingerprints(
    reader: Reader, runs: Mapping[str, Run], order: RunOrder, own: Mapping[str, int] | None = None
) -> dict[str, str]:
    """run_id → hash of everything that the pages of `runs` are made of, but what all pages are (`stamps.general`).

    Whatever is written again, the same as before, has another one: a page that has the same hash shows the same.

    Args:
        own: run_id → its stamp, where they are known.
    """
    ids = list(runs)
    own = stamps.of_runs(reader, ids) if own is None else own
    candidates: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for run_id, *facts in reader.rows(_CANDIDATES.format(of=of(reader, ids))):
        candidates[run_id].append(tuple(facts))
    beside = {run_id: order.beside(run_id, run.app) for run_id, run in runs.items()}
    members = {
        run_id: [one[0] for one in group if one[1] is not None or one[2] is not None]
        for run_id, group in candidates.items()
    }
    recorded = stamps.of_runs(reader, sorted({one for group in members.values() for one in group}), stamps.RECORDED)
    paths = stamps.path_contents(reader, sorted({other for one in beside.values() for other in one.recent}))
    found = {}
    for run_id, run in runs.items():
        near = beside[run_id]
        inputs = (
            run,
            own.get(run_id),
            candidates[run_id],
            [recorded.get(member) for member in members.get(run_id, ())],
            near.previous,
            near.next,
            [(other, paths.get(other)) for other in near.recent],
        )
        found[run_id] = hashlib.sha256(repr(inputs).encode("utf-8", "surrogatepass")).hexdigest()
    return found


def load_dependents(reader: Reader, run_ids: Sequence[str]) -> set[str]:
    """Runs that have one of these in their history, or nearly had."""
    return {
        run_id
        for ids in grouped(reader, run_ids)
        for (run_id,) in reader.rows(
            f"SELECT DISTINCT run_id FROM marts.history_candidates WHERE {of(reader, ids, 'history_run_no')}"
        )
    }


@dataclass(slots=True)
class PathSimilarities:
    """Similarities of pairs of runs, each computed once per build; those the warehouse knows are taken from there."""

    known: dict[tuple[str, str], float] = field(default_factory=dict)

    def of(self, candidate: str, new: str, paths: Mapping[str, Sequence[str]]) -> float:
        key = (candidate, new)
        if key not in self.known:
            self.known[key] = similarity(paths[candidate], paths[new])
        return self.known[key]


def load_details(
    reader: Reader,
    run_ids: Sequence[str],
    order: RunOrder | None = None,
    similarities: PathSimilarities | None = None,
    runs: Mapping[str, Run] | None = None,
) -> list[RunDetail]:
    """The page contents of some runs, in the order asked for.

    Args:
        order, similarities: filled with what is found here, so that the next group finds it.
        runs: what `load_runs` says of them, if somebody asked already.
    """
    ids = list(run_ids)
    order, similarities = order or RunOrder(reader), similarities or PathSimilarities()
    runs = load_runs(reader, ids) if runs is None else runs
    beside = {run_id: order.beside(run_id, run.app) for run_id, run in runs.items()}
    judged = _judged(reader, ids)
    histories = _histories(reader, judged)
    for history_of, history in histories.items():
        for member in history.members:
            if member.similarity is not None:
                similarities.known.setdefault((member.run_id, history_of), member.similarity)
    members = {m.run_id for history in histories.values() for m in history.chosen}
    arrays = _series_arrays(reader, [*ids, *(members - set(ids))])
    measurements = load_measurements(reader, [*ids, *(members - set(ids))])
    recent = {other for run_id in ids for other in beside[run_id].recent}
    by_screens = {m.run_id for history in histories.values() if history.way == "any_path" for m in history.chosen}
    steps = _paths(reader, [*ids, *((recent | by_screens) - set(ids))])
    hashes = {run_id: [s.state_hash for s in path] for run_id, path in steps.items()}
    traces = run_table.openable_traces(reader, sorted(members))
    attachments = _attachments(reader, ids)
    axes: dict[str, list[AxisVerdict]] = defaultdict(list)
    for verdict in load_axis_verdicts(reader, ids):
        axes[verdict.run_id].append(verdict)
    energies = load_energies(reader, ids)
    unusual = load_unusual(reader, ids)
    details = []
    for run_id in ids:
        near = beside[run_id]
        chosen = histories.get(run_id)
        metrics = metric_views(
            run_id,
            [m.run_id for m in chosen.chosen] if chosen else [],
            measurements,
            judged[run_id].verdicts,
            judged[run_id].distances,
        )
        details.append(
            RunDetail(
                run=runs[run_id],
                run_verdict=judged[run_id].verdicts.get(RUN_LEVEL),
                series=_series_views(
                    run_id, arrays, chosen, judged[run_id], {metric.name for metric in metrics}, steps
                ),
                metrics=metrics,
                path=steps.get(run_id, ()),
                history=chosen,
                similarity=_matrix(near.recent, hashes, similarities),
                previous_run_id=near.previous,
                next_run_id=near.next,
                attachments=tuple(attachments[run_id]),
                axes=tuple(axes[run_id]),
                energy=energies.get(run_id),
                nearest=_nearest(chosen, unusual.get(run_id, set()), traces, arrays),
            )
        )
    return details


def load_series_view(reader: Reader, run_id: str, series: str) -> SeriesView:
    """One judged series of a run with its history, as its page has it, and nothing else of the run."""
    judged = _judged(reader, [run_id])
    chosen = _histories(reader, judged).get(run_id)
    members = [member.run_id for member in chosen.chosen] if chosen else []
    arrays = _series_arrays(reader, [run_id, *members], series)
    steps = _paths(reader, [run_id, *members]) if chosen is not None and chosen.way == "any_path" else {}
    views = _series_views(run_id, arrays, chosen, judged[run_id], set(), steps)
    return next(view for view in views if view.name == series)


def _series_arrays(
    reader: Reader, run_ids: Sequence[str], series: str | None = None
) -> dict[str, dict[str, SeriesRow]]:
    """run_id → series → series, of one series or (None) of all.

    Not from marts.series_arrays, which opens every file between the first and the last of those that hold them.
    """
    found: dict[str, dict[str, SeriesRow]] = defaultdict(dict)
    for (run_id, name), row in sorted(series_table.find(reader, run_ids, None if series is None else [series]).items()):
        found[run_id][name] = row if row.values is None or len(row.values) else replace(row, values=None)
    return found


def _paths(reader: Reader, run_ids: Sequence[str]) -> dict[str, tuple[PathStep, ...]]:
    """run_id → its path. Not from marts.run_paths, which looks for the files of all apps and months."""
    files = reader.rows(f"SELECT run_id, values_file FROM core.runs WHERE NOT is_quarantined AND {of(reader, run_ids)}")
    return path_table.find(reader, dict(files))


def _attachments(reader: Reader, run_ids: Sequence[str]) -> dict[str, list[Attachment]]:
    found: dict[str, list[Attachment]] = defaultdict(list)
    for run_id, *facts in reader.rows(
        f"SELECT run_id, file_name, kind, file_bytes, offset_s FROM marts.attachments WHERE {of(reader, run_ids)} "
        "ORDER BY run_id, offset_s NULLS LAST, file_name"
    ):
        found[run_id].append(Attachment(*facts))
    return found


def _histories(reader: Reader, judged: Mapping[str, _Judged]) -> dict[str, History]:
    """What each run is compared with by the detector of its verdict."""
    candidates: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for run_id, *facts in reader.rows(_CANDIDATES.format(of=of(reader, judged))):
        candidates[run_id].append(tuple(facts))
    found = {}
    for row in reader.dicts(
        "SELECT run_id, state, way, history_size, history_maximum, history_minimum, similarity_minimum, "
        "candidate_count, excluded_counts::VARCHAR AS excluded_counts "
        f"FROM marts.history_states WHERE {of(reader, judged)}"
    ):
        verdict = judged[row["run_id"]].verdicts.get(RUN_LEVEL)
        way = row["way"] if verdict is None else detection.way_of(detection.definition_of(verdict.detector), row["way"])
        members = [
            HistoryMember(
                run_id=other,
                rank=screens_rank if way == "any_path" else history_rank,
                similarity=similar,
                exclude_reason=reason,
                version_name=version_name,
                started_at=started_at,
            )
            for other, history_rank, screens_rank, similar, reason, version_name, started_at in candidates[
                row["run_id"]
            ]
        ]
        members.sort(key=lambda m: (m.started_at or _EPOCH, m.run_id), reverse=True)
        found[row["run_id"]] = History(
            state=row["state"],
            way=way,
            size=row["history_size"],
            maximum=row["history_maximum"],
            minimum=row["history_minimum"],
            similarity_minimum=row["similarity_minimum"],
            candidate_count=row["candidate_count"],
            excluded_counts=json.loads(row["excluded_counts"]),
            members=tuple(members),
        )
    return found


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is stored of a run besides its samples, by series."""

    verdicts: Mapping[str, Verdict]
    distances: Mapping[str, tuple[Distances, ...]]
    barycenters: Mapping[str, tuple[str, np.ndarray | None]]
    profiles: Mapping[str, Profile]
    discords: Mapping[str, tuple[Discord, ...]]
    places: Mapping[str, Place]
    explained: Mapping[str, tuple[Explained, ...]]


def _judged(reader: Reader, run_ids: Sequence[str]) -> dict[str, _Judged]:
    """Of each of some runs; the picture of one and its page have the same."""

    def load(ids: list[str]) -> dict[str, _Judged]:
        verdicts = {(one.run_id, one.series): one for one in load_verdicts(reader, ids)}
        tables = [
            _by_run(table)
            for table in (
                *(verdicts, _distances(reader, ids), _barycenters(reader, ids), _profiles(reader, ids)),
                *(load_discords(reader, ids), _places(reader, ids), load_explained(reader, ids)),
            )
        ]
        return {run_id: _Judged(*(table.get(run_id, {}) for table in tables)) for run_id in ids}

    return rows_of(reader, _judged, run_ids, load)


def _by_run(table: Mapping[tuple[str, str], Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for (run_id, series), rows in table.items():
        found[run_id][series] = rows
    return found


def _distances(reader: Reader, ids: list[str]) -> dict[tuple[str, str], tuple[Distances, ...]]:
    found: dict[tuple[str, str], list[Distances]] = defaultdict(list)
    for row in reader.dicts(
        "SELECT run_id, series, detector, distance, q1, q3, threshold, history_distances, p_value, evidence_text, "
        "input_hash, parameters_hash, engine_version, code_version, "
        "(evidence ->> 'series_count')::DOUBLE AS series_count, uncorrected_distance, "
        f"(evidence ->> '{THEORETICAL_SCORE}')::DOUBLE AS theoretical_score, "
        f"(evidence ->> '{PAST_RUNS}')::DOUBLE AS past_runs, "
        f"(evidence ->> '{TRANSIENT_RUNS}')::DOUBLE AS transient_runs, "
        f"(evidence ->> '{WITHOUT_TRANSIENT}')::DOUBLE AS score_without_transient, "
        f"(evidence ->> '{TRANSIENT_START_S}')::DOUBLE AS transient_start_s, "
        f"(evidence ->> '{TRANSIENT_END_S}')::DOUBLE AS transient_end_s, "
        f"(evidence ->> '{UNIT_RUNS}')::DOUBLE AS unit_runs FROM marts.distances "
        f"WHERE is_latest AND distance IS NOT NULL AND {of(reader, ids)} ORDER BY detector DESC"
    ):
        key = (row.pop("run_id"), row.pop("series"))
        row["history_distances"] = tuple(v for v in row["history_distances"] or () if v is not None and np.isfinite(v))
        found[key].append(Distances(**row))
    return {key: tuple(rows) for key, rows in found.items()}


def _barycenters(reader: Reader, ids: list[str]) -> dict[tuple[str, str], tuple[str, np.ndarray | None]]:
    given = states.averaged(reader, ids)
    stored = barycenters.find(reader, {key for of_series in given.values() for key in of_series.values()})
    return {
        (run_id, series): (key, stored[key].values)
        for run_id, of_series in given.items()
        for series, key in of_series.items()
    }


def _profiles(reader: Reader, ids: list[str]) -> dict[tuple[str, str], Profile]:
    return {
        (row.run_id, row.series): Profile(row.window_s, row.profile, row.threshold_low, row.threshold_high)
        for row in discords.computed(reader, ids)
    }


def load_discords(reader: Reader, ids: Sequence[str]) -> dict[tuple[str, str], tuple[Discord, ...]]:
    """(run_id, series) → its suspicious windows in order of time."""
    found = rows_of(reader, load_discords, sorted(ids), lambda few: _discords(reader, few))
    return {(run_id, series): rows for run_id, of_run in found.items() for series, rows in of_run.items()}


def _discords(reader: Reader, ids: Sequence[str]) -> dict[str, dict[str, tuple[Discord, ...]]]:
    found: dict[str, dict[str, tuple[Discord, ...]]] = defaultdict(dict)
    for row in reader.dicts(
        "SELECT run_id, series, start_s, end_s, peak_s, start_ns, end_ns, confidence, profile_value, screens "
        f"FROM marts.discords WHERE {of(reader, ids)} ORDER BY run_id, series, start_s"
    ):
        of_run, series = found[row.pop("run_id")], row.pop("series")
        row["screens"] = tuple(row["screens"] or ())
        of_run[series] = (*of_run.get(series, ()), Discord(**row))
    return found


def _places(reader: Reader, ids: list[str]) -> dict[tuple[str, str], Place]:
    rows = reader.rows(
        "SELECT run_id, series, localisation_state, reason, examined_start_s, examined_end_s "
        f"FROM marts.localisations WHERE {of(reader, ids)}"
    )
    return {(run_id, series): Place(*facts) for run_id, series, *facts in rows}


def _series_views(
    run_id: str,
    arrays: Mapping[str, Mapping[str, SeriesRow]],
    history: History | None,
    judged: _Judged,
    metrics: set[str],
    steps: Mapping[str, Sequence[PathStep]],
) -> tuple[SeriesView, ...]:
    own = arrays.get(run_id, {})
    names = sorted({*own, *judged.verdicts} - metrics - {RUN_LEVEL})
    views = []
    for name in names:
        array = own.get(name)
        verdict = judged.verdicts.get(name)
        barycenter_id, barycenter = judged.barycenters.get(name, (None, None))
        values = array.values if array else None
        views.append(
            SeriesView(
                name=name,
                unit=array.unit if array else "",
                interval_s=array.interval_s if array else 1.0,
                start_ns=array.start_ns if array else None,
                values=values,
                missing_reason=(array.reason if array else None)
                or (None if values is not None or verdict is None else verdict.explanation),
                verdict=verdict,
                barycenter=barycenter,
                barycenter_id=barycenter_id,
                band=_band(name, run_id, arrays, history, steps) if history is not None else None,
                distances=judged.distances.get(name, ()),
                profile=judged.profiles.get(name) if verdict is not None and verdict.is_anomalous else None,
                discords=judged.discords.get(name, ()),
                place=judged.places.get(name),
                explained=judged.explained.get(name, ()),
                history=_history_values(name, arrays, history) if verdict is not None else (),
            )
        )
    return tuple(views)


def _band(
    name: str,
    run_id: str,
    arrays: Mapping[str, Mapping[str, SeriesRow]],
    history: History,
    steps: Mapping[str, Sequence[PathStep]],
) -> Band | None:
    own = arrays.get(run_id, {}).get(name)
    if own is None or own.values is None:
        return None
    rows = {one.run_id: arrays.get(one.run_id, {}).get(name) for one in history.chosen}
    known = {
        other: row
        for other, row in rows.items()
        if row is not None and row.values is not None and row.interval_s == own.interval_s
    }
    if history.way == "path":
        return bands.of_history(len(own.values), [row.values for row in known.values() if row.values is not None])
    return bands.of_any_path(own, list(known.values()), [timed_screens(steps.get(one, ())) for one in (run_id, *known)])


def _history_values(
    name: str, arrays: Mapping[str, Mapping[str, SeriesRow]], history: History | None
) -> tuple[np.ndarray | None, ...]:
    """Of each run of the history, in order of rank."""
    rows = [arrays.get(member.run_id, {}).get(name) for member in history.chosen] if history else []
    return tuple(None if row is None else row.values for row in rows)


def _nearest(
    history: History | None,
    unusual: Collection[str],
    traces: Mapping[str, tuple[bool, int | None]],
    arrays: Mapping[str, Mapping[str, SeriesRow]],
) -> NearestRun | None:
    """The most similar path, the latest of several; as a version's page has it.

    Args:
        unusual: of the history's runs, those that do not show what is usual, where there are others.
        traces: see `warehouse.runs.openable_traces`, of the history's runs.
    """
    known = [one for one in history.chosen if one.similarity is not None] if history else []
    if not known:
        return None
    best = max(known, key=lambda one: (one.run_id not in unusual, one.similarity, -(one.rank or 0)))
    has_trace, exploration_start_ns = traces[best.run_id]
    starts = [row.start_ns for row in arrays.get(best.run_id, {}).values() if row.start_ns is not None]
    return NearestRun(
        best.run_id,
        best.version_name,
        best.similarity or 0.0,
        has_trace,
        min(starts, default=exploration_start_ns),
    )


def _matrix(
    recent: Sequence[str], hashes: Mapping[str, Sequence[str]], similarities: PathSimilarities
) -> SimilarityMatrix | None:
    """The earlier run of a pair is the candidate; `recent` is oldest first."""
    ids = [run_id for run_id in recent if hashes.get(run_id)]
    if len(ids) < 2:
        return None
    values = np.eye(len(ids))
    for i, earlier in enumerate(ids):
        for j in range(i + 1, len(ids)):
            values[i, j] = values[j, i] = similarities.of(earlier, ids[j], hashes)
    return SimilarityMatrix(tuple(ids), values)
