"""The command line: its contract of options, formats, exit statuses and one-line errors."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from perfreg_assets import terminal
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.cli import ingesting, main, reading
from perfreg_assets.evaluation import evaluate, show, versions
from perfreg_assets.methods.self_check import KernelCheck
from perfreg_assets.model import health
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import reviews, runs, settings_table
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parent / "warehouse"))

import sample_warehouse

TESTS_DATA = Path(__file__).parent / "data"
_NEXT_NUMBER = "(SELECT max(run_no) + 1 FROM core.runs) AS run_no"  # of a run that is copied


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "perfreg.duckdb"
    sample_warehouse.build(path, runs=24, samples=40)
    return path


@pytest.fixture
def warehouse(filled, tmp_path):
    """A copy to change."""
    path = tmp_path / "perfreg.duckdb"
    shutil.copy(filled, path)
    shutil.copy(filled.with_name("perfreg.read.duckdb"), path.with_name("perfreg.read.duckdb"))
    shutil.copytree(filled.with_name("perfreg.data"), path.with_name("perfreg.data"))
    return path


def run(*arguments, warehouse=None):
    extra = ["--warehouse", str(warehouse)] if warehouse else []
    return CliRunner().invoke(main, [*map(str, arguments), *extra])


def names(group=main, prefix=()):
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from names(one, (*prefix, name))
        else:
            yield (*prefix, name)


@pytest.mark.parametrize("name", list(names()), ids=" ".join)
def test_every_command_has_help_with_an_example_and_takes_a_warehouse(name):
    result = run(*name, "--help")
    assert result.exit_code == 0
    assert f"perfreg {' '.join(name)}" in result.output
    assert "--warehouse" in result.output
    assert "--debug" in result.output


def test_an_app_or_version_is_looked_up_as_it_is_spelt_and_else_without_blanks_around_it(warehouse):
    """What run.json calls them is taken as it is: one with blanks at its ends was never found."""
    odd_app, odd = " com.odd ", " 1.2.0 "
    with Warehouse(warehouse, lock_timeout_s=10.0).writing() as writer:
        apps = "SELECT run_id, version_name FROM core.runs WHERE app = 'com.example.notes' ORDER BY run_no DESC LIMIT 2"
        (first, _), (second, _) = writer.rows(apps)
        for run_id, version in ((first, odd), (second, "1.2.0")):
            writer.execute(
                "UPDATE core.runs SET app = ?, version_name = ? WHERE run_id = ?", [odd_app, version, run_id]
            )

    def listed(*arguments):
        told = run("verdicts", "--by", "run", "--format", "json", *arguments, warehouse=warehouse)
        assert told.exit_code in (0, 3, 4), told.output
        return {row["run_id"] for row in json.loads(told.stdout)}

    assert listed("--app", odd_app) == {first, second}
    assert listed("--app", odd_app, "--app-version", odd) == {first}
    for spelling in ("1.2.0", "1.2.0\r\n", "  1.2.0"):
        assert listed("--app", odd_app, "--app-version", spelling) == {second}
    assert listed("--app", "com.example.notes\r\n") == listed("--app", "com.example.notes") != set()
    refused = run("verdicts", "--app", "com.oddd\r\n", warehouse=warehouse)
    assert "\\r" not in refused.stderr
    caused = run("causes", "--app", odd_app, "--app-version", odd, "--format", "json", warehouse=warehouse)
    assert caused.exit_code == 0, caused.output
    compared = run("compare", odd, "1.2.0", "--app", odd_app, "--format", "json", warehouse=warehouse)
    assert "There is no run of" not in compared.stderr
    assert compared.exit_code in (0, 3, 4), compared.output


def test_verdicts_exit_with_3_exactly_when_a_shown_one_is_anomalous(filled):
    for arguments in ([], ["--omega", "0"], ["--omega", "90"], ["--detector", "iqr", "--omega", "0"]):
        result = run("verdicts", "--format", "json", *arguments, warehouse=filled)
        rows = json.loads(result.stdout)
        assert rows
        assert result.exit_code == (3 if any(row["is_anomalous"] for row in rows) else 0)
    assert run("verdicts", "--omega", "90", warehouse=filled).exit_code == 0


def test_slow_changes_are_told_of_what_is_judged_wherever_it_was_recorded_too(filled, monkeypatch):
    def worth_telling(reader, apps, series):
        assert {"cpu_app", "rss_app"} <= {*series}
        return [{"app": "a", "device": "d", "explanation": f"level of {one}: +1.0 % a version"} for one in series]

    monkeypatch.setattr("perfreg_assets.warehouse.drifts.worth_telling", worth_telling)
    told = run("verdicts", warehouse=filled).stdout
    assert "level of power_rail_cpu: +1.0 % a version" in told
    assert "level of power_cpu_app" not in told


def test_formats_tell_the_same_rows(filled):
    as_json = json.loads(run("verdicts", "--format", "json", warehouse=filled).stdout)
    as_csv = list(csv.DictReader(io.StringIO(run("verdicts", "--format", "csv", warehouse=filled).stdout)))
    assert [row["run_id"] for row in as_json] == [row["run_id"] for row in as_csv]
    assert [row["state"] for row in as_json] == [row["state"] for row in as_csv]
    assert set(as_json[0]) == set(as_csv[0])
    assert [row["axes"] for row in as_json] == [json.loads(row["axes"]) if row["axes"] else None for row in as_csv]
    assert {"run_id", "app", "version_name", "series", "detector", "omega", "state", "is_anomalous"} <= set(as_json[0])


def test_verdicts_are_filtered_by_app_and_version(filled):
    rows = json.loads(run("verdicts", "--format", "json", warehouse=filled).stdout)
    app, version = rows[-1]["app"], rows[-1]["version_name"]
    chosen = json.loads(
        run("verdicts", "--app", app, "--app-version", version, "--format", "json", warehouse=filled).stdout
    )
    assert chosen == [row for row in rows if (row["app"], row["version_name"]) == (app, version)]


def test_reevaluate_stores_verdicts_at_another_omega_and_leaves_the_current_one(warehouse):
    before = json.loads(run("verdicts", "--format", "json", warehouse=warehouse).stdout)
    assert any(row["evaluated_at"] for row in before)
    result = run("reevaluate", "--omega", "0.125", warehouse=warehouse)
    assert result.exit_code == 0, result.output
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert reader.value("SELECT count(*) FROM marts.verdicts WHERE omega = 0.125") > 0
    assert json.loads(run("verdicts", "--format", "json", warehouse=warehouse).stdout) == before


@pytest.mark.parametrize("omega", [0, 100])
def test_reevaluate_counts_alarms_of_runs_and_those_of_their_series_as_the_mart_does(warehouse, omega):
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        [(current,)] = reader.rows("SELECT marts.current_value('omega')::DOUBLE")
        counts = {
            (is_run, flip): count
            for is_run, flip, count in reader.rows(
                f"SELECT series = '*', flip, count(*) FROM marts.verdict_flips({current}, {omega}) AS one "
                "WHERE run_no NOT IN (SELECT run_no FROM core.runs WHERE is_excluded) GROUP BY ALL"
            )
        }
    more, fewer = ([counts.get((of, flip), 0) for of in (True, False)] for flip in (
        "becomes_anomalous", "no_longer_anomalous"
    ))  # fmt: skip
    assert more[1] != more[0] or fewer[1] != fewer[0]
    told = run("reevaluate", "--omega", str(omega), warehouse=warehouse).stdout
    assert f"of runs {more[0]} alarms more, {fewer[0]} fewer; of their series {more[1]} more, {fewer[1]} fewer" in told


def test_reevaluate_wants_exactly_one_knob(warehouse):
    for arguments in ([], ["--omega", "1", "--level", "0.05"]):
        result = run("reevaluate", *arguments, warehouse=warehouse)
        assert result.exit_code == 1
        assert result.stderr == "perfreg: give either --omega or --level\n"


def test_a_changed_setting_is_in_force_and_logged(warehouse):
    assert run("settings", "set", "omega", "0.25", "--note", "quieter", warehouse=warehouse).exit_code == 0
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        rows = reader.dicts("SELECT * FROM marts.settings WHERE name = 'omega' AND is_current")
    assert [(row["value"], row["note"]) for row in rows] == [("0.25", "quieter")]
    refused = run("settings", "set", "omega", "much", warehouse=warehouse)
    assert refused.exit_code == 1
    assert "omega = 'much'" in refused.stderr


def test_a_run_is_taken_out_of_histories_with_a_reason_and_back(warehouse):
    def facts(run_id):
        with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
            return reader.rows("SELECT is_excluded, exclude_reason FROM marts.runs WHERE run_id = ?", [run_id])

    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        run_id = reader.value("SELECT min(run_id) FROM marts.runs WHERE state = 'complete'")
    told = run("exclude", run_id, "--reason", "charging", warehouse=warehouse)
    assert (told.exit_code, told.stdout.splitlines()[0]) == (0, f"{run_id}: in no history")
    assert "histories selected" in told.stdout.splitlines()[1]
    assert facts(run_id) == [(True, "charging")]
    assert run("include", run_id, warehouse=warehouse).exit_code == 0
    assert facts(run_id) == [(False, None)]
    again = run("include", run_id, warehouse=warehouse)
    assert (again.exit_code, again.stdout.splitlines()[0]) == (0, f"{run_id}: was not excluded; nothing is changed")
    missing = run("exclude", "no-such-run", "--reason", "x", warehouse=warehouse)
    assert missing.exit_code == 1
    assert "no-such-run" in missing.stderr


def test_a_run_that_was_left_out_raises_no_alarm_in_ci_and_is_marked(warehouse):
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        ((version, run_id),) = writer.rows(
            "SELECT version_name, min(run_id) FROM marts.verdicts WHERE is_current AND is_anomalous AND series = '*' "
            "GROUP BY version_name ORDER BY version_name LIMIT 1"
        )
        others = "SELECT run_id FROM core.runs WHERE version_name = ? AND run_id <> ?"
        for (other,) in writer.rows(others, [version, run_id]):
            runs.exclude(writer, other, "charging")
    shown = ("verdicts", "--app-version", version)
    assert run(*shown, warehouse=warehouse).exit_code == 3
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        runs.exclude(writer, run_id, "charging")
    for form in ("table", "json", "github"):
        told = run(*shown, "--format", form, warehouse=warehouse)
        assert told.exit_code == 4, form
        assert "excluded, or rejected in a review, and left out of the status" in told.stderr
        assert form != "table" or "anomalous (left out)" in told.stdout
        assert form != "github" or "::error" not in told.stdout
        assert form != "json" or {row["is_counted"] for row in json.loads(told.stdout)} == {False}


def test_what_people_say_of_a_run_brings_a_lost_warehouse_back(warehouse):
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        ((run_id,),) = writer.rows("SELECT min(run_id) FROM core.runs WHERE NOT is_quarantined")
    warehouse.unlink()
    told = run("exclude", run_id, "--reason", "charging", warehouse=warehouse)
    assert (told.exit_code, warehouse.exists()) == (0, True), told.output
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert reader.value("SELECT is_excluded FROM marts.runs WHERE run_id = ?", [run_id])


def test_refused_folders_are_dismissed_and_runs_are_not(warehouse):
    """A folder that was renamed as well as mended, or is gone, was told as not taken in for ever."""
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        run_id = writer.value("SELECT min(run_id) FROM core.runs WHERE NOT is_quarantined")
        for name in ("quarantined-1", "quarantined-2", "stated-id", "reviewed"):
            runs.upsert(
                writer,
                [runs.RunRow(run_id=name, folder_name=name, content_hash=name, is_quarantined=True,
                             reason_code="run_json_not_json", reason="it is not")],
            )  # fmt: skip
        reviews.add(writer, "reviewed", "confirmed")
        before = writer.value("SELECT count(*) FROM core.runs")
    for name, said in (
        ("reviewed", "reviewed was reviewed, and what was said is kept"),
        (run_id, f"{run_id} was taken in, and no run is deleted; `perfreg exclude {run_id}` takes it out of histories"),
        ("quarantined-3", "run 'quarantined-3' (did you mean quarantined-"),
    ):
        told = run("dismiss", "quarantined-1", name, warehouse=warehouse)
        assert (told.exit_code, said in told.stderr, told.stderr.count("\n")) == (1, True, 1), told.stderr
    told = run("dismiss", "quarantined-1", "quarantined-2", "stated-id", warehouse=warehouse)
    assert (told.exit_code, told.stdout.splitlines()[0]) == (0, "3 refused folders dismissed"), told.output
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert reader.value("SELECT count(*) FROM core.runs") == before - 3
        assert reader.value("SELECT count(*) FROM marts.data_quality WHERE run_id LIKE 'quarantined-_'") == 0


def test_runs_that_were_given_again_and_are_excluded_are_named(warehouse, capsys):
    settings = Settings(warehouse=warehouse)
    with Warehouse.of(settings).writing() as writer:
        ids = sorted(run_id for (run_id,) in writer.rows("SELECT run_id FROM core.runs WHERE NOT is_quarantined"))[:9]
        for run_id in ids[:7]:
            runs.exclude(writer, run_id, "charging")
    reading.show_verdicts(settings, set(ids))
    named = f"excluded, and in no history: {', '.join(ids[:5])} and 2 more; `perfreg include RUN_ID` lets a run count"
    assert named in capsys.readouterr().err
    reading.show_verdicts(settings, set(ids[7:]))
    assert capsys.readouterr().err == ""


def test_runs_that_are_dated_in_the_future_are_named(warehouse, capsys):
    settings = Settings(warehouse=warehouse)
    with Warehouse.of(settings).writing() as writer:
        ids = sorted(run_id for (run_id,) in writer.rows("SELECT run_id FROM core.runs WHERE NOT is_quarantined"))[:2]
        writer.execute("UPDATE core.runs SET started_at = '2126-11-20T09:00:00Z' WHERE run_id = ?", [ids[0]])
    reading.show_verdicts(settings, set(ids))
    named = f"dated in the future (2126-11-20 09:00 UTC), and until then later than all others: {ids[0]}; "
    assert f"{named}{Reason.DATED_AHEAD.sentence}\n" in capsys.readouterr().err
    with Warehouse.of(settings).writing() as writer:
        runs.exclude(writer, ids[0], "its clock was ahead")
    reading.show_verdicts(settings, set(ids))
    assert "dated in the future" not in capsys.readouterr().err


def test_a_review_is_kept_and_an_unknown_run_is_named(warehouse):
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        run_id = reader.value("SELECT run_id FROM marts.runs ORDER BY run_id LIMIT 1")
    assert run("review", run_id, "--status", "confirmed", "--note", "leak", warehouse=warehouse).exit_code == 0
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert reader.value("SELECT review_status FROM marts.runs WHERE run_id = ?", [run_id]) == "confirmed"
    for words in ((), ("--status", "rejected", "--withdraw")):
        unclear = run("review", run_id, *words, warehouse=warehouse)
        assert unclear.exit_code == 1
        assert "give either --status or --withdraw" in unclear.stderr
    assert run("review", run_id, "--withdraw", "--note", "another run", warehouse=warehouse).exit_code == 0
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert reader.value("SELECT review_status FROM marts.runs WHERE run_id = ?", [run_id]) is None
        told = "SELECT list(status ORDER BY reviewed_at) FROM marts.reviews WHERE run_id = ?"
        assert reader.value(told, [run_id]) == ["confirmed", "withdrawn"]
    assert "nothing was due" in run("catch-up", warehouse=warehouse).stdout
    nothing = run("review", run_id, "--withdraw", warehouse=warehouse)
    assert nothing.exit_code == 1
    assert "No review of it is in force" in nothing.stderr
    missing = run("review", "no-such-run", "--status", "confirmed", warehouse=warehouse)
    assert missing.exit_code == 1
    assert "no-such-run" in missing.stderr


def test_columns_of_one_name_keep_their_own_values(filled):
    query = "SELECT a.n AS n, b.n AS n, c.n AS n FROM (SELECT 1 AS n) AS a, (SELECT 2 AS n) AS b, (SELECT 3 AS n) AS c"
    assert json.loads(run("sql", query, "--format", "json", warehouse=filled).stdout) == [{"n": 1, "n_1": 2, "n_2": 3}]
    assert run("sql", query, "--format", "csv", warehouse=filled).stdout == "n,n_1,n_2\n1,2,3\n"
    taken = "SELECT 1 AS n, 2 AS n_1, 3 AS n"
    assert json.loads(run("sql", taken, "--format", "json", warehouse=filled).stdout) == [{"n": 1, "n_1": 2, "n_2": 3}]


@pytest.mark.parametrize(("query", "told"), [("", "it is empty"), (" ; ", "it is empty"), ("SELECT 1; SELECT 2", "2")])
def test_a_query_is_one_statement(filled, query, told):
    refused = run("sql", query, warehouse=filled)
    assert (refused.exit_code, told in refused.stderr, refused.stdout) == (1, True, "")


def test_a_query_may_begin_with_a_comment_or_stand_in_a_file(filled, tmp_path):
    query = "-- How many?\nSELECT count(*) AS n FROM marts.runs;\n"
    (tmp_path / "how_many.sql").write_text(f"\ufeff{query}", "utf-8")
    wanted = run("sql", "SELECT count(*) AS n FROM marts.runs", "--format", "csv", warehouse=filled)
    assert wanted.stdout.startswith("n\n")
    in_file = str(tmp_path / "how_many.sql")
    for given in ([query], ["--file", in_file], ["-f", in_file]):
        told = run("sql", *given, "--format", "csv", warehouse=filled)
        assert (told.exit_code, told.stdout) == (0, wanted.stdout), told.output
    dashes = CliRunner().invoke(main, ["sql", "--format", "csv", "--warehouse", str(filled), "--", query])
    assert dashes.stdout == wanted.stdout
    piped = CliRunner().invoke(main, ["sql", "-f", "-", "--format", "csv", "--warehouse", str(filled)], input=query)
    assert piped.stdout == wanted.stdout
    (tmp_path / "latin.sql").write_bytes(b"SELECT '\xe9'")
    for given, sentence in (
        ([], "give either a query or --file"),
        ([query, "-f", str(tmp_path / "how_many.sql")], "give either a query or --file"),
        (["-f", str(tmp_path / "latin.sql")], "is no text in UTF-8"),
    ):
        told = run("sql", *given, warehouse=filled)
        assert (told.exit_code, sentence in told.stderr, told.stderr.count("\n")) == (1, True, 1)
    assert run("sql", "-f", str(tmp_path / "none.sql"), warehouse=filled).exit_code == 2
    assert run("sql", "--fromat", "csv", query, warehouse=filled).exit_code == 2


def test_json_has_no_number_that_json_does_not_know(filled):
    query = "SELECT 'inf'::DOUBLE a, 'nan'::FLOAT b, ['-inf'::DOUBLE, 1] c, {'x': 'nan'::DOUBLE} d"

    def no_constant(text):
        raise AssertionError(text)

    told = run("sql", query, "--format", "json", warehouse=filled)
    assert json.loads(told.stdout, parse_constant=no_constant) == [
        {"a": None, "b": None, "c": [None, 1], "d": {"x": None}}
    ]


def test_sql_tells_every_kind_of_value(filled):
    query = (
        "SELECT sum(x) AS whole, sum(x)::DECIMAL(10, 2) AS part, NULL::DECIMAL(9, 1) AS none, 2::UHUGEINT AS large, "
        "[sum(x)] AS list, INTERVAL 5 MONTH AS months, INTERVAL 90 MINUTE + INTERVAL 1 MILLISECOND AS seconds, "
        "INTERVAL (-2) DAY AS days, INTERVAL 0 DAY AS nothing, 'a\\xAA'::BLOB AS bytes, DATE '9999-12-31' AS day "
        "FROM range(3) AS given(x)"
    )
    told = run("sql", query, "--format", "json", warehouse=filled)
    assert json.loads(told.stdout) == [
        {
            "whole": 3, "part": 3.0, "none": None, "large": 2, "list": [3], "months": "P5M", "seconds": "PT5400.001S",
            "days": "P-2D", "nothing": "PT0S", "bytes": "61aa", "day": "9999-12-31",
        }
    ]  # fmt: skip
    as_csv = run("sql", query, "--format", "csv", warehouse=filled).stdout.splitlines()[1]
    assert as_csv == "3,3.00,,2,[3],P5M,PT5400.001S,P-2D,PT0S,61aa,9999-12-31"
    shown = run("sql", query, warehouse=filled).stdout
    assert "[3]" in shown
    assert "Decimal" not in shown


def test_sql_tells_nanoseconds_to_the_last_digit(filled):
    """A time of day lost its last three, and a moment failed wherever pandas was not loaded, as in a command."""
    query = (
        "SELECT make_timestamp_ns(3270408776255) AS at, TIME_NS '12:00:00.123456789' AS of_day, "
        "NULL::TIMESTAMP_NS AS no"
    )
    told = run("sql", query, "--format", "json", warehouse=filled)
    assert told.exit_code == 0, told.stderr
    assert json.loads(told.stdout) == [
        {"at": "1970-01-01T00:54:30.408776255", "of_day": "12:00:00.123456789", "no": None}
    ]


def test_sql_tells_what_python_has_no_type_for_in_lists_and_structures_too(filled):
    """Bits, unsigned numbers and offsets came out as others; parts of lists as `[0, 2, 0]`, `b'x'` or an error."""
    query = (
        "SELECT 340282366920938463463374607431768211455::UHUGEINT AS large, [2::UHUGEINT] AS larges, "
        "TIMETZ '12:30:00+02' AS at, [TIMETZ '12:30:00-03:30', NULL] AS ats, '0101'::BIT AS bits, "
        "{'a \"b': ['0101'::BIT], 'n': NULL::INTERVAL} AS struct, 5::BIGNUM AS big, [INTERVAL 2 DAY] AS days, "
        "[INTERVAL 2 DAY]::INTERVAL[1] AS day, map([1], ['x'::BLOB]) AS bytes, "
        "[make_timestamp_ns(1279512028411123456)] AS moments, {'t': TIME_NS '12:00:00.123456789'} AS times, "
        "NULL::BIT[] AS no"
    )
    told = run("sql", query, "--format", "json", warehouse=filled)
    assert told.exit_code == 0, told.stderr
    assert json.loads(told.stdout) == [
        {
            "large": 340282366920938463463374607431768211455, "larges": [2],
            "at": "12:30:00+02", "ats": ["12:30:00-03:30", None], "bits": "0101",
            "struct": {'a "b': ["0101"], "n": None}, "big": "5", "days": ["P2D"],
            "day": ["P2D"], "bytes": [[1, "78"]],
            "moments": ["2010-07-19T04:00:28.411123456"], "times": {"t": "12:00:00.123456789"},
            "no": None,
        }
    ]  # fmt: skip
    twice = run("sql", "SELECT '01'::BIT AS a, 1 AS b, '10'::BIT AS a", "--format", "csv", warehouse=filled)
    assert twice.stdout == "a,b,a_1\n01,1,10\n"


@pytest.mark.parametrize("value", ["TIMESTAMPTZ 'infinity'", "DATE '-infinity'", "{'at': TIMESTAMP '20000-01-01'}"])
def test_sql_says_which_times_it_cannot_show(filled, value):
    told = run("sql", f"SELECT {value} AS at", warehouse=filled)
    assert told.exit_code == 1
    assert "outside of the years 1 to 9999; cast it to text" in told.stderr
    assert run("sql", f"SELECT {value}::VARCHAR AS at", warehouse=filled).exit_code == 0


def test_sql_answers_and_refuses_in_one_line(filled):
    result = run("sql", "SELECT 24 AS runs, NULL AS none FROM marts.runs LIMIT 1", "--format", "json", warehouse=filled)
    assert json.loads(result.stdout) == [{"runs": 24, "none": None}]
    for query in ("SELECT nope", "DELETE FROM core.runs", "SELECT * FROM read_text('/etc/passwd')"):
        refused = run("sql", query, warehouse=filled)
        assert refused.exit_code == 1
        assert refused.stderr.startswith("perfreg: ")
        assert refused.stderr.count("\n") == 1


def test_without_a_warehouse_each_reading_command_says_what_to_do(tmp_path):
    for arguments in (["verdicts"], ["sql", "SELECT 1"], ["dictionary"], ["export", tmp_path / "out"]):
        result = run(*arguments, warehouse=tmp_path / "none.duckdb")
        assert result.exit_code == 1
        assert "none.read.duckdb" in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("exclude", "a", "--reason", "charging"),
        ("include", "a"),
        ("dismiss", "a"),
        ("review", "a", "--status", "confirmed"),
        ("reevaluate", "--omega", "1"),
    ],
    ids=lambda given: given[0],
)
def test_a_misspelt_warehouse_is_not_made_by_what_changes_runs(tmp_path, command):
    told = run(*command, warehouse=tmp_path / "none.duckdb")
    assert (told.exit_code, told.stderr.count("\n")) == (1, 1)
    assert f"{tmp_path / 'none.duckdb'} does not exist" in told.stderr
    assert not list(tmp_path.iterdir())


def test_a_setting_that_makes_a_warehouse_says_so(tmp_path):
    told = run("settings", "set", "omega", "1", warehouse=tmp_path / "new.duckdb")
    assert (told.exit_code, f"{tmp_path / 'new.duckdb'} is a new warehouse" in told.stderr) == (0, True)
    again = run("settings", "set", "omega", "2", warehouse=tmp_path / "new.duckdb")
    assert "new warehouse" not in again.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("settings", "set", "keep_traces", "never"),
        ("profiles", "add", "no-profile.xml", "--device", "flame"),
        ("energy-calibrate", "--device", "flame"),
        ("energy-import", "no-profile.xml", "--app", "com.rig.shop", "--app-version", "1", "--device", "flame"),
        ("energy-import", "log.json", "--app", "com.rig.shop", "--app-version", "1", "--device", "nobody"),
        ("energy-import", "log.json", "--app", "com.rig.shop", "--app-version", "1", "--profile", "no-profile.xml"),
    ],
    ids=lambda arguments: " ".join((arguments[0], *arguments[-2:])),
)
def test_what_is_refused_makes_no_warehouse(tmp_path, monkeypatch, arguments):
    """It had no copy for readers: they were told of that, and `perfreg doctor` failed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no-profile.xml").write_text("<nothing/>")
    (tmp_path / "log.json").write_text('{"tests": []}')
    told = CliRunner().invoke(main, [*arguments, "--warehouse", "new.duckdb"])
    assert told.exit_code == 1, told.output
    assert "new warehouse" not in told.stderr
    assert not list(tmp_path.glob("new.*"))


