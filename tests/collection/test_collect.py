"""A whole collection on the stand-in device."""

import json
import random
import threading
import zlib
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import standin as standin_device
from standin_shims import SCREENS

from perfreg_assets.collection import waiting
from perfreg_assets.collection.adb_server import AdbServer
from perfreg_assets.collection.batch import collect_batch
from perfreg_assets.collection.device import Device
from perfreg_assets.collection.journal import device_lock
from perfreg_assets.collection.run_folder import read_run_folder
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.inspection import inspect_trace

pytestmark = pytest.mark.device


def test_a_collection_leaves_a_run_folder_that_the_gate_calls_complete_and_nothing_on_the_device(bench):
    before = bench.device.settings()
    result = bench.collect(
        apk=bench.apk(),
        time_limit_s=3.0,
        keep_screen_on=True,
        animations_off=True,
        airplane_mode=True,
        version_name="1.4.0",
    )
    run = read_run_folder(result.run_folder, bench.settings)
    assert (run.app, run.version_name, run.version_code) == ("com.rig.notes", "1.4.0", 140)
    assert run.run_id == result.run_id == result.run_folder.name
    assert run.config.device == "Rig Phone / Android 14 (screen on, animations off, airplane mode)"
    assert (run.config.strategy, run.config.time_limit_s, run.config.action_interval_s) == ("monkey", 3.0, 0.3)
    assert run.device_unit == "RIG0042"  # not the address at which adb reached it
    assert run.functional_problems == []
    assert (run.trace_bytes, run.trace_sha256) == (run.trace.file_bytes, run.trace.sha256)
    health, series, *_ = inspect_trace(
        run.trace_path, app=run.app, exploration=run.exploration, time_limit_s=3.0, settings=bench.settings
    )
    assert health.is_complete, health.detail
    assert {item.name for item in series if item.values is not None} >= {"cpu_app", "cpu_total", "rss_app"}
    assert result.record.state == "collected"
    assert result.record.bytes_per_minute > 0
    assert result.stop_reason == "time_limit"
    assert result.leftovers == ()
    left = bench.device.leftovers()
    assert left == []  # the app that was installed for it is gone, too
    restored = bench.device.settings()
    assert before is None
    assert restored["global/window_animation_scale"] == "1.0"
    assert restored["global/airplane_mode_on"] == "0"
    assert "global/stay_on_while_plugged_in" not in restored
    assert "global/animator_duration_scale" not in restored


def test_each_event_has_a_step_in_trace_time_and_equal_seeds_give_equal_paths(bench):
    options = {"time_limit_s": 3.6, "action_interval_s": 0.8, "seeds": (7, 8)}
    runs = [bench.collect(repeat=repeat, **options) for repeat in (0, 1, 2)]
    documents = [bench.document(run) for run in runs]
    for document in documents:
        start, end = document["exploration"]["start_ns"], document["exploration"]["end_ns"]
        times = [step["ts_ns"] for step in document["path"]]
        assert times == sorted(times)
        assert start <= times[0]
        assert times[-1] <= end + document["collection"]["clock"]["error_s"] * 1e9
        assert all(len(step["state_hash"]) == 64 and step["action"].startswith("Touch") for step in document["path"])
        assert document["path"][0]["screen"] == ".Home", "where the first event was sent: the screen that was launched"
    # The events, with where they were sent. On a busy machine some pass while a state is read: those have no step.
    seven, eight, seven_again = ([step["action"] for step in document["path"]] for document in documents)
    shared = [action for action in seven if action in seven_again]
    assert len(shared) >= 2
    assert shared == [action for action in seven_again if action in seven]
    assert not set(seven) & set(eight)
    assert documents[0]["path"][0]["state_hash"] == documents[2]["path"][0]["state_hash"]


def test_no_step_is_told_of_a_screen_that_was_left_while_the_device_was_away(bench, monkeypatch):
    """It goes away while the screen is read that the second event led to."""
    shown, screen, chance = {}, 0, random.Random(1)
    for _ in range(100):
        x, y = chance.uniform(0, 412), chance.uniform(0, 892)
        shown[f"Touch (ACTION_DOWN): 0:({x:.1f},{y:.1f})"] = f".{SCREENS[screen]}"
        screen = zlib.crc32(f"{screen} {int(x) // 103} {int(y) // 223}".encode()) % len(SCREENS)
    script, readings = Device.script, []

    def interrupted(device, text, *arguments, **options):
        if "uiautomator dump" in text:
            readings.append(text)
            if len(readings) == 3:
                raise Rejected(Reason.DEVICE_LOST, "the cable was pulled")
        return script(device, text, *arguments, **options)

    monkeypatch.setattr(Device, "script", interrupted)
    document = bench.document(bench.collect(time_limit_s=7.0, action_interval_s=1.2, seeds=(1,)))
    told = {step["action"]: step["screen"] for step in document["path"]}
    assert len(told) >= 3
    assert told == {action: shown[action] for action in told}


