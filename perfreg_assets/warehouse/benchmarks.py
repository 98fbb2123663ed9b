"""Results of benchmarks: what was measured, launch by launch, and how far it is from earlier results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import measurements, reviews
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.key_conditions import one_of, one_of_named
from perfreg_assets.warehouse.measurements import MeasurementRow
from perfreg_assets.warehouse.moments import of_epoch_us
from perfreg_assets.warehouse.rows import Table, insert, insert_all, now_utc, to_arrow

BENCHMARK_RUN = "benchmark_run"
"""The kind of subject whose id is a benchmark run's, in core.measurements."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkRunRow:
    """A row of core.benchmark_runs."""

    benchmark_run_id: str
    partition_key: str
    app: str
    version_name: str
    device: str
    variant: str
    runner: str
    suite_hash: str | None
    source_name: str
    source_sha256: str
    environment: dict[str, Any]
    started_at: datetime
    imported_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """A row of core.benchmark_results; its score, unit and direction are a measurement of the same name."""

    benchmark_run_id: str
    result_name: str
    benchmark: str
    params: dict[str, Any]
    area: str
    quantity: str
    is_primary: bool
    is_adequate: bool
    launch_scores: np.ndarray
    launch_count: int
    measured_iteration_count: int


@dataclass(frozen=True, kw_only=True)
class LaunchRow:
    """A row of core.benchmark_launches: values, or counts with durations."""

    benchmark_run_id: str
    result_name: str
    launch: int
    thread_index: int
    iteration_values: tuple[float, ...] | None
    operation_counts: tuple[int, ...] | None
    elapsed_ns: tuple[int, ...] | None


@dataclass(frozen=True, kw_only=True)
class WarningRow:
    """A row of core.benchmark_warnings."""

    benchmark_run_id: str
    result_name: str
    warning_code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class JudgedRow:
    """A row of core.benchmark_judged."""

    benchmark_run_id: str
    input_hash: str
    code_version: str
    measured_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True, kw_only=True)
class BenchmarkDistanceRow:
    """A row of core.benchmark_distances."""

    benchmark_run_id: str
    result_name: str
    detector: str
    state: str
    state_reason: str | None
    distance: float | None = None
    q1: float | None = None
    q3: float | None = None
    improvement: float | None = None
    is_recheck_passed: bool | None = None
    p_value: float | None = None
    history_size: int = 0
    earlier_low: float | None = None
    earlier_median: float | None = None
    earlier_high: float | None = None
    evidence_text: str | None = None


RUNS = Table("core.benchmark_runs", BenchmarkRunRow, ("benchmark_run_id",), ("benchmark_run_id",))
RESULTS = Table("core.benchmark_results", ResultRow, ("benchmark_run_id",), ("benchmark_run_id", "result_name"))
LAUNCHES = Table(
    "core.benchmark_launches",
    LaunchRow,
    ("benchmark_run_id",),
    ("benchmark_run_id", "result_name", "launch", "thread_index"),
)
WARNINGS = Table(
    "core.benchmark_warnings", WarningRow, ("benchmark_run_id",), ("benchmark_run_id", "result_name", "warning_code")
)
JUDGED = Table("core.benchmark_judged", JudgedRow, ("benchmark_run_id",), ("benchmark_run_id",))
DISTANCES = Table(
    "core.benchmark_distances",
    BenchmarkDistanceRow,
    ("benchmark_run_id",),
    ("benchmark_run_id", "result_name", "detector"),
)
_OF_RUNS = "benchmark_run_id IN (SELECT unnest(?::VARCHAR[]))"


@dataclass(frozen=True)
class Measured:
    """All that is stored of one file of results when it is taken in. `is_dated`: who brings it says when it was
    measured."""

    run: BenchmarkRunRow
    scores: tuple[MeasurementRow, ...]
    results: tuple[ResultRow, ...]
    launches: tuple[LaunchRow, ...]
    warnings: tuple[WarningRow, ...]
    is_dated: bool = False


def known(reader: Reader, run_ids: Iterable[str]) -> set[str]:
    """Those of some benchmark runs that are there."""
    rows = reader.rows(f"SELECT benchmark_run_id FROM core.benchmark_runs WHERE {_OF_RUNS}", [list(run_ids)])
    return {run_id for (run_id,) in rows}


