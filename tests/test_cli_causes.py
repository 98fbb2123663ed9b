"""`perfreg causes --log` and `perfreg impact`: formats, keys, what is said about lines that do not fit, and storing."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.cli.causes import _stored_baselines
from perfreg_assets.settings import Settings

DATA = Path(__file__).parent / "data" / "call-logs"
NORMAL, SLOW = DATA / "calllog_small.txt.gz", DATA / "calllog_small_slow.txt.gz"
SLOW_METHOD = "com.x.dataaccess.util.AFCLotLevelHoldings217 - Close Listener"


def run(*arguments, warehouse=None):
    extra = ["--warehouse", str(warehouse)] if warehouse else []
    return CliRunner().invoke(main, [*map(str, arguments), *extra])


def told(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_causes_have_the_public_keys_and_the_slow_method_first():
    result = run("causes", "--log", SLOW, "--baseline", NORMAL, "--format", "json")
    rows = told(result)
    assert {"rank", "method", "service", "before_ms", "after_ms", "z", "seed_score"} <= set(rows[0])
    assert (rows[0]["rank"], rows[0]["method"], rows[0]["service"]) == (1, SLOW_METHOD, "WS5")
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert "2,304 of 49,553 lines are no calls, the first is 17: " in result.stderr
    assert "against 1 earlier log\n" in result.stderr


def test_several_baselines_stand_behind_one_option_or_behind_one_each(tmp_path):
    other = tmp_path / "other.txt"
    other.write_bytes(b"".join(gzip.decompress(NORMAL.read_bytes()).splitlines(keepends=True)[:-1000]))
    behind_one = run("causes", "--log", SLOW, "--baseline", NORMAL, other, "--format", "json")
    behind_each = run("causes", "--log", SLOW, "--baseline", NORMAL, "--baseline", other, "--format", "json")
    assert told(behind_one) == told(behind_each)
    assert "against 2 earlier logs\n" in behind_one.stderr
    assert "left out" not in behind_one.stderr


def test_a_baseline_that_is_given_twice_counts_once_and_the_log_itself_is_named(tmp_path):
    warehouse = tmp_path / "perfreg.duckdb"
    assert run("causes", "--log", NORMAL, "--app", "ledger", "--app-version", "1", warehouse=warehouse).exit_code == 0
    unpacked = tmp_path / "unpacked.txt"
    unpacked.write_bytes(gzip.decompress(NORMAL.read_bytes()))
    stored = "ledger/1/calllog_small.txt.gz"
    result = run(
        "causes", "--log", SLOW, "--baseline", NORMAL, unpacked, stored, SLOW, "--format", "json", warehouse=warehouse
    )
    assert all(row["history_count"] == 2 for row in told(result))
    for copy in (unpacked, stored):
        assert f"{copy} is left out: it is the same log as {NORMAL}, which counts once\n" in result.stderr
    assert f"{SLOW} is the log itself and hides what grew\n" in result.stderr
    assert "against 2 earlier logs\n" in result.stderr


def test_without_a_baseline_the_score_ranks_and_says_so():
    result = run("causes", "--log", SLOW, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    scores = [float(row["seed_score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0]["z"] == rows[0]["before_ms"] == ""
    assert "not_enough_history" in result.stderr


def test_the_second_filter_is_a_switch_and_is_told():
    every = told(run("causes", "--log", SLOW, "--format", "json"))
    result = run("causes", "--log", SLOW, "--format", "json", "--minimum-ms", "1")
    kept = told(result)
    assert all(row["mean_ms"] >= 1 and row["max_ms"] >= 1 for row in kept)
    assert 0 < len(kept) < len(every)
    assert f"{len(every) - len(kept)} methods whose mean or longest call is below 1 ms are not shown" in result.stderr


@pytest.mark.parametrize(
    ("what", "count", "keys"),
    [
        ("services", 6, {"service", "call_count", "min_ms", "mean_ms", "max_ms", "std_ms"}),
        ("slowest", 10, {"rank", "transaction", "elapsed_ms", "called_at"}),
        ("windows", 18, {"window_at", "calls_per_s", "mean_ms"}),
        ("scores", 563, {"seed_score", "rms", "std", "service_count"}),
    ],
)
def test_more_is_shown_on_request(what, count, keys):
    rows = told(run("causes", "--log", SLOW, "--show", what, "--format", "json"))
    assert len(rows) == count
    assert keys <= set(rows[0])


@pytest.mark.parametrize(
    ("times", "calls", "said"),
    [
        (["2020-01-01 00:00:00", "2020-01-01 00:00:30", ""], [2], "1 call whose line has no time that can be read: "),
        (["2020-01-01 00:00:00", "2020-01-01 00:00:30", "1970-01-01 00:00:00"], [2], "1 call whose time is so far"),
        (["", ""], [], "2 calls whose line has no time that can be read"),
        (["01.01.2020 00:00:00"], [], "no windows: no call of a service has a time that can be read"),
    ],
)
def test_calls_that_no_window_counts_are_said(tmp_path, times, calls, said):
    log = tmp_path / "calls.txt"
    log.write_text(
        "".join(f"{at} x PERF tx={number} svc=A 1 f elapsed=5ms\n" for number, at in enumerate(times)), encoding="utf-8"
    )
    result = run("causes", "--log", log, "--show", "windows", "--format", "json")
    assert [row["call_count"] for row in told(result)] == calls
    assert said in result.stderr


def test_folded_stacks_end_in_two_whole_numbers():
    result = run("causes", "--log", SLOW, "--baseline", NORMAL, "--format", "folded")
    lines = result.stdout.splitlines()
    assert len(lines) > 1000
    for line in lines:
        stack, before, after = line.rsplit(" ", 2)
        assert stack.count(";") >= 1
        assert before.isdigit()
        assert after.isdigit()


def test_a_table_is_short_and_says_how_long_it_would_be():
    result = run("causes", "--log", SLOW)
    assert len(result.stdout.splitlines()) == 11
    assert "10 of 563 rows; --limit 0 shows all" in result.stderr


def test_a_stored_log_is_a_baseline_for_the_next_version_and_storing_again_changes_nothing(tmp_path):
    warehouse = tmp_path / "perfreg.duckdb"
    first = run("causes", "--log", NORMAL, "--app", "ledger", "--app-version", "1", warehouse=warehouse)
    assert first.exit_code == 0, first.output
    assert "stored as ledger/1/calllog_small.txt.gz" in first.stderr
    for _ in range(2):
        again = run(
            "causes", "--log", SLOW, "--app", "ledger", "--app-version", "2", "--format", "json", warehouse=warehouse
        )
        assert told(again)[0]["method"] == SLOW_METHOD
    by_name = run(
        "causes", "--log", SLOW, "--baseline", "ledger/1/calllog_small.txt.gz", "--format", "json", warehouse=warehouse
    )
    assert told(by_name) == told(again)
    logs = told(
        run(
            "sql",
            "SELECT version_name, log_name, baselines FROM marts.call_logs ORDER BY 1",
            "--format",
            "json",
            warehouse=warehouse,
        )
    )
    assert [(row["version_name"], row["baselines"]) for row in logs] == [
        ("1", []),
        ("2", ["ledger/1/calllog_small.txt.gz"]),
    ]
    stored = told(run("impact", SLOW_METHOD, "--format", "json", warehouse=warehouse))
    assert {row["version_name"] for row in stored} == {"2"}, "the newest log of the app"
    of_file = told(run("impact", SLOW_METHOD, "--log", SLOW, "--format", "json"))
    assert [row["self_share"] for row in of_file] == pytest.approx([row["self_share"] for row in stored])


def test_impact_as_a_page(tmp_path):
    page = tmp_path / "impact.html"
    result = run("impact", "lotlevelholdings217", "--log", SLOW, "--format", "json", "--html", str(page))
    (service, *_) = (row["service"] for row in told(result))
    assert f"page: {page}" in result.stderr
    assert f"<bdi>{service}</bdi>" in page.read_text("utf-8")


def test_impact_names_the_services_with_the_largest_share_first_and_takes_a_part_of_a_name():
    result = run("impact", "lotlevelholdings217", "--log", SLOW, "--format", "json")
    rows = told(result)
    assert {row["method"] for row in rows} == {SLOW_METHOD}
    assert {"method", "service", "self_share", "children_share", "calls"} <= set(rows[0])
    shares = [row["self_share"] + row["children_share"] for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert result.stderr.endswith("1 service to test again\n")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["causes", "--log", "absent.txt"], "There is no such log"),
        (["causes", "--log", SLOW, "--baseline", "absent"], "There is no such log"),
        (["causes", "--log", SLOW, "--template", "{method}"], "there is no {transaction}"),
        (["causes", "--log", SLOW, "--template", "{transaction}|{label}|{method}|{elapsed_ms}|"], "does not fit"),
        (["causes", "--log", SLOW, "--app", "a"], "--app-version"),
        (["causes", "--log", SLOW, "--show", "scores", "--format", "folded"], "leave --show out"),
        (["impact", "x", "--log", "absent.txt"], "There is no such log"),
        (["impact", "LotLevelHoldingz217", "--log", SLOW], "near: "),
        (["impact", "x"], "does not exist"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments, word, tmp_path):
    result = run(*arguments, warehouse=tmp_path / "perfreg.duckdb")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("perfreg: ")
    assert word in line


def test_a_log_that_cannot_be_a_baseline_of_itself_is_said_to_be_incomplete(tmp_path):
    path = tmp_path / "log.txt.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(f"x PERF tx={i} svc=S 1.1 m elapsed=1ms\n" for i in range(9))
        file.write("x PERF tx=9 svc=S 1 m elapsed=1,5ms\nx PERF tx=9 svc=S 1 m ela")
    result = run("causes", "--log", path)
    assert result.exit_code == 0
    for said in (
        "call_log_incomplete: ",
        "1 call_log_decimal_comma; the first is line 10: ",
        "9 calls without their parent",
        "1 last line that is cut short",
    ):
        assert said in result.stderr


def test_a_stored_log_leaves_the_large_values_where_the_setting_says(tmp_path, monkeypatch):
    """Opened without it, the warehouse would be published with another data folder, and its marts find no samples."""
    monkeypatch.setenv("PERFREG_DATA", str(tmp_path / "elsewhere"))
    warehouse = tmp_path / "perfreg.duckdb"
    done = run("causes", "--log", NORMAL, "--app", "ledger", "--app-version", "1", warehouse=warehouse)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "elsewhere").is_dir()
    assert not (tmp_path / "perfreg.data").exists()


def test_looking_for_baselines_where_nothing_is_stored_makes_no_warehouse(tmp_path):
    assert _stored_baselines(Settings(warehouse=tmp_path / "perfreg.duckdb"), "ledger", "1") == {}
    assert list(tmp_path.iterdir()) == []
