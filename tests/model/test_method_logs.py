"""Logs of methods' entries and exits: paid exactly, refused by thread, and stored for SQL."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.model.method_logs import estimated
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.power_profile import parse_profile

REFERENCE = Path(__file__).parents[1] / "data" / "method-logs" / "navitas__last_logs.json"
XML = """<device name="Android"><array name="cpu.clusters.cores"><value>1</value><value>1</value></array>
<array name="cpu.core_speeds.cluster0"><value>300000</value><value>600000</value><value>1200000</value></array>
<array name="cpu.core_power.cluster0"><value>10</value><value>20</value><value>60</value></array>
<array name="cpu.core_speeds.cluster1"><value>500000</value><value>1000000</value></array>
<array name="cpu.core_power.cluster1"><value>30</value><value>80</value></array>
<item name="cpu.active">12</item></device>"""
PROFILE = parse_profile(XML.encode(), "two.xml", nominal_voltage_v=3.85)


def line(method, is_entry, ms, first, second, *, thread=7, process=5):
    ticks = (((300000, 600000, 1200000), first), ((500000, 1000000), second))
    cores = [
        {"kernel": core, "details": [{"frequency": khz, "timestamp": n} for khz, n in zip(levels, own, strict=True)]}
        for core, (levels, own) in enumerate(ticks)
    ]
    header = {
        "processID": process, "threadID": thread, "methodName": method, "isEntry": is_entry, "timestamp": ms,
    }  # fmt: skip
    body = [{"component": "cpuTimeInStates", "details": cores}, {"component": "brightness", "details": 43}]
    return {"header": header, "body": body}


GOOD = (
    line("m", True, 1000, (0, 0, 0), (0, 0)),
    line("child", True, 1200, (20, 0, 0), (20, 0)),
    line("child", False, 1800, (20, 60, 0), (80, 0)),
    line("m", False, 2200, (50, 60, 10), (120, 0)),
)


def written(folder, *tests):
    path = folder / "logs.json"
    path.write_text(json.dumps({"tests": [{"testName": name, "logs": list(lines)} for name, lines in tests]}))
    return path


def take(path, profile=PROFILE):
    return estimated(path, profile, app="com.rig.shop", version_name="1.5.0", device="two", nominal_voltage_v=3.85)


def test_a_method_is_paid_for_all_cores_and_what_it_called_is_not_its_own(tmp_path):
    row, charges = take(written(tmp_path, ("first", GOOD)))
    found = {one.method: (one.call_count, one.method_self_mah * 3600, one.method_mah * 3600) for one in charges}
    # Core 0: 50, 60, 10 ticks at 10, 20, 60 mA are 23 mA·s; core 1: 120 ticks at 30 mA are 36. Child: 12 and 18.
    assert found == {
        "m": (1, pytest.approx(59.0 - 30.0), pytest.approx(59.0)),
        "child": (1, pytest.approx(30.0), pytest.approx(30.0)),
    }  # fmt: skip
    assert (row.test_count, row.thread_count, row.refused_count) == (1, 1, 0)


def test_a_thread_that_lost_lines_is_left_out_and_told(tmp_path):
    other = [line("m", True, 1000, (0, 0, 0), (0, 0), thread=8)]
    row, charges = take(written(tmp_path, ("first", [*GOOD, *other]), ("second", GOOD)))
    assert {(one.test, one.thread) for one in charges} == {("first", "7"), ("second", "7")}
    (refused,) = row.refused
    assert (refused.test, refused.thread, refused.reason_code) == ("first", "8", "method_log_unpaired")
    assert "m is entered and never left" in refused.reason


def test_clocks_that_disagree_are_told_with_both_figures(tmp_path):
    late = [line("m", True, 1000, (0, 0, 0), (0, 0)), line("m", False, 1138, (117, 0, 0), (117, 0))]
    with pytest.raises(Rejected, match=r"core 0: the ticks are 1\.17 s, 0\.138 s passed") as caught:
        take(written(tmp_path, ("first", late)))
    assert caught.value.reason is Reason.STATE_TIMES_DISAGREE


def test_the_references_own_sample_contradicts_its_clock():
    little = (509000, 1018000, 1210000, 1402000, 1556000, 1690000, 1844000)
    big = (682000, 1018000, 1210000, 1364000, 1498000, 1652000, 1863000, 2093000, 2362000)
    tables = "".join(
        f'<array name="cpu.core_{what}.cluster{n}">{"".join(f"<value>{value}</value>" for value in values)}</array>'
        for n, own in enumerate((little, big))
        for what, values in (("speeds", own), ("power", range(10, 10 + len(own))))
    )
    text = f'<device><array name="cpu.clusters.cores"><value>4</value><value>4</value></array>{tables}</device>'
    with pytest.raises(Rejected, match=r"core 0: the ticks are 1\.17 s, 0\.138 s passed") as caught:
        take(REFERENCE, parse_profile(text.encode(), "kirin.xml", nominal_voltage_v=3.85))
    assert caught.value.reason is Reason.STATE_TIMES_DISAGREE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "logs.json"), ("[]", "logs.json"), ('{"tests": []}', "has no line"),
        (json.dumps({"tests": [{"testName": "t", "logs": [{"header": {}, "body": []}]}]}), "processID"),
    ],
)  # fmt: skip
def test_what_is_no_log_is_refused(tmp_path, text, words):
    path = tmp_path / "logs.json"
    path.write_text(text)
    with pytest.raises(Rejected, match=words) as caught:
        take(path)
    assert caught.value.reason is Reason.METHOD_LOG_UNREADABLE


def _without_a_thread(one):
    del one["header"]["threadID"]


def _with_a_bad_tick(one):
    one["body"].insert(0, {"component": "brightness", "details": 43})
    one["body"][1]["details"][1]["details"][0]["timestamp"] = "20"


def _without_a_body(one):
    del one["body"]


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (_without_a_thread, "header.threadID: expected a value"),
        (_with_a_bad_tick, "body[1].details[1].details[0].timestamp: expected a whole number"),
        (_without_a_body, "body: expected a value"),
    ],
)
def test_a_bad_field_is_told_with_its_test_and_line(tmp_path, spoil, place):
    lines = json.loads(json.dumps(GOOD))
    spoil(lines[2])
    with pytest.raises(Rejected) as caught:
        take(written(tmp_path, ("first", GOOD), ("second", lines)))
    assert caught.value.reason is Reason.METHOD_LOG_UNREADABLE
    assert caught.value.detail == f"logs.json, test second, line 3 of its logs, {place}"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "circle", "folder"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, kind):
    path = tmp_path / "logs.json"
    {"pipe": os.mkfifo, "circle": lambda one: one.symlink_to(one.name), "folder": Path.mkdir}[kind](path)
    with pytest.raises(Rejected, match=r"logs\.json") as caught:
        take(path)
    assert caught.value.reason is Reason.METHOD_LOG_UNREADABLE


def test_a_link_to_a_log_is_followed_and_one_that_is_too_long_is_not_read(tmp_path):
    link, path = tmp_path / "link.json", written(tmp_path, ("first", GOOD))
    link.symlink_to(path)
    assert take(link)[1] == take(path)[1]
    with path.open("r+b") as stream:
        stream.truncate((1 << 30) + 1)
    with pytest.raises(Rejected, match="has more than") as caught:
        take(link)
    assert caught.value.reason is Reason.METHOD_LOG_UNREADABLE


def test_a_foreign_profile_is_refused(tmp_path):
    other = parse_profile(XML.replace("600000", "700000").encode(), "other.xml", nominal_voltage_v=3.85)
    with pytest.raises(Rejected) as caught:
        take(written(tmp_path, ("first", GOOD)), other)
    assert caught.value.reason is Reason.PROFILE_MISFIT


def test_the_command_keeps_it_for_sql_and_a_second_time_changes_nothing(tmp_path):
    path, profile = written(tmp_path, ("first", GOOD)), tmp_path / "two.xml"
    profile.write_text(XML)

    def run(*arguments, status=0):
        warehouse = ("--warehouse", str(tmp_path / "perfreg.duckdb"))
        result = CliRunner().invoke(main, [*map(str, arguments), *warehouse])
        assert result.exit_code == status, result.output
        return result

    command = ("energy-import", path, "--app", "com.rig.shop", "--app-version", "1.5.0", "--profile", profile)
    told = json.loads(run(*command, "--format", "json").stdout)
    assert [one["method"] for one in told["methods"]] == ["child", "m"]
    assert (told["refused"], told["test_count"]) == ([], 1)
    assert "upper bounds" in run(*command).stderr
    rows = json.loads(run("sql", "FROM marts.method_energies ORDER BY method", "--format", "json").stdout)
    assert [(row["method"], row["run_id"], row["is_upper_bound"]) for row in rows] == [
        ("child", None, True), ("m", None, True),
    ]  # fmt: skip
    assert rows[1]["method_mj"] == pytest.approx(59.0 * 3.85)
    assert json.loads(run("sql", "SELECT count(*) AS n FROM marts.method_logs", "--format", "json").stdout) == [
        {"n": 1}
    ]
    missing = run("energy-import", path, "--app", "com.rig.shop", "--app-version", "1.5.0", status=1)
    assert "--device" in missing.stderr


def test_a_measured_curve_is_of_one_voltage_however_it_is_named(tmp_path):
    """The device's was read at the process' voltage, and its energies told at the warehouse's."""
    curve = tmp_path / "two.csv"
    levels = ((0, 300000, 10), (0, 600000, 20), (0, 1200000, 60), (1, 500000, 30), (1, 1000000, 80))
    curve.write_text("CPU,Frequency (kHz),Power (mW)\n" + "".join(f"{a},{b},{c}\n" for a, b, c in levels))
    path = written(tmp_path, ("first", GOOD))

    def run(*arguments):
        result = CliRunner().invoke(main, [*map(str, arguments), "--warehouse", str(tmp_path / "perfreg.duckdb")])
        assert result.exit_code == 0, result.output
        return result.stdout

    def amounts(version, *whose):
        given = ("energy-import", path, "--app", "com.rig.shop", "--app-version", version, *whose, "--format", "json")
        return [one["method_mah"] for one in json.loads(run(*given))["methods"]]

    run("settings", "set", "nominal_voltage_v", "2")
    run("profiles", "add", curve, "--device", "two")
    assert amounts("1", "--device", "two") == amounts("2", "--profile", curve)
    assert sum(amounts("3", "--device", "two")) * 3600 == pytest.approx((59.0 + 30.0) / 2)
