"""What condition the two files of a warehouse are in, read to the last block, and putting a damaged one aside.

For whoever looks after an installation: nothing here writes to a database.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import migrations, recovering
from perfreg_assets.warehouse.connection import Reader, Warehouse
from perfreg_assets.warehouse.kept_instances import NAME, attached
from perfreg_assets.warehouse.lock import file_lock
from perfreg_assets.warehouse.put_aside import DAMAGED, put_aside
from perfreg_assets.warehouse.refused import REFUSED
from perfreg_assets.warehouse.tidying import named_files

MISSING, EMPTY, UNREADABLE, SOUND = "missing", "empty", "unreadable", "sound"


@dataclass(frozen=True)
class Condition:
    """Of one file.

    Attributes:
        state: MISSING, EMPTY, UNREADABLE or SOUND.
        detail: what DuckDB said of one that is unreadable.
        version: of its schema.
        altered: which of its migrations are not this release's; empty where they are, or a later one wrote it.
    """

    state: str
    detail: str = ""
    run_count: int = 0
    version: int = 0
    altered: str = ""

    @property
    def is_sound(self) -> bool:
        return self.state == SOUND

    @property
    def is_newer(self) -> bool:
        """Whether a later release wrote it."""
        return self.version > migrations.latest_version()


def examine(warehouse: Warehouse, *, timeout_s: float) -> tuple[Condition, Condition]:
    """The file that is written to, and the published one; no writer comes in between.

    Raises:
        Rejected: WAREHOUSE_LOCKED, naming who writes; WAREHOUSE_NAME, DATA_TAKEN.
    """
    warehouse.refuse_mixing()
    if not warehouse.path.parent.is_dir():
        return Condition(MISSING), Condition(MISSING)
    with file_lock(warehouse.lock_file, timeout_s=timeout_s, what=str(warehouse.path)):
        return condition_of(warehouse.path), condition_of(warehouse.published)


def condition_of(path: Path) -> Condition:
    """Of one file; nobody may be writing to it."""
    if recovering.is_lost(path):
        return Condition(EMPTY if path.exists() else MISSING)
    try:
        with attached(path) as connection:
            tables = connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND schema_name = 'core'", [NAME]
            ).fetchall()
            for (table,) in tables:  # every block is read, and its checksum compared
                connection.execute(f'SELECT count(hash(one)) FROM core."{table}" AS one').fetchall()
            [(runs, version)] = connection.execute(
                f"SELECT (SELECT count(*) FROM core.runs WHERE NOT ({REFUSED})), "
                "(SELECT max(version) FROM core.schema_version)"
            ).fetchall()
            altered = _altered(connection)
    except duckdb.Error as error:
        return Condition(UNREADABLE, str(error).splitlines()[0].strip())
    return Condition(SOUND, run_count=int(runs), version=int(version or 0), altered=altered)


def _altered(connection: duckdb.DuckDBPyConnection) -> str:
    try:
        migrations.refuse_newer(connection)
    except Rejected as rejected:
        return rejected.detail if rejected.reason is Reason.WAREHOUSE_ALTERED else ""  # a newer one: `is_newer` says it
    return ""


def missing_values(warehouse: Warehouse) -> tuple[int, list[str]]:
    """Of the files of values that the published warehouse names: how many, and those that are not there, or not whole.

    Raises:
        Rejected: as `Warehouse.reading`.
    """
    with warehouse.reading() as reader:
        if migrations.is_behind(reader.rows):
            return 0, []
        names = named_files(reader)
    return len(names), [name for name, count in names.items() if warehouse.data.size(name) != count]


def kept_traces(reader: Reader) -> list[tuple[str, str]]:
    """(run_id, file of its trace) of the registered runs whose trace nobody deleted."""
    return reader.rows(
        "SELECT runs.run_id, runs.trace_file FROM core.runs AS runs "
        "LEFT JOIN core.traces AS traces ON traces.run_no = runs.run_no "
        "WHERE runs.trace_file IS NOT NULL AND NOT runs.is_quarantined AND NOT coalesce(traces.is_trace_gone, false) "
        "ORDER BY runs.run_id"
    )


def unknown_runs(reader: Reader, folder: Path) -> list[str]:
    """Names of run folders among those of registered runs that are no run's; some may be on their way in."""
    known = {run_id for (run_id,) in reader.rows("SELECT run_id FROM core.runs")}
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    return [
        path.name
        for path in there
        if path.name not in known and not path.name.startswith(".") and (path / "run.json").is_file()
    ]


def bring_back(warehouse: Warehouse, *, timeout_s: float) -> Path | None:
    """Puts the published copy in the place of a file that is gone, empty or cannot be read. An unreadable one is kept:
    where. With the next write both are one again.

    Raises:
        Rejected: WAREHOUSE_LOCKED, WAREHOUSE_LOST.
    """
    aside: Path | None = None
    with file_lock(warehouse.lock_file, timeout_s=timeout_s, what=str(warehouse.path)):
        if not condition_of(warehouse.published).is_sound or condition_of(warehouse.path).is_sound:
            return None  # became another one meanwhile
        if not recovering.is_lost(warehouse.path):
            aside = put_aside(warehouse.path, DAMAGED)
        recovering.bring_back(warehouse.path, warehouse.published)
    with warehouse.writing():
        pass  # brings the schema on where that is due, and publishes
    return aside


def publish_again(warehouse: Warehouse) -> None:
    """Puts a copy of the written file where readers find it.

    Raises:
        Rejected: as `Warehouse.writing`.
    """
    with warehouse.writing():
        pass