def broken_run(folder):
    """A run folder without a run.json."""
    folder.mkdir()
    (folder / "t.pftrace").write_bytes(b"")


def test_folders_that_were_all_refused_are_not_told_as_none(tmp_path):
    broken_run(tmp_path / "broken")
    assert run("ingest", tmp_path / "broken", warehouse=tmp_path / "perfreg.duckdb").exit_code == 1
    told = run("verdicts", warehouse=tmp_path / "perfreg.duckdb")
    assert told.exit_code == 4
    assert (
        'nothing could be judged; no folder was taken in, 1 refused: perfreg sql "FROM marts.data_quality"'
        in told.stderr
    )


def test_ingest_of_nothing_but_refused_folders_ends_with_1(tmp_path):
    warehouse = tmp_path / "perfreg.duckdb"
    broken_run(tmp_path / "nothing")
    for _ in range(2):  # known already: counted again
        result = run("ingest", tmp_path / "nothing", tmp_path / "nowhere", warehouse=warehouse)
        assert result.exit_code == 1, result.output
        assert "0 runs of 0 versions, 1 quarantined" in result.stdout
        assert result.stderr.count("quarantined nothing [run_json_missing]") == 1
        assert "nowhere does not exist" in result.stderr
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert reader.value("SELECT count(*) FROM core.runs") == 1


