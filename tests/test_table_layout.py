"""A table in a terminal of any width: no state, name or number is broken, and what it says is all there."""

from __future__ import annotations

import re

import pytest

from perfreg_assets import terminal
from perfreg_assets.table_layout import Way, layout

STATE, WHY = "not_enough_history", "cpu is not judged: cpu_app has too little history in every run of these versions."
ROW = {"run_id": "notes-011", "version_name": "1.4.0", "state": STATE, "score": 0.7317, "explanation": WHY}
OTHER = {**ROW, "run_id": "notes-012", "state": "anomalous", "explanation": "worse"}


@pytest.fixture
def shown(monkeypatch, capsys):
    """(width, rows, columns) → what stands on the screen then, line by line."""

    def show(width, rows, columns=tuple(ROW), **options):
        monkeypatch.setattr(terminal, "out", lambda: terminal.console_on(None, width, highlight=False))
        terminal.table(rows, columns, **options)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return show


@pytest.mark.parametrize("width", range(32, 160, 4))
def test_no_word_is_broken_and_none_is_lost_in_any_width(shown, width):
    """On 80 columns `perfreg verdicts` wrote `anomalo` over `us` and explanations ten characters wide."""
    lines = shown(width, [ROW, OTHER])
    words = set(re.findall(r"\S+", "\n".join(lines)))
    for row in (ROW, OTHER):
        assert {*row, *" ".join(map(str, row.values())).split()} <= words
    assert max(map(len, lines)) <= width


def test_what_fits_stands_side_by_side(shown):
    assert shown(200, [ROW]) == [
        "run_id     version_name  state                score  explanation",
        f"notes-011  1.4.0         {STATE}  0.7317  {WHY}",
    ]


def test_sentences_stand_beneath_where_the_rest_fits(shown):
    assert shown(64, [ROW, OTHER]) == [
        "run_id     version_name  state                score",
        "    explanation",
        f"notes-011  1.4.0         {STATE}  0.7317",
        "    cpu is not judged: cpu_app has too little history in every",
        "    run of these versions.",
        "notes-012  1.4.0         anomalous           0.7317",
        "    worse",
    ]


def test_rows_stand_by_themselves_where_nothing_else_is_left(shown):
    assert shown(45, [ROW, OTHER], title="verdicts") == [
        "verdicts",
        "run_id        notes-011",
        "version_name  1.4.0",
        f"state         {STATE}",
        "score         0.7317",
        "explanation   cpu is not judged: cpu_app has",
        "              too little history in every run",
        "              of these versions.",
        "",
        "run_id        notes-012",
        "version_name  1.4.0",
        "state         anomalous",
        "score         0.7317",
        "explanation   worse",
    ]


def test_of_no_rows_the_columns_are_told(shown):
    assert " ".join(shown(30, [])).split() == list(ROW)
    assert shown(200, []) == ["run_id  version_name  state  score  explanation"]


def test_a_mart_of_many_columns_is_read_row_by_row_in_a_pipe(capsys):
    """`perfreg sql "FROM marts.verdicts"`, which `perfreg demo` told everybody to try: columns of three characters."""
    rows = [{f"column_{number:02}": f"value_{number:02}_{line}" for number in range(40)} for line in range(2)]
    terminal.table(rows, tuple(rows[0]))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:2]] == [["column_00", "value_00_0"], ["column_01", "value_01_0"]]
    assert len(lines) == 81


def test_what_is_left_goes_first_to_columns_that_it_makes_whole():
    texts = [["axis", "cpu normal, memory normal"], ["explanation", "word " * 60]]
    assert layout(texts, 100).widths == (25, 73)
    assert layout(texts, 54).widths == (12, 40)
    assert layout([["only", "x" * 500]], 80).way is Way.SIDE_BY_SIDE
