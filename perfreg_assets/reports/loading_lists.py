"""The marts as what the index and the ω page show: rows of runs, rows of versions, and figures over all runs.

Everything is asked of some runs or versions; only the figures of the ω page are taken over all, by one scan each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfreg_assets import detection
from perfreg_assets.catalogue import definition_of, is_known
from perfreg_assets.methods.calibration import level_of_omega
from perfreg_assets.reports.data import (
    AlarmCounts,
    ListedRun,
    OmegaOverview,
    QualityRow,
    SeriesCell,
    SeriesPoints,
    SetupLevels,
    VersionRow,
)
from perfreg_assets.reports.loading_levels import Means, load_levels
from perfreg_assets.reports.run_order import Placed
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.warehouse import benchmarks, evaluations
from perfreg_assets.warehouse.asked_once import rows_of
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.key_conditions import among
from perfreg_assets.warehouse.run_conditions import grouped, of

OMEGA_STEPS = 40
"""Of the curve on the ω page, per 1.0; their number times ω is exact where the division by 0.025 is not."""
OMEGA_MAXIMUM = 5
"""Right end of curve and sliders, where the ω in force is not above it; the thesis' range is 0 to 1.5."""
NEVER, ALWAYS = -1.0, 1e9
"""Critical ω of runs that are anomalous at no ω and at every ω; JSON has no infinities."""
SHOWN_RUNS = 200
"""Runs of a version, the latest, whose levels make up its level and are shown as points of their own."""


def load_settings(reader: Reader) -> tuple[str | None, float | None]:
    """The detector and ω in force."""
    found = dict(reader.rows("""SELECT name, "value" FROM marts.settings WHERE is_current"""))
    omega = found.get("omega")
    return found.get("detector"), float(omega) if omega is not None else None


# ---- runs ------------------------------------------------------------------------------------------
_RUNS = """
SELECT run_id, app, version_name, started_at, state, run_verdict, axis_states, functional_problem_count, device,
    reason_code, is_excluded, coalesce(review_status, CASE WHEN is_excluded THEN 'excluded' END) AS said
FROM marts.runs WHERE {of}
"""
_FLAGGED = """
SELECT
    run_id,
    list(series ORDER BY series) FILTER (is_anomalous AND series <> '*'),
    max(greatest(distance, 0) / threshold) FILTER (threshold > 0 AND series <> '*'),
    max(critical_omega) FILTER (series = '*'),
    coalesce(bool_or(len(missing_series) > 0) FILTER (series = '*'), false)
FROM marts.verdicts WHERE is_current AND {of} GROUP BY run_id
"""


def load_listed(reader: Reader, run_ids: Sequence[str]) -> dict[str, ListedRun]:
    """run_id → its row in lists, of those that are there."""
    return rows_of(reader, load_listed, run_ids, lambda ids: _listed(reader, ids))


def _listed(reader: Reader, run_ids: Sequence[str]) -> dict[str, ListedRun]:
    found: dict[str, ListedRun] = {}
    for ids in grouped(reader, run_ids):
        condition = of(reader, ids)
        verdicts = {run_id: facts for run_id, *facts in reader.rows(_FLAGGED.format(of=condition))}
        for row in reader.dicts(_RUNS.format(of=condition)):
            flagged, ratio, omega, is_lacking = verdicts.get(row["run_id"], (None, None, None, False))
            found[row["run_id"]] = ListedRun(
                run_id=row["run_id"],
                app=row["app"],
                version_name=row["version_name"],
                started_at=row["started_at"],
                state=_state(row["state"], row["run_verdict"]),
                axes=row["axis_states"] or {},
                flagged=tuple(flagged or ()),
                ratio=ratio,
                review=row["said"],
                problems=row["functional_problem_count"] or 0,
                critical_omega=None if omega is None or row["is_excluded"] else min(max(omega, NEVER), ALWAYS),
                is_lacking=is_lacking,
                device=row["device"],
                reason_code=row["reason_code"],
            )
    return found


