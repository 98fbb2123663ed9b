"""Between Python rows and tables: a row type (a frozen dataclass) per table, moved in bulk through Arrow.

Column names and types come from the dataclass's fields, so no identifier is ever made of data. Fields of type
`np.ndarray` are DOUBLE[] columns and travel without a Python object per number; `dict` and `list` are JSON,
tuples are DuckDB lists.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa

from perfreg_assets.warehouse import key_digests, run_conditions, run_numbers
from perfreg_assets.warehouse.connection import Parameters, Reader, Writer

Row = TypeVar("Row")

OF_RUN = (("run_no", "run_id"),)
"""`Table.numbers` of rows that are each about one run."""


def now_utc() -> datetime:
    """This moment, with its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Table(Generic[Row]):
    """A table of schema core and the dataclass whose fields are its columns.

    Attributes:
        scope: columns that say what one write replaces: all rows that agree with a new row in them.
        numbers: columns with the number of a run, and those with its id: filled in when rows are stored.
        digests: columns with the digest of a key (see key_digests.py), and those with the key: filled in likewise.
        keys: columns that no two rows agree in; no index of the warehouse sees to it, see without_indexes.py.
        outside: the field that is no column because it lies in the data folder, see values.py.
        fetch: (reader, the loaded columns by name) -> that field of each loaded row.
    """

    name: str
    row: type[Row]
    scope: tuple[str, ...]
    keys: tuple[str, ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    digests: tuple[tuple[str, str], ...] = ()
    outside: str | None = None
    fetch: Callable[[Reader, Mapping[str, list[Any]]], Sequence[Any]] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in _hints(self.row) if name != self.outside)

    @property
    def stored_list(self) -> str:
        """The columns that are filled when a row is stored, for an INSERT."""
        filled = [column for column, _ in (*self.numbers, *self.digests)]
        return ", ".join(f'"{column}"' for column in (*self.columns, *filled))


def replace(writer: Writer, table: Table[Row], rows: Sequence[Row]) -> int:
    """Deletes what the rows replace (see `Table.scope`) and inserts them; the number inserted."""
    return replace_with(writer, table, to_arrow(rows, table.row)) if rows else 0


def replace_with(writer: Writer, table: Table[Row], staged: pa.Table) -> int:
    """As `replace`, with rows that are an Arrow table already."""
    if table.scope == ("run_id",):
        delete_runs(writer, table.name, staged.column("run_id").to_pylist())
    else:
        scope = ", ".join(f'"{column}"' for column in table.scope)
        writer.execute_with(staged, f"DELETE FROM {table.name} WHERE ({scope}) IN (SELECT ({scope}) FROM staged_rows)")
    return insert(writer, table, staged)


def insert(writer: Writer, table: Table[Row], staged: pa.Table) -> int:
    """Inserts an Arrow table made by `to_arrow`; the number of rows.

    Raises:
        ValueError: two of the rows are about the same.
        Rejected: WAREHOUSE_REPLACED, one is of a run that is not registered.
    """
    require_unique(table, staged)
    sql = f"INSERT INTO {table.name} ({table.stored_list}) SELECT {table.stored_list} FROM staged_rows"
    return writer.execute_with(numbered(writer, table, staged), sql)


def numbered(writer: Writer, table: Table[Row], staged: pa.Table) -> pa.Table:
    """Rows with the numbers of the runs that they are about, and the digests of their keys.

    Raises:
        Rejected: WAREHOUSE_REPLACED, a run is not registered.
    """
    for column, id_column in table.numbers:
        ids = staged.column(id_column).to_pylist()
        known = run_numbers.required(writer, ids)
        staged = staged.append_column(column, pa.array([known[run_id] for run_id in ids], pa.int32()))
    for column, key_column in table.digests:
        keys = staged.column(key_column).to_pylist()
        staged = staged.append_column(column, pa.array([key_digests.of(key) for key in keys], pa.int64()))
    return staged


def insert_all(writer: Writer, rows: Mapping[Table[Any], Sequence[Any]]) -> None:
    """Inserts rows into several tables, each row of its table's type.

    Raises:
        ValueError: two rows of a table are about the same.
    """
    for table, own in rows.items():
        if own:
            insert(writer, table, to_arrow(own, table.row))


def require_unique(table: Table[Row], staged: pa.Table) -> None:
    """Raises ValueError when two rows agree in the table's keys."""
    if table.keys and staged.group_by(list(table.keys)).aggregate([]).num_rows < staged.num_rows:
        raise ValueError(f"{table.name}: two rows with the same {', '.join(table.keys)}")


