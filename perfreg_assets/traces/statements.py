"""PerfettoSQL statements from `sql/perfetto`, with values put in by one quoting function.

The trace processor has no bind parameters and runs several statements at once, so a name from a trace that is put
into a statement as text would be run. Nothing here or above formats SQL by hand; names of processes, threads and
packages are compared after export, in Python, and only numbers go into statements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache

from perfreg_assets import bundled

_PLACEHOLDER = re.compile(r":([a-z_]+)\b")
_NO_BREAK_SPACE, _SPELT_OUT = "\u00a0", "' || char(160) || '"
_COMMENT = re.compile(r"--[^\n]*")


def statement(name: str, **values: object) -> str:
    """The statement of `sql/perfetto/<name>.sql` with every `:placeholder` replaced by its literal.

    Raises:
        KeyError: a placeholder has no value, or a value no placeholder.
    """
    text, wanted = _text(name), placeholders(name)
    if wanted != set(values):
        raise KeyError(f"{name}.sql takes {sorted(wanted)}, given are {sorted(values)}")
    return _PLACEHOLDER.sub(lambda match: literal(values[match.group(1)]), text)


def placeholders(name: str) -> set[str]:
    """Names of the values that a statement takes."""
    return set(_PLACEHOLDER.findall(_text(name)))


@cache
def _text(name: str) -> str:
    path = bundled.sql_dir() / "perfetto" / f"{name}.sql"
    return _COMMENT.sub("", path.read_text("utf-8")).strip()


def literal(value: object) -> str:
    """A Python value as an SQL literal: number, 'text' with quotes doubled, or a list for `IN (…)`.

    Raises:
        ValueError: NUL in a text, or a number that SQL cannot state.
        TypeError: another type.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("a text with a NUL character cannot be stated in SQL")
        text = "'" + value.replace("'", "''") + "'"
        # The engine turns no-break spaces of a statement into spaces, for the sake of pasted queries.
        return f"({text.replace(_NO_BREAK_SPACE, _SPELT_OUT)})" if _NO_BREAK_SPACE in text else text
    if isinstance(value, bool) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63):
        return str(int(value))
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return _list(value)
    if isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is outside what SQL can state")
    raise TypeError(f"{type(value).__name__} has no SQL literal")


def _list(values: Iterable[object]) -> str:
    return ", ".join(literal(value) for value in values) or "NULL"  # x IN (NULL) holds for nothing