def test_a_trace_that_proves_damaged_when_it_is_read_is_counted_told_and_stays_in_quarantine(tmp_path):
    """Its frames are whole, so that it is registered; only the engine refuses it. Given again it is the same."""
    folder, warehouse = tmp_path / "damaged", tmp_path / "perfreg.duckdb"
    folder.mkdir()
    shutil.copy(TESTS_DATA / "bad-traces" / "bad_bitflip200.pftrace", folder / "t.pftrace")
    document = json.loads((TESTS_DATA / "sessions" / "notes-000" / "run.json").read_text("utf-8"))
    document |= {"run_id": "damaged", "trace": "t.pftrace"}
    for key in ("trace_bytes", "trace_sha256"):
        document.pop(key, None)
    (folder / "run.json").write_text(json.dumps(document))
    for _ in range(2):
        result = run("ingest", folder, warehouse=warehouse)
        assert result.exit_code == 1, result.output
        assert "0 runs of 0 versions, 1 quarantined" in result.stdout
        assert result.stderr.count("quarantined damaged [trace_corrupt]") == 1
        with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
            told = reader.rows("SELECT run_id, state, reason_code, run_verdict FROM marts.runs")
        assert told == [("damaged", "quarantined", "trace_corrupt", None)]


def test_a_file_is_no_run_folder_and_leaves_no_trace_of_itself(tmp_path):
    warehouse, file = tmp_path / "perfreg.duckdb", tmp_path / "run.json"
    file.write_text("{}")
    result = run("ingest", file, warehouse=warehouse)
    assert result.exit_code == 1
    assert (
        f"{file} is a file; give the run folder that it lies in, or a bare trace to `perfreg import`" in result.stderr
    )
    assert result.stdout == "0 runs of 0 versions, 0 quarantined\n"
    assert len(result.stderr.splitlines()) == 1
    assert not warehouse.exists()


