"""Query results with a declared schema, read from the engine's message without a Python object per cell.

A message states the type of every cell, so a column may mix them, and an empty one has none. Here the caller states
each column's type and gets it, always.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from perfreg_assets.traces.rpc_envelope import fields

Schema = Mapping[str, str]
"""Column name → "int64" (no NULL), "Int64" (NULL allowed: `Nullable`), "float64" (NULL = NaN; integers are taken),
"string" (NULL = None)."""

# Numbers of fields and kinds of cells, protos/perfetto/trace_processor/trace_processor.proto
_COLUMN_NAMES, _ERROR, _BATCH = 1, 2, 3
_CELLS, _VARINTS, _FLOATS, _STRINGS = 1, 2, 3, 5
_NULL, _INTEGER, _FLOAT, _STRING = 1, 2, 3, 4


class SchemaError(ValueError):
    """A result does not have the columns or types the query was declared with."""


class BrokenResultError(ValueError):
    """A message that no engine sends."""


@dataclass(frozen=True)
class Nullable:
    """A column of integers some of which are NULL: `values` (n,) int64, 0 where `is_null` (n,)."""

    values: np.ndarray
    is_null: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def take(self, chosen: np.ndarray) -> Nullable:
        """The rows of a mask or of row numbers."""
        return Nullable(self.values[chosen], self.is_null[chosen])

    def equals(self, value: int) -> np.ndarray:
        """Where it is that number; NULL is none."""
        return np.asarray((self.values == value) & ~self.is_null)

    def tolist(self) -> list[int | None]:
        pairs = zip(self.values.tolist(), self.is_null.tolist(), strict=True)
        return [None if is_null else value for value, is_null in pairs]


Column = Any
"""int64 or float64 array, `Nullable`, or an array of objects (str or None), by the schema."""


@dataclass(frozen=True)
class Table:
    """Columns of one length, by name."""

    columns: Mapping[str, Column]

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def take(self, chosen: np.ndarray) -> Table:
        """The rows of a mask or of row numbers."""
        return Table(
            {
                name: column.take(chosen) if isinstance(column, Nullable) else column[chosen]
                for name, column in self.columns.items()
            }
        )

    def groups(self, name: str) -> Iterator[tuple[Any, Table]]:
        """(value, its rows in their order) for each value of a column, ascending; rows without a value are left out."""
        column = self.columns[name]
        if isinstance(column, Nullable):
            keys, known = column.values, ~column.is_null
        else:
            keys = column
            known = np.array([key is not None for key in keys], bool)
        for key in np.unique(keys[known]).tolist():
            yield key, self.take(np.flatnonzero(known & (keys == key)))


@dataclass(frozen=True)
class QueryResult:
    """A message QueryResult. `error`: "" or the engine's words."""

    column_names: tuple[str, ...]
    error: str
    batches: tuple[memoryview, ...]

    @classmethod
    def of(cls, message: bytes) -> Self:
        """
        Raises:
            BrokenResultError: it is no such message.
        """
        found: dict[int, list[memoryview]] = {_COLUMN_NAMES: [], _ERROR: [], _BATCH: []}
        try:
            for number, value in fields(memoryview(message)):
                if number in found and not isinstance(value, int):
                    found[number].append(value)
        except ValueError as error:
            raise BrokenResultError(f"the engine's answer is {error}") from error
        names, errors = ([str(text, "utf-8", "replace") for text in found[k]] for k in (_COLUMN_NAMES, _ERROR))
        return cls(tuple(names), "".join(errors[-1:]), tuple(found[_BATCH]))

    def table(self, schema: Schema) -> Table:
        """
        Args:
            schema: exactly these columns, in this order.

        Raises:
            SchemaError: other columns, a NULL in an int64 column, text in a numeric column and the like.
            BrokenResultError: a batch that contradicts itself.
        """
        if self.batches and list(self.column_names) != list(schema):  # no batch at all: a statement without result
            raise SchemaError(f"the query has columns {list(self.column_names)}, declared are {list(schema)}")
        parts = [_Batch(batch, len(schema)) for batch in self.batches]
        return Table({name: _column(parts, index, name, dtype) for index, (name, dtype) in enumerate(schema.items())})