def _state(state: str, verdict: str | None) -> str:
    """The state that stands on a run's badge."""
    return state if state in ("quarantined", "incomplete_trace", "reduced") else verdict or "not_judged"


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which runs, in which order: `axis` and `axis_state` belong together; omegas: critical ω above and up to.

    `state`: what stands on the badge. `is_open`: anomalous, and nobody reviewed or excluded it.
    """

    app: str | None = None
    has_no_app: bool = False
    version: str | None = None
    device: str | None = None
    state: str | None = None
    reason: str | None = None
    axis: str | None = None
    axis_state: str | None = None
    series: str | None = None
    part: str | None = None
    is_anomalous: bool = False
    is_open: bool = False
    omega_above: float | None = None
    omega_upto: float | None = None
    sort: str = "started"
    is_ascending: bool = False
    offset: int = 0
    limit: int = 100


SORTS = {
    "started": "runs.started_at",
    "run": "runs.run_id",
    "app": "runs.app",
    "version": "runs.version_name",
    "worst": "worst.ratio",
    "omega": "worst.critical_omega",
}
_WORST = """
LEFT JOIN (
    SELECT
        run_no,
        max(greatest(distance, 0) / threshold) FILTER (threshold > 0 AND series <> '*') AS ratio,
        max(critical_omega) FILTER (series = '*') AS critical_omega
    FROM marts.verdicts WHERE is_current GROUP BY run_no
) AS worst ON worst.run_no = runs.run_no
"""


def find_listed(reader: Reader, query: ListQuery) -> tuple[int, list[ListedRun]]:
    """How many runs fit, and those of the page asked for, in order; by the run's id where the order leaves it open."""
    conditions, values = _conditions(query)
    needs_worst = query.sort in ("worst", "omega") or query.omega_above is not None
    chosen = f"FROM marts.runs AS runs {_WORST if needs_worst else ''} WHERE {' AND '.join(conditions) or 'true'}"
    direction = "ASC" if query.is_ascending else "DESC"
    found = reader.rows(
        f"SELECT runs.run_id, count(*) OVER () {chosen} "
        f"ORDER BY {SORTS[query.sort]} {direction} NULLS LAST, runs.run_id {direction} LIMIT ? OFFSET ?",
        [*values, query.limit, query.offset],
    )
    count = found[0][1] if found else 0
    if not found and (query.offset or not query.limit):  # beyond the last page, or a page of none
        count = int(reader.value(f"SELECT count(*) {chosen}", values))
    rows = load_listed(reader, [run_id for run_id, _ in found])
    return count, [rows[run_id] for run_id, _ in found]


_PLACE = "(coalesce(runs.started_at, '-infinity'::TIMESTAMPTZ), runs.run_id)"
"""In the list by start, compared as a whole: runs whose start is not known stand last in it."""
_STANDING = f"""
SELECT count(*) FILTER ({_PLACE} > here.place), count(*) FILTER ({_PLACE} >= here.place)
FROM marts.runs AS runs, (SELECT {_PLACE} AS place FROM core.runs AS runs WHERE run_id = ?) AS here
WHERE """


def count_standing(reader: Reader, query: ListQuery, run_id: str) -> tuple[int, int]:
    """(how many of the runs that fit stand before a run, and up to it) in the list from the latest on; it need not fit
    itself. (0, 0) where there is no such run."""
    conditions, values = _conditions(query)
    ((before, upto),) = reader.rows(_STANDING + (" AND ".join(conditions) or "true"), [run_id, *values])
    return before, upto


_BADGE = """CASE WHEN runs.state IN ('quarantined', 'incomplete_trace', 'reduced') THEN runs.state
    ELSE coalesce(runs.run_verdict, 'not_judged') END"""  # as _state