@pytest.mark.parametrize("inside", ["", "notes.txt", "deep/er/run.json", ".hidden/run.json"])
def test_a_folder_of_other_things_is_no_run_and_leaves_no_trace_of_itself(tmp_path, inside):
    warehouse, folder = tmp_path / "perfreg.duckdb", tmp_path / "src"
    folder.mkdir()
    if inside:
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        (folder / inside).write_text("{}")
    result = run("ingest", folder, warehouse=warehouse)
    assert result.exit_code == 1
    assert f"{folder} holds no run: there is no run.json and no trace in it" in result.stderr
    assert result.stdout == "0 runs of 0 versions, 0 quarantined\n"
    assert len(result.stderr.splitlines()) == 1
    assert not warehouse.exists()


def test_a_folder_that_is_not_there_is_told_last_and_the_others_are_taken_in(tmp_path, monkeypatch):
    monkeypatch.setattr(ingesting, "take_in", lambda *_given: {"notes-000"})
    monkeypatch.setattr(ingesting, "show_verdicts", lambda *_given: terminal.say("the verdicts"))
    broken_run(tmp_path / "run")
    result = run("ingest", tmp_path, tmp_path / "nowhere", warehouse=tmp_path / "perfreg.duckdb")
    assert (result.exit_code, result.stdout) == (0, "the verdicts\n")
    told = f"{tmp_path / 'nowhere'} is not there or no run folder; what else was named is taken in"
    assert told in result.stderr
    assert "is not there" not in run("ingest", tmp_path, warehouse=tmp_path / "perfreg.duckdb").stderr


