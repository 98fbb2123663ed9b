"""Verdicts: the rule `distance > q3 + ω (q3 − q1)` applied to stored distances, always by one SQL pass.

The rule stands once, in marts.verdict_state; nothing is measured again for another ω, and verdicts at earlier ω stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perfreg_assets import __version__
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import run_conditions, settings_table
from perfreg_assets.warehouse.connection import Reader, Writer

# From core.distances instead of marts.verdicts_at, whose join with the runs would cost more than all the rest.
_JUDGED = """
SELECT
    measured.distance_id,
    measured.run_no,
    marts.verdict_state(
        measured.state, measured.distance, measured.q1, measured.q3, measured.improvement,
        measured.uncorrected_distance, measured.missing_series, measured.is_recheck_passed, $omega
    ) AS state
FROM core.distances AS measured
WHERE {chosen}
"""
_EVALUATE = f"""
INSERT INTO core.verdicts (distance_id, run_no, omega, state, is_anomalous, code_version, evaluated_at)
SELECT
    judged.distance_id, judged.run_no, $omega, judged.state, marts.is_anomalous_state(judged.state), $code_version,
    now()
FROM ({_JUDGED}) AS judged
-- A join, by the number of the run too, looks at these runs' verdicts, NOT IN at all there are.
ANTI JOIN core.verdicts AS given
    ON given.distance_id = judged.distance_id AND given.run_no = judged.run_no AND given.omega = $omega
"""
_LATEST = "measured.detector = $detector AND measured.is_latest"


def evaluate(writer: Writer, omega: float, detector: str, run_ids: Iterable[str] | None = None) -> int:
    """Gives the verdicts of a detector's latest measurements at ω, of all runs by default.

    Verdicts that were given at this ω before stay as they are (`distances.upsert` keeps them true).

    Returns:
        How many verdicts there now are at this ω, for the detector and runs asked for.

    Raises:
        SettingError: no ω can have this value.
    """
    omega = Settings.checked("omega", float(omega))
    of_runs = "true" if run_ids is None else run_conditions.of(writer, run_ids, "measured.run_no")
    chosen, named = f"{_LATEST} AND {of_runs}", {"detector": detector}
    writer.execute(_EVALUATE.format(chosen=chosen), {**named, "omega": omega, "code_version": __version__})
    return int(writer.value(f"SELECT count(*) FROM core.distances AS measured WHERE {chosen}", named))


def evaluate_current(writer: Writer, run_ids: Iterable[str] | None = None) -> int:
    """`evaluate` with the current detector and ω of the settings table."""
    current = settings_table.current(writer)
    return evaluate(writer, float(current["omega"]), current["detector"], run_ids)


def make_current(
    writer: Writer,
    *,
    omega: float | None = None,
    detector: str | None = None,
    note: str | None = None,
    changed_by: str | None = None,
) -> int:
    """Changes the current ω or detector, logs it, and gives all verdicts there; the number of current verdicts.

    Raises:
        SettingError: a value is outside its range.
    """
    if omega is not None:
        settings_table.change(writer, "omega", repr(float(omega)), note, changed_by)
    if detector is not None:
        settings_table.change(writer, "detector", detector, note, changed_by)
    return evaluate_current(writer)


_CORRECT = f"""
UPDATE core.verdicts AS given
SET state = judged.state, is_anomalous = marts.is_anomalous_state(judged.state), code_version = $code_version,
    evaluated_at = now()
FROM ({_JUDGED}) AS judged
WHERE given.distance_id = judged.distance_id AND given.omega = $omega AND given.state <> judged.state
""".format(chosen="measured.distance_id IN (SELECT distance_id FROM new_distances)")


def correct(writer: Writer) -> None:
    """Gives again the verdicts on measurements in `new_distances` (see distances.upsert) that are no longer true."""
    omegas = writer.rows(
        "SELECT DISTINCT omega FROM core.verdicts WHERE distance_id IN (SELECT distance_id FROM new_distances)"
    )
    for (omega,) in omegas:
        writer.execute(_CORRECT, {"omega": omega, "code_version": __version__})


def verdicts_of_app(*, is_asked: bool) -> str:
    """SQL: `run_no` and `is_anomalous` of the judged runs of `$app` as they are judged now; no rows where nobody asks,
    which takes none of the time that such a query is planned in."""
    if not is_asked:
        return "SELECT NULL::INTEGER AS run_no, NULL::BOOLEAN AS is_anomalous WHERE false"
    return "SELECT run_no, is_anomalous FROM marts.run_verdicts WHERE is_current AND app = $app"


# Computed, so that no run is missing at an ω that nobody stored; but a stored verdict tells when it was given.
_LISTING = """
SELECT judged.* EXCLUDE (distance_id, distance_no)
    REPLACE (coalesce(given.evaluated_at, judged.evaluated_at) AS evaluated_at)