def test_progress_tells_the_stages_in_order_and_what_has_been_recorded(bench):
    bench.collect(time_limit_s=3.0)
    order = list(dict.fromkeys(now.stage for now in bench.stages))
    expected = ["device", "sweep", "prepare", "cool_down", "record", "launch", "explore", "stop", "pull", "log"]
    assert order == [*expected, "write", "restore"]
    exploring = [now for now in bench.stages if now.stage == "explore"]
    assert exploring[-1].step_count > 0
    assert exploring[-1].trace_bytes > 0
    assert [now.elapsed_s for now in bench.stages] == sorted(now.elapsed_s for now in bench.stages)


def test_an_explorer_that_has_seen_all_ends_the_session_early(bench):
    command = bench.script("""
        for step in range(3):
            line = {"step": step, "at_ms": time.time() * 1000, "state": f"s{step}", "screen": "home", "action": "tap"}
            path.write(json.dumps(line) + "\\n")
            time.sleep(0.2)
    """)
    result = bench.collect(explorer="command", explorer_command=command, time_limit_s=20.0, strategy="mine")
    assert result.stop_reason == "exhausted"
    document = bench.document(result)
    assert [step["screen"] for step in document["path"]] == ["home"] * 3
    assert document["config"]["strategy"] == "mine"
    seconds = (document["exploration"]["end_ns"] - document["exploration"]["start_ns"]) / 1e9
    assert 0.4 < seconds < 20
    bench.assert_clean()


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        ({"crash_after": 3}, "crash"),
        ({"native_crash_after": 3}, "native_crash"),
        ({"anr_after": 3}, "anr"),
        ({"vanish_after": 3}, "process_vanished"),
    ],
)
def test_what_goes_wrong_in_the_app_is_a_functional_problem_of_the_run(bench, behaviour, kind):
    result = bench.collect(apk=bench.apk(**behaviour), time_limit_s=4.0)
    document = bench.document(result)
    # Monkey starts the app again, which does it again: one problem per process, each told once.
    problems = document["functional_problems"]
    assert {problem["kind"] for problem in problems} == {kind}
    assert 1 <= result.problem_count == len(problems) == len({problem["ts_ns"] for problem in problems})
    moment = problems[0]["ts_ns"]
    assert document["exploration"]["start_ns"] < moment < document["exploration"]["end_ns"]
    bench.assert_clean()


def test_problems_of_another_session_are_not_this_ones(bench):
    bench.collect(apk=bench.apk(crash_after=2), time_limit_s=3.0)
    result = bench.collect(apk=bench.apk(), time_limit_s=1.6)
    assert bench.document(result)["functional_problems"] == []


def test_a_log_that_lost_lines_makes_the_problems_unknown_and_says_so(bench):
    bench.device.set_faults(log_lines=3)
    result = bench.collect(time_limit_s=3.0)
    document = bench.document(result)
    assert "functional_problems" not in document
    assert result.problem_count is None
    assert document["collection"]["log"] == {"is_complete": False, "lost_buffers": ["main"]}
    assert read_run_folder(result.run_folder, bench.settings).functional_problems is None


def test_a_batch_collects_each_version_in_turn_and_uninstalls_between(bench):
    bench.device.path("/data/app/com.rig.notes.json").unlink()
    apks = [Path(bench.apk(f"{version}.apk", version_name=version)) for version in ("1.4.0", "1.5.0")]
    result = collect_batch(bench.config(repeats=2, time_limit_s=1.6), apks, settings=bench.settings, runs_out=bench.out)
    assert result.is_complete
    documents = [bench.document(outcome.result) for outcome in result.outcomes]
    assert [document["version_name"] for document in documents] == ["1.4.0", "1.4.0", "1.5.0", "1.5.0"]
    assert [document["collection"]["repeat"] for document in documents] == [0, 1, 0, 1]
    assert len({document["run_id"] for document in documents}) == 4
    assert bench.device.leftovers() == []


def test_a_failed_session_does_not_keep_a_batch_from_the_next_version(bench):
    apks = [Path(bench.apk("bad.apk", crash_at_start=True)), Path(bench.apk("good.apk", version_name="1.5.0"))]
    result = collect_batch(bench.config(repeats=1, time_limit_s=1.6), apks, settings=bench.settings, runs_out=bench.out)
    assert [outcome.error.reason if outcome.error else None for outcome in result.outcomes] == [
        Reason.APP_CRASHED_AT_START,
        None,
    ]
    assert result.skipped == 0
    assert not result.is_complete


def test_a_version_that_is_expected_is_expected_of_every_build_of_a_batch(bench):
    apks = [Path(bench.apk(f"{version}.apk", version_name=version)) for version in ("1.4.0", "1.5.0")]
    with pytest.raises(Rejected, match=r"1\.5\.0\.apk is version '1\.5\.0', asked for is '1\.4\.0'") as caught:
        collect_batch(bench.config(version_name="1.4.0"), apks, settings=bench.settings, runs_out=bench.out)
    assert caught.value.reason is Reason.BUILD_MISMATCH
    bench.assert_nothing_accepted()