def test_ingest_counts_what_it_was_given_and_what_became_of_it(tmp_path, monkeypatch):
    warehouse = tmp_path / "perfreg.duckdb"
    shutil.copytree(demo_runs_dir() / "notes-000", tmp_path / "given" / "good")
    shutil.copytree(demo_runs_dir() / "notes-001", tmp_path / "given" / "bad")
    trace = next((tmp_path / "given" / "bad").glob("trace*"))
    whole = trace.read_bytes()
    trace.write_bytes(whole[:-100])
    monkeypatch.chdir(tmp_path / "given")
    result = run("ingest", ".", warehouse=warehouse)
    assert result.exit_code == 0, result.output
    assert "1 run of 1 version, 1 quarantined" in result.stdout
    assert "quarantined bad [trace_size_mismatch]" in result.stderr
    trace.write_bytes(whole)
    mended = run("ingest", "bad", warehouse=warehouse)
    assert mended.exit_code == 0, mended.output
    assert "1 run of 1 version, 0 quarantined" in mended.stdout
    assert "quarantined" not in mended.stderr
    assert "notes-001" in mended.stdout
    assert "notes-000" not in mended.stdout


def test_ingest_counts_no_run_when_the_step_that_takes_them_in_failed(tmp_path, monkeypatch):
    def fail(*_given, **_named):
        raise TypeError("as nobody expected")

    monkeypatch.setattr("perfreg_assets.assets.runs.take_in", fail)
    result = run("ingest", demo_runs_dir() / "notes-000", warehouse=tmp_path / "perfreg.duckdb")
    assert result.exit_code == 1
    assert "0 runs of 0 versions, 0 quarantined" in result.stdout
    assert "as nobody expected" in result.stderr


def test_ingest_takes_folders_in_whose_names_are_not_utf8(tmp_path):
    given = tmp_path / "given"
    shutil.copytree(demo_runs_dir() / "notes-000", given / "good")
    shutil.copytree(demo_runs_dir() / "notes-001", given / os.fsdecode(b"n\xff"))
    bad = shutil.copytree(demo_runs_dir() / "notes-003", given / os.fsdecode(b"bad\xff"))
    next(bad.glob("trace*")).write_bytes(b"short")
    result = run("ingest", given, warehouse=tmp_path / "perfreg.duckdb")
    assert result.exit_code == 0, result.output
    assert "2 runs of 1 version, 1 quarantined" in result.stdout
    assert "quarantined bad\\udcff [trace_size_mismatch]" in result.stderr
    with Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5).reading() as reader:
        assert reader.rows("SELECT run_id, folder_name FROM core.runs WHERE NOT is_quarantined ORDER BY run_id") == [
            ("notes-000", "good"),
            ("notes-001", "n?"),
        ]


def test_ingest_takes_a_run_to_its_verdict(tmp_path, monkeypatch):
    warehouse = tmp_path / "perfreg.duckdb"
    monkeypatch.setattr(terminal, "LINE_EVERY_S", 0.05)
    result = run("ingest", demo_runs_dir() / "notes-000", warehouse=warehouse)
    assert result.exit_code == 0, result.output
    assert re.search(
        r"^perfreg: step 3 of 10, traces and time series: 1 version \(\d+ s\)$", result.stderr, re.MULTILINE
    )
    before, answer = result.stdout.split("\n\n")[:2]
    assert "1 run of 1 version, 0 quarantined" in before
    assert answer.startswith("Nothing could be judged yet (1 not_enough_history)")
    told = run("verdicts", "--format", "json", warehouse=warehouse)
    rows = json.loads(told.stdout)
    assert {row["series"] for row in rows} == {"*", "cpu_app", "cpu_total", "rss_app"}
    assert {row["state"] for row in rows} == {"not_enough_history"}
    assert told.exit_code == 4
    assert told.stderr.startswith("1 not_enough_history\nnothing could be judged; 1.4.0: ")
    settled = run("status", "--format", "json", warehouse=warehouse)
    assert (settled.exit_code, json.loads(settled.stdout), settled.stderr) == (0, [], "nothing is due\n")
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        settings_table.change(writer, "history_size", "7")
    due = run("status", "--format", "json", warehouse=warehouse)
    assert due.exit_code == 0
    assert [(row["run_id"], row["due"]) for row in json.loads(due.stdout)] == [("notes-000", "history_sets")]
    assert "1 run and 1 page" in due.stderr
    monkeypatch.setattr(health, "check_kernels", lambda: [KernelCheck("DTW, tslearn", 0.0, 1e-9, is_ok=True)])
    healthy = run("doctor", warehouse=warehouse)
    assert healthy.exit_code == 0, healthy.output
    assert "1 run, schema version" in healthy.stdout


def test_verdicts_count_every_state_on_stderr_and_exit_with_0_when_something_was_judged(filled):
    told = run("verdicts", "--omega", "90", "--format", "json", warehouse=filled)
    states = Counter(row["state"] for row in json.loads(told.stdout) if row["series"] == "*")
    assert states["normal"] + states["improved"] > 0
    assert told.exit_code == 0
    assert told.stderr.strip() == ", ".join(f"{count} {state}" for state, count in sorted(states.items()))