def _conditions(query: ListQuery) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []

    def add(condition: str, *bound: Any) -> None:
        conditions.append(condition)
        values.extend(bound)

    if query.app is not None:
        add("runs.app = ?", query.app)
    if query.has_no_app:
        add("runs.app IS NULL")
    if query.version is not None:
        add("runs.version_name = ?", query.version)
    if query.device is not None:
        add("runs.device = ?", query.device)
    if query.state is not None:
        add(f"{_BADGE} = ?", query.state)
    if query.reason is not None:
        add("runs.reason_code = ?", query.reason)
    if query.axis is not None:
        add(
            "runs.run_no IN (SELECT run_no FROM marts.axis_verdicts WHERE is_current AND axis = ? AND state = ?)",
            query.axis,
            query.axis_state,
        )
    if query.series is not None:
        add(
            "runs.run_no IN (SELECT run_no FROM marts.verdicts WHERE is_current AND is_anomalous AND series = ?)",
            query.series,
        )
    if query.part:
        add("contains(lower(runs.run_id), lower(?))", query.part)
    if query.is_open:
        add("runs.review_status IS NULL AND NOT runs.is_excluded")
    if query.is_anomalous or query.is_open:
        add("runs.state NOT IN ('quarantined', 'incomplete_trace', 'reduced') AND runs.run_verdict = 'anomalous'")
    if query.omega_above is not None:
        add("worst.critical_omega > ?", query.omega_above)
        add("worst.critical_omega <= ? AND NOT runs.is_excluded", query.omega_upto)
    return conditions, values


# ---- versions --------------------------------------------------------------------------------------
OfRun = tuple[float | None, bool | None]
"""Of a run and series: distance over limit, and whether it is anomalous; None where it was not judged."""
_JUDGED = """
SELECT run_id, series, state, is_anomalous, excess_ratio, missing_series
FROM marts.verdicts WHERE is_current AND {of}
"""


def load_versions(reader: Reader, versions: dict[str, list[Placed]]) -> dict[str, VersionRow]:
    """Version → its row, of versions of one app with their runs, oldest first; its levels are those of its latest
    runs."""
    latest = latest_runs(versions)
    version_of = {one.run_id: version for version, runs in versions.items() for one in runs}
    cells, anomalous, of_run = _judged(reader, version_of)
    series = sorted({name for group in cells.values() for name in group})
    levels, means = load_levels(reader, latest, series, with_history=True)
    return {
        version: VersionRow(
            version_name=version,
            run_count=len(runs),
            anomalous_count=anomalous[version],
            first_started_at=runs[0].started_at,
            last_started_at=runs[-1].started_at,
            run_ids=tuple(latest[version]),
            cells=cells[version],
            points={
                name: points
                for name in cells[version]
                if (points := _points(name, latest[version], means, of_run)) is not None
            },
            setups=levels[version].setups,
            run_setups=levels[version].run_setups,
        )
        for version, runs in versions.items()
    }


def latest_runs(versions: Mapping[str, Sequence[Placed]]) -> dict[str, list[str]]:
    """Version → ids of those of its runs that its page and the trends show, oldest first."""
    return {version: [one.run_id for one in runs[-SHOWN_RUNS:]] for version, runs in versions.items()}


def load_earlier_levels(
    reader: Reader, versions: Mapping[str, Sequence[Placed]], series: Sequence[str]
) -> dict[str, tuple[SetupLevels, ...]]:
    """Version → its levels as `load_versions` has them, without the ranges of histories."""
    found, _ = load_levels(reader, latest_runs(versions), series, with_history=False)
    return {version: levels.setups for version, levels in found.items()}


def _judged(
    reader: Reader, version_of: dict[str, str]
) -> tuple[dict[str, dict[str, SeriesCell]], dict[str, int], dict[tuple[str, str], OfRun]]:
    """Version → series → what its runs' verdicts say; how many of its runs are anomalous as a whole; (run, series) →
    what its own verdict says."""
    anomalous: dict[str, int] = defaultdict(int)
    of_run: dict[tuple[str, str], OfRun] = {}
    judged: dict[tuple[str, str], list[tuple[str, OfRun]]] = defaultdict(list)
    lacking: dict[tuple[str, str], int] = defaultdict(int)
    for ids in grouped(reader, version_of):
        for run_id, series, state, is_anomalous, ratio, missing in reader.rows(_JUDGED.format(of=of(reader, ids))):
            version = version_of[run_id]
            if series == RUN_LEVEL:
                anomalous[version] += bool(is_anomalous)
                for name in missing or ():
                    lacking[version, name] += 1
            else:
                of_run[run_id, series] = own = None if ratio is None else max(ratio, 0.0), is_anomalous
                judged[version, series].append((state, own))
    found: dict[str, dict[str, SeriesCell]] = {version: {} for version in version_of.values()}
    for (version, series), verdicts in judged.items():
        found[version][series] = _cell(verdicts, lacking[version, series])
    return found, anomalous, of_run