class _Batch:
    """One CellsBatch: cell types row by row, and per type the values in the same order."""

    def __init__(self, batch: memoryview, column_count: int) -> None:
        found: dict[int, list[memoryview]] = {_CELLS: [], _VARINTS: [], _FLOATS: [], _STRINGS: []}
        try:
            for number, value in fields(batch):
                if number in found and not isinstance(value, int):
                    found[number].append(value)
        except ValueError as error:
            raise BrokenResultError(f"the engine's answer has a batch that is {error}") from error
        flat, integers, floats, texts = (b"".join(pieces) for pieces in found.values())
        self._flat = np.frombuffer(flat, np.uint8)
        if self._flat.size % column_count:
            raise BrokenResultError(f"a batch of {self._flat.size} cells does not divide into {column_count} columns")
        self.types = self._flat.reshape(-1, column_count)
        self._values: dict[int, np.ndarray] = {
            _INTEGER: varints(integers),
            _FLOAT: np.frombuffer(floats, "<f8"),
            _STRING: np.array(texts.decode("utf-8", "replace").split("\0")[:-1], dtype=object),
        }
        for kind, values in self._values.items():
            announced = np.count_nonzero(self._flat == kind)
            if values.size != announced:
                raise BrokenResultError(f"a batch announces {announced} cells of type {kind}, it has {values.size}")
        self._positions: dict[int, np.ndarray] = {}

    def values(self, kind: int, column: int, where: np.ndarray) -> np.ndarray:
        """Values of the cells of that kind in the column's rows `where`."""
        values = self._values[kind]
        if values.size == self._flat.size:  # all cells are of this kind
            here: np.ndarray = values.reshape(self.types.shape)[:, column]
            return here if where.all() else here[where]
        if kind not in self._positions:
            self._positions[kind] = (np.cumsum(self._flat == kind) - 1).reshape(self.types.shape)
        return np.asarray(values[self._positions[kind][where, column]])


# By the number of bytes that belong to an integer: their seven bits each
_KEPT = np.array([0, *((1 << 8 * k) - 1 & 0x7F7F7F7F7F7F7F7F for k in range(1, 9))], np.uint64)
# Neighbouring groups of seven, 14 and 28 bits are joined: (lower of each pair, upper, how far it moves)
_JOINED = tuple(
    (np.uint64(low), np.uint64(high), np.uint64(shift))
    for low, high, shift in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    )
)


def varints(data: bytes) -> np.ndarray:
    """(n,) int64 of protobuf's packed variable-length integers: seven bits a byte, least significant first.

    Eight bytes are read at every number's begin and the seven-bit groups moved together, in place of a loop.

    Raises:
        BrokenResultError: the last one has no end, or one has more than ten bytes.
    """
    if not data:
        return np.empty(0, np.int64)
    padded = np.frombuffer(data + bytes(10), np.uint8)
    ends = np.flatnonzero(padded[: len(data)] < 0x80)
    lengths = np.diff(ends, prepend=-1)
    if data[-1] >= 0x80 or lengths.max() > 10:
        raise BrokenResultError("the engine's answer has an integer without an end")
    if ends.size == len(data):
        return padded[: len(data)].astype(np.int64)
    starts = ends - lengths + 1
    eight = np.ndarray((len(data) + 3,), "<u8", buffer=padded, strides=(1,))[starts]
    eight &= _KEPT[np.minimum(lengths, 8)]
    for low, high, shift in _JOINED:
        upper = eight & high
        upper >>= shift
        eight &= low
        eight |= upper
    if lengths.max() > 8:
        for k in (8, 9):
            longer = np.flatnonzero(lengths > k)
            eight[longer] |= (padded[starts[longer] + k] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * k)
    return eight.view(np.int64)


def _column(parts: Sequence[_Batch], index: int, name: str, dtype: str) -> Column:
    kinds = np.concatenate([part.types[:, index] for part in parts]) if parts else np.empty(0, dtype=np.uint8)
    counts = np.bincount(kinds, minlength=_STRING + 1)
    allowed = {
        "int64": (_INTEGER,),
        "Int64": (_INTEGER, _NULL),
        "float64": (_FLOAT, _INTEGER, _NULL),
        "string": (_STRING, _NULL),
    }[dtype]
    wrong = [kind for kind in np.flatnonzero(counts).tolist() if kind not in allowed]
    if wrong:
        raise SchemaError(f"column {name} is declared {dtype} but has cells of type {wrong}")
    if dtype == "string":
        texts = np.full(kinds.size, None, dtype=object)
        _fill(texts, parts, index, _STRING)
        return texts
    if dtype == "float64":
        numbers = np.full(kinds.size, np.nan)
        _fill(numbers, parts, index, _FLOAT)
        _fill(numbers, parts, index, _INTEGER)
        return numbers
    integers = np.zeros(kinds.size, dtype=np.int64)
    _fill(integers, parts, index, _INTEGER)
    return integers if dtype == "int64" else Nullable(integers, kinds == _NULL)


def _fill(target: np.ndarray, parts: Sequence[_Batch], index: int, kind: int) -> None:
    begin = 0
    for part in parts:
        where = part.types[:, index] == kind
        if where.all():
            target[begin : begin + where.size] = part.values(kind, index, where)
        elif where.any():
            target[begin : begin + where.size][where] = part.values(kind, index, where)
        begin += where.size
