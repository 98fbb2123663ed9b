"""Texts within SQL statements, where DuckDB takes no parameter: paths of ATTACH and SET, comments; and names."""

from __future__ import annotations


def literal(text: str) -> str:
    """A text as an SQL literal: in quotes, those within doubled."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name of a column, table or field as SQL has it whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