FROM marts.verdicts_at($omega, $detector) AS judged
LEFT JOIN core.verdicts AS given
    ON given.distance_id = judged.distance_no AND given.run_no = judged.run_no AND given.omega = $omega
WHERE judged.is_latest
  AND ($app IS NULL OR judged.app = $app) AND ($version_name IS NULL OR judged.version_name = $version_name)
  AND ($series IS NULL OR judged.series = $series)
"""
_IN_ORDER = "ORDER BY judged.app, judged.started_at, judged.run_id, judged.series"


def listing(
    reader: Reader,
    *,
    app: str | None = None,
    version_name: str | None = None,
    omega: float | None = None,
    detector: str | None = None,
    series: str | None = None,
    run_ids: Iterable[str] | None = None,
) -> list[dict[str, Any]]:
    """Verdicts as rows of marts.verdicts, oldest run first; at the current detector and ω by default, of all runs.

    An ω that was never evaluated is computed on the fly, without being stored.

    Raises:
        SettingError: no ω can have this value.
    """
    current = settings_table.current(reader)
    named = {"detector": detector or current["detector"], "app": app, "version_name": version_name, "series": series}
    chosen = Settings.checked("omega", float(current["omega"] if omega is None else omega))
    values: dict[str, Any] = {**named, "omega": chosen}
    if run_ids is None:
        return reader.dicts(f"{_LISTING} {_IN_ORDER}", values)
    return reader.dicts(f"{_LISTING} AND {run_conditions.of(reader, run_ids, 'judged.run_no')} {_IN_ORDER}", values)


_FIGURES = """
SELECT run_id, app, version_name, series, state, is_anomalous, excess_ratio, explanation
FROM marts.verdicts_at($omega, $detector)
WHERE is_latest AND {of}
ORDER BY started_at, run_id, series
"""


def figures(reader: Reader, run_ids: Iterable[str], omega: float, detector: str) -> list[dict[str, Any]]:
    """What a materialisation tells of some runs' verdicts at ω, in one query: state, excess ratio, explanation."""
    of_runs = run_conditions.of(reader, run_ids)
    return reader.dicts(_FIGURES.format(of=of_runs), {"omega": float(omega), "detector": detector})


_AXES = """
SELECT run_id, app, version_name, axis, state, series, excess_ratio
FROM marts.axis_verdicts_at($omega, $detector)
WHERE is_latest AND {of}
ORDER BY started_at, run_id, axis
"""


def axis_states(reader: Reader, run_ids: Iterable[str], omega: float, detector: str) -> list[dict[str, Any]]:
    """The state of each axis of some runs at ω, with the series that decides it; oldest run first."""
    of_runs = run_conditions.of(reader, run_ids)
    return reader.dicts(_AXES.format(of=of_runs), {"omega": float(omega), "detector": detector})


_FLIPS = """
SELECT
    count(*) FILTER (later.series = '*' AND later.is_anomalous AND earlier.is_anomalous IS DISTINCT FROM true),
    count(*) FILTER (later.series = '*' AND earlier.is_anomalous AND later.is_anomalous IS DISTINCT FROM true),
    count(*) FILTER (later.series <> '*' AND later.is_anomalous AND earlier.is_anomalous IS DISTINCT FROM true),
    count(*) FILTER (later.series <> '*' AND earlier.is_anomalous AND later.is_anomalous IS DISTINCT FROM true)
FROM marts.verdicts_at($omega_a, $detector_a) AS earlier
JOIN marts.verdicts_at($omega_b, $detector_b) AS later
    ON later.run_no = earlier.run_no AND later.is_latest AND later.series = earlier.series
WHERE earlier.is_latest
AND NOT EXISTS (SELECT 1 FROM core.runs AS known WHERE known.run_no = earlier.run_no AND known.is_excluded)
"""


def flips(reader: Reader, before: tuple[str, float], after: tuple[str, float]) -> dict[str, int]:
    """How many alarms appear and vanish from one (detector, ω) to another: of runs (`appeared`, `vanished`), and of
    their series, each by itself (`series_appeared`, `series_vanished`). Excluded runs raise none."""
    named = {"detector_a": before[0], "omega_a": before[1], "detector_b": after[0], "omega_b": after[1]}
    (counts,) = reader.rows(_FLIPS, named)
    names = ("appeared", "vanished", "series_appeared", "series_vanished")
    return dict(zip(names, map(int, counts), strict=True))