def delete_runs(writer: Writer, table_name: str, run_ids: Iterable[str]) -> int:
    """Deletes all rows of some runs from a table that knows them by number. `table_name` comes from code."""
    return writer.execute(f"DELETE FROM {table_name} WHERE {run_conditions.of(writer, run_ids)}")


def load(reader: Reader, table: Table[Row], condition: str, parameters: Parameters = ()) -> list[Row]:
    """Rows for which `condition` (SQL from code, bound parameters, may end in ORDER BY) holds."""
    hints = {name: hint for name, hint in _hints(table.row).items() if name != table.outside}
    selected = ", ".join(
        f'"{name}"::VARCHAR AS "{name}"' if _is_json(hint) else f'"{name}"' for name, hint in hints.items()
    )
    found = reader.arrow(f"SELECT {selected} FROM {table.name} WHERE {condition}", parameters)
    columns: dict[str, Sequence[Any]] = {name: _from_arrow(found.column(name), hint) for name, hint in hints.items()}
    if table.outside is not None and table.fetch is not None:
        columns[table.outside] = table.fetch(reader, {name: list(values) for name, values in columns.items()})
    return [table.row(**{name: values[i] for name, values in columns.items()}) for i in range(found.num_rows)]


def from_arrow(found: pa.Table, row_type: type[Row]) -> list[Row]:
    """The inverse of `to_arrow`.

    Raises:
        KeyError: a field has no column.
    """
    columns = {name: _from_arrow(found.column(name), hint) for name, hint in _hints(row_type).items()}
    return [row_type(**{name: values[i] for name, values in columns.items()}) for i in range(found.num_rows)]


def to_arrow(rows: Sequence[Any], row_type: type[Any]) -> pa.Table:
    """Rows as an Arrow table with one column per field.

    Raises:
        ValueError: a time has no zone.
    """
    arrays = {
        name: _to_array([getattr(row, name) for row in rows], name, hint) for name, hint in _hints(row_type).items()
    }
    return pa.table(arrays)


def with_column(staged: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """The table with this column in place of the one of that name."""
    return staged.set_column(staged.schema.get_field_index(name), name, values)


def _to_array(values: list[Any], name: str, hint: Any) -> pa.Array:
    kind = _without_none(hint)
    if kind is np.ndarray:
        return _ragged(values)
    if _is_json(hint):
        values = [None if value is None else json.dumps(_finite(value), ensure_ascii=False) for value in values]
    elif kind is datetime:
        if any(value is not None and value.tzinfo is None for value in values):
            raise ValueError(f"{name} has no time zone; pass an aware datetime")
    elif get_origin(kind) is tuple and is_dataclass(get_args(kind)[0]):
        values = [None if value is None else [vars(item) for item in value] for value in values]
    return pa.array(values, type=_arrow_type(kind))


def _ragged(values: list[np.ndarray | None]) -> pa.Array:
    lengths = [0 if value is None else len(value) for value in values]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    flat = np.concatenate(
        [np.asarray(value, dtype=np.float64) for value in values if value is not None] or [np.empty(0)]
    )
    mask = pa.array([value is None for value in values])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat), mask=mask)


def _from_arrow(column: pa.ChunkedArray, hint: Any) -> list[Any]:
    kind = _without_none(hint)
    if kind is np.ndarray:
        return [
            None if item.values is None else item.values.to_numpy(zero_copy_only=False).astype(np.float64)
            for item in column
        ]
    plain: list[Any] = column.to_pylist()
    if _is_json(hint):
        return [None if value is None else json.loads(value) for value in plain]
    if kind is datetime:
        return [None if value is None else value.astimezone(UTC) for value in plain]
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        if is_dataclass(item):
            make: Any = item
            return [None if value is None else tuple(make(**entry) for entry in value) for value in plain]
        return [None if value is None else tuple(value) for value in plain]
    return plain


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return _finite(value.item())
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _hints(row_type: Any) -> dict[str, Any]:
    hints = get_type_hints(row_type)
    return {spec.name: hints[spec.name] for spec in fields(row_type)}


def _without_none(hint: Any) -> Any:
    if get_origin(hint) is types.UnionType:
        (kind,) = (part for part in get_args(hint) if part is not type(None))
        return kind
    return hint


def _is_json(hint: Any) -> bool:
    return get_origin(_without_none(hint)) in (dict, list)


_PLAIN = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
}


def _arrow_type(kind: Any) -> pa.DataType:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if get_origin(kind) in (dict, list):
        return pa.string()  # JSON text
    if get_origin(kind) is tuple:
        return pa.list_(_arrow_type(get_args(kind)[0]))
    if is_dataclass(kind):
        assert isinstance(kind, type)
        return pa.struct([pa.field(name, _arrow_type(_without_none(hint))) for name, hint in _hints(kind).items()])
    raise TypeError(f"no column type for {kind}")
