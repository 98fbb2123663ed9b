"""The marts as Parquet files, for tools that cannot open the warehouse's own file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from perfreg_assets.near_names import did_you_mean
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.literals import quoted
from perfreg_assets.whole_files import whole_file

_VIEWS = """
SELECT view_name FROM duckdb_views() WHERE schema_name = 'marts' AND NOT internal ORDER BY view_name
"""
_COLUMNS = """
SELECT column_name, data_type FROM duckdb_columns()
WHERE schema_name = 'marts' AND table_name = ? ORDER BY column_index
"""
_LIST = "[]"


@dataclass(frozen=True)
class Written:
    """`of`: the mart that it is, or whose list column it holds in long form."""

    path: Path
    of: str
    row_count: int


def export(reader: Reader, folder: Path, marts: Collection[str] = ()) -> Iterator[Written]:
    """Writes `<mart>.parquet` for every view of schema marts, and `<mart>.<column>.parquet` for each of its list
    columns: the mart's plain columns, `position` from 1 and `value`, a row per element.

    Each file is replaced as a whole. Columns of types that older readers do not know (maps, structures, JSON) are
    written as text (JSON).

    Args:
        marts: only these; none: all.

    Raises:
        Rejected: MART_UNKNOWN, EXPORT_UNWRITABLE.
    """
    known = [name for (name,) in reader.rows(_VIEWS)]
    for name in marts:
        if name not in known:
            raise Rejected(Reason.MART_UNKNOWN, f"{name!r}{did_you_mean(name, known)}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in marts or known:
            yield from _export_one(reader, folder, name)
    except OSError as error:
        raise Rejected(Reason.EXPORT_UNWRITABLE, f"{folder}: {error.strerror or error}") from error


def _export_one(reader: Reader, folder: Path, name: str) -> Iterator[Written]:
    types = dict(reader.rows(_COLUMNS, [name]))
    lists = [column for column, kind in types.items() if _is_plain_list(kind)]
    selected = ", ".join(_selected(column, kind) for column, kind in types.items())
    yield _write(reader, folder / f"{name}.parquet", name, f"SELECT {selected} FROM marts.{quoted(name)}")
    keys = [column for column, kind in types.items() if _is_simple(kind) and column not in ("position", "value")]
    for column in lists:
        query = (
            f"SELECT {', '.join(quoted(key) for key in keys)}, generate_subscripts({quoted(column)}, 1) AS position, "
            f"unnest({quoted(column)}) AS value FROM marts.{quoted(name)}"
        )
        yield _write(reader, folder / f"{name}.{column}.parquet", name, query)


def _is_simple(kind: str) -> bool:
    return not (kind.endswith(_LIST) or kind.startswith(("MAP", "STRUCT", "UNION")) or kind == "JSON")


def _is_plain_list(kind: str) -> bool:
    return kind.endswith(_LIST) and _is_simple(kind.removesuffix(_LIST))


def _selected(column: str, kind: str) -> str:
    if _is_simple(kind) or _is_plain_list(kind):
        return quoted(column)
    return f"to_json({quoted(column)})::VARCHAR AS {quoted(column)}"


def _write(reader: Reader, path: Path, of: str, query: str) -> Written:
    """Beside its place first, so that nobody reads half of it."""
    import pyarrow.parquet as pq  # noqa: PLC0415  (slow to load)

    count = 0
    batches = reader.batches(query)
    with (
        whole_file(path, is_durable=False) as file,
        pq.ParquetWriter(file, batches.schema, compression="zstd", version="2.6") as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return Written(path, of, count)
