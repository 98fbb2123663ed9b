"""Query results with a declared schema.

The stock client builds object columns: empty results have no type, and an integer column with a NULL becomes
float64, which rounds timestamps above 2^53. Here the caller states each column's type and gets it, always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

Schema = Mapping[str, str]
"""Column name → "int64" (no NULL), "Int64" (NULL allowed), "float64" (NULL = NaN; integers are taken), "string"."""

_NULL, _INTEGER, _FLOAT, _STRING = 1, 2, 3, 4  # QueryResult.CellsBatch.CellType


class SchemaError(ValueError):
    """A result does not have the columns or types the query was declared with."""


def arrays(column_names: Sequence[str], batches: Sequence[Any], schema: Schema) -> dict[str, Any]:
    """Columns of a QueryResult as numpy arrays (int64, float64) or pandas arrays (Int64, string).

    Args:
        column_names: as the engine states them.
        batches: the CellsBatch messages.
        schema: exactly these columns, in this order.

    Raises:
        SchemaError: other columns, a NULL in an int64 column, text in a numeric column and the like.
    """
    if batches and list(column_names) != list(schema):  # no batch at all: a statement without result
        raise SchemaError(f"the query has columns {list(column_names)}, declared are {list(schema)}")
    parts = [_Batch(batch, len(schema)) for batch in batches]
    return {name: _column(parts, index, name, dtype) for index, (name, dtype) in enumerate(schema.items())}


def frame(column_names: Sequence[str], batches: Sequence[Any], schema: Schema) -> pd.DataFrame:
    """As `arrays`, as a pandas frame."""
    return pd.DataFrame(arrays(column_names, batches, schema), columns=list(schema))


class _Batch:
    """One CellsBatch: cell types row by row, and per type the values in the same order."""

    def __init__(self, batch: Any, column_count: int) -> None:
        count = len(batch.cells)
        if count % column_count:
            raise SchemaError(f"a batch of {count} cells does not divide into {column_count} columns")
        integers = np.array(batch.varint_cells, dtype=np.int64)
        # All integers is the common case of large results: then nothing needs to be read of the cell types.
        flat = np.full(count, _INTEGER, dtype=np.uint8) if integers.size == count else np.array(batch.cells, np.uint8)
        self.types = flat.reshape(-1, column_count)
        self._flat = flat
        self._values: dict[int, np.ndarray] = {
            _INTEGER: integers,
            _FLOAT: np.array(batch.float64_cells, dtype=np.float64),
            _STRING: np.array(_strings(batch.string_cells), dtype=object),
        }
        for kind, values in self._values.items():
            if values.size != np.count_nonzero(flat == kind):
                raise SchemaError(
                    f"a batch announces {np.count_nonzero(flat == kind)} cells of type {kind}, it has {values.size}"
                )
        self._positions: dict[int, np.ndarray] = {}

    def values(self, kind: int, column: int, where: np.ndarray) -> Any:
        """Values of the cells of that kind in the column's rows `where`."""
        values = self._values[kind]
        if values.size == self._flat.size:  # all cells are of this kind
            return values.reshape(self.types.shape)[where, column]
        if kind not in self._positions:
            self._positions[kind] = (np.cumsum(self._flat == kind) - 1).reshape(self.types.shape)
        return values[self._positions[kind][where, column]]


def _strings(cells: str | bytes) -> list[str]:
    """The texts of a batch, each ended by a NUL; bytes when they are not all UTF-8."""
    text = cells.decode("utf-8", "replace") if isinstance(cells, bytes) else cells
    return text.split("\0")[:-1]


def _column(parts: Sequence[_Batch], index: int, name: str, dtype: str) -> Any:
    kinds = np.concatenate([part.types[:, index] for part in parts]) if parts else np.empty(0, dtype=np.uint8)
    allowed = {
        "int64": (_INTEGER,),
        "Int64": (_INTEGER, _NULL),
        "float64": (_FLOAT, _INTEGER, _NULL),
        "string": (_STRING, _NULL),
    }[dtype]
    if not np.isin(kinds, allowed).all():
        wrong = sorted(set(kinds.tolist()) - set(allowed))
        raise SchemaError(f"column {name} is declared {dtype} but has cells of type {wrong}")
    if dtype == "string":
        texts = np.full(kinds.size, None, dtype=object)
        _fill(texts, parts, index, _STRING)
        return pd.array(texts, dtype="string")
    if dtype == "float64":
        numbers = np.full(kinds.size, np.nan)
        _fill(numbers, parts, index, _FLOAT)
        _fill(numbers, parts, index, _INTEGER)
        return numbers
    integers = np.zeros(kinds.size, dtype=np.int64)
    _fill(integers, parts, index, _INTEGER)
    return integers if dtype == "int64" else pd.arrays.IntegerArray(integers, kinds == _NULL)


def _fill(target: np.ndarray, parts: Sequence[_Batch], index: int, kind: int) -> None:
    begin = 0
    for part in parts:
        where = part.types[:, index] == kind
        if where.any():
            target[begin : begin + where.size][where] = part.values(kind, index, where)
        begin += where.size
