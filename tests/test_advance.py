"""How far work is, in words: counts, the rest at the pace so far, and to whom it is told."""

from __future__ import annotations

import logging

import pytest

from perfreg_assets.advance import Count, counting, tell, watched
from perfreg_assets.automation.progress import _Forward
from perfreg_assets.cli.answer import answer


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_count_says_how_long_the_rest_takes_at_the_pace_so_far():
    clock = Clock()
    count = Count(4, "traces read", clock=clock)
    assert count.text(0) == "0 of 4 traces read"
    clock.now += 20
    assert count.text(1) == "1 of 4 traces read, about 60 s yet"
    clock.now += 180
    assert count.text(2) == "2 of 4 traces read, about 3 min yet"
    assert count.text(4) == "4 of 4 traces read"


def test_work_is_told_when_it_is_done_and_to_nobody_afterwards():
    told = []
    with watched(told.append):
        work = Count(2, "runs explained").over(["a", "b"])
        assert (next(work), told) == ("a", [])
        assert (next(work), len(told)) == ("b", 1)
        assert list(work) == []
    tell("nobody listens")
    assert [line.partition(",")[0] for line in told] == ["1 of 2 runs explained", "2 of 2 runs explained"]


def test_what_reports_by_itself_begins_anew_with_every_stage():
    told = []
    progress = counting(told.append)
    for done, total, what in ((1, 2, "iqr"), (2, 2, "iqr"), (1, 2, "default"), (5, 9, "iqr placed")):
        progress(done, total, what)
    assert told == ["1 of 2 iqr", "2 of 2 iqr", "1 of 2 default", "5 of 9 iqr placed"]


def run(name, state, excess=None):
    judged = {"anomalous": True, "normal": False}.get(state)
    return {"run_id": name, "state": state, "is_anomalous": judged, "excess_ratio": excess}


VERSION = {"version_name": "1.5.0", "is_anomalous": False}


@pytest.mark.parametrize(
    ("runs", "version", "beginning"),
    [
        (
            [run("a", "anomalous", 0.1), run("b", "anomalous", 2.0), run("c", "normal")],
            VERSION,
            "2 anomalous of 3 runs: look at b, a (perfreg causes b says what grew",
        ),
        (
            [run(str(n), "anomalous", float(-n)) for n in range(7)],
            VERSION,
            "7 anomalous of 7 runs: look at 0, 1, 2, 3, 4 and 2 more (",
        ),
        ([run("c", "normal")], VERSION | {"is_anomalous": True}, "No run is anomalous by itself, but together"),
        ([run("c", "normal"), run("d", "series_missing")], VERSION, "Nothing is anomalous: 1 of 2 runs were judged"),
        ([run("d", "not_enough_history")], VERSION, "Nothing could be judged yet (1 not_enough_history): "),
    ],
)  # fmt: skip
def test_the_answer_says_first_what_to_do(runs, version, beginning):
    assert answer(runs, [version]).startswith(beginning)


def test_what_failed_is_no_progress():
    told = []
    with watched(told.append):
        handler = _Forward()
        for level, text in (
            (logging.INFO, "reading"),
            (logging.ERROR, "steps were not executed"),
        ):
            handler.emit(logging.makeLogRecord({"levelno": level, "levelname": "", "msg": text}))
    assert told == ["reading"]
