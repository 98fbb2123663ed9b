"""Registered runs: what the run folder says, quarantined ones too."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from perfreg_assets.run import REFUSED, PathStep, Run
from perfreg_assets.warehouse import joining, paths, refused, run_conditions, run_numbers, value_files
from perfreg_assets.warehouse.asked_once import last_of
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.key_conditions import among_numbers, one_of
from perfreg_assets.warehouse.moments import of_epoch_us
from perfreg_assets.warehouse.named import require_run
from perfreg_assets.warehouse.rows import Table, load, now_utc, require_unique, to_arrow, with_column


@dataclass(frozen=True, kw_only=True)
class RunRow(Run):
    """A row of core.runs. A quarantined run may lack everything but id, folder, hash and reason.

    Attributes:
        path: () for one without steps, None where it is not known.
        values_file: filled in when the row is stored.
    """

    run_id: str
    folder_name: str
    content_hash: str
    partition_key: str | None = None
    config_hash: str | None = None
    step_count: int | None = None
    path: tuple[PathStep, ...] | None = None
    path_hash: str | None = None
    explored_state_count: int | None = None
    functional_problem_count: int | None = None
    extra: dict[str, Any] | None = None
    trace_file: str | None = None
    trace_content_sha256: str | None = None
    is_quarantined: bool = False
    reason_code: str | None = None
    reason: str | None = None
    registered_at: datetime = field(default_factory=now_utc)
    values_file: str | None = field(default=None, compare=False)


def _paths(reader: Reader, rows: Mapping[str, list[Any]]) -> list[tuple[PathStep, ...] | None]:
    found = paths.find(reader, dict(zip(rows["run_id"], rows["values_file"], strict=True)))
    steps = zip(rows["run_id"], rows["step_count"], strict=True)
    return [found.get(run_id, None if count is None else ()) for run_id, count in steps]


RUNS = Table("core.runs", RunRow, ("run_id",), keys=("run_id",), outside="path", fetch=_paths)
_WITHOUT_PATH = replace(RUNS, fetch=lambda reader, rows: [None] * len(rows["run_id"]))

# A run that is given again keeps what people said about it and when it came first.
_KEPT = ("run_id", "registered_at")
_UPDATE = (
    "UPDATE core.runs SET "
    + ", ".join(f'"{column}" = given."{column}"' for column in RUNS.columns if column not in _KEPT)
    + " FROM staged_rows AS given WHERE runs.run_id = given.run_id"
)
_INSERT = (
    f"INSERT INTO core.runs ({RUNS.stored_list}, run_no) "
    f"SELECT {RUNS.stored_list}, $next - 1 + row_number() OVER (ORDER BY registered_at, run_id) FROM staged_rows "
    "ANTI JOIN core.runs USING (run_id)"
)


def upsert(writer: Writer, rows: Sequence[RunRow]) -> int:
    """Registers runs, or replaces what is known of them; exclusion and first registration stay."""
    if not rows:
        return 0
    files = paths.store(writer, rows)
    staged = with_column(to_arrow(rows, RunRow), "values_file", files)
    require_unique(RUNS, staged)
    writer.execute_with(staged, _UPDATE)
    writer.execute_with(staged, _INSERT, {"next": run_numbers.next_one(writer)})
    joining.join_crowded(writer, value_files.PATHS)
    return len(rows)


def find(reader: Reader, run_ids: Iterable[str], *, with_path: bool = True) -> dict[str, RunRow]:
    """run_id -> run, for those that exist; without the paths, which lie in files of their own, it has None for each."""
    rows = load(reader, RUNS if with_path else _WITHOUT_PATH, run_conditions.of(reader, run_ids))
    return {row.run_id: row for row in rows}


def of_traces(reader: Reader, rows: Iterable[RunRow]) -> dict[str, str]:
    """SHA-256 of a trace's content -> the run that has it, of the traces of these rows; quarantined runs have none."""
    contents = {row.trace_content_sha256: row.trace_sha256 for row in rows if row.trace_content_sha256}
    found = reader.rows(
        # Two questions: a column that is joined alone is looked through first, of one in an OR all rows are read whole.
        "SELECT trace_content_sha256, trace_sha256, run_id FROM ("
        "FROM core.runs WHERE NOT is_quarantined AND trace_content_sha256 IN (SELECT unnest($contents::VARCHAR[])) "
        "UNION ALL FROM core.runs WHERE NOT is_quarantined AND trace_content_sha256 IS NULL "
        "AND trace_sha256 IN (SELECT unnest($files::VARCHAR[]))) ORDER BY registered_at DESC, run_id DESC",
        {"contents": list(contents), "files": [file for file in contents.values() if file]},
    )
    # runs registered by an earlier release have the file's hash only
    of_file = {file: content for content, file in contents.items()}
    return {content or of_file[file]: run_id for content, file, run_id in found}


