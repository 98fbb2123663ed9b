"""Whether anything that is stored of a run changed, told by small columns alone: no samples, paths or profiles.

A stamp is a 64-bit hash of the rows that make up a run: what it is, when each of its parts was written, and keys of
what has no such moment. Stamps combine by XOR, so that the checksum of the whole warehouse is one scan without a
group, and equals the XOR of the stamps of all runs: whoever knows it from before and finds some runs changed can tell
whether nothing else did.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from perfreg_assets.catalogue import is_known
from perfreg_assets.warehouse import migrations, run_conditions
from perfreg_assets.warehouse.asked_once import last_of, rows_of
from perfreg_assets.warehouse.connection import Reader

SETTINGS_IN_MARTS = ("detector", "omega")
"""The settings in force that marts read; what others decide is told by the rows that come of it."""


@dataclass(frozen=True)
class _Source:
    """A table that says something of runs.

    Attributes:
        run: expression for the run's id, in `joined`.
        stamped: what of a row is hashed.
        written: column with the moment of writing; None where the rows are written together with those of another.
        joined: the table with what it takes to know the run, where it does not name it itself.
    """

    table: str
    stamped: str
    written: str | None
    run: str = "rows.run_id"
    joined: str | None = None
    where: str = "true"


_SOURCES: dict[str, _Source] = {
    # A run that is given again or excluded keeps its moment: all that is said of it is hashed, but its path and extras;
    # the long hashes of its path and trace are left to that of its content, which holds both.
    "runs": _Source(
        "core.runs",
        "rows.run_id, rows.partition_key, rows.app, rows.version_name, rows.version_code, rows.device, "
        "rows.device_unit, rows.scenario, rows.strategy, rows.time_limit_s, rows.action_interval_s, rows.config_hash, "
        "rows.started_at, rows.exploration_start_ns, rows.exploration_end_ns, rows.step_count, "
        "rows.explored_state_count, rows.functional_problem_count, rows.functional_problems, rows.content_hash, "
        "rows.trace_file, rows.trace_bytes, rows.is_quarantined, rows.reason_code, rows.reason, rows.is_excluded, "
        "rows.exclude_reason",
        "registered_at",
    ),
    "traces": _Source(
        "core.traces",
        "rows.run_no, rows.is_complete, rows.is_trace_gone, rows.reduced_sha256, rows.checked_at",
        "checked_at",
    ),
    # Samples and distances by the moment of writing and whether they are there: to read what they are is the most of
    # a scan.
    "time_series": _Source(
        "core.time_series", "rows.run_no, rows.series, rows.is_missing, rows.extracted_at", "extracted_at"
    ),
    "thread_times": _Source("core.thread_times", "rows.run_no, rows.extracted_at", "extracted_at"),
    "slice_uses": _Source("core.slice_uses", "rows.run_no, rows.extracted_at", "extracted_at"),
    "energies": _Source("core.energy_runs", "rows.run_no, rows.is_outdated, rows.extracted_at", "extracted_at"),
    "measurements": _Source(
        "core.measurements",
        "rows.run_no, rows.metric, rows.measured_at",
        "measured_at",
        run="rows.subject_id",
        where="rows.subject_kind = 'run'",
    ),
    "attachments": _Source(
        "core.attachments", "rows.run_no, rows.file_name, rows.kind, rows.bytes, rows.sha256, rows.ts_ns", None
    ),
    "history_sets": _Source("core.history_sets", "rows.run_no, rows.selected_at", "selected_at"),  # and candidates
    # Which barycenter it is decides what is measured: another one comes with measurements of another moment.
    "run_barycenters": _Source("core.run_barycenters", "rows.run_no, rows.series", None),
    "distances": _Source(
        "core.distances",
        "rows.run_no, rows.series, rows.detector, rows.state, rows.measured_at",
        "measured_at",
        where="rows.is_latest",
    ),
    "verdicts": _Source(
        "core.verdicts",
        "rows.distance_id, rows.evaluated_at",
        "evaluated_at",
        run="judged.run_id",
        joined="core.verdicts AS rows JOIN core.runs AS judged ON judged.run_no = rows.run_no",
        where="rows.omega = marts.current_value('omega')::DOUBLE",
    ),
    "profiles": _Source("core.profiles", "rows.run_no, rows.series, rows.computed_at", "computed_at"),
    "discords": _Source(
        "core.discords",
        "rows.run_no, rows.series, rows.window_index, rows.start_ns, rows.end_ns, rows.confidence",
        None,
    ),
    "causes": _Source("core.cause_runs", "rows.run_no, rows.input_hash, rows.computed_at", "computed_at"),
    "reviews": _Source("core.reviews", "rows.run_no, rows.reviewed_at", "reviewed_at"),
}


RECORDED = (
    "runs", "traces", "time_series", "thread_times", "slice_uses", "energies", "measurements", "attachments",
)  # fmt: skip
"""What a run is and what was measured of it, without what was concluded: all that others show of it."""


@dataclass(frozen=True)
class Totals:
    """Of everything stored of all runs: its checksum, and per table the latest moment of writing (ISO 8601, UTC)."""

    checksum: int
    latest: dict[str, str]


def totals(reader: Reader) -> Totals:
    """By one scan of each table's small columns; once for a reader, whose state does not change."""
    return last_of(reader, totals, (), lambda: _totals(reader))


