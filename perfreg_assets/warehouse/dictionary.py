"""The data dictionary: every mart with its columns, in Markdown, generated from the comments in the warehouse.

DuckDB keeps no comments on the columns of a table macro: those are described by name, as `migrate` does it for views.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from perfreg_assets import bundled
from perfreg_assets.warehouse import column_descriptions
from perfreg_assets.warehouse.connection import Reader

_HEADING = """# Data dictionary

What data teams may rely on: schema `marts` of the published file `<warehouse>.read.duckdb`. Generated from the
comments in the file itself (`SELECT * FROM marts.dictionary`); tables below the marts may change.
Times are UTC, `_ns` are nanoseconds on the trace's clock, CPU is in core-seconds per second, memory in bytes.
"""
_TABLE_MACRO = "table macro"


@dataclass(frozen=True)
class Column:
    """A column of a mart, as data teams see it."""

    name: str
    type: str
    comment: str


_ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<type>.*?) \| (?P<comment>.*) \|$", re.MULTILINE)


@cache
def columns_of_release() -> dict[str, tuple[Column, ...]]:
    """Mart, without its schema → its columns in a warehouse of this release; nothing is opened for it.

    It is the dictionary itself that is read: there, and in no second list, stands what `markdown` says.
    """
    sections = bundled.dictionary().read_text("utf-8").split("\n## marts.")[1:]
    return {
        section.partition("\n")[0]: tuple(
            Column(row["name"], _read(row["type"]), _read(row["comment"])) for row in _ROW.finditer(section)
        )
        for section in sections
    }


def markdown(reader: Reader) -> str:
    """The whole dictionary, views first, then macros, each by name."""
    rows = reader.dicts(
        "SELECT object_type, object_name, column_name, data_type, description FROM marts.dictionary "
        "ORDER BY object_type <> 'view', object_name, column_position"
    )
    parts = [_HEADING]
    for (kind, name), group in groupby(rows, key=lambda row: (row["object_type"], row["object_name"])):
        about, *columns = list(group)
        if kind == _TABLE_MACRO:
            columns = _columns_of_macro(reader, name)
        parts.append(f"\n## marts.{name}\n\n{'' if kind == 'view' else f'*{kind}* · '}{about['description']}\n")
        parts += _table(columns)
    return "".join(parts)


def _columns_of_macro(reader: Reader, signature: str) -> list[dict[str, Any]]:
    """Rows as of marts.dictionary. `signature` is from the catalogue: `verdicts_at(omega)`."""
    name, _, parameters = signature.removesuffix(")").partition("(")
    arguments = ", ".join(["NULL"] * len(parameters.split(", ")))
    descriptions = column_descriptions.of_release()
    return [
        {
            "column_name": row["column_name"],
            "data_type": row["column_type"],
            "description": descriptions[row["column_name"]],
        }
        for row in reader.dicts(f"DESCRIBE FROM marts.{name}({arguments})")
    ]


def _table(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    if not columns:
        return []
    return [
        "\n| column | type | meaning |\n|---|---|---|\n",
        *(f"| `{row['column_name']}` | {_cell(row['data_type'])} | {_cell(row['description'])} |\n" for row in columns),
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _read(cell: str) -> str:
    return cell.replace("\\|", "|")