@dataclass(frozen=True)
class Holder:
    """The run that has a trace.

    Attributes:
        is_imported: it was made of the bare trace, so that no run.json of its own says more of it.
    """

    run_id: str
    app: str
    version_name: str
    version_code: int | None = None
    device: str | None = None
    strategy: str | None = None
    scenario: str | None = None
    time_limit_s: float | None = None
    started_at: datetime | None = None
    is_excluded: bool = False
    is_imported: bool = False

    @property
    def may_be_corrected(self) -> bool:
        """By importing its trace again: nothing rests on it, and all that is said of it was said so."""
        return self.is_excluded and self.is_imported


def holders(reader: Reader, contents: Iterable[str]) -> dict[str, Holder]:
    """SHA-256 of a trace's content -> the run that has it; quarantined runs have none."""
    found = reader.rows(
        "SELECT trace_content_sha256, run_id, app, version_name, version_code, device, strategy, scenario, "
        "time_limit_s, started_at, is_excluded, coalesce(json_exists(extra, '$.import'), false) "
        "FROM core.runs WHERE NOT is_quarantined "
        "AND trace_content_sha256 IN (SELECT unnest(?::VARCHAR[])) ORDER BY registered_at DESC, run_id DESC",
        [list(contents)],
    )
    return {content: Holder(*told) for content, *told in found}


@dataclass(frozen=True)
class OfVersion:
    """A run of a version."""

    run_id: str
    app: str
    scenario: str | None
    config_hash: str


def whole_of_version(reader: Reader, version_name: str, app: str | None, scenario: str | None) -> list[OfVersion]:
    """The version's runs whose trace is whole and that nobody excluded, oldest first; None: of any app or scenario."""
    found = reader.rows(
        "SELECT run_id, app, scenario, config_hash FROM core.runs AS runs JOIN core.traces AS traces USING (run_id) "
        "WHERE version_name = $version_name AND NOT is_quarantined AND NOT is_excluded AND is_complete "
        "AND ($app IS NULL OR app = $app) AND ($scenario IS NULL OR scenario = $scenario) ORDER BY started_at, run_id",
        {"version_name": version_name, "app": app, "scenario": scenario},
    )
    return [OfVersion(*row) for row in found]


def nameless_count(reader: Reader) -> int:
    """How many folders were refused before app and version of their run were known."""
    nameless = "is_quarantined AND (app IS NULL OR version_name IS NULL)"
    return int(reader.value(f"SELECT count(*) FROM core.runs WHERE {nameless}"))


def time_limits(reader: Reader, app: str) -> list[tuple[str, str, str | None, float]]:
    """(device, strategy, scenario, time limit in s) of an app's runs, each once, the latest first."""
    found = reader.rows(
        "SELECT device, strategy, scenario, time_limit_s FROM core.runs WHERE app = ? AND NOT is_quarantined "
        "GROUP BY ALL ORDER BY max(started_at) DESC, time_limit_s",
        [app],
    )
    return [tuple(row) for row in found]


def apps_of(reader: Reader, run_ids: Iterable[str]) -> dict[str, str]:
    """run_id -> its app, for registered runs that say so."""
    return dict(
        reader.rows(f"SELECT run_id, app FROM core.runs WHERE app IS NOT NULL AND {run_conditions.of(reader, run_ids)}")
    )


def path_hashes(reader: Reader, run_ids: Iterable[str]) -> dict[str, str | None]:
    """run_id -> hash of its path with its times, of registered runs; None for one without steps."""
    return dict(reader.rows(f"SELECT run_id, path_hash FROM core.runs WHERE {run_conditions.of(reader, run_ids)}"))


