"""What earlier runs of an app scored by theory: what an empirical null is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from perfreg_assets.methods.empirical_null import WITHOUT_TRANSIENT, TheoreticalScore
from perfreg_assets.warehouse import run_conditions, run_numbers
from perfreg_assets.warehouse.asked_once import FEW, last_of
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.moments import of_epoch_us

WINDOW_RUNS = 200
"""So many comparable runs before a run are looked at; older ones would hardly count."""

THEORETICAL_SCORE = "theoretical_score"
"""In the evidence of a series' measurement: its score before earlier ones were asked."""

THEORETICAL_IMPROVEMENT = "theoretical_improvement"
"""In the same evidence, where the history is of other device units: its improvement before the unit was asked."""

PAST_RUNS = "past_runs"
"""In the same evidence: how many earlier runs the score was judged by."""

TRANSIENT_RUNS = "transient_runs"
"""In the same evidence: how many of those earlier runs had a passing disturbance; only where some had."""

UNIT_RUNS = "unit_runs"
"""In the same evidence, where the history is of other device units: how many earlier runs of the own unit count."""

Place = tuple[datetime, str]
"""(started_at, run_id): where a run stands in time."""


class JudgedRun(NamedTuple):
    """A run that is judged beside earlier ones.

    Attributes:
        recorded_like: equal for runs that are comparable: app, configuration, sources that change the load, scenario.
        foreign_ratio: share of its history that is of other device units; 0 where nobody says.
    """

    place: Place
    version_name: str
    recorded_like: str
    device_unit: str | None = None
    foreign_ratio: float = 0.0


class PastRun(NamedTuple):
    """An earlier run that may tell what is normal, and what its series scored by theory; `review` is in force."""

    place: Place
    version_name: str
    review: str | None
    scores: dict[str, TheoreticalScore]
    device_unit: str | None = None
    foreign_ratio: float = 0.0


# As in a history: whole, of nothing known to be wrong, neither a regression nor the day of an accepted change.
_RUNS = """
WITH
given AS (SELECT unnest($judged::INTEGER[]) AS run_no),
apps AS (SELECT DISTINCT app FROM core.runs WHERE run_no IN (FROM given)),
reviewed AS (
    SELECT run_id, status FROM core.reviews_in_force WHERE run_id IS DISTINCT FROM $assumed_of::VARCHAR
    UNION ALL
    SELECT $assumed_of::VARCHAR, $assumed_status::VARCHAR WHERE $assumed_of::VARCHAR IS NOT NULL
),
known AS (
    SELECT
        runs.run_id, runs.started_at, runs.version_name, reviewed.status, runs.device_unit, runs.run_no,
        -- A text only at the end: what follows sorts by it.
        hash(runs.app, runs.config_hash, runs.scenario, list_sort(traces.load_sources)) AS recorded_like,
        given.run_no IS NOT NULL AS is_judged,
        traces.is_complete AND NOT runs.is_excluded AND coalesce(runs.functional_problem_count = 0, false)
        AND coalesce(reviewed.status, 'rejected') = 'rejected' AS is_past
    FROM core.runs AS runs
    JOIN core.traces AS traces ON traces.run_no = runs.run_no
    LEFT JOIN reviewed ON reviewed.run_id = runs.run_id
    LEFT JOIN given ON given.run_no = runs.run_no
    WHERE runs.app IN (FROM apps) AND NOT runs.is_quarantined
),
placed AS (
    -- How many possible earlier runs lie before each.
    SELECT *,
        count(*) FILTER (is_past) OVER (PARTITION BY recorded_like ORDER BY started_at, run_id) - is_past::INTEGER
            AS past_before
    FROM known
    WHERE is_judged OR is_past
),
asked AS (
    SELECT recorded_like, min(past_before) AS first_before, max(past_before) AS last_before
    FROM placed WHERE is_judged GROUP BY recorded_like
)
SELECT
    run_id, epoch_us(started_at), version_name, status, recorded_like::VARCHAR, is_judged, is_past, device_unit, run_no
FROM placed JOIN asked USING (recorded_like)
WHERE is_judged OR (past_before >= first_before - $window_runs AND past_before < last_before)
ORDER BY started_at, run_id
"""