def test_the_demo_stays_out_of_a_warehouse_with_runs_of_somebodys_own(filled, tmp_path, monkeypatch):
    before = filled.read_bytes()
    refused = run("demo", warehouse=filled)
    assert refused.exit_code == 1
    assert "holds other runs than the demo's (" in refused.stderr
    assert "perfreg demo --dir perfreg-demo" in refused.stderr
    assert filled.read_bytes() == before
    monkeypatch.setenv("PERFREG_HOME", str(tmp_path / "mine"))
    taken = []
    monkeypatch.setattr(ingesting, "take_in", lambda settings, _: taken.append(settings) or set())
    folder = tmp_path / "a demo"
    told = run("demo", "--dir", folder, warehouse=filled)
    assert told.exit_code == 0, told.stderr
    (settings,) = taken
    assert (settings.warehouse, settings.home_dir) == (folder / "perfreg.duckdb", folder / ".perfreg")
    assert f"perfreg serve --warehouse '{folder / 'perfreg.duckdb'}'" in told.stdout
    assert not (tmp_path / "mine").exists()
    assert filled.read_bytes() == before


def test_verdicts_of_nothing_exit_with_4(filled):
    with Warehouse(filled, lock_timeout_s=5).reading() as reader:
        unjudged = reader.value("SELECT version_name FROM marts.app_versions WHERE judged_run_count = 0 LIMIT 1")
    told = run("verdicts", "--app-version", unjudged, warehouse=filled)
    assert told.exit_code == 4
    # Of two apps, each is named.
    why = f"nothing could be judged; com.example.notes {unjudged}: The version as a whole is not judged: "
    assert why in told.stderr
    of_one = run("verdicts", "--app", "com.example.notes", "--app-version", unjudged, warehouse=filled)
    assert f"nothing could be judged; {unjudged}: The version as a whole is not judged: " in of_one.stderr


@pytest.mark.parametrize("form", ["table", "json", "csv", "github", "junit", "markdown"])
def test_a_version_whose_runs_were_all_taken_out_is_told_in_every_format(warehouse, form):
    refused = "'q' AS run_id, '9.9' AS version_name, true AS is_quarantined, 'wrong_type' AS reason_code"
    like = f"SELECT * REPLACE ({refused}, {_NEXT_NUMBER})"
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        writer.execute(f"INSERT INTO core.runs BY NAME {like} FROM core.runs WHERE app = 'com.example.shop' LIMIT 1")
        writer.execute("UPDATE core.runs SET is_excluded = true WHERE version_name = '1.1.0'")
    shown = ("verdicts", "--app", "com.example.shop", "--format", form, "--app-version")
    for by in ("version", "run"):
        told = run(*shown, "9.9", "--by", by, warehouse=warehouse)
        assert told.exit_code == 4
        assert "9.9: The version as a whole is not judged: 1 run is quarantined (wrong_type)." in told.stderr
        if by == "version" or form not in ("json", "csv"):  # those have the rows of runs, and there is none
            assert "quarantined (wrong_type)" in " ".join(told.stdout.replace("\\", "").split())
    told = run(*shown, "1.1.0", "--by", "version", warehouse=warehouse)
    assert told.exit_code == 4
    assert "not_judged" in told.stdout
    assert "versions: 1 not_judged; their runs: " in told.stderr


@pytest.mark.parametrize("by", ["run", "version"])
def test_a_newest_version_that_was_not_judged_is_named_beside_the_status_of_the_others(warehouse, by):
    newest = "9.9"
    named = f"'{newest}' AS version_name, 999 AS version_code, 'x' AS partition_key"
    like = f"SELECT * REPLACE ('new' AS run_id, {named}, {_NEXT_NUMBER})"
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        writer.execute(
            f"INSERT INTO core.runs BY NAME {like} FROM core.runs WHERE app = 'com.example.shop' "
            "AND NOT is_quarantined ORDER BY started_at DESC LIMIT 1"
        )
    shown = ("verdicts", "--app", "com.example.shop", "--by", by, "--omega", "90")
    told = run(*shown, warehouse=warehouse)
    assert told.exit_code == 0  # something shown was judged
    assert f"not judged: com.example.shop {newest}; the status is that of versions before it, " in told.stderr
    assert "1.0.0" not in told.stderr  # the first of an app never is, and nobody waits for it
    alone = run(*shown, "--app-version", newest, warehouse=warehouse)
    assert (alone.exit_code, "the status is that of" in alone.stderr) == (4, False)


def test_a_version_refused_before_the_latest_judged_one_came_is_not_named_as_newer(warehouse):
    """Versions of refused folders have no place in the order and stand last in it: they were named for ever."""
    refused = "'q' AS run_id, '9.9' AS version_name, true AS is_quarantined, 'wrong_type' AS reason_code"
    like = f"SELECT * REPLACE ({refused}, $moment AS registered_at, {_NEXT_NUMBER})"
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        ((first, last),) = writer.rows("SELECT min(registered_at), max(registered_at) FROM core.runs")
        insert = f"INSERT INTO core.runs BY NAME {like} FROM core.runs WHERE app = 'com.example.shop' LIMIT 1"
        writer.execute(insert, {"moment": first - timedelta(days=1)})
    shown = ("verdicts", "--app", "com.example.shop", "--omega", "90")
    told = run(*shown, warehouse=warehouse)
    assert (told.exit_code, "not judged: " in told.stderr) == (0, False)
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        writer.execute("UPDATE core.runs SET registered_at = ? WHERE run_id = 'q'", [last + timedelta(days=1)])
    told = run(*shown, warehouse=warehouse)
    assert "not judged: com.example.shop 9.9; the status is that of other versions, " in told.stderr


def test_a_version_refused_beside_the_latest_judged_one_is_not_called_newer(warehouse):
    """Of the folders of one batch nothing tells which version a refused one comes after."""
    refused = "'q' AS run_id, '0.1' AS version_name, true AS is_quarantined, 'wrong_type' AS reason_code"
    like = f"SELECT * REPLACE ({refused}, $moment AS registered_at, {_NEXT_NUMBER})"
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        ((last,),) = writer.rows("SELECT max(registered_at) FROM core.runs")
        insert = f"INSERT INTO core.runs BY NAME {like} FROM core.runs WHERE app = 'com.example.shop' LIMIT 1"
        writer.execute(insert, {"moment": last + timedelta(milliseconds=1)})
    told = run("verdicts", "--app", "com.example.shop", "--omega", "90", warehouse=warehouse)
    assert "not judged: com.example.shop 0.1; the status is that of other versions, " in told.stderr


def test_what_status_3_goes_by_is_said_beside_an_alarm_that_was_left_out(capsys):
    """Somebody rejected the one run that is anomalous by itself: nothing said what the status went by."""
    told = [
        {"run_id": name, "series": "*", "state": state, "is_anomalous": state == "anomalous", "is_counted": counts}
        for name, state, counts in (("a", "anomalous", False), ("b", "normal", True), ("c", "normal", True))
    ]
    together = [{"version_name": "1.5.0", "axis": "all", "state": "anomalous", "is_anomalous": True}]
    reading._note_states(told, together, "run")
    why = "no run that counts is anomalous by itself, but together those of 1.5.0 are: --by version"
    assert why in " ".join(capsys.readouterr().err.split())
    reading._note_states([{**told[0], "is_counted": True}, *told[1:]], together, "run")
    assert "together" not in capsys.readouterr().err


