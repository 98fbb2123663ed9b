"""Large values outside the DuckDB file: Parquet files of the data folder, written once, named by what they hold.

A row of the warehouse names the file with its values in `values_file`; which files there are stands in
core.value_files. A file is durable before the transaction that names it commits: whatever is killed when, no row names
a file that is not there whole. Nothing is changed or deleted here; see tidying.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from perfreg_assets.how_many import how_many
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import run_conditions, value_files
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.key_conditions import one_of, one_of_named
from perfreg_assets.warehouse.value_files import Kind, Place, Written


def places_of(reader: Reader, run_ids: Iterable[str]) -> dict[str, Place]:
    """run_id -> its place, for registered runs."""
    found = reader.rows(
        f"SELECT run_id, app, strftime(started_at, '%Y-%m') FROM core.runs WHERE {run_conditions.of(reader, run_ids)}"
    )
    return {run_id: Place(app, month) for run_id, app, month in found}


def store(writer: Writer, kind: Kind, rows: pa.Table, places: Mapping[str, Place]) -> pa.Array:
    """Writes rows with the columns of the kind into files; for each row the name of its file.

    Args:
        places: by the first key; what is not in it has no known place.

    Raises:
        Rejected: DATA_MISSING: of the files that rows name none is in this folder.
    """
    if rows.num_rows:
        _require_others(writer)
    file_of: dict[str, str] = {}
    for written in value_files.write(writer.data, kind, rows, places):
        register(writer, written)
        file_of |= dict.fromkeys(written.keys, written.file)
    return pa.array([file_of[key] for key in rows.column(kind.key).to_pylist()], pa.string())


def _require_others(writer: Writer) -> None:
    """Where the others are not, a new file would be lost to whoever looks where they are: a disk is not mounted, or a
    command does without the PERFREG_DATA that others were given."""
    missing = value_files.missing_altogether(writer.rows, writer.data)
    if not missing:
        return
    detail = (
        f"{writer.data.root} holds none of the {how_many(missing, 'file')} of values; nothing is written there: "
        "see that its disk is there, and that PERFREG_DATA names the folder that it named before"
    )
    raise Rejected(Reason.DATA_MISSING, detail)


def register(writer: Writer, written: Written) -> None:
    """Notes a file in core.value_files; one that was dropped before counts again."""
    writer.execute("DELETE FROM core.value_files WHERE values_file = ?", [written.file])
    writer.execute(
        "INSERT INTO core.value_files (values_file, kind, app, month, row_count, file_bytes, written_at) "
        "VALUES (?, ?, ?, ?, ?, ?, now())",
        [
            written.file,
            written.kind.name,
            written.place.app,
            written.place.month,
            written.row_count,
            written.file_bytes,
        ],
    )


def fetch(
    reader: Reader, kind: Kind, files: Iterable[str | None], keys: Iterable[str], columns: Sequence[str]
) -> pa.Table:
    """The rows of some runs (or other first keys) in some files: `values_file` and the columns asked for.

    Only these files are opened, and in them only the parts that hold the keys.

    Raises:
        Rejected: DATA_MISSING.
    """
    wanted = sorted({file for file in files if file is not None})
    if not wanted:
        return kind.columns.empty_table().select(list(columns)).append_column("values_file", pa.array([], pa.string()))
    listed = ", ".join(f'"{column}"' for column in columns)
    of_keys, bound = one_of_named(sorted(set(keys)), kind.key, "key")
    return read(reader, f"SELECT {listed}, values_file FROM {{files}} WHERE {of_keys}", paths(reader, wanted), bound)


def arrays_of(kind: Kind, reader: Reader, rows: Mapping[str, list[Any]]) -> list[np.ndarray | None]:
    """The array of each loaded row of a table whose files hold its keys and that array; None of a row in no file.

    Args:
        rows: the loaded columns by name: `values_file` and the keys.

    Raises:
        Rejected: DATA_MISSING.
    """
    found = fetch(reader, kind, rows["values_file"], rows[kind.key], kind.columns.names)
    named = ("values_file", *kind.keys)
    stored = zip(*(found.column(name).to_pylist() for name in named), strict=True)
    arrays = dict(zip(stored, as_arrays(found.column(kind.columns.names[-1])), strict=True))
    wanted = zip(*(rows[name] for name in named), strict=True)
    return [None if place[0] is None else arrays[place] for place in wanted]


def read(reader: Reader, sql: str, files: Sequence[str], parameters: Mapping[str, Any]) -> pa.Table:
    """The result of a query whose `{files}` are the rows of some files of the data folder, `values_file` among them.

    Args:
        files: as of `paths`.

    Raises:
        Rejected: DATA_MISSING.
    """
    source = (
        "(SELECT * RENAME (file AS values_file) "
        "FROM read_parquet($files, hive_partitioning = true, hive_types_autocast = false))"
    )
    full = [reader.data.path(file) for file in files]
    try:
        return reader.arrow(sql.format(files=source), {**parameters, "files": full})
    except duckdb.IOException as error:
        missing = [file for file in files if not reader.data.has(file)]
        if not missing:
            raise
        detail = f"{reader.data.root}: {missing[0]}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        raise Rejected(Reason.DATA_MISSING, detail) from error


def paths(reader: Reader, files: Iterable[str]) -> list[str]:
    """Where files are below the data folder.

    Raises:
        Rejected: DATA_MISSING: a name that core.value_files does not know.
    """
    wanted = set(files)
    of_files, bound = one_of(sorted(wanted), "values_file")
    found = reader.rows(
        f"SELECT values_file, kind, app, month FROM core.value_files WHERE {of_files} ORDER BY values_file", bound
    )
    if len(found) != len(wanted):
        raise Rejected(Reason.DATA_MISSING, f"{sorted(wanted - {row[0] for row in found})[0]} is in no list of files")
    return [value_files.name_of(kind, Place(app, month), file) for file, kind, app, month in found]


def as_arrays(column: pa.ChunkedArray) -> list[np.ndarray]:
    """A column of lists without NULLs as arrays (n,)."""
    return [
        part[start:end]
        for chunk in column.chunks
        for part in [chunk.values.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)]
        for start, end in zip(chunk.offsets[:-1].to_pylist(), chunk.offsets[1:].to_pylist(), strict=True)
    ]