def test_an_unusable_device_ends_a_batch(bench):
    result = collect_batch(bench.config(repeats=3, serial="no-such"), settings=bench.settings, runs_out=bench.out)
    assert [outcome.error.reason for outcome in result.outcomes] == [Reason.DEVICE_NOT_FOUND]
    assert result.skipped == 2


@pytest.fixture
def quick_polls(monkeypatch):
    monkeypatch.setattr(waiting, "_POLL_S", 0.1)


def test_a_device_in_use_is_waited_for_as_long_as_is_said_and_the_session_begins_then(bench, quick_polls):
    folder = bench.settings.home_dir / "collections"
    with device_lock(folder, bench.device.serial):
        assert bench.fail(busy_wait_s=0.3).reason is Reason.DEVICE_BUSY
    assert "is in use by another collection; waiting for" in bench.stages[-1].message
    with ExitStack() as held:
        held.enter_context(device_lock(folder, bench.device.serial))
        free = []

        def is_freed():
            if len(bench.stages) == 2:
                free.append(datetime.now(UTC))
                held.close()

        result = bench.collect(each=is_freed, busy_wait_s=60.0, time_limit_s=1.6)
    assert result.record.started_at >= free[0]


def test_a_device_that_is_not_attached_is_waited_for(bench, quick_polls):
    assert bench.fail(serial="emulator-9999", absent_wait_s=0.3).reason is Reason.DEVICE_NOT_FOUND
    assert "is not among the attached devices" in bench.stages[-1].message
    assert "waiting for" in bench.stages[-1].message


def test_who_takes_the_device_between_two_sessions_of_a_batch_does_not_end_it(bench, quick_polls):
    held = ExitStack()

    def take(outcome):
        if outcome.repeat == 0:
            held.enter_context(device_lock(bench.settings.home_dir / "collections", bench.device.serial))

    def progress(now):
        if "is in use by another collection" in now.message:
            held.close()

    result = collect_batch(
        bench.config(repeats=2, time_limit_s=1.6), settings=bench.settings, runs_out=bench.out, ended=take,
        progress=progress,
    )  # fmt: skip
    assert result.is_complete


def test_a_device_that_goes_away_between_two_sessions_of_a_batch_is_waited_for(bench, quick_polls):
    def away(outcome):
        if outcome.repeat == 0:
            bench.device.unplug()
            AdbServer().disconnect(bench.device.serial)
            threading.Timer(1.0, bench.device.plug).start()

    config = bench.config(repeats=2, time_limit_s=1.6, reconnect_timeout_s=20.0)
    result = collect_batch(config, settings=bench.settings, runs_out=bench.out, ended=away)
    assert [outcome.record.reason for outcome in result.outcomes] == [None, None]


def test_a_device_that_is_attached_during_a_batch_does_not_end_it(bench):
    with ExitStack() as attached:

        def attach_another(outcome):
            if outcome.repeat == 0:
                stranger = attached.enter_context(closing(standin_device.UnauthorizedDevice()))
                attached.callback(AdbServer().disconnect, stranger.serial)
                AdbServer().connect(stranger.serial)

        config = bench.config(repeats=2, time_limit_s=1.6, serial=None)
        result = collect_batch(config, settings=bench.settings, runs_out=bench.out, ended=attach_another)
    assert [outcome.record.reason for outcome in result.outcomes] == [None, None]


def test_told_to_end_when_a_session_is_done_a_batch_keeps_it_and_begins_no_other(bench):
    def progress(now):
        if now.stage == "restore":
            raise KeyboardInterrupt

    result = collect_batch(
        bench.config(repeats=3, time_limit_s=1.6), settings=bench.settings, runs_out=bench.out, progress=progress
    )
    assert [outcome.record.state for outcome in result.outcomes] == ["collected"]
    assert (result.skipped, result.is_complete) == (2, False)
    bench.assert_clean()


def test_a_collection_waits_until_the_battery_is_cool(bench):
    bench.device.set_faults(temperature=412)
    result = bench.collect(
        at={"cool_down": lambda: bench.device.set_faults(temperature=341)}, max_battery_celsius=35.0, time_limit_s=1.6
    )
    assert bench.document(result)["collection"]["battery_celsius"] == 34.1


def test_an_old_perfetto_gets_a_config_that_it_knows_and_the_run_says_so(bench):
    bench.device.set_properties(ro__build__version__sdk="29", ro__build__version__release="10")
    bench.device.set_faults(perfetto="old")
    document = bench.document(bench.collect(time_limit_s=1.6))
    assert document["collection"]["perfetto_config"] == "plain"
    assert document["config"]["device"] == "Rig Phone / Android 10"


def test_data_of_the_app_is_cleared_and_an_installed_app_stays(bench):
    result = bench.collect(time_limit_s=1.6)
    assert json.loads(bench.device.path("/data/app/com.rig.notes.json").read_text())["versionName"] == "1.4.0"
    assert result.record.version_name == "1.4.0"
    bench.assert_clean()