def test_versions_come_first_and_by_version_rows_and_status_are_theirs(filled):
    shown = run("verdicts", "--app", "com.example.shop", "--omega", "1.5", warehouse=filled)
    assert shown.stdout.index("The version as a whole") < shown.stdout.index("run_id")
    assert shown.exit_code == 3
    told = run("verdicts", "--app", "com.example.shop", "--by", "version", "--format", "json", warehouse=filled)
    rows = json.loads(told.stdout)
    contract = {"app", "version_name", "axis", "state", "is_anomalous", "run_count", "judged_count", "score"}
    assert all(contract | {"explanation", "is_current"} <= row.keys() for row in rows)
    assert {row["axis"] for row in rows} == {"all", "cpu", "memory"}
    assert told.exit_code == (3 if any(row["is_anomalous"] for row in rows) else 0)
    states = Counter(row["state"] for row in rows if row["axis"] == "all")
    counted = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    assert told.stderr.startswith(f"versions: {counted}; their runs: ")  # what the status goes by comes first
    calm = run(*("verdicts", "--by", "version", "--omega", "90", "--format", "csv"), warehouse=filled)
    assert calm.exit_code == 0
    assert calm.stdout.startswith("app,version_name,axis,detector,omega,state")
    unjudged = run("verdicts", "--by", "version", "--app-version", "1.0.0", warehouse=filled)
    assert unjudged.exit_code == 4


def test_a_comment_on_versions_links_pages_and_has_a_picture_beside_it(filled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERFREG_REPORTS_URL", "https://perf.example")
    by_version = ("verdicts", "--app", "com.example.shop", "--by", "version")
    comment = run(*by_version, "--format", "markdown", "--pictures", tmp_path / "pic tures", warehouse=filled)
    rows = json.loads(run(*by_version, "--format", "json", warehouse=filled).stdout)
    worse = {row["version_name"] for row in rows if row["axis"] == "all" and row["is_anomalous"]}
    assert worse
    assert comment.exit_code == 3
    addresses = re.findall(r"!\[[^\]]+\]\(<(pic%20tures/[^>]+)>\)", comment.stdout)
    assert len(addresses) == len(worse)
    assert all((tmp_path / unquote(one)).read_bytes().startswith(b"\x89PNG") for one in addresses)
    assert "](<https://perf.example/versions/com.example.shop@" in comment.stdout
    for form in ("github", "junit"):
        told = run(*by_version, "--format", form, warehouse=filled)
        assert (told.exit_code, "as a whole" in told.stdout) == (3, True)
    refused = run(*by_version, "--format", "markdown", "--omega", "1", "--pictures", tmp_path, warehouse=filled)
    assert (refused.exit_code, "neither --omega nor --detector" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        (("--app", "com.example.nots"), "app 'com.example.nots' (did you mean com.example.notes"),
        (("--app-version", "9.9.9"), "version '9.9.9' (the latest are "),
        (
            ("--app", "com.example.notes", "--app-version", "1.1"),
            "version '1.1' of com.example.notes (did you mean 1.1.0",
        ),
    ],
)
def test_verdicts_of_a_name_that_is_not_there_are_an_error(filled, selection, sentence):
    told = run("verdicts", *selection, warehouse=filled)
    assert told.exit_code == 1
    assert sentence in told.stderr


