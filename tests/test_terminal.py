"""What comes from others is shown, and commands nothing."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import threading

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets import terminal

TRICKS = "a\x00b\x1b[2Jc\x7fd\x9be\u202ef\u2066g\u2028h\ud800i\r"
SHOWN = r"a\u0000b\u001b[2Jc\u007fd\u009be\u202ef\u2066g\u2028h\ud800i\r"


def test_characters_that_command_are_written_out():
    assert terminal.printable(TRICKS) == SHOWN
    assert terminal.printable("Größe ω – 模型\tx\n👩\u200d💻") == "Größe ω – 模型\tx\n👩\u200d💻"


@pytest.mark.parametrize(
    "show",
    [
        terminal.say,
        terminal.note,
        terminal.fail,
        lambda text: terminal.table([{"name": f"x{text}x"}], ["name"]),
        lambda text: terminal.show([{"name": text}], ["name"], "json"),
        lambda text: terminal.show_object({"name": text}),
    ],
)
@pytest.mark.parametrize("character", list("\x00\x1b\x7f\x9b\u202e\u2066\u200f\ufeff\ud800"))
def test_none_of_them_reaches_the_terminal(show, character, capsys):
    show(f"app{character}name")
    told = capsys.readouterr()
    assert character not in told.out + told.err
    assert r"\u" in told.out + told.err


BRACKETS = "x [a-z]+ [/b] :zap:"


def test_what_stands_in_brackets_is_told_as_it_is(capsys):
    """A query's column is called by its text, a series by its unit: `[ms]` was left out, `[/b]` ended the command."""
    terminal.table([{BRACKETS: BRACKETS}], [BRACKETS], title=BRACKETS)
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [BRACKETS] * 3


@pytest.mark.parametrize(
    ("value", "told"),
    [
        *[(9999.4, "9999"), (9999.6, "10,000"), (12345.6, "12,346"), (-99999.7, "-100,000"), (1e9, "1,000,000,000")],
        *[(1e15, "1e+15"), (1e300, "1e+300"), (1.234e-5, "1.234e-05"), (float("inf"), "inf"), (float("nan"), "nan")],
    ],
)
def test_numbers_have_an_exponent_only_where_nobody_would_read_them_without(value, told, capsys):
    """12,345.6 ms was 1.235e+04, and 1e300 a cell of 301 digits."""
    terminal.table([{"n": value}], ["n"])
    assert capsys.readouterr().out.split() == ["n", told]


def test_headings_command_no_terminal_either(capsys):
    terminal.table([{TRICKS: 1}], [TRICKS], title=TRICKS)
    told = capsys.readouterr().out
    assert told.count(SHOWN) == 2
    assert "\x1b" not in told


def test_a_path_with_brackets_is_told_while_it_is_read(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with terminal.progress("compare") as show:
        show(f"reading {BRACKETS}")
    assert f"reading {BRACKETS}" in screen.getvalue()


def test_in_a_pipe_long_work_says_in_plain_lines_where_it_is_and_short_work_nothing(monkeypatch):
    class Log(io.StringIO):
        written = threading.Event()

        def write(self, text):
            super().write(text)
            self.written.set()

    log = Log()
    monkeypatch.setattr(sys, "stderr", log)
    with terminal.progress("perfreg", lines=True) as show:
        show("quick")
    assert log.getvalue() == ""
    monkeypatch.setattr(terminal, "LINE_EVERY_S", 0.01)
    with terminal.progress("perfreg", lines=True) as show:
        show("1 of 2\x1b runs")
        assert log.written.wait(60)
    assert re.fullmatch(r"perfreg: 1 of 2\\u001b runs \(\d+ s\)\n", log.getvalue())


@given(st.text() | st.text(TRICKS))
def test_json_says_the_same_to_programs(text):
    written = terminal.as_json([{"name": text}])
    assert json.loads(written) == [{"name": text}]
    written.encode("utf-8")


def test_a_csv_tells_null_from_empty_text_and_is_read_again_as_it_was(tmp_path):
    """As DuckDB and PostgreSQL write it: NULL is nothing, empty text is quoted. A NULL that is alone in its line is
    quoted too: readers skip an empty line."""
    rows = [
        {"name": "plain", "value": None}, {"name": "", "value": 1.5}, {"name": None, "value": math.inf},
        {"name": 'a "b", c', "value": True}, {"name": "two\nlines", "value": [1]}, {"name": "old\rmac", "value": ""},
    ]  # fmt: skip
    text = terminal.as_csv(rows, ["name", "value"])
    assert text.split("\n") == [
        "name,value", "plain,", '"",1.5', ",inf", '"a ""b"", c",True', '"two', 'lines",[1]', '"old\rmac",""', "",
    ]  # fmt: skip
    assert [row["name"] or None for row in csv.DictReader(io.StringIO(text, newline=""))] == [
        row["name"] or None for row in rows
    ]
    duckdb.execute(f"COPY (SELECT * FROM (VALUES ('', NULL), (NULL, '')) AS t(a, b)) TO '{tmp_path}/theirs.csv'")
    own = terminal.as_csv([{"a": "", "b": None}, {"a": None, "b": ""}], ["a", "b"])
    assert own == (tmp_path / "theirs.csv").read_text()
    assert list(csv.DictReader(io.StringIO(terminal.as_csv([{"a": None}], ["a"])))) == [{"a": ""}]
