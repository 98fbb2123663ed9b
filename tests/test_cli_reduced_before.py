"""`perfreg reduce` given again: what is done counts as done, what is half done is gone on with, all else is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets import whole_files
from perfreg_assets.cli import main
from perfreg_assets.traces.reduced import DOCUMENT
from perfreg_assets.whole_files import part_beside
from tests.traces.long_traces import write_long_trace

PAGE = "perfreg.reduction.html"
NAME = "t.perfetto-trace"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("PERFREG_REDUCTION_REFERENCE_S", "130")


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return write_long_trace(tmp_path_factory.mktemp("trace") / NAME, 180, (150, 154))


def run(*arguments, warehouse=None):
    extra = ["--warehouse", str(warehouse)] if warehouse else []
    return CliRunner().invoke(main, ["reduce", *map(str, arguments), *extra])


def done(*arguments, warehouse=None):
    result = run(*arguments, warehouse=warehouse)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def first(trace, tmp_path_factory):
    """A folder with a reduced trace, and what was told of it."""
    out = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERFREG_REDUCTION_REFERENCE_S", "130")
        (row,) = json.loads(done(trace, "--out", out, "--format", "json").stdout)
    return out / "t", row


@pytest.fixture
def kept(first, tmp_path):
    """The same, which a test may change."""
    return shutil.copytree(first[0], tmp_path / "kept" / "t")


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(".part")}


def test_the_same_command_goes_on_where_all_is_done(trace, first, kept):
    before, times = content(kept), {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    again = done(trace, "--out", kept.parent, "--format", "json")
    (row,) = json.loads(again.stdout)
    assert {**row, "path": first[1]["path"]} == first[1]
    assert again.stderr.splitlines() == [f"t/{NAME}: reduced before, of the same trace and with the same parameters"]
    assert (content(kept), {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}) == (before, times)
    table = done(trace, "--out", kept.parent, "--format", "csv").stdout
    assert f"t/{NAME},{row['bytes_before']},{row['bytes_after']}," in table


def test_of_what_is_done_the_page_and_the_row_are_added_where_they_are_missing(trace, kept, tmp_path):
    warehouse = tmp_path / "w.duckdb"
    also = ("--html", "--store")
    added = done(trace, "--out", kept.parent, *also, warehouse=warehouse)
    assert "parameters; added now: its page and its row" in added.stderr
    other = tmp_path / "other"
    whole = tmp_path / "whole.duckdb"
    done(trace, "--out", other, *also, warehouse=whole)
    assert (kept / PAGE).read_bytes() == (other / "t" / PAGE).read_bytes()

    def asked(which, query):
        given = ["sql", query, "--format", "json", "--warehouse", str(which)]
        return json.loads(CliRunner().invoke(main, given).stdout)

    for mart, but in (
        ("reductions", "reduced_at, reduced_file"),
        ("trace_windows", "kl, score, kl_value, score_value"),
    ):
        query = f"SELECT * EXCLUDE ({but}) FROM marts.{mart}"
        assert asked(warehouse, query) == asked(whole, query)
    assert asked(warehouse, "FROM marts.trace_seconds") == asked(whole, "FROM marts.trace_seconds")
    scores = [asked(one, "SELECT kl, score FROM marts.trace_windows ORDER BY start_ns") for one in (warehouse, whole)]
    for own, exact in zip(*scores, strict=True):
        assert own == {name: None if value is None else pytest.approx(value, abs=1e-6) for name, value in exact.items()}
    (stored,) = asked(warehouse, "SELECT reduced_at FROM marts.reductions")
    (kept / PAGE).unlink()
    assert "added now: its page\n" in done(trace, "--out", kept.parent, *also, warehouse=warehouse).stderr
    assert "added now" not in done(trace, "--out", kept.parent, *also, warehouse=warehouse).stderr
    assert asked(warehouse, "SELECT reduced_at FROM marts.reductions") == [stored]


@pytest.mark.parametrize(
    ("options", "variables", "said"),
    [
        (("--window", "0.2"), {}, "window_s was 0.25, now it is 0.2"),
        (("--mode", "knn"), {}, "mode was default, now it is knn"),
        ((), {"PERFREG_REDUCTION_RIM_S": "2"}, "rim_s was 1, now it is 2"),
        ((), {"PERFREG_REDUCTION_GAP_S": "3"}, "gap_s was 2, now it is 3"),
        ((), {"PERFREG_REDUCTION_REFERENCE_S": "140"}, "reference_s was 130, now it is 140"),
    ],
)
def test_other_parameters_are_refused_and_what_differs_is_named(trace, kept, monkeypatch, options, variables, said):
    before = content(kept)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    refused = run(trace, "--out", kept.parent, *options)
    assert refused.exit_code == 1
    assert f"[reduction_exists] {kept / NAME} was reduced otherwise: {said}: " in refused.stderr
    assert content(kept) == before


def test_a_stored_reference_is_another_parameter_and_so_is_another_one_of_its_name(trace, tmp_path):
    out, others = tmp_path / "kept", (tmp_path / "a.duckdb", tmp_path / "b.duckdb")
    for seconds, warehouse in zip((180, 300), others, strict=True):
        usual = write_long_trace(tmp_path / f"{seconds}.perfetto-trace", seconds, (0, 0))
        made = CliRunner().invoke(main, ["reference", "add", "usual", str(usual), "--warehouse", str(warehouse)])
        assert made.exit_code == 0, made.output
    done(trace, "--out", out, "--reference", "usual", warehouse=others[0])
    assert "reduced before" in done(trace, "--out", out, "--reference", "usual", warehouse=others[0]).stderr
    other = run(trace, "--out", out, "--reference", "usual", warehouse=others[1])
    assert other.exit_code == 1
    assert "[reduction_exists]" in other.stderr
    assert "reference_sha256 was " in other.stderr
    none = run(trace, "--out", out)
    assert "reference was usual, now it is not given" in none.stderr


def test_another_trace_of_the_same_name_is_refused(first, kept, tmp_path):
    before = content(kept)
    other = write_long_trace(tmp_path / NAME, 182, (150, 154))
    refused = run(other, "--out", kept.parent)
    assert refused.exit_code == 1
    assert f"[reduction_exists] {kept / NAME} was reduced of another trace than {other} (SHA-256 " in refused.stderr
    assert content(kept) == before


def test_the_document_of_another_trace_is_not_overwritten_though_its_file_has_another_name(trace, kept, tmp_path):
    """Both of `t.perfetto-trace` and `t.perfetto-trace.gz` are written to the folder `t`."""
    (kept / NAME).rename(kept / f"{NAME}.gz")
    document = json.loads((kept / DOCUMENT).read_text())
    (kept / DOCUMENT).write_text(json.dumps({**document, "trace": f"{NAME}.gz", "original_sha256": "0" * 64}))
    before = content(kept)
    refused = run(trace, "--out", kept.parent)
    assert refused.exit_code == 1
    assert "was reduced of another trace than" in refused.stderr
    assert content(kept) == before


def test_a_reduction_of_an_earlier_release_is_refused_as_nobody_knows_how_it_was_made(trace, kept):
    document = json.loads((kept / DOCUMENT).read_text())
    del document["parameters"]
    (kept / DOCUMENT).write_text(json.dumps(document))
    before = content(kept)
    refused = run(trace, "--out", kept.parent)
    assert refused.exit_code == 1
    assert "an earlier release, which did not write down with what parameters" in refused.stderr
    assert content(kept) == before


@pytest.mark.parametrize(("damage", "said"), [
    ("{", "is no JSON"), ("[]", "does not tell trace, "), ('{"trace": "t"}', "does not tell original_sha256, "),
])  # fmt: skip
def test_a_document_that_cannot_be_read_is_refused_and_stays(trace, kept, damage, said):
    (kept / DOCUMENT).write_text(damage)
    before = content(kept)
    refused = run(trace, "--out", kept.parent)
    assert refused.exit_code == 1
    assert f"[reduction_exists] {kept / DOCUMENT} {said}" in refused.stderr
    assert content(kept) == before


def test_a_trace_that_is_not_the_one_of_its_document_is_refused_and_stays(trace, kept):
    with (kept / NAME).open("ab") as file:
        file.write(b"more")
    before = content(kept)
    refused = run(trace, "--out", kept.parent)
    assert refused.exit_code == 1
    assert f"is not the file that {DOCUMENT} beside it was written for" in refused.stderr
    assert content(kept) == before


def test_a_trace_without_its_document_gets_it_where_it_is_what_would_be_written(trace, first, kept):
    (kept / DOCUMENT).unlink()
    done(trace, "--out", kept.parent)
    assert content(kept) == content(first[0])
    (kept / DOCUMENT).unlink()
    (kept / NAME).write_bytes(b"somebody's")
    refused = run(trace, "--out", kept.parent)
    assert refused.exit_code == 1
    assert f"{kept / NAME} is there without {DOCUMENT}, and is not what the trace is reduced to now" in refused.stderr
    assert content(kept) == {NAME: b"somebody's"}


class Killed(BaseException):
    """Nothing is tidied up behind it."""


def test_wherever_a_call_is_killed_the_same_one_goes_on(trace, first, tmp_path, monkeypatch):
    """At each moment at which something becomes durable or gets its name; what a killed process had no time for is
    not done here either."""
    warehouse, calls = tmp_path / "w.duckdb", ("--html", "--store", "--format", "json")
    real = {"fsync": os.fsync, "replace": os.replace}
    left = [0]

    def dying(name):
        def call(*arguments):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return real[name](*arguments)

        return call

    points = 0
    while True:
        out = tmp_path / str(points)
        with monkeypatch.context() as patch:
            left[0] = points
            patch.setattr(Path, "unlink", lambda *_, **__: None)
            for name in real:
                patch.setattr(whole_files.os, name, dying(name))
            try:
                run(trace, "--out", out, *calls[:1])
                is_killed = False
            except Killed:
                is_killed = True
        (row,) = json.loads(done(trace, "--out", out, *calls, warehouse=warehouse).stdout)
        assert {**row, "path": first[1]["path"]} == first[1]
        assert {name: data for name, data in content(out / "t").items() if name != PAGE} == content(first[0])
        assert (out / "t" / PAGE).read_text().endswith("</html>")
        if not is_killed:
            break
        points += 1
    assert points >= 7  # document and trace: written, named, and the name written; the page is named


def test_what_a_killed_call_had_written_of_the_trace_is_removed_by_the_next_one_and_what_another_writes_is_not(
    trace, first, tmp_path
):
    """It may be as large as the trace, and stayed for ever."""
    dying = (
        "import os, signal, sys\nfrom perfreg_assets.cli import main\nfrom perfreg_assets.model import reduction\n"
        "reduction.cut_trace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nmain(sys.argv[1:])"
    )
    command = [sys.executable, "-c", dying, "reduce", str(trace), "--out", str(tmp_path)]
    folder = tmp_path / "t"
    ended = subprocess.run(command, check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = os.listdir(folder)
    living = part_beside(folder / NAME)
    elsewhere, quiet = (folder / f".{NAME}.01234567.{token}.{left.split('.')[-2]}.part" for token in ("0" * 8, "1" * 8))
    for path in (living, elsewhere, quiet):
        path.touch()
    os.utime(quiet, (1, 1))
    done(trace, "--out", tmp_path)
    assert {path.name for path in folder.iterdir()} == {*content(first[0]), living.name, elsewhere.name}
    os.utime(elsewhere, (1, 1))
    assert "reduced before" in done(trace, "--out", tmp_path).stderr
    assert {path.name for path in folder.iterdir()} == {*content(first[0]), living.name}