def theoretical_score(row: str) -> str:
    """SQL: of a row of core.distances the series' score before earlier ones were asked."""
    return f"coalesce(({row}.evidence ->> '{THEORETICAL_SCORE}')::DOUBLE, {row}.uncorrected_distance)"


def score_without_transient(row: str) -> str:
    """SQL: the same without the run's one passing disturbance; NULL where nothing was taken off."""
    return f"({row}.evidence ->> '{WITHOUT_TRANSIENT}')::DOUBLE"


_SCORES = f"""
SELECT rows.detector, rows.run_id, rows.series, {theoretical_score("rows")}, {score_without_transient("rows")}
FROM core.distances AS rows
WHERE rows.is_latest AND rows.state = 'scored' AND rows.series <> '*'
AND rows.detector IN (SELECT unnest($detectors::VARCHAR[])) AND {{of}}
"""


# Members that do not state their unit say nothing.
_FOREIGN = """
SELECT candidates.run_id, avg((members.device_unit <> runs.device_unit)::INTEGER)
FROM marts.compared_with AS candidates
JOIN core.runs AS runs ON runs.run_no = candidates.run_no
JOIN core.runs AS members ON members.run_no = candidates.history_run_no
WHERE members.device_unit IS NOT NULL
AND {of}
GROUP BY candidates.run_id
"""


def find(
    reader: Reader, run_ids: Iterable[str], detectors: Sequence[str], assumed: tuple[str, str | None] | None = None
) -> tuple[dict[str, JudgedRun], dict[str, dict[str, list[PastRun]]]]:
    """(run_id → the judged run, detector → `recorded_like` → earlier runs, oldest first: at least the `WINDOW_RUNS`
    before each of the judged ones, and those between them).

    Args:
        assumed: a run and its review, None for none, instead of what the warehouse says of it.
    """
    wanted, names = tuple(run_ids), tuple(detectors)
    if len(wanted) > FEW:  # of many nobody asks again
        return _find(reader, wanted, names, assumed)
    return last_of(reader, find, (wanted, names, assumed), lambda: _find(reader, wanted, names, assumed))


def _find(
    reader: Reader, run_ids: Sequence[str], detectors: Sequence[str], assumed: tuple[str, str | None] | None
) -> tuple[dict[str, JudgedRun], dict[str, dict[str, list[PastRun]]]]:
    judged: dict[str, JudgedRun] = {}
    past: dict[str, dict[str, list[PastRun]]] = {detector: {} for detector in detectors}
    of_run, status = assumed or (None, None)
    numbers = list(run_numbers.of(reader, run_ids).values())
    named = {"judged": numbers, "window_runs": WINDOW_RUNS, "assumed_of": of_run, "assumed_status": status}
    found = reader.rows(_RUNS, named)
    run_numbers.note(reader, ((row[0], row[-1]) for row in found))
    scores: dict[tuple[str, str], dict[str, TheoreticalScore]] = {}
    of_past = run_conditions.of(reader, [row[0] for row in found if row[6]], "rows.run_no")
    for detector, run_id, series, score, without in reader.rows(
        _SCORES.format(of=of_past), {"detectors": list(detectors)}
    ):
        if score is not None:
            theory = TheoreticalScore(score, score if without is None else without)
            scores.setdefault((detector, run_id), {})[series] = theory
    with_unit = [row[0] for row in found if row[7] is not None]
    foreign: dict[str, float] = {}
    if with_unit:
        foreign = dict(reader.rows(_FOREIGN.format(of=run_conditions.of(reader, with_unit, "candidates.run_no"))))
    for run_id, started_us, version_name, review, recorded_like, is_judged, is_past, unit, _ in found:
        place, of_unit = (of_epoch_us(started_us), run_id), (unit, foreign.get(run_id, 0.0))
        if is_judged:
            judged[run_id] = JudgedRun(place, version_name, recorded_like, *of_unit)
        if is_past:
            for detector, of_like in past.items():
                run = PastRun(place, version_name, review, scores.get((detector, run_id), {}), *of_unit)
                of_like.setdefault(recorded_like, []).append(run)
    return judged, past