def _cell(verdicts: Sequence[tuple[str, OfRun]], lacking: int) -> SeriesCell:
    """Of the states of a version's runs, with what is said of each."""
    known = [own for _, own in verdicts if own[1] is not None]
    states = sorted({state for state, own in verdicts if own[1] is None})
    return SeriesCell(
        ratio=max((ratio for ratio, _ in known if ratio is not None), default=None),
        anomalous=sum(bool(is_anomalous) for _, is_anomalous in known),
        judged=len(known),
        lacking=lacking,
        state=None if known else (states[0] if states else None),
    )


def _points(
    series: str, run_ids: Sequence[str], means: Means, of_run: Mapping[tuple[str, str], OfRun]
) -> SeriesPoints | None:
    """None of a series that no run has."""
    own = tuple(means.of_runs.get((run_id, series)) for run_id in run_ids)
    if all(mean is None for mean in own):
        return None
    judged = [of_run.get((run_id, series), (None, None)) for run_id in run_ids]
    return SeriesPoints(
        means.units.get(series, ""),
        own,
        tuple(ratio for ratio, _ in judged),
        tuple(anomalous for _, anomalous in judged),
    )


def load_axes(reader: Reader, series: Sequence[str]) -> dict[str, str]:
    """Series → its axis, as marts.axis_verdicts has it: what the app or its test reports of itself is in no
    catalogue."""
    unknown = [name for name in series if not is_known(name)]
    own = {
        name
        for (name,) in reader.rows(
            f"SELECT DISTINCT metric FROM marts.measurements WHERE {among(unknown, 'metric')}", unknown
        )
    }
    return {name: definition_of(name).axis if is_known(name) else "app" if name in own else "other" for name in series}


# ---- ω page ----------------------------------------------------------------------------------------
_ALARMS = """
SELECT
    detector, omega, judged_count, flagged_count, confirmed_flagged_count, rejected_alarm_count,
    presumed_false_alarm_count - rejected_alarm_count, presumed_normal_count
FROM marts.false_alarm_rates WHERE series = ? AND detector = ? ORDER BY omega
"""
_QUALITY = """
SELECT dataset, detector, omega, precision, recall, f1, false_positive_rate
FROM marts.evaluations
WHERE is_latest_evaluation AND omega IS NOT NULL AND series = 'all' AND anomaly_kind = 'all' AND severity = 'all'
ORDER BY detector, omega
"""


def load_omega_overview(reader: Reader, anomalous: Sequence[int], measured: int) -> OmegaOverview:
    """All that the ω page shows at once.

    Args:
        anomalous: how many runs are at each step of ω, from 0 (`run_list.anomalous_at`).
        measured: how many runs have a distance.
    """
    detector, omega = load_settings(reader)
    return OmegaOverview(
        omega=omega,
        detector=detector,
        measured=measured,
        counts=tuple(anomalous),
        alarms=tuple(_alarms(*row) for row in reader.rows(_ALARMS, [RUN_LEVEL, detector])),
        quality=tuple(QualityRow(**row) for row in reader.dicts(_QUALITY)),
    )


def _alarms(
    detector: str, omega: float, judged: int, alarms: int, confirmed: int, rejected: int, unreviewed: int, normal: int
) -> AlarmCounts:
    known = detection.detectors().get(detector)
    states_level = known is not None and known.scale == "score"
    expected = level_of_omega(omega) * normal if states_level else None
    return AlarmCounts(detector, omega, judged, alarms, confirmed, rejected, unreviewed, expected)


def overview_facts(reader: Reader) -> list[Any]:
    """What index and ω page show that no run's stamp knows: the ω that were evaluated, the last evaluation, and how
    many benchmarks there are."""
    return [
        reader.rows("SELECT DISTINCT omega FROM core.verdicts ORDER BY omega"),
        evaluations.latest_at(reader),
        benchmarks.extent(reader),
    ]
