"""Crashes, ANRs and tombstones in logcat's words."""

import pytest

from perfreg_assets.collection.adb_server import AdbServer
from perfreg_assets.collection.device import Device
from perfreg_assets.collection.functional_problems import (
    FunctionalProblem,
    find_problems,
    mark_log,
    merge_problems,
    parse_lines,
    read_log,
)
from perfreg_assets.reasons import Reason, Rejected

APP = "com.rig.shop"
LOG = """\
--------- beginning of main
    1795170000.100  1234  1234 I perfreg : start 0011
    1795170001.000  4000  4000 E AndroidRuntime: FATAL EXCEPTION: main
    1795170001.000  4000  4000 E AndroidRuntime: Process: com.rig.shop, PID: 4000
    1795170001.001  4000  4000 E AndroidRuntime: java.lang.IllegalStateException: no cart
    1795170001.001  4000  4000 E AndroidRuntime: \tat com.rig.shop.Cart.total(Cart.java:12)
    1795170002.000  4100  4100 E AndroidRuntime: FATAL EXCEPTION: main
    1795170002.000  4100  4100 E AndroidRuntime: Process: com.rig.shopping, PID: 4100
    1795170002.000  4100  4100 E AndroidRuntime: java.lang.Error: another app
    1795170003.000  4200  4200 E AndroidRuntime: FATAL EXCEPTION: worker
    1795170003.000  4200  4200 E AndroidRuntime: Process: com.rig.shop:sync, PID: 4200
    1795170003.000  4200  4200 E AndroidRuntime: java.io.IOException: gone
    1795170004.000  1500  1600 E ActivityManager: ANR in com.rig.shop (com.rig.shop/.Home)
    1795170004.000  1500  1600 E ActivityManager: PID: 4000
    1795170004.000  1500  1600 E ActivityManager: Reason: Input dispatching timed out
    1795170005.000  5000  5000 F DEBUG   : *** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
    1795170005.000  5000  5000 F DEBUG   : pid: 4000, tid: 4010, name: RenderThread  >>> com.rig.shop <<<
    1795170005.000  5000  5000 F DEBUG   : signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0
this line is broken
"""


def test_the_apps_crashes_anrs_and_tombstones_are_found_and_other_apps_are_left_out():
    problems = find_problems(parse_lines(LOG), APP)
    assert [(problem.kind, problem.pid) for problem in problems] == [
        ("crash", 4000),
        ("crash", 4200),
        ("anr", 4000),
        ("native_crash", 4000),
    ]
    assert problems[0].message.startswith("java.lang.IllegalStateException: no cart\nat com.rig.shop.Cart.total")
    assert problems[0].device_wall_s == 1795170001.0
    assert problems[2].message == "Reason: Input dispatching timed out"
    assert problems[3].message.startswith("signal 11 (SIGSEGV)")


def test_another_app_whose_name_begins_alike_is_another_app():
    assert [problem.pid for problem in find_problems(parse_lines(LOG), "com.rig.shopping")] == [4100]
    assert find_problems(parse_lines(LOG), "com.rig") == []


@pytest.mark.device
@pytest.mark.parametrize("before", [0, 3])
def test_the_sessions_part_of_the_log_is_what_comes_after_its_start_whatever_the_clock_says(standin, before):
    device = Device(AdbServer(), standin.serial, token="log")
    crash = "\n".join(line for line in LOG.splitlines() if " 4000  4000 E Android" in line) + "\n"
    for _ in range(before):
        append(standin, "crash", crash)
    start = mark_log(device, "start 77")
    append(standin, "crash", crash.replace("1795170001", "1500000000").replace("4000", "4711"))
    report = read_log(device, start, app=APP, scratch_dir="/data/local/tmp")
    assert [(problem.kind, problem.pid) for problem in report.problems] == [("crash", 4711)]
    assert report.is_complete
    assert standin.leftovers() == []


@pytest.mark.device
@pytest.mark.parametrize("buffer", ["main", "system", "crash"])
def test_a_start_that_is_gone_from_its_buffer_is_a_loss_and_what_is_left_is_read(standin, buffer):
    device = Device(AdbServer(), standin.serial, token="log")
    append(standin, "system", "    1795169000.000  1  1 I old : line\n")
    append(standin, "crash", "    1795169000.000  1  1 I old : line\n")
    start = mark_log(device, "start 77")
    (standin.path("/data/rig/log") / buffer).write_text(LOG)  # the ring went round
    report = read_log(device, start, app=APP, scratch_dir="/data/local/tmp")
    assert report.lost == (buffer,)
    assert not report.is_complete
    assert len(report.problems) == 4


@pytest.mark.device
def test_a_log_that_cannot_be_read_is_not_an_empty_one(standin):
    device = Device(AdbServer(), standin.serial, token="log")
    start = mark_log(device, "start 77")
    with pytest.raises(Rejected) as refusal:
        read_log(device, start, app=APP, scratch_dir="/no/such/folder")
    assert refusal.value.reason is Reason.DEVICE_COMMAND_FAILED


def append(standin, buffer, text):
    with (standin.path("/data/rig/log") / buffer).open("a") as out:
        out.write(text)


def test_what_the_log_tells_better_is_told_once():
    log = (FunctionalProblem("crash", "java…", 1.0, pid=7), FunctionalProblem("native_crash", "signal", 2.0, pid=9))
    explorer = (
        FunctionalProblem("crash", "monkey saw it", pid=7),
        FunctionalProblem("crash", "monkey saw it", pid=9),
        FunctionalProblem("crash", "another process", pid=8),
        FunctionalProblem("anr", "not in the log", pid=7),
    )
    merged = merge_problems(log, explorer)
    assert [problem.message for problem in merged] == ["java…", "signal", "another process", "not in the log"]
