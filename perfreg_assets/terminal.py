"""What the command line shows: tables, one progress display, one line per error. Nothing is decided here."""

from __future__ import annotations

import json
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from decimal import Decimal
from typing import IO, Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from perfreg_assets.table_layout import GAP, Way, layout

LINE_EVERY_S = 5.0
SAME_LINE_EVERY_S = 30.0

_STYLES = {
    "anomalous": "bold red",
    "improved": "green",
    "normal": "green",
    "not_enough_history": "yellow",
    "incomplete_trace": "yellow",
    "reduced": "yellow",
    "series_missing": "yellow",
    "not_judged": "yellow",
    "quarantined": "magenta",
}

# Cc but for tab and newline; Cf that reorders or hides text; line and paragraph separators; halves of surrogate pairs.
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


def out() -> Console:
    """A console on today's stdout (tests replace it); wide in a pipe, so that nothing is cut."""
    is_terminal = sys.stdout.isatty()
    width = None if is_terminal else 200
    return console_on(sys.stdout, width, highlight=False, soft_wrap=not is_terminal)


def console_on(file: IO[str] | None, width: int | None = None, **options: Any) -> Console:
    """A console that tells text as it is: what stands in brackets, or between colons, is a name's part and no style.

    Args:
        file: None: today's stdout.
        width: None: the terminal's.
        options: more of rich's Console.
    """
    return Console(file=file, width=width, markup=False, emoji=False, **options)


def printable(text: str) -> str:
    """The text without what would command a terminal or turn its lines round: control and formatting characters, which
    run folders may hold, are written as escapes."""
    return _COMMANDS.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def say(text: str = "") -> None:
    out().print(Text(printable(text)))


def listed(shown: Sequence[object], count: int) -> str:
    """ "a, b and 3 more": the first or last of `count` things by name."""
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return f"{', '.join(map(str, shown))}{more}"


def fail(text: str) -> None:
    """One clear line on stderr, whatever was quoted in it."""
    line = text.strip().replace("\n", " ")
    sys.stderr.write(f"perfreg: {printable(line)}\n")


def note(text: str) -> None:
    """A line on stderr that is no error: stdout stays what a program reads."""
    sys.stderr.write(f"{printable(text.strip())}\n")