def _totals(reader: Reader) -> Totals:
    parts = [
        f"SELECT '{name}', bit_xor(hash('{name}', {one.stamped})), "
        f"{f'max(rows.{one.written})' if one.written else 'NULL'} FROM {one.table} AS rows WHERE {one.where}"
        for name, one in _SOURCES.items()
    ]
    checksum, latest = 0, {}
    for name, stamp, moment in reader.rows(" UNION ALL ".join(parts)):
        checksum ^= stamp or 0
        if moment is not None:
            latest[name] = moment.isoformat()
    return Totals(checksum, latest)


def written_since(reader: Reader, latest: dict[str, str]) -> set[str]:
    """Runs with a row that was written at or after the latest moment known of its table (unknown: any row).

    What was stamped earlier and arrived later is not found: compare checksums.
    """
    parts, moments = [], []
    for name, one in _SOURCES.items():
        if one.written is not None:
            since = "" if name not in latest else f" AND rows.{one.written} >= ?"
            moments += [datetime.fromisoformat(latest[name])] if since else []
            parts.append(f"SELECT {one.run} FROM {_from(one)} WHERE {one.where}{since}")
    return {run_id for (run_id,) in reader.rows(" UNION ".join(parts), moments)}


def of_runs(
    reader: Reader, run_ids: Iterable[str] | None = None, sources: Sequence[str] = tuple(_SOURCES)
) -> dict[str, int]:
    """run_id → stamp, of some runs or (None) of all; a run of which nothing is stored has none.

    Args:
        sources: the tables that are looked at; of all of them where the stamps are to make up the checksum.
    """
    if run_ids is None:
        return dict(reader.rows(_stamps(reader, None, sources)))

    def load(ids: list[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for group in run_conditions.grouped(reader, ids):
            found |= reader.rows(_stamps(reader, group, sources))
        return found

    return rows_of(reader, (of_runs, tuple(sources)), run_ids, load)


def _stamps(reader: Reader, run_ids: Sequence[str] | None, sources: Sequence[str]) -> str:
    parts = [
        f"SELECT {one.run} AS run_id, hash('{name}', {one.stamped}) AS stamp FROM {_from(one)} WHERE {one.where}"
        + ("" if run_ids is None else f" AND {run_conditions.of(reader, run_ids, 'rows.run_no')}")
        for name, one in ((name, _SOURCES[name]) for name in sources)
    ]
    return f"SELECT run_id, bit_xor(stamp) FROM ({' UNION ALL '.join(parts)}) GROUP BY run_id"


def _from(one: _Source) -> str:
    return one.joined or f"{one.table} AS rows"


def general(reader: Reader) -> list[Any]:
    """What the marts say of every run depends on: the settings that they read, the marts themselves, reference tables,
    and judged names that neither catalogue nor measurements know, for which the marts know no axis."""
    nobodys = reader.rows("SELECT series FROM core.judged_series WHERE NOT is_reported ORDER BY series")
    return [
        reader.rows("SELECT " + ", ".join(f"marts.current_value('{name}')" for name in SETTINGS_IN_MARTS)),
        reader.rows("SELECT name, sha256 FROM core.mart_files WHERE name <> ? ORDER BY name", [migrations.PLACE]),
        reader.rows("SELECT bit_xor(hash(known)) FROM core.series_definitions AS known"),
        reader.rows("SELECT bit_xor(hash(known)) FROM core.detectors AS known"),
        [name for (name,) in nobodys if not is_known(name)],
    ]


def path_contents(reader: Reader, run_ids: Sequence[str]) -> dict[str, str]:
    """run_id → hash that changes with its path; quarantined runs, whose paths nobody looks at, are not in it."""
    found: dict[str, str] = {}
    for group in run_conditions.grouped(reader, run_ids):
        found |= reader.rows(
            "SELECT run_id, concat_ws('/', path_hash, content_hash) FROM core.runs "
            f"WHERE {run_conditions.of(reader, group)} AND NOT is_quarantined"
        )
    return found