def add(writer: Writer, found: Sequence[Measured]) -> list[str]:
    """Stores what is not there yet, by the ids of the runs; the ids of those that were new."""
    there = known(writer, [one.run.benchmark_run_id for one in found])
    new = list({one.run.benchmark_run_id: one for one in found if one.run.benchmark_run_id not in there}.values())
    rows: dict[Table[Any], list[Any]] = {
        RUNS: [one.run for one in new],
        RESULTS: [row for one in new for row in one.results],
        LAUNCHES: [row for one in new for row in one.launches],
        WARNINGS: [row for one in new for row in one.warnings],
    }
    insert_all(writer, rows)
    ids = [one.run.benchmark_run_id for one in new]
    measurements.replace_subjects(writer, BENCHMARK_RUN, ids, [row for one in new for row in one.scores])
    return ids


def correct_starts(writer: Writer, found: Sequence[Measured]) -> list[str]:
    """Gives those that are there the start that who brings them again says; the ids of those that had another one."""
    said = {one.run.benchmark_run_id: one.run for one in found if one.is_dated}
    corrected = []
    for run_id, row in said.items():
        corrected += writer.rows(
            "UPDATE core.benchmark_runs SET started_at = ?, environment = ? "
            "WHERE benchmark_run_id = ? AND started_at <> ? RETURNING benchmark_run_id",
            [row.started_at, json.dumps(row.environment), run_id, row.started_at],
        )
    return [run_id for (run_id,) in corrected]


def dated_in_future(reader: Reader, run_ids: Iterable[str] | None = None) -> list[tuple[str, datetime]]:
    """(file name, start) of benchmark runs (None: of all) that begin later than now, the latest first: until then no
    other is later than they."""
    of_runs, bound = ("true", []) if run_ids is None else one_of(list(run_ids), "benchmark_run_id")
    found = reader.rows(
        "SELECT source_name, epoch_us(started_at) FROM core.benchmark_runs "
        f"WHERE marts.earliest_start(started_at, environment) > now() AND {of_runs} "
        "ORDER BY started_at DESC, benchmark_run_id DESC",
        bound,
    )
    return [(name, of_epoch_us(started_us)) for name, started_us in found]


_UNDER_OTHER_FLAGS = """
SELECT own.source_name, min(other.source_name)
FROM core.benchmark_runs AS own
JOIN core.benchmark_runs AS other
    ON other.app = own.app AND other.version_name = own.version_name AND other.device = own.device
    AND other.variant = own.variant AND other.runner = own.runner
WHERE {of}
    AND (own.environment ->> '$.jvmArgs') <> (other.environment ->> '$.jvmArgs')
    AND EXISTS (
        SELECT 1 FROM core.benchmark_results AS result
        JOIN core.benchmark_results AS same ON same.result_name = result.result_name
        WHERE result.benchmark_run_id = own.benchmark_run_id AND same.benchmark_run_id = other.benchmark_run_id
    )
GROUP BY own.source_name
ORDER BY own.source_name
"""


def under_other_flags(reader: Reader, ids: Sequence[str]) -> list[tuple[str, str]]:
    """(file, another) of those of these benchmark runs that have a benchmark which another file of their version has
    under other flags of the virtual machine, though they count as launches of one."""
    of, marks = one_of_named(ids, "own.benchmark_run_id", "runs")
    return [(own, other) for own, other in reader.rows(_UNDER_OTHER_FLAGS.format(of=of), marks)]


# ---- what is compared ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Standing:
    """A benchmark run among those that it can be compared with: same app, device, variant and runner.

    Attributes:
        status: of its last review; None without.
        mark: changes with everything that decides its history: the earlier runs, their reviews and its own.
        input_hash: of what its distances were measured from; None where they were not.
    """

    benchmark_run_id: str
    partition_key: str
    app: str
    device: str
    variant: str
    runner: str
    version_name: str
    started_at: datetime
    status: str | None
    mark: int
    input_hash: str | None

    @property
    def family(self) -> tuple[str, str, str, str]:
        return self.app, self.device, self.variant, self.runner