def openable_traces(reader: Reader, run_ids: Iterable[str]) -> dict[str, tuple[bool, int | None]]:
    """run_id → whether it has a trace that can be opened, and when its exploration began on that trace's clock (ns).

    Not from marts.runs, which looks for the verdicts of the whole app.
    """
    rows = reader.rows(
        "SELECT runs.run_id, marts.has_trace(runs.trace_file, runs.is_quarantined, traces.is_trace_gone), "
        "runs.exploration_start_ns "
        "FROM core.runs AS runs LEFT JOIN core.traces AS traces ON traces.run_no = runs.run_no "
        f"WHERE {run_conditions.of(reader, run_ids, 'runs.run_no')}"
    )
    return {run_id: (has_trace, start_ns) for run_id, has_trace, start_ns in rows}


def versions_of(reader: Reader, run_ids: Iterable[str]) -> dict[str, str]:
    """run_id → its version, of those of some runs that are there and not quarantined."""
    return dict(
        reader.rows(
            "SELECT run_id, version_name FROM core.runs "
            f"WHERE NOT is_quarantined AND {run_conditions.of(reader, run_ids)}"
        )
    )


def of_partition(reader: Reader, partition_key: str) -> list[RunRow]:
    """The partition's runs that are not quarantined, oldest first."""
    return load(reader, RUNS, "partition_key = ? AND NOT is_quarantined ORDER BY started_at, run_id", [partition_key])


def ids_of_partitions(reader: Reader, keys: Iterable[str]) -> dict[str, list[str]]:
    """partition key -> ids of its runs that are not quarantined, oldest first; every key is in the result."""
    found: dict[str, list[str]] = {key: [] for key in keys}
    of_keys, bound = one_of(found, "partition_key")
    for key, run_id in reader.rows(
        f"SELECT partition_key, run_id FROM core.runs WHERE NOT is_quarantined AND {of_keys} "
        "ORDER BY started_at, run_id",
        bound,
    ):
        found[key].append(run_id)
    return found


def versions_in_order(reader: Reader, app: str) -> list[tuple[int | None, datetime, str]]:
    """(version code, start of the first run, version name) of an app's versions in the order of marts.version_ranks; no
    codes unless all runs have one."""

    def load() -> list[tuple[int | None, datetime, str]]:
        found = reader.rows(
            "SELECT CASE WHEN has_all_codes THEN version_code END, epoch_us(first_started_at), version_name "
            "FROM marts.version_ranks WHERE app = ? ORDER BY version_rank",
            [app],
        )
        return [(code, of_epoch_us(first_us), version) for code, first_us, version in found]

    return last_of(reader, versions_in_order, (app,), load)


def versions_given(reader: Reader, apps: Collection[str]) -> dict[str, dict[str, tuple[datetime, datetime]]]:
    """App → version name → when the first and the last of its runs, or refused folders, was given."""
    found: dict[str, dict[str, tuple[datetime, datetime]]] = {app: {} for app in apps}
    for app, name, first_us, last_us in reader.rows(
        "SELECT app, version_name, epoch_us(min(registered_at)), epoch_us(max(registered_at)) FROM core.runs "
        "WHERE app IN (SELECT unnest(?::VARCHAR[])) AND version_name IS NOT NULL GROUP BY app, version_name",
        [list(found)],
    ):
        found[app][name] = of_epoch_us(first_us), of_epoch_us(last_us)
    return found


def in_order(reader: Reader, app: str) -> list[tuple[int, str, str]]:
    """(start in µs since 1970, run_id, version name) of an app's runs that are not quarantined, oldest first."""
    return reader.rows(
        "SELECT epoch_us(started_at), run_id, version_name FROM core.runs WHERE app = ? AND NOT is_quarantined "
        "ORDER BY started_at, run_id",
        [app],
    )


def apps(reader: Reader) -> list[str]:
    """All apps that have a run."""
    return [app for (app,) in reader.rows("SELECT DISTINCT app FROM core.runs WHERE app IS NOT NULL ORDER BY app")]


def partitions_since(reader: Reader, app: str, started_us: int) -> set[str]:
    """Partitions of an app's runs that are not quarantined and started then (µs since 1970) or later."""
    found = reader.rows(
        "SELECT DISTINCT partition_key FROM core.runs "
        "WHERE app = ? AND NOT is_quarantined AND coalesce(epoch_us(started_at), 0) >= ?",
        [app, started_us],
    )
    return {key for (key,) in found}


def newest(reader: Reader, count: int) -> list[str]:
    """Ids of the runs that started last, quarantined ones too; without a known start last."""
    found = reader.rows(
        "SELECT run_id, run_no FROM core.runs ORDER BY started_at DESC NULLS LAST, run_id DESC LIMIT ?", [count]
    )
    run_numbers.note(reader, found)
    return [run_id for run_id, _ in found]