@pytest.mark.parametrize("value", ["nan", "inf", "-5", "101", "much"])
@pytest.mark.parametrize("command", [("verdicts",), ("reevaluate",), ("evaluate", ".")])
def test_what_is_no_omega_is_refused_wherever_one_is_given(filled, command, value):
    told = run(*command, "--omega", value, warehouse=filled)
    assert told.exit_code == 2
    assert "Invalid value for '--omega'" in told.stderr


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("omega", "101", "omega = 101: allowed is 0 to 100 IQRs\n"),
        ("omega", "nan", "omega = nan: allowed is 0 to 100 IQRs\n"),
        ("omega", "abc", "omega = 'abc': expected a number (IQRs)\n"),
        ("history_minimum", "2", "history_minimum = 2: allowed is 3 to 1000 runs\n"),
        ("path_similarity_minimum", "2", "path_similarity_minimum = 2: allowed is 0 to 1\n"),
        ("history_minimum", "900", "history_minimum (900) must not be larger than history_size"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_their_name(warehouse, name, value, sentence):
    told = run("settings", "set", name, value, warehouse=warehouse)
    assert told.exit_code == 1
    assert sentence in told.stderr
    assert "PERFREG_" not in told.stderr


SIMILARITY = "path_similarity_minimum"


def test_what_the_demo_set_stays_in_force_and_a_variable_that_says_otherwise_is_told(warehouse, monkeypatch):
    def in_force():
        with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
            return settings_table.in_force(reader, Settings.from_environment()).path_similarity_minimum

    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        settings_table.change(writer, SIMILARITY, "0.6")
    assert in_force() == 0.6
    assert "PERFREG" not in run("verdicts", warehouse=warehouse).stderr
    monkeypatch.setenv("PERFREG_PATH_SIMILARITY_MINIMUM", "0.8")  # the release's default is given, too, when it is said
    assert in_force() == 0.8
    told = run("verdicts", warehouse=warehouse).stderr.splitlines()
    assert [line for line in told if "PERFREG" in line] == [
        "PERFREG_PATH_SIMILARITY_MINIMUM=0.8 counts for this command; the warehouse has path_similarity_minimum = 0.6, "
        "which counts for all that lack the variable (perfreg settings set path_similarity_minimum 0.8 keeps it)"
    ]
    monkeypatch.setenv("PERFREG_PATH_SIMILARITY_MINIMUM", "0.60")
    assert "PERFREG" not in run("verdicts", warehouse=warehouse).stderr


def test_a_variable_that_does_not_count_is_told_with_and_without_a_warehouse(filled, tmp_path, monkeypatch):
    monkeypatch.setenv("PERFREG_OMEGA", "0.5")
    before = run("verdicts", "--format", "json", warehouse=filled)
    (line,) = (line for line in before.stderr.splitlines() if "PERFREG" in line)
    assert line.startswith("PERFREG_OMEGA=0.5 does not count: omega is always the warehouse's, 1.5 (")
    monkeypatch.setenv("PERFREG_HISTORY_SIZE", "8")  # nothing that it could disagree with
    new = run("verdicts", warehouse=tmp_path / "none.duckdb").stderr
    assert "PERFREG_OMEGA=0.5 does not count: omega is always the warehouse's, 0.75 (" in new
    assert "PERFREG_HISTORY_SIZE" not in new
    monkeypatch.delenv("PERFREG_OMEGA")
    damaged = tmp_path / "perfreg.read.duckdb"
    damaged.write_bytes(b"not a database")
    told = run("verdicts", warehouse=tmp_path / "perfreg.duckdb")
    assert told.exit_code == 1
    assert "could not be held against the warehouse's settings" in told.stderr


def test_settings_are_listed_with_where_each_is_from_and_who_set_it(warehouse, monkeypatch):
    assert (
        run("settings", "set", "history_size", "10", "--who", "ada", "--note", "a|b", warehouse=warehouse).exit_code
        == 0
    )
    monkeypatch.setenv("PERFREG_HISTORY_MINIMUM", "4")
    monkeypatch.setenv("PERFREG_OMEGA", "0.5")
    as_json = run("settings", "list", "--format", "json", warehouse=warehouse)
    rows = {row["name"]: row for row in json.loads(as_json.stdout)}
    counting = ("history_size", "history_minimum", "omega")
    assert {name: (rows[name]["value"], rows[name]["from"]) for name in counting} == {
        "history_size": (10, "warehouse"), "history_minimum": (4, "variable"), "omega": (1.5, "warehouse"),
    }  # fmt: skip
    assert rows["interval_s"]["from"] == "default"
    size = rows["history_size"]
    assert (size["default"], size["in_warehouse"], size["changed_by"], size["note"]) == (12, "10", "ada", "a|b")
    assert size["changed_at"].endswith("Z")
    as_csv = run("settings", "list", "--format", "csv", warehouse=warehouse)
    assert [row["name"] for row in csv.DictReader(io.StringIO(as_csv.stdout))] == list(rows)
    assert "ada" in run("settings", "list", warehouse=warehouse).stdout


def test_settings_list_shows_places_and_lists_as_they_count(warehouse, monkeypatch, tmp_path):
    monkeypatch.delenv("PERFREG_HOME", raising=False)
    monkeypatch.setenv("PERFREG_BUILDS", str(tmp_path / "apks"))
    rows = {
        row["name"]: row for row in json.loads(run("settings", "list", "--format", "json", warehouse=warehouse).stdout)
    }
    at = warehouse.absolute()
    places = {name: rows[name]["value"] for name in ("home", "inbox", "data", "builds")}
    assert places == {
        "home": str(at.parent / ".perfreg"),
        "inbox": str(at.parent / "inbox"),
        "data": str(Warehouse(at, lock_timeout_s=1).data.root),
        "builds": str(tmp_path / "apks"),
    }
    assert {name: rows[name]["from"] for name in ("inbox", "builds")} == {"inbox": "default", "builds": "variable"}
    as_csv = run("settings", "list", "--format", "csv", warehouse=warehouse).stdout
    (judged,) = [row for row in csv.DictReader(io.StringIO(as_csv)) if row["name"] == "judged_series"]
    assert json.loads(judged["value"]) == ["cpu_app", "cpu_total", "rss_app"]
    assert "cpu_app, cpu_total, rss_app" in run("settings", "list", warehouse=warehouse).stdout


def test_settings_list_keeps_a_secret(warehouse, monkeypatch):
    monkeypatch.setenv("PERFREG_WEBHOOK_URL", "https://user:pass@hooks.example/services/T0/B0/s3cret?key=also")
    told = run("settings", "list", warehouse=warehouse)
    assert told.exit_code == 0
    assert "https://hooks.example/" in told.stdout
    assert not [word for word in ("s3cret", "also", "pass@") if word in told.stdout]


def test_a_backup_is_restored_beside_the_warehouse_and_in_its_place_when_told(filled, tmp_path):
    kept = run("backup", tmp_path / "kept.tar", warehouse=filled)
    assert kept.exit_code == 0, kept.output
    target = tmp_path / "restored" / "perfreg.duckdb"
    assert run("restore", tmp_path / "kept.tar", warehouse=target).exit_code == 0
    told, before = (run("verdicts", "--format", "json", warehouse=one).stdout for one in (target, filled))
    assert told == before
    again = run("restore", tmp_path / "kept.tar", warehouse=target)
    assert again.exit_code == 1
    assert "There is a warehouse already" in again.stderr
    later = tmp_path / "restored" / ".perfreg" / "runs" / "later"
    later.mkdir(parents=True)
    (later / "run.json").touch()
    replaced = run("restore", tmp_path / "kept.tar", "--replace", warehouse=target)
    assert replaced.exit_code == 0
    assert f"perfreg ingest {later}" in replaced.stdout + replaced.stderr


def test_doctor_names_what_failed_and_exits_with_1(tmp_path, monkeypatch):
    monkeypatch.setattr(health, "check_kernels", lambda: [KernelCheck("DTW, tslearn", 0.5, 1e-9, is_ok=False)])
    told = run("doctor", warehouse=tmp_path / "perfreg.duckdb")
    assert told.exit_code == 1
    assert "kernel DTW, tslearn" in told.stdout


def test_doctor_finds_nothing_wrong_where_nothing_was_stored_yet(tmp_path, monkeypatch):
    monkeypatch.setattr(health, "check_kernels", list)
    told = run("doctor", warehouse=tmp_path / "perfreg.duckdb")
    assert told.exit_code == 0, told.stdout
    for name in ("warehouse perfreg.duckdb", "warehouse perfreg.read.duckdb"):
        (line,) = [line for line in told.stdout.splitlines() if line.startswith(name)]
        assert " notice " in line
        assert "there is none yet" in line


def test_a_variable_that_is_a_setting_but_for_a_letter_is_told(filled, monkeypatch):
    monkeypatch.setenv("PERFREG_OMGA", "0")
    monkeypatch.setenv("PERFREG_UI_SECRET", "not ours to judge")
    told = run("verdicts", warehouse=filled)
    assert "PERFREG_OMGA is no setting and changes nothing (did you mean PERFREG_OMEGA?)" in told.stderr
    assert "PERFREG_UI_SECRET" not in told.stderr


def test_several_values_may_follow_one_repeatable_option():
    command = main.commands["evaluate"]
    context = command.make_context(
        "evaluate", ["set.parquet", "--omega", "0", "0.5", "1.5", "--detector", "iqr", "--detector", "default"]
    )
    assert context.params["omegas"] == (0.0, 0.5, 1.5)
    assert context.params["detectors"] == ("iqr", "default")


def test_what_was_measured_is_kept_though_nobody_reads_what_is_shown(tmp_path, monkeypatch):
    """`perfreg evaluate … --out result.json | head` had measured for minutes, and left no file."""

    def nobody_reads(*_):
        raise BrokenPipeError

    monkeypatch.setattr(evaluate, "evaluate", lambda *_, **__: {"dataset": "d"})
    monkeypatch.setattr(versions, "evaluate", lambda *_, **__: {"dataset": "d"})
    monkeypatch.setattr(show, "print_tables", nobody_reads)
    monkeypatch.setattr(versions, "print_report", nobody_reads)
    for protocol in ("thesis", "versions"):
        out = tmp_path / f"{protocol}.json"
        run("evaluate", tmp_path, "--protocol", protocol, "--out", out, warehouse=tmp_path / "perfreg.duckdb")
        assert json.loads(out.read_text()) == {"dataset": "d"}


def test_an_axis_that_is_none_ends_a_collection_before_a_device_is_touched(tmp_path):
    result = run("collect", "--app", "com.rig.notes", "--for", "cpu,disk", warehouse=tmp_path / "perfreg.duckdb")
    assert result.exit_code == 1
    assert "'disk' is no axis; the known ones are cpu, memory" in result.output
    assert "Traceback" not in result.output


def test_dictionary_and_export_write_what_the_marts_hold(filled, tmp_path):
    assert "marts.verdicts" in run("dictionary", warehouse=filled).stdout
    result = run("export", tmp_path / "otava", warehouse=filled)
    assert result.exit_code == 0
    assert (tmp_path / "otava" / "otava.yaml").is_file()
