"""Texts within SQL statements, where DuckDB takes no parameter: paths of ATTACH and SET, comments."""

from __future__ import annotations


def literal(text: str) -> str:
    """A text as an SQL literal: in quotes, those within doubled."""
    return "'" + text.replace("'", "''") + "'"