def dated_in_future(reader: Reader, run_ids: Iterable[str] | None = None) -> list[tuple[str, datetime]]:
    """(run_id, started_at) of runs (None: of all) that begin later than now, the latest first: until then no other is
    later than they. Excluded ones, which are in no history, are left out."""
    of_runs = "" if run_ids is None else f"AND {run_conditions.of(reader, run_ids)} "
    found = reader.rows(
        "SELECT run_id, epoch_us(started_at) FROM core.runs "
        f"WHERE started_at > now() AND NOT is_quarantined AND NOT is_excluded {of_runs}"
        "ORDER BY started_at DESC, run_id DESC"
    )
    return [(run_id, of_epoch_us(started_us)) for run_id, started_us in found]


def excluded(reader: Reader, run_ids: Iterable[str]) -> set[str]:
    """Those of some runs that somebody excluded."""
    of_runs = run_conditions.of(reader, run_ids)
    return {run_id for (run_id,) in reader.rows(f"SELECT run_id FROM core.runs WHERE is_excluded AND {of_runs}")}


def counted(reader: Reader, run_ids: Iterable[str]) -> set[str]:
    """Those of some runs that say something of their version: neither excluded nor rejected in a review."""
    of_runs = run_conditions.of(reader, run_ids)
    return {run_id for (run_id,) in reader.rows(f"SELECT run_id FROM marts.counted_runs WHERE {of_runs}")}


def exclude(writer: Writer, run_id: str, reason: str) -> None:
    """Takes a run out of histories by hand; nothing is deleted.

    Raises:
        Rejected: RUN_UNKNOWN.
    """
    _set_excluded(writer, run_id, True, reason)


def include(writer: Writer, run_id: str) -> bool:
    """Takes an exclusion back; whether there was one.

    Raises:
        Rejected: RUN_UNKNOWN.
    """
    require_run(writer, run_id)
    is_excluded = bool(writer.rows("SELECT is_excluded FROM core.runs WHERE run_id = ?", [run_id])[0][0])
    if is_excluded:
        _set_excluded(writer, run_id, False, None)
    return is_excluded


def dismiss(writer: Writer, run_ids: Collection[str]) -> list[str]:
    """Deletes the rows of folders that were refused, as that of one that is gone, or was mended under another name; the
    partitions of those that said of which version they are.

    Raises:
        Rejected: RUN_UNKNOWN.
        ValueError: one of them was taken in, or somebody reviewed it.
    """
    for run_id in run_ids:
        require_run(writer, run_id)
    named = "run_id IN (SELECT unnest($ids::VARCHAR[]))"
    bound = {"ids": list(run_ids)}
    taken = f"SELECT run_id FROM core.runs WHERE {named} AND NOT ({refused.REFUSED}) ORDER BY run_id"
    for (run_id,) in writer.rows(taken, bound):
        kept = f"{run_id} was taken in, and no run is deleted"
        raise ValueError(f"{kept}; `perfreg exclude {run_id}` takes it out of histories")
    for (run_id,) in writer.rows(f"SELECT run_id FROM core.reviews WHERE {named} ORDER BY run_id", bound):
        raise ValueError(f"{run_id} was reviewed, and what was said is kept")
    of_version = (
        f"SELECT DISTINCT partition_key FROM core.runs WHERE {named} AND partition_key IS NOT NULL ORDER BY ALL"
    )
    keys = [key for (key,) in writer.rows(of_version, bound)]
    _delete_refused(writer, named, bound)
    return keys


def _set_excluded(writer: Writer, run_id: str, is_excluded: bool, reason: str | None) -> None:
    require_run(writer, run_id)
    writer.execute(
        "UPDATE core.runs SET is_excluded = ?, exclude_reason = ? WHERE run_id = ?", [is_excluded, reason, run_id]
    )


_OF_NEWEST = """
SELECT runs.app, runs.version_name, list(runs.run_id ORDER BY runs.started_at, runs.run_id)
FROM {table} AS kept
JOIN core.runs AS runs ON runs.run_no = kept.run_no
JOIN marts.version_ranks AS versions ON versions.app = runs.app AND versions.version_name = runs.version_name
WHERE NOT kept.is_missing AND NOT runs.is_quarantined AND ($app IS NULL OR runs.app = $app)
    AND ($version IS NULL OR runs.version_name = $version)
GROUP BY runs.app, runs.version_name
QUALIFY row_number() OVER (PARTITION BY runs.app ORDER BY any_value(versions.version_rank) DESC) = 1
ORDER BY runs.app
"""