# A hash of DuckDB's: after an upgrade of it all is measured once more.
_STANDINGS = """
SELECT
    runs.benchmark_run_id, runs.partition_key, runs.app, runs.device, runs.variant, runs.runner, runs.version_name,
    runs.started_at, reviewed.status,
    bit_xor(hash(runs.benchmark_run_id, runs.started_at, runs.imported_at, reviewed.status)) OVER (
        PARTITION BY runs.app, runs.device, runs.variant, runs.runner ORDER BY runs.started_at, runs.benchmark_run_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS mark,
    judged.input_hash
FROM core.benchmark_runs AS runs
LEFT JOIN core.benchmark_reviews_in_force AS reviewed ON reviewed.benchmark_run_id = runs.benchmark_run_id
LEFT JOIN core.benchmark_judged AS judged ON judged.benchmark_run_id = runs.benchmark_run_id
WHERE $keys IS NULL OR (runs.app, runs.device, runs.variant, runs.runner) IN (
    SELECT (wanted.app, wanted.device, wanted.variant, wanted.runner)
    FROM core.benchmark_runs AS wanted WHERE list_contains($keys::VARCHAR[], wanted.partition_key)
)
ORDER BY runs.started_at, runs.benchmark_run_id
"""


def standings(reader: Reader, keys: Iterable[str] | None = None) -> list[Standing]:
    """The benchmark runs of whole families, the earliest first: of all, or of those that were measured in one of some
    partitions."""
    wanted = None if keys is None else list(keys)
    return [Standing(*row) for row in reader.rows(_STANDINGS, {"keys": wanted})]


@dataclass(frozen=True, slots=True)
class Score:
    """A result as a history sees it; `score` is None where it is invalid, with the `reason`."""

    benchmark_run_id: str
    result_name: str
    unit: str
    worse: str
    score: float | None
    reason: str | None
    is_adequate: bool
    warnings: str | None


_SCORES = """
SELECT
    measured.subject_id, measured.metric, measured.unit, measured.worse, measured."value", measured.reason,
    coalesce(results.is_adequate, false), noted.codes
FROM core.measurements AS measured
LEFT JOIN core.benchmark_results AS results
    ON results.benchmark_run_id = measured.subject_id AND results.result_name = measured.metric
LEFT JOIN (
    SELECT benchmark_run_id, result_name, string_agg(warning_code, ', ' ORDER BY warning_code) AS codes
    FROM core.benchmark_warnings WHERE list_contains($targets::VARCHAR[], benchmark_run_id) GROUP BY ALL
) AS noted ON noted.benchmark_run_id = measured.subject_id AND noted.result_name = measured.metric
WHERE measured.subject_kind = 'benchmark_run' AND measured.subject_id IN (SELECT unnest($everyone::VARCHAR[]))
    AND measured.metric IN (
        SELECT wanted.metric FROM core.measurements AS wanted
        WHERE wanted.subject_kind = 'benchmark_run' AND list_contains($targets::VARCHAR[], wanted.subject_id)
    )
    AND ($names IS NULL OR measured.metric IN (SELECT unnest($names::VARCHAR[])))
"""


def scores(
    reader: Reader, targets: Iterable[str], everyone: Iterable[str], names: Iterable[str] | None = None
) -> list[Score]:
    """Results of `everyone` that one of the targets has too (default: of all names); warnings of the targets' only."""
    wanted = None if names is None else list(names)
    parameters = {"targets": list(targets), "everyone": list(everyone), "names": wanted}
    return [Score(*row) for row in reader.rows(_SCORES, parameters)]


def replace_distances(writer: Writer, judged: Sequence[JudgedRow], distances: Sequence[BenchmarkDistanceRow]) -> None:
    """Makes these the only distances of the runs that were judged."""
    ids = [row.benchmark_run_id for row in judged]
    for table in (JUDGED, DISTANCES):
        writer.execute(f"DELETE FROM {table.name} WHERE {_OF_RUNS}", [ids])
    if judged:
        insert(writer, JUDGED, to_arrow(judged, JudgedRow))
    if distances:
        insert(writer, DISTANCES, to_arrow(distances, BenchmarkDistanceRow))


def verdicts_of(reader: Reader, run_ids: Iterable[str]) -> list[dict[str, Any]]:
    """The verdicts in force on the results of some runs, by area and name."""
    return reader.dicts(
        "SELECT * FROM marts.benchmark_verdicts WHERE list_contains(?::VARCHAR[], benchmark_run_id) "
        "ORDER BY area, result_name, benchmark_run_id",
        [list(run_ids)],
    )


