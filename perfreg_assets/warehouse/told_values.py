"""Values of a query's result as JSON, CSV and a table can have them, within lists and structures as well.

On the way to Python by Arrow some lose a part: a time of day its offset, an unsigned number of 128 bits its first bit,
bits how many they are, nanoseconds their last digits. Others arrive as what no format has: durations, bytes.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from perfreg_assets.warehouse.literals import quoted

_MOMENT = "timestamp_ns"
_AS_TEXT = frozenset({"time with time zone", "bit", "bignum", "time_ns", _MOMENT})  # DuckDB's own has all of it
_WITHOUT_SIGN = "uhugeint"
_TOLD_IN_PYTHON = frozenset({_MOMENT, _WITHOUT_SIGN, "interval", "blob"})
_NESTED = frozenset({"list", "array", "struct", "map"})


def with_all_of_it(found: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The same rows and columns, with text in place of what would lose a part."""
    replaced = [f"::{_replaced(kind)}" if _has(kind, _AS_TEXT) else "" for kind in found.types]
    if not any(replaced):
        return found
    columns = enumerate(zip(replaced, found.columns, strict=True), start=1)
    return found.project(", ".join(f"#{place}{cast} AS {quoted(name)}" for place, (cast, name) in columns))


def is_told_otherwise(kind: DuckDBPyType) -> bool:
    """Whether there is anything that `told` has to look at in values of this type."""
    return _has(kind, _TOLD_IN_PYTHON)


def told(value: Any, kind: DuckDBPyType) -> Any:
    """A value as Python has it, of what a query's own type was before `with_all_of_it`."""
    if value is None:
        return None
    parts = _parts(kind)
    if kind.id in ("list", "array"):
        return [told(one, parts["child"]) for one in value]
    if kind.id == "struct":
        return {name: told(value[name], part) for name, part in parts.items()}
    if kind.id == "map":
        return [(told(key, parts["key"]), told(one, parts["value"])) for key, one in value]
    return _told_alone(value, kind.id)


def _told_alone(value: Any, kind: str) -> Any:
    """Durations in ISO 8601 (P5M2DT1.5S), moments too; bytes in hexadecimal."""
    if kind == _MOMENT:
        return value.replace(" ", "T")
    if kind == _WITHOUT_SIGN:
        return int(value) % (1 << 128)
    if isinstance(value, bytes):
        return value.hex()
    if not isinstance(value, pa.MonthDayNano):
        return value
    months, days, ns = value
    seconds = f"{Decimal(ns).scaleb(-9).normalize():f}"
    date = (f"{months}M" if months else "") + (f"{days}D" if days else "")
    return f"P{date}{f'T{seconds}S' if ns or not date else ''}"


def _has(kind: DuckDBPyType, wanted: frozenset[str]) -> bool:
    return kind.id in wanted or any(_has(part, wanted) for part in _parts(kind).values())


def _parts(kind: DuckDBPyType) -> dict[str, DuckDBPyType]:
    """The types of what is within a value; of what is told as a whole none."""
    if kind.id not in _NESTED:
        return {}
    return {name: part for name, part in kind.children if isinstance(part, DuckDBPyType)}


def _replaced(kind: DuckDBPyType) -> str:
    """The type's name with text in place of what would lose a part."""
    parts = {name: _replaced(part) for name, part in _parts(kind).items()}
    if kind.id == "list":
        return f"{parts['child']}[]"
    if kind.id == "array":
        return f"{parts['child']}[{dict(kind.children)['size']}]"
    if kind.id == "struct":
        return f"STRUCT({', '.join(f'{quoted(name)} {part}' for name, part in parts.items())})"
    if kind.id == "map":
        return f"MAP({parts['key']}, {parts['value']})"
    return "VARCHAR" if kind.id in _AS_TEXT else str(kind)