def of_newest_versions(
    reader: Reader, table: str, app: str | None, version_name: str | None
) -> dict[tuple[str, str], list[str]]:
    """(app, version) → its runs of which something is kept in a table, oldest first; None: of all apps, of each the
    newest version, by the order of marts.version_ranks, that has such a run.

    Args:
        table: with a row per run, which `is_missing` where there is nothing to keep.
    """
    found = reader.rows(_OF_NEWEST.format(table=table), {"app": app, "version": version_name})
    return {(one_app, version): run_ids for one_app, version, run_ids in found}


def quarantined(reader: Reader, run_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """run_id → (reason code, reason), of those of some runs that are in quarantine."""
    of_runs = run_conditions.of(reader, run_ids)
    found = reader.rows(f"SELECT run_id, reason_code, reason FROM core.runs WHERE is_quarantined AND {of_runs}")
    return {run_id: (code, reason) for run_id, code, reason in found}


def quarantine(writer: Writer, run_id: str, reason_code: str, reason: str) -> None:
    """Quarantines a registered run: its trace turned out to be damaged when it was read. What was measured of it before
    stays, and is not the latest any more: it has no current verdict."""
    writer.execute(
        "UPDATE core.runs SET is_quarantined = true, reason_code = ?, reason = ? WHERE run_id = ?",
        [reason_code, reason, run_id],
    )
    of_run = run_conditions.of(writer, [run_id])
    writer.execute(f"UPDATE core.distances SET is_latest = false WHERE is_latest AND {of_run}")


def forget_refused(
    writer: Writer,
    run_ids: Collection[str],
    taken: Sequence[RunRow],
    *,
    files: Collection[tuple[str, str]] = (),
    reasons: Collection[tuple[str, str]] = (),
    kept: Iterable[str] = (),
) -> None:
    """Deletes rows of folders that were refused and are runs of their own now, or refused as something else; what
    somebody reviewed stays.

    Args:
        run_ids: what they were refused as.
        taken: runs, by whose traces such folders are known, whatever ids they stated then.
        files: (folder, SHA-256 of its trace file) that were looked at just now.
        reasons: (folder, why it was refused) that do not hold any more.
        kept: of what was refused just now.
    """
    _delete_refused(
        writer,
        "(run_id IN (SELECT unnest($ids::VARCHAR[])) OR starts_with(run_id, $refused) "
        "AND trace_content_sha256 IN (SELECT unnest($contents::VARCHAR[])) "
        "OR (folder_name, trace_sha256) IN (SELECT unnest($folders::VARCHAR[]), unnest($files::VARCHAR[])) "
        "OR (folder_name, reason) IN (SELECT unnest($refused_folders::VARCHAR[]), unnest($reasons::VARCHAR[]))) "
        "AND run_id NOT IN (SELECT unnest($kept::VARCHAR[])) AND run_id NOT IN (SELECT run_id FROM core.reviews)",
        {
            "ids": sorted(run_ids),
            "refused": REFUSED,
            "contents": [run.trace_content_sha256 for run in taken if run.trace_content_sha256],
            "folders": [name for name, _ in files],
            "files": [sha256 for _, sha256 in files],
            "refused_folders": [name for name, _ in reasons],
            "reasons": [reason for _, reason in reasons],
            "kept": sorted(kept),
        },
    )


_OF_RUNS = """
SELECT 'core.' || table_name, column_name FROM duckdb_tables() JOIN duckdb_columns() USING (schema_name, table_name)
WHERE schema_name = 'core' AND column_name IN ('run_no', 'history_run_no') ORDER BY ALL
"""


def _delete_refused(writer: Writer, condition: str, bound: Mapping[str, Any]) -> None:
    """Deletes the rows of refused folders for which the condition holds, and all that was stored of them while they
    were runs: the trace of such a run proved damaged before its folder was refused. Their numbers are given again."""
    rows = writer.rows(f"SELECT run_no FROM core.runs WHERE {refused.REFUSED} AND ({condition}) ORDER BY run_no", bound)
    if not rows:
        return
    numbers = [number for (number,) in rows]
    for table, column in writer.rows(_OF_RUNS):
        writer.execute(f"DELETE FROM {table} WHERE {among_numbers(numbers, column)}")
