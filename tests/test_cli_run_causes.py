"""`perfreg causes RUN` and `--app-version`: public keys, every format, other windows, and what is said where there is
nothing to rank."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent / "model"))

from synthetic import APP, SAMPLES, Project, reader_of, row

from perfreg_assets.cli import main, run_causes
from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.methods.window_causes import Cause, Ranking
from perfreg_assets.model.cause_details import Detailed
from perfreg_assets.model.windows import Window, united

KEYS = {
    *("rank", "kind", "process", "thread", "name", "path", "growth", "growth_share", "before", "after", "z", "scope"),
    *("start_s", "end_s", "series", "source", "perfetto"),
}
WORSE = ("made-006", "made-008", "made-009")


def inspect(run, settings):
    found = reader_of(dict.fromkeys(WORSE, ("cpu_app", 1.0)))(run, settings)
    late = (np.arange(SAMPLES) >= SAMPLES // 2) * float(run.run_id in WORSE)
    usual = np.full(SAMPLES, 0.1)
    threads = ThreadTimes(
        0,
        (APP, APP, "system <b>"),
        ("main", "a;b", "*"),
        ("running",) * 3,
        np.array([True, True, False]),
        np.array([usual, 0.2 + late, usual + 0.5 * late]),
    )
    return found._replace(threads=threads)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        made = Project(tmp_path_factory.mktemp("made"), inspect)
        made.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(10)))
        made.settle()
    return made


@pytest.fixture
def run(project, monkeypatch):
    monkeypatch.setenv("PERFREG_HISTORY_MINIMUM", "3")
    monkeypatch.setenv("PERFREG_HISTORY_SIZE", "4")

    def invoke(*arguments):
        return CliRunner().invoke(main, [*map(str, arguments), "--warehouse", str(project.settings.warehouse)])

    return invoke


def told(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_json_has_the_public_keys_and_the_cause_first(run):
    result = run("causes", "made-008", "--format", "json")
    first, second = told(result)
    assert set(first) == KEYS
    assert (first["rank"], first["kind"], first["process"], first["thread"]) == (1, "thread", APP, "a;b")
    assert (first["scope"], first["series"], first["name"], first["path"]) == ("app", "cpu_app", "a;b", None)
    assert (first["before"], first["after"]) == pytest.approx((0.2, 1.2))
    assert (first["growth"], first["growth_share"]) == pytest.approx((1.0, 1.0))
    assert first["z"] == pytest.approx(1.0 / np.hypot(0.02, 0.01))
    assert 15 <= first["start_s"] < first["end_s"] <= SAMPLES
    assert f"visStart={round(first['start_s'] * 1e9)}" in first["perfetto"]
    assert (second["rank"], second["scope"], second["process"]) == (2, "other", "system <b>")
    assert "disturbed: another process grew by 0.5 core (system <b>)" in result.stderr


def test_the_table_is_for_people_and_has_the_way_to_perfetto(run):
    result = run("causes", "made-008")
    assert result.exit_code == 0
    assert f"{APP} · a;b" in result.stdout
    assert "1.2 cores" in result.stdout
    assert "100 %" in result.stdout
    assert "system <b> · other threads (also grew)" in result.stdout
    assert "/traces/made-008&visStart=" in result.stdout


def window_rows(number: int, ranks: int) -> list[dict[str, object]]:
    start_s = 0.25 * number
    where = {"series": "cpu_app", "start_s": start_s, "end_s": start_s + 0.25}
    return [{**where, "rank": rank, "name": f"{number}/{rank}"} for rank in range(1, ranks + 1)]


@pytest.mark.parametrize(
    ("windows", "limit", "each"), [(1, None, 10), (2, None, 5), (12, None, 3), (12, 1, 1), (2, 0, 20)]
)
def test_each_window_shows_its_first_ranks_however_many_windows_there_are(windows, limit, each):
    by_window = [window_rows(number, 20) for number in range(windows)]
    by_source = [own[half * 10 :][:10] for half in (1, 0) for own in by_window]  # as read from traces and from the run
    rows = [row for own in by_source for row in own]
    shown = run_causes._of_each_window(rows, limit)
    assert sorted((row["start_s"], row["rank"]) for row in shown) == [
        (0.25 * number, rank) for number in range(windows) for rank in range(1, each + 1)
    ]
    assert [rows.index(row) for row in shown] == sorted(rows.index(row) for row in shown)


def test_windows_shorter_than_a_second_are_named_exactly():
    assert run_causes._where("cpu_app", 3.0, 3.25) == "cpu_app, 3–3.25 s"
    assert run_causes._where("cpu_app", 12.0, 20.0) == "cpu_app, 12–20 s"


def test_csv_and_folded_stacks(run):
    (first, *_) = csv.DictReader(io.StringIO(run("causes", "made-008", "--format", "csv").stdout))
    assert first["thread"] == "a;b"
    assert set(first) == KEYS
    (window, *_) = told(run("causes", "made-008", "--format", "json"))
    length_us = (window["end_s"] - window["start_s"]) * 1e6
    lines = run("causes", "made-008", "--format", "folded").stdout.splitlines()
    stacks = {stack: tuple(map(int, counts)) for line in lines for stack, *counts in [line.rsplit(" ", 2)]}
    assert stacks[f"{APP};a:b"] == pytest.approx((0.2 * length_us, 1.2 * length_us), rel=1e-3)
    assert f"{APP};main" in stacks, "what did not grow is in it too, or its widths would say nothing"


def folded(result):
    return {
        stack: tuple(map(int, counts))
        for line in result.stdout.splitlines()
        for stack, *counts in [line.rsplit(" ", 2)]
    }


def windows_of(*places):
    return [Window(series, start_s, int(start_s * 1e9), int(end_s * 1e9)) for series, start_s, end_s in places]


def test_a_second_is_in_the_stacks_once_whatever_windows_it_is_in(run, monkeypatch):
    def stacks_of(*places):
        monkeypatch.setattr(run_causes, "_asked", lambda *_: windows_of(*places))
        result = run("causes", "made-008", "--format", "folded")
        assert result.exit_code == 0, result.output
        return folded(result)

    one = stacks_of(("cpu_app", 20, 35))
    assert one[f"{APP};main"] == (1_500_000, 1_500_000)
    assert stacks_of(("cpu_app", 20, 35), ("cpu_total", 20, 35)) == one
    assert stacks_of(("cpu_total", 22, 30), ("cpu_app", 20, 35), ("rss_app", 0, 40)) == one
    assert stacks_of(("cpu_app", 20, 30), ("cpu_total", 25, 35)) == one
    assert stacks_of(("cpu_app", 20, 25), ("cpu_total", 30, 35))[f"{APP};main"] == (1_000_000, 1_000_000)


def test_windows_that_overlap_are_one():
    found = united(
        windows_of(
            ("cpu_total", 30, 40), ("cpu_app", 5, 10), ("cpu_app", 35, 50), ("rss_app", 0, 60), ("cpu_app", 10, 12)
        )
    )
    assert [(one.series, one.start_s, one.end_s) for one in found] == [
        ("cpu_app", 5, 10), ("cpu_app", 10, 12), ("cpu_total", 30, 50),
    ]  # fmt: skip


def test_kept_stacks_of_windows_that_overlap_are_those_of_the_longest(capsys):
    def stack(source, value):
        return {
            "source": source, "process": APP, "thread": "main", "stack": ["draw"], "value": value,
            "history_median": None,
        }  # fmt: skip

    windows = windows_of(("cpu_app", 20, 30), ("cpu_total", 20, 40), ("cpu_app", 38, 45), ("cpu_app", 50, 51))
    kept = {place: [stack("slices", 0.5)] for place in range(4)}
    kept[0].append(stack("call_stacks", 0.25))  # no other window tells of these
    told = run_causes._stored_stacks(windows, kept)
    assert told == {(APP, "main", "draw"): [0.0, pytest.approx(0.5e6 * (20 + 1) + 0.25e6 * 10)]}
    assert capsys.readouterr().err.splitlines() == [
        "cpu_app, 38–45 s: not in the stacks, as longer windows overlap it; --details adds the seconds that are its own"
    ]


def test_told_stacks_are_those_of_windows_that_do_not_overlap():
    cause = Cause(
        1, "slice", "app", APP, "main", "draw", 0.5, 0.25, None, None, None, None, False, 4, 4, ("draw",)
    )  # fmt: skip
    told = [Detailed(one, {"slices": Ranking((cause,), (), True)}) for one in windows_of(("cpu_app", 20, 40))]
    assert run_causes._told_stacks(told) == {(APP, "main", "draw"): [5e6, 10e6]}


def test_any_window_of_any_run_can_be_ranked(run):
    assert told(run("causes", "made-007", "--window", "5", "15", "--format", "json")) == []
    rows = told(run("causes", "made-008", "--window", "5", "35.5", "--format", "json"))
    assert (rows[0]["thread"], rows[0]["start_s"], rows[0]["end_s"]) == ("a;b", 5.0, 35.5)
    assert rows[0]["after"] == pytest.approx(0.2 + 15.5 / 30.5)
    everything = told(run("causes", "made-008", "--window", "5", "35", "--series", "cpu_total", "--format", "json"))
    assert [(row["rank"], row["scope"]) for row in everything] == [(1, "app"), (2, "other")]


def test_where_there_is_nothing_suspicious_it_says_so(run):
    result = run("causes", "made-007", "--format", "json")
    assert told(result) == []
    assert "made-007 is normal and has no suspicious window; --window A B ranks any" in result.stderr


def test_without_enough_history_values_stand_without_z(run):
    result = run("causes", "made-001", "--window", "0", "10", "--format", "json")
    rows = told(result)
    assert {(row["z"], row["growth"]) for row in rows} == {(None, None)}
    assert rows[0]["after"] == pytest.approx(0.2)
    assert "not_enough_history: 0 runs of the history can be compared with, 3 are needed" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("made-08",), "did you mean made-008"),
        (("made-008", "--window", "9", "9"), "--window 9 9 is no part of the run, which has seconds 0 to 40"),
        (("made-008", "--window", "-1", "9"), "--window -1 9 is no part of the run"),
        (("made-008", "--window", "41", "50"), "--window 41 50 is no part of the run"),
        (("made-008", "--window", "1", "9", "--series", "cpu_ap"), "no series cpu_ap (did you mean cpu_app"),
        (("made-008", "--window", "1", "9", "--series", "gpu_freq_0"), "made-008 has no gpu_freq_0; it has cpu_app, "),
        ((), "name a run, or give --app-version or --log"),
        (("made-008", "--log", "x"), "name a run, or give --app-version or --log"),
        (("--app-version", "22"), "version '22' (did you mean 2?"),
        (("--app-version", "2", "--format", "folded"), "--format folded is of a run or of a log"),
    ],
)
def test_bad_input_gets_one_sentence(run, arguments, sentence):
    result = run("causes", *arguments)
    assert result.exit_code == 1
    assert sentence in result.stderr
    assert result.stdout == ""


def test_what_grew_in_three_runs_of_a_version(run):
    (first, *_) = told(run("causes", "--app-version", "2", "--format", "json"))
    assert (first["rank"], first["thread"], first["series"], first["scope"]) == (1, "a;b", "cpu_app", "app")
    assert (first["run_count"], first["run_ids"]) == (3, list(WORSE))
    assert (first["start_s"], first["end_s"]) == (None, None)  # keys of every cause
    assert first["growth"] == pytest.approx(1.0, abs=0.1)
    assert f"{APP} · a;b" in run("causes", "--app-version", "2").stdout
    comment = run("verdicts", "--app-version", "2", "--by", "version", "--format", "markdown").stdout
    assert comment.splitlines()[2] == "What grew:"
    assert comment.index("in 3 runs of 2") < comment.index("| |")
    other = run("causes", "--app-version", "1", "--format", "json")
    assert told(other) == []
    assert re.search(r"^1: it was not asked what grew; The version as a whole is not judged: ", other.stderr, re.M)


def test_details_say_which_sources_the_trace_does_not_have_and_the_rest_stands(run):
    result = run("causes", "made-008", "--details", "--format", "json")
    assert [row["rank"] for row in told(result)] == [1, 2]
    assert "slices: the trace has no slices of the app" in result.stderr


def test_an_option_that_would_change_nothing_is_refused_and_a_series_without_window_is_named(run, tmp_path):
    page = tmp_path / "x.html"
    refused = run("causes", "made-008", "--html", page)
    assert (refused.exit_code, "--html: of a --log" in refused.stderr, page.exists()) == (1, True, False)
    refused = run("causes", "made-008", "--app", "com.nope", "--show", "slowest")
    assert (refused.exit_code, "--show, --app: of a --log or a version only" in refused.stderr) == (1, True)
    refused = run("causes", "made-008", "--series", "nope")
    assert (refused.exit_code, "no series nope" in refused.stderr) == (1, True)
    told = run("causes", "made-008", "--series", "rss_app")
    assert "has no suspicious window of rss_app, but of cpu_app" in told.stderr