# ---- sides of a comparison -------------------------------------------------------------------------
_SIDE = """
SELECT
    runs.device, runs.variant, runs.runner, measured.metric AS result_name,
    coalesce(results.area, measured.provenance->>'$.of.area', '') AS area, measured.unit, measured.worse,
    measured.reason, results.is_primary, results.is_adequate, results.launch_scores, runs.benchmark_run_id,
    runs.environment -> '$.jvmArgs' AS jvm_args
FROM core.benchmark_runs AS runs
JOIN core.measurements AS measured ON measured.subject_kind = 'benchmark_run'
    AND measured.subject_id = runs.benchmark_run_id
LEFT JOIN core.benchmark_results AS results ON results.benchmark_run_id = runs.benchmark_run_id
    AND results.result_name = measured.metric
WHERE runs.app = $app AND runs.version_name = $version AND ($variant IS NULL OR runs.variant = $variant)
    AND ($device IS NULL OR runs.device = $device) AND ($runner IS NULL OR runs.runner = $runner)
ORDER BY runs.started_at, runs.benchmark_run_id, measured.metric
"""


def side(
    reader: Reader,
    app: str,
    version_name: str,
    *,
    variant: str | None = None,
    device: str | None = None,
    runner: str | None = None,
) -> list[dict[str, Any]]:
    """Results of a version, file by file, the earliest first; of every variant, device and runner that is not named.

    What came to nothing is among them, with the `reason` and no `launch_scores`.
    """
    named = {"app": app, "version": version_name, "variant": variant, "device": device, "runner": runner}
    return reader.dicts(_SIDE, named)


