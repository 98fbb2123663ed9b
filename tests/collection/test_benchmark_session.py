"""Benchmarks on the stand-in device, through real adb: what is measured there, and that nothing is left on it.

No Debian package makes dex from Java: d8 is a program here that packs the classes, and the device's runtime the
machine's JVM.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_suites import FOLDER, needs_java, written
from click.testing import CliRunner

from perfreg_assets.benchmarks.device_programs import OnDevice
from perfreg_assets.benchmarks.running import run_suites
from perfreg_assets.benchmarks.suite import read_suite
from perfreg_assets.cli import main
from perfreg_assets.collection.benchmark_session import lend
from perfreg_assets.collection.sweep import remaining, sweep
from perfreg_assets.reasons import Reason, Rejected

pytestmark = pytest.mark.device

D8 = """#!/bin/sh
while [ $# -gt 1 ]; do
    [ "$1" = --output ] && out=$2
    [ "$1" = --min-api ] && echo "$2" > "$(dirname "$0")/api"
    shift
done
cp "$1" "$out"
"""
QUICK = {"launches": "2", "warmup_s": "0", "measure_s": "0.05", "iterations_min": "3", "adequacy_ms": "0"}


@pytest.fixture
def d8(tmp_path):
    path = tmp_path / "sdk" / "d8"
    path.parent.mkdir()
    path.write_text(D8)
    path.chmod(0o755)
    return path


def on_device(bench, suites, d8=None, *, reconnect_timeout_s=3.0):
    """What came of variants on the device; a suite alone: its one file."""
    told = suites if isinstance(suites, list) else [("", suites)]
    with lend(bench.settings, bench.device.serial, reconnect_timeout_s=reconnect_timeout_s) as session:
        found = run_suites(told, progress=lambda _: None, machine=OnDevice(session, d8))
    return found if isinstance(suites, list) else found[""]


def suite_of(name, options=None):
    suite = read_suite(FOLDER / "suite.xml", QUICK | (options or {}))
    return replace(suite, benchmarks=tuple(one for one in suite.benchmarks if name in one.name))


# ---- runners -------------------------------------------------------------------------------------
@needs_java
def test_java_is_dexed_copied_and_measured_in_threads_and_nothing_is_left(bench, d8):
    (file,) = on_device(bench, suite_of("Sorting"), d8)
    (result,) = file.results
    assert (file.device, file.environment["sdk"]) == ("Rig Phone / Android 14", 34)
    assert sorted({(one.number, one.thread) for one in result.launches}) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(set(one.counts) == {200_000} for one in result.launches)
    assert (d8.parent / "api").read_text().strip() == "34"
    bench.assert_clean()


@needs_java
def test_runtimes_of_32_and_64_bits_take_turns(bench, d8):
    log = bench.device.path("/data/rig/bits")
    for bits in ("32", "64"):
        shim = bench.device.path(f"/system/bin/app_process{bits}")
        text = shim.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\necho {bits} >> /data/rig/bits\n")
        shim.write_text(text)
    try:
        suites = [(bits, suite_of("Sorting", {"bits": bits, "launches": "4"})) for bits in ("32", "64")]
        found = on_device(bench, suites, d8)
        assert log.read_text().split() == ["32", "64", "64", "32", "32", "64", "64", "32"]
        assert all(len(files[0].results) == 1 for files in found.values())
    finally:
        log.unlink(missing_ok=True)
        for bits in ("32", "64"):
            shim = bench.device.path(f"/system/bin/app_process{bits}")
            shim.write_text(shim.read_text().replace(f"echo {bits} >> /data/rig/bits\n", ""))
    bench.assert_clean()


def test_without_d8_java_has_a_reason_and_others_go_on(bench, monkeypatch):
    for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT"):
        monkeypatch.delenv(name, raising=False)
    files = on_device(bench, read_suite(FOLDER / "suite.xml", QUICK))
    reasons = {one.name.split("(")[0]: one.reason for file in files for one in file.invalid}
    assert reasons["Sorting"] is Reason.DEXER_MISSING
    assert reasons["benchmarks.py:Digest"] is Reason.SUITE_VALUE
    assert [one.benchmark for file in files for one in file.results] == ["awk loop"]
    bench.assert_clean()


@needs_java
def test_d8_is_looked_for_in_the_newest_build_tools(bench, d8, tmp_path, monkeypatch):
    for release in ("9.0.0", "35.0.1", "34.0.0"):
        tools = tmp_path / "android" / "build-tools" / release
        tools.mkdir(parents=True)
        shutil.copy(d8, tools)
    monkeypatch.setenv("ANDROID_HOME", str(tmp_path / "android"))
    (file,) = on_device(bench, suite_of("Sorting", {"launches": "1"}))
    assert len(file.results) == 1
    assert (tmp_path / "android" / "build-tools" / "35.0.1" / "api").exists()


def test_a_command_is_a_program_of_the_suites_folder_that_finds_its_files(bench, tmp_path):
    program = tmp_path / "measure"
    line = '{"phase": "measure", "thread": 0, "count": %s, "elapsed_ns": 1000}'
    program.write_text(
        '#!/bin/sh\nfor one in "$@"; do case "$one" in paramGoldenfile=*) file=${one#*=};; esac; done\n'
        f"printf '{line.replace('%s', '%d')}\\n' $(wc -c < \"$file\")\n"
    )
    program.chmod(0o755)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "input.bin").write_bytes(bytes(1234))
    text = (
        '[[benchmark]]\nname = "native"\nrunner = "command"\ncommand = ["./measure"]\nlaunches = 2\n'
        'paramGoldenfile = "data/input.bin"'
    )
    (file,) = on_device(bench, read_suite(written(tmp_path, text, "suite.toml")))
    (result,) = file.results
    assert {one.counts for one in result.launches} == {(1234,)}
    bench.assert_clean()


JETPACK = {"name": "sh.measure.StartupTest#cold", "instrumentation": "com.rig.test/androidx.Runner"}


def jetpack_suite(folder, **options):
    text = "[[benchmark]]\nrunner = 'jetpack'\nlaunches = 2\narea = 'startup'\n"
    return read_suite(
        written(folder, text + "".join(f"{k} = {v!r}\n" for k, v in {**JETPACK, **options}.items()), "suite.toml")
    )


@pytest.fixture
def test_app(bench):
    """A test app on the device, which leaves a recorded file of results."""
    bench.device.install("com.rig.test", "1.0", 1)
    bench.device.path("/sdcard/Android/media").mkdir(parents=True)
    recorded = Path(FOLDER).parent / "benchmark-results" / "jetpack_startup_2024-02_disabled.json.gz"
    bench.device.path("/data/rig/benchmarkData.json").write_bytes(gzip.decompress(recorded.read_bytes()))
    yield
    bench.device.path("/data/rig/benchmarkData.json").unlink()


@pytest.mark.usefixtures("test_app")
def test_jetpack_runs_the_installed_tests_and_a_launch_is_a_run_of_them(bench, tmp_path):
    (file,) = on_device(bench, jetpack_suite(tmp_path))
    (result,) = [one for one in file.results if one.is_primary]
    assert (file.tool, result.area, len(result.scores)) == ("jetpack", "startup", 2)
    assert result.unit == "ns"
    assert list(bench.device.path("/sdcard/Android/media").iterdir()) == []
    assert bench.device.processes_named("com.rig.test") == []
    assert remaining(bench.settings) == ()


@pytest.mark.usefixtures("test_app")
@pytest.mark.parametrize(
    ("options", "faults", "word"),
    [
        ({"instrumentation": "com.rig.none/x.Runner"}, {}, "INSTRUMENTATION_FAILED: com.rig.none/x.Runner"),
        ({}, {"instrument": "fail"}, "AssertionError: rig"),
    ],
)
def test_jetpack_tests_that_fail_have_no_result_and_say_why(bench, tmp_path, options, faults, word):
    bench.device.set_faults(**faults)
    (file,) = on_device(bench, jetpack_suite(tmp_path, **options))
    (found,) = file.invalid
    assert found.reason is Reason.BENCHMARK_FAILED
    assert word in found.detail


@pytest.mark.usefixtures("test_app")
def test_an_instrumented_test_that_hangs_does_not_run_beside_the_next_benchmark(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("perfreg_assets.benchmarks.device_programs.INSTRUMENTATION_S", 2.0)
    bench.device.set_faults(instrument="endless")
    text = "[conf]\nlaunches = 1\n[[benchmark]]\nrunner = 'jetpack'\n"
    text += "".join(f"{name} = {value!r}\n" for name, value in JETPACK.items())
    text += """[[benchmark]]\nname = 'next'\nrunner = 'command'
        command = ["sh", "-c", "pidof com.rig.test > /data/rig/beside; sh loop.sh"]"""
    shutil.copy(FOLDER / "loop.sh", tmp_path)
    files = on_device(bench, read_suite(written(tmp_path, text, "suite.toml"), QUICK))
    assert [one.reason for file in files for one in file.invalid] == [Reason.BENCHMARK_TIMEOUT]
    assert [one.benchmark for file in files for one in file.results] == ["next"]
    beside = bench.device.path("/data/rig/beside")
    told = beside.read_text()
    beside.unlink()
    assert told.strip() == ""


def test_jetpack_needs_a_device(tmp_path):
    ((file,),) = run_suites([("", jetpack_suite(tmp_path))], progress=lambda _: None).values()
    assert (file.invalid[0].reason, "--device" in file.invalid[0].detail) == (Reason.SUITE_VALUE, True)


# ---- what the device is like -----------------------------------------------------------------------
def test_an_emulator_and_heat_are_warned_of(bench):
    bench.device.set_properties(**{"ro__kernel__qemu": "1"})
    bench.device.set_faults(thermal_status=3)
    (file,) = on_device(bench, suite_of("awk"))
    codes = {one.code: one.detail for one in file.results[0].warnings}
    assert {Reason.EMULATOR, Reason.THROTTLED} <= set(codes)
    assert "thermal status is 3" in codes[Reason.THROTTLED]
    assert not file.results[0].is_adequate


# ---- bad days --------------------------------------------------------------------------------------
def slow_suite(folder, seconds=30):
    """A program that says when it has begun, and one that would follow."""
    text = (
        f'[conf]\nlaunches = 1\n[[benchmark]]\nname = "slow"\nrunner = "command"\n'
        f'command = ["sh", "-c", "touch /data/rig/began; sleep {seconds}; sh loop.sh"]\n'
        '[[benchmark]]\nname = "next"\nrunner = "command"\ncommand = ["sh", "loop.sh"]'
    )
    shutil.copy(FOLDER / "loop.sh", folder)
    return read_suite(written(folder, text, "suite.toml"))


def when_begun(bench, action):
    """Does something on another thread once the slow program runs; what joins it."""
    began = bench.device.path("/data/rig/began")

    def wait():
        deadline = time.monotonic() + 30
        while not began.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        began.unlink(missing_ok=True)
        action()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_device_that_is_unplugged_is_waited_for_then_failed_and_swept_when_it_is_back(bench, tmp_path):
    thread = when_begun(bench, bench.device.unplug)
    (file,) = on_device(bench, slow_suite(tmp_path, 300), reconnect_timeout_s=1.0)
    thread.join()
    assert not file.results
    assert {one.name.split()[0]: one.reason for one in file.invalid} == {
        "slow": Reason.DEVICE_LOST,
        "next": Reason.DEVICE_LOST,
    }
    assert remaining(bench.settings) != ()
    bench.device.plug()
    assert sweep(bench.settings).remaining == ()
    bench.assert_clean()


def test_a_device_that_comes_back_in_time_does_the_launch_once_more(bench, tmp_path):
    def blink():
        bench.device.unplug()
        bench.device.plug()

    thread = when_begun(bench, blink)
    (file,) = on_device(bench, slow_suite(tmp_path, 1), reconnect_timeout_s=20.0)
    thread.join()
    bench.device.path("/data/rig/began").unlink(missing_ok=True)
    assert sorted(one.benchmark for one in file.results) == ["next", "slow"]
    bench.assert_clean()


def test_a_program_that_hangs_is_ended_on_the_device_too(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("perfreg_assets.benchmarks.programs.START_S", 0.5)
    suite = read_suite(slow_suite(tmp_path, 300).path, {"warmup_s": "0", "measure_s": "0.1"})
    (file,) = on_device(bench, suite)
    bench.device.path("/data/rig/began").unlink(missing_ok=True)
    assert [(one.name.split()[0], one.reason) for one in file.invalid] == [("slow", Reason.BENCHMARK_TIMEOUT)]
    assert [one.benchmark for one in file.results] == ["next"]
    bench.assert_clean()


def test_a_session_that_is_interrupted_leaves_nothing(bench):
    def interrupted():
        with lend(bench.settings, bench.device.serial) as session:
            session.put(FOLDER / "loop.sh", "suite/loop.sh")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    bench.assert_clean()


def test_one_device_is_lent_once_at_a_time(bench):
    with lend(bench.settings, bench.device.serial):
        with pytest.raises(Rejected) as caught, lend(bench.settings, bench.device.serial):
            pass
        assert caught.value.reason is Reason.DEVICE_BUSY


# ---- the command -----------------------------------------------------------------------------------
def test_the_command_measures_on_the_device_that_is_named(bench, tmp_path):
    chosen = ["--only", "math", "--option", "adequacy_ms=0", "--app", "a", "--app-version", "1"]
    arguments = ["bench", "run", FOLDER / "suite.xml", *chosen, "--device", bench.device.serial]
    arguments += ["--warehouse", tmp_path / "p.duckdb", "--format", "json"]
    environment = {**os.environ, "PERFREG_HOME": str(tmp_path / "home")}
    result = CliRunner().invoke(main, [str(one) for one in arguments], env=environment)
    assert result.exit_code == 4, result.output
    (row,) = json.loads(result.stdout)
    assert (row["device"], row["runner"]) == ("Rig Phone / Android 14", "command")
    bench.assert_clean()
    arguments[arguments.index(bench.device.serial)] = "none"
    missing = CliRunner().invoke(main, [str(one) for one in arguments], env=environment)
    assert missing.exit_code == 1
    assert "'none' is not among the attached devices" in missing.stderr