@contextmanager
def progress(title: str, *, lines: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner with the latest message on a terminal; in a pipe nothing, or `lines`."""
    if not sys.stderr.isatty():
        with _lines(title) if lines else nullcontext(lambda _: None) as show:
            yield show
        return
    display = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
    with display:
        task = display.add_task(title)

        def show(message: str) -> None:
            display.update(task, description=printable(f"{title}: {' '.join(message.split())[:100]}"))

        yield show


@contextmanager
def _lines(title: str) -> Iterator[Callable[[str], None]]:
    """The latest message as a line of a log, every few seconds where it is another one; what is quick says nothing."""
    latest, ended, begin = [""], threading.Event(), time.monotonic()

    def write() -> None:
        told, told_at = "", begin
        while not ended.wait(LINE_EVERY_S):
            message, now = latest[0], time.monotonic()
            if message and (message != told or now - told_at >= SAME_LINE_EVERY_S):
                sys.stderr.write(f"{title}: {message} ({now - begin:.0f} s)\n")
                sys.stderr.flush()
                told, told_at = message, now

    def show(message: str) -> None:
        latest[0] = printable(" ".join(message.split())[:200])

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield show
    finally:
        ended.set()
        writer.join()


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, title: str | None = None) -> None:
    """Rows as an aligned table; states are coloured, numbers stand right. Where it is too wide sentences go beneath
    their rows, or each row stands by itself with a line per column."""
    console = out()
    told = [[_cell(row.get(column)) for column in columns] for row in rows]
    headings = [printable(column) for column in columns]
    laid = layout(
        [[heading, *(cells[at] for cells in told)] for at, heading in enumerate(headings)],
        console.width,
        whole=[at for at, column in enumerate(columns) if column == "run_id"],
    )
    if title is not None:
        console.print(Text(printable(title), style="table.title"))
    if laid.way is Way.RECORDS:
        _records(console, headings, told)
        return
    is_numeric = [any(_is_number(row.get(column)) for row in rows) for column in columns]

    def lines(cells: Sequence[Sequence[str]], *, has_heading: bool) -> Table:
        drawn = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=has_heading)
        for heading, numeric, width in zip(headings, is_numeric, laid.widths, strict=False):
            drawn.add_column(heading, justify="right" if numeric else "left", overflow="fold", width=width)
        for row in cells:
            drawn.add_row(*(_styled(cell) for cell in row[: len(laid.widths)]))
        return drawn

    if laid.way is Way.SIDE_BY_SIDE:
        console.print(lines(told, has_heading=True))
        return
    console.print(lines([], has_heading=True))
    _indented(console, Text(headings[-1], style="bold"), 4)
    for cells in told:
        console.print(lines([cells], has_heading=False))
        _indented(console, _styled(cells[-1]), 4)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _styled(cell: str) -> Text:
    return Text(cell, style=_STYLES.get(cell, ""), overflow="fold")


def _records(console: Console, headings: Sequence[str], told: Sequence[Sequence[str]]) -> None:
    """Each row by itself: a line per column, a blank one between rows. Of no rows the headings, in one line."""
    if not told:
        console.print(Text((" " * GAP).join(headings)))
    names = max(map(cell_len, headings)) + GAP
    for number, cells in enumerate(told):
        if number:
            console.print()
        drawn = Table.grid(padding=0)
        drawn.add_column(width=names, style="bold")
        drawn.add_column(overflow="fold")
        for heading, cell in zip(headings, cells, strict=True):
            drawn.add_row(heading, _styled(cell))
        console.print(drawn)


def _indented(console: Console, text: Text, blanks: int) -> None:
    drawn = Table.grid(padding=0)
    drawn.add_column(width=blanks)
    drawn.add_column(overflow="fold")
    drawn.add_row("", text)
    console.print(drawn)


def show(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], form: str) -> None:
    """Rows as 'json' with all their keys, or their `columns` as 'csv' or as a 'table'."""
    if form == "json":
        sys.stdout.write(as_json(rows) + "\n")
    elif form == "csv":
        sys.stdout.write(as_csv(rows, columns))
    else:
        table(rows, columns)


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    return _json([dict(row) for row in rows])


def show_object(told: Mapping[str, Any]) -> None:
    """One object as JSON."""
    sys.stdout.write(_json(dict(told)) + "\n")


def _json(told: Any) -> str:
    # The characters that are left raw stand in strings only, where an escape says the same.
    return printable(json.dumps(_finite(told), default=_plain, ensure_ascii=False, allow_nan=False, indent=1))


def _finite(told: Any) -> Any:
    """The same with nothing in place of what JSON has no numbers for."""
    if isinstance(told, float):
        return told if math.isfinite(told) else None
    if isinstance(told, Mapping):
        return {key: _finite(value) for key, value in told.items()}
    return [_finite(one) for one in told] if isinstance(told, list | tuple) else told


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """NULL is nothing and empty text is quoted, as DuckDB and PostgreSQL write them (Python's own writer tells them
    apart from 3.12 on). A NULL that is alone in its line is quoted too, as many readers skip an empty one."""
    lines = [columns, *([_csv_value(row.get(column)) for column in columns] for row in rows)]
    return "".join((",".join(map(_csv_cell, line)) or '""') + "\n" for line in lines)


_CSV_QUOTED = re.compile(r'[",\r\n]')


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    text = str(value)
    return text if text and not _CSV_QUOTED.search(text) else '"' + text.replace('"', '""') + '"'


def _csv_value(value: Any) -> Any:
    """Of a CSV; what has parts is JSON in it."""
    if isinstance(value, datetime):
        return _plain(value)
    has_parts = isinstance(value, dict | list | tuple)
    return json.dumps(_finite(value), default=_plain, ensure_ascii=False) if has_parts else value


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):  # as which Arrow has DuckDB's sums of whole numbers, too
        return float(value) if value.as_tuple().exponent else int(value)
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    return str(value)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, list | tuple):
        told = ", ".join(map(_cell, value))
        return (told or "–") if isinstance(value, tuple) else f"[{told}]"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        is_long = 9999.5 <= abs(value) < 1e15  # which `.4g` tells with an exponent
        return f"{value:,.0f}" if is_long else f"{value:.4g}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return printable(" ".join(str(value).split()))