def warnings_of(reader: Reader, run_ids: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """(run, result) → codes of its warnings."""
    rows = reader.rows(
        "SELECT benchmark_run_id, result_name, list(warning_code ORDER BY warning_code) "
        f"FROM core.benchmark_warnings WHERE {_OF_RUNS} GROUP BY ALL",
        [list(run_ids)],
    )
    return {(run_id, name): codes for run_id, name, codes in rows}


def iterations(reader: Reader, run_id: str, names: Iterable[str]) -> dict[str, list[float]]:
    """result → values of all its iterations in one run, by launch and thread."""
    rows = reader.rows(
        "SELECT result_name, list(iteration_value ORDER BY launch, thread_index, iteration_index) "
        "FROM marts.benchmark_iterations WHERE benchmark_run_id = ? AND list_contains(?::VARCHAR[], result_name) "
        "GROUP BY result_name",
        [run_id, list(names)],
    )
    return dict(rows)


def versions(reader: Reader) -> list[dict[str, Any]]:
    """What there is to choose from: app, version, variant and device, in order of time."""
    return reader.dicts(
        "SELECT app, version_name, variant, device, min(started_at) AS started_at FROM core.benchmark_runs "
        "GROUP BY ALL ORDER BY started_at, app, version_name, variant, device"
    )


def review(writer: Writer, run_id: str, status: str, *, note: str | None, reviewer: str | None) -> None:
    """Adds what a person says of a benchmark run, see `warehouse.reviews.add`.

    Raises:
        Rejected: BENCHMARK_UNKNOWN.
        ValueError: another status than those of a run.
    """
    reviews.require_status(status)
    if not known(writer, [run_id]):
        raise Rejected(Reason.BENCHMARK_UNKNOWN, f"'{run_id}'")
    reviews.append(writer, reviews.BENCHMARKS, run_id, status, note=note, reviewer=reviewer)


def withdraw(writer: Writer, run_id: str, *, note: str | None, reviewer: str | None) -> None:
    """Takes back what was said of a benchmark run, see `warehouse.reviews.withdraw`.

    Raises:
        Rejected: BENCHMARK_UNKNOWN, REVIEW_MISSING.
    """
    if not known(writer, [run_id]):
        raise Rejected(Reason.BENCHMARK_UNKNOWN, f"'{run_id}'")
    reviews.append_withdrawal(writer, reviews.BENCHMARKS, run_id, note=note, reviewer=reviewer)


def figures(reader: Reader, keys: Iterable[str]) -> dict[str, dict[str, int]]:
    """Partition → numbers of its files, results, invalid results and warnings."""
    wanted = list(keys)
    rows = reader.rows(
        "SELECT runs.partition_key, count(DISTINCT runs.benchmark_run_id), count(measured.metric), "
        'count(measured.metric) FILTER (measured."value" IS NULL) '
        "FROM core.benchmark_runs AS runs LEFT JOIN core.measurements AS measured "
        "ON measured.subject_kind = 'benchmark_run' AND measured.subject_id = runs.benchmark_run_id "
        "WHERE list_contains(?::VARCHAR[], runs.partition_key) GROUP BY runs.partition_key",
        [wanted],
    )
    found = {key: {"files": 0, "results": 0, "invalid": 0} for key in wanted}
    return found | {key: {"files": files, "results": results, "invalid": bad} for key, files, results, bad in rows}


def states(reader: Reader, keys: Iterable[str]) -> dict[str, dict[str, int]]:
    """Partition → how many of its results are in which state by the verdicts in force."""
    wanted = list(keys)
    found: dict[str, dict[str, int]] = {key: {} for key in wanted}
    key_of = dict(
        reader.rows(
            "SELECT benchmark_run_id, partition_key FROM core.benchmark_runs "
            "WHERE list_contains(?::VARCHAR[], partition_key)",
            [wanted],
        )
    )
    if not key_of:
        return found
    rows = reader.rows(
        "SELECT benchmark_run_id, state, count(*) FROM marts.benchmark_verdicts "
        "WHERE list_contains(?::VARCHAR[], benchmark_run_id) GROUP BY ALL",
        [list(key_of)],
    )
    for run_id, state, count in rows:
        own = found[key_of[run_id]]
        own[state] = own.get(state, 0) + count
    return found


@dataclass(frozen=True)
class Family:
    """Where benchmark results are measured that can be compared with each other."""

    app: str
    device: str
    variant: str
    runner: str


def families(reader: Reader) -> list[Family]:
    """All of them, those measured last first."""
    rows = reader.rows(
        "SELECT app, device, variant, runner FROM core.benchmark_runs GROUP BY app, device, variant, runner "
        "ORDER BY max(started_at) DESC, app, device, variant, runner"
    )
    return [Family(*row) for row in rows]


_LEVELS = """
SELECT
    judged.version_name, judged.area, judged.result_name, judged.unit, judged.worse, judged.score, judged.state,
    judged.earlier_low, judged.earlier_median, judged.earlier_high, judged.explanation, judged.benchmark_run_id,
    judged.started_at, results.is_primary, noted.codes AS warnings
FROM marts.benchmark_verdicts AS judged
LEFT JOIN core.benchmark_results AS results
    ON results.benchmark_run_id = judged.benchmark_run_id AND results.result_name = judged.result_name
LEFT JOIN (
    SELECT benchmark_run_id, result_name, list(warning_code ORDER BY warning_code) AS codes
    FROM core.benchmark_warnings GROUP BY ALL
) AS noted ON noted.benchmark_run_id = judged.benchmark_run_id AND noted.result_name = judged.result_name
WHERE judged.app = $app AND judged.device = $device AND judged.variant = $variant AND judged.runner = $runner
    AND judged.version_name IN (
        SELECT version_name FROM core.benchmark_runs
        WHERE app = $app AND device = $device AND variant = $variant AND runner = $runner
        GROUP BY version_name ORDER BY min(started_at) DESC, version_name DESC LIMIT $versions
    )
ORDER BY judged.started_at, judged.benchmark_run_id, judged.area, judged.result_name
"""


def levels(reader: Reader, family: Family, *, versions: int) -> list[dict[str, Any]]:
    """Results of a family's last versions with their verdicts, the earliest first."""
    named = {name: getattr(family, name) for name in ("app", "device", "variant", "runner")}
    return reader.dicts(_LEVELS, {**named, "versions": versions})


@dataclass(frozen=True)
class Extent:
    """How many benchmark runs there are, and of how many versions and apps."""

    runs: int = 0
    versions: int = 0
    apps: int = 0


def extent(reader: Reader) -> Extent:
    """Of all that was taken in."""
    (counts,) = reader.rows(
        "SELECT count(*), count(DISTINCT (app, version_name)), count(DISTINCT app) FROM core.benchmark_runs"
    )
    return Extent(*counts)


_STAMPS_OF_FAMILIES = """
SELECT
    runs.app, runs.device, runs.variant, runs.runner,
    concat_ws(
        ' ', bit_xor(hash(runs.benchmark_run_id, runs.imported_at)),
        bit_xor(hash(runs.benchmark_run_id, judged.input_hash, judged.measured_at)), bit_xor(reviewed.mark),
        marts.current_value('omega'), marts.current_value('detector')
    )
FROM core.benchmark_runs AS runs
LEFT JOIN core.benchmark_judged AS judged ON judged.benchmark_run_id = runs.benchmark_run_id
LEFT JOIN (
    SELECT benchmark_run_id, bit_xor(hash(benchmark_run_id, reviewed_at)) AS mark
    FROM core.benchmark_reviews GROUP BY benchmark_run_id
) AS reviewed ON reviewed.benchmark_run_id = runs.benchmark_run_id
GROUP BY runs.app, runs.device, runs.variant, runs.runner
ORDER BY runs.app, runs.device, runs.variant, runs.runner
"""


def stamps_of_families(reader: Reader) -> dict[tuple[str, str, str, str], str]:
    """(app, device, variant, runner) → what changes when anything does that the marts of benchmarks show of it."""
    return {
        (app, device, variant, runner): stamp
        for app, device, variant, runner, stamp in reader.rows(_STAMPS_OF_FAMILIES)
    }


def stamp(reader: Reader) -> str:
    """Changes when anything does that the marts of benchmarks show."""
    return str(stamps_of_families(reader))


_STAMPS_OF_VERSIONS = """
SELECT runs.app, runs.version_name,
       bit_xor(hash(runs.benchmark_run_id, runs.imported_at, judged.input_hash, judged.measured_at))::VARCHAR
FROM core.benchmark_runs AS runs
LEFT JOIN core.benchmark_judged AS judged ON judged.benchmark_run_id = runs.benchmark_run_id
GROUP BY runs.app, runs.version_name
"""


def stamps_of_versions(reader: Reader) -> dict[tuple[str, str], str]:
    """(app, version) → what changes when its results or verdicts on them do, the settings in force apart."""
    return {(app, version): stamp for app, version, stamp in reader.rows(_STAMPS_OF_VERSIONS)}


_OF_VERSIONS = """
SELECT version_name, device, variant, runner,
       count(*) AS result_count,
       count(is_anomalous) AS judged_count,
       count(*) FILTER (WHERE is_anomalous) AS anomalous_count,
       count(*) FILTER (WHERE state = 'improved') AS improved_count,
       max(started_at) AS started_at
FROM marts.benchmark_verdicts
WHERE app = ? AND version_name IN ({marks})
GROUP BY version_name, device, variant, runner
ORDER BY version_name, device, variant, runner
"""


def counts_of_versions(reader: Reader, app: str, versions: Sequence[str]) -> list[dict[str, Any]]:
    """By version and family: how many results have a verdict, and which."""
    return reader.dicts(_OF_VERSIONS.format(marks=", ".join("?" * len(versions))), [app, *versions])


def places_of_versions_without_runs(reader: Reader) -> list[tuple[str, str, str, str, str]]:
    """(app, version, device, variant, runner) of versions of which there are results and no run that was taken in."""
    return reader.rows(
        "SELECT DISTINCT measured.app, measured.version_name, measured.device, measured.variant, measured.runner "
        "FROM core.benchmark_runs AS measured WHERE NOT EXISTS (SELECT 1 FROM core.runs AS runs WHERE "
        "runs.app = measured.app AND runs.version_name = measured.version_name AND NOT runs.is_quarantined) "
        "ORDER BY ALL"
    )


def partitions(reader: Reader) -> list[str]:
    """The partitions that have results."""
    return [key for (key,) in reader.rows("SELECT DISTINCT partition_key FROM core.benchmark_runs ORDER BY ALL")]


def latest_partition(reader: Reader) -> str | None:
    """That of the benchmark run that was measured last."""
    found: str | None = reader.value("SELECT arg_max(partition_key, started_at) FROM core.benchmark_runs")
    return found


def family_of(reader: Reader, partition_key: str) -> Family | None:
    """The family that a partition was measured in last."""
    rows = reader.rows(
        "SELECT arg_max((app, device, variant, runner), started_at) FROM core.benchmark_runs WHERE partition_key = ?",
        [partition_key],
    )
    place = rows[0][0]
    return None if place is None else Family(*place)
