"""The published copy is a copy: when the warehouse file itself is lost it takes its place, and nothing less than what
is published is ever put over it.

Call all of it under the writers' lock, before anything is created or published.
"""

from __future__ import annotations

import logging
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from perfreg_assets.how_many import how_many
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse.literals import literal
from perfreg_assets.warehouse.refused import REFUSED
from perfreg_assets.whole_files import whole_file

_LOG = logging.getLogger(__name__)
_PUBLISHED = "published_copy"
_COUNT = f"SELECT count(*) FROM {{name}}core.runs WHERE NOT ({REFUSED})"
_COUNT_MISSING = f"{_COUNT.format(name=f'{_PUBLISHED}.')} AND run_id NOT IN (SELECT run_id FROM core.runs)"


def is_lost(path: Path) -> bool:
    """Whether there is no warehouse file, or an empty one."""
    return not path.exists() or path.stat().st_size == 0


_COPIED_AT_ONCE = 8 << 20


def bring_back(path: Path, published: Path) -> bool:
    """Puts the published copy in the place of a lost warehouse file and says so; False where none was published.

    A log of writes that lies beside the lost file belongs to no other file: it is put aside as `<name>.wal.lost`.

    Raises:
        Rejected: WAREHOUSE_LOST when the published copy cannot be opened either; nothing is changed.
    """
    if is_lost(published):
        return False
    count = _run_count(path, published)
    with published.open("rb") as copied, whole_file(path, is_durable=True) as file:
        shutil.copyfileobj(copied, file, _COPIED_AT_ONCE)
        log = path.with_name(f"{path.name}.wal")
        if log.exists():
            os.replace(log, path.with_name(f"{log.name}.lost"))
    at = datetime.fromtimestamp(published.stat().st_mtime, UTC)
    _LOG.warning(
        "%s was gone or empty: brought back from %s, %d runs as published %s UTC; ingest again what came later",
        path.name, published.name, count, at.strftime("%Y-%m-%d %H:%M:%S"),
    )  # fmt: skip
    return True


def _run_count(path: Path, published: Path) -> int:
    try:
        with duckdb.connect() as connection:
            return _count_published(connection, published)
    except duckdb.Error as error:
        detail = f"{path} is gone or empty, and {published} cannot be opened ({str(error).splitlines()[0].strip()})"
        raise Rejected(Reason.WAREHOUSE_LOST, detail) from error


def _count_published(connection: duckdb.DuckDBPyConnection, published: Path, sql: str = _COUNT) -> int:
    connection.execute(f"ATTACH {literal(str(published))} AS {_PUBLISHED} (READ_ONLY)")
    try:
        [(count,)] = connection.execute(sql.format(name=f"{_PUBLISHED}.")).fetchall()
    finally:
        connection.execute(f"DETACH {_PUBLISHED}")
    return int(count)


def refuse_fewer(connection: duckdb.DuckDBPyConnection, path: Path, published: Path) -> None:
    """Before publishing: runs are never deleted, so a file with fewer than are published is another file. Folders that
    were refused do not count: those that were mended, or dismissed, go (`runs.forget_refused`, `runs.dismiss`). Nor is
    a run missing that became one: its trace had proved damaged, and its folder is none any more.

    Args:
        connection: to the warehouse file, with access to files.

    Raises:
        Rejected: WAREHOUSE_FEWER_RUNS, with both counts. A published copy that cannot be opened is no reason: it is
            what publishing mends.
    """
    if is_lost(published):
        return
    try:
        there = _count_published(connection, published)
    except duckdb.Error:
        _LOG.warning("%s could not be opened and is replaced", published.name)
        return
    [(own,)] = connection.execute(_COUNT.format(name="")).fetchall()
    if own < there and _count_published(connection, published, _COUNT_MISSING):
        raise Rejected(Reason.WAREHOUSE_FEWER_RUNS, f"{path} has {how_many(own, 'run')}, {published} has {there}")
