"""Every bad day ends in one clear sentence with a reason code, a clean device (or a list), and a next collection that
works. What is named `stays listed` is what a sweep takes up."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import dagster as dg
import pytest
import standin as standin_device
import standin_fixtures

from perfreg_assets.collection import journal
from perfreg_assets.collection.adb_server import AdbServer
from perfreg_assets.collection.benchmark_session import lend
from perfreg_assets.collection.collect import collect
from perfreg_assets.collection.errors import CollectionError
from perfreg_assets.collection.journal import device_lock
from perfreg_assets.collection.sweep import SweepResult, remaining, sweep
from perfreg_assets.reasons import Reason, Rejected

pytestmark = pytest.mark.device
REPOSITORY = Path(__file__).parents[2]


# ---- the device is not there, or not ours ----------------------------------------------------------
def test_unplugged_before(bench):
    bench.device.unplug()
    error = bench.fail(connect_timeout_s=1.0)
    assert error.reason in (Reason.DEVICE_NOT_FOUND, Reason.DEVICE_OFFLINE)
    assert bench.device.serial in str(error)
    bench.device.plug()
    bench.assert_clean()
    bench.assert_next_works()


def test_no_device_at_all(bench):
    with (
        standin_device.private_adb_server(bench.folder / "other-adb") as environment,
        standin_device.in_environment(environment),
    ):
        assert bench.fail(serial=None).reason is Reason.NO_DEVICE


def test_a_serial_that_is_not_attached_names_those_that_are(bench):
    error = bench.fail(serial="emulator-9999")
    assert error.reason is Reason.DEVICE_NOT_FOUND
    assert bench.device.serial in str(error)


def test_two_devices_and_no_serial(bench):
    stranger = standin_device.UnauthorizedDevice()
    try:
        AdbServer().connect(stranger.serial)
        error = bench.fail(serial=None)
    finally:
        stranger.close()
        forget(stranger.serial)
    assert error.reason is Reason.SEVERAL_DEVICES
    assert bench.device.serial in str(error)
    assert stranger.serial in str(error)


def test_unauthorised(bench):
    stranger = standin_device.UnauthorizedDevice()
    try:
        AdbServer().connect(stranger.serial)
        error = bench.fail(serial=stranger.serial)
    finally:
        stranger.close()
        forget(stranger.serial)
    assert error.reason is Reason.DEVICE_UNAUTHORIZED


def test_offline(bench):
    forget(bench.device.serial)
    bench.device.freeze()  # the kernel takes the connection, adbd says nothing
    AdbServer().connect(bench.device.serial, timeout_s=1)
    error = bench.fail(connect_timeout_s=1.0)
    assert error.reason in (Reason.DEVICE_OFFLINE, Reason.DEVICE_NOT_FOUND)
    bench.device.thaw()
    standin_fixtures.attach(bench.device.serial)
    bench.assert_next_works()


def test_the_device_is_in_use_by_another_collection(bench):
    with device_lock(bench.settings.home_dir / "collections", bench.device.serial):
        assert bench.fail().reason is Reason.DEVICE_BUSY
    bench.assert_next_works()


def test_the_device_is_in_use_under_another_name(bench):
    """By cable and by network adb lists one device twice."""
    other = bench.device.serial.replace("127.0.0.1", "localhost")
    refusals = []

    def again():
        with pytest.raises(CollectionError) as caught:
            collect(bench.config(serial=other), settings=bench.settings, runs_out=bench.out)
        refusals.append(caught.value)
        with pytest.raises(Rejected) as rejected, lend(bench.settings, other):
            pass
        refusals.append(rejected.value)
        with pytest.raises(Rejected) as rejected:  # it would tell of files that the session needs
            sweep(bench.settings, serial=other, connect_timeout_s=5)
        refusals.append(rejected.value)

    standin_fixtures.attach(other)
    try:
        bench.collect(at={"explore": again})
    finally:
        AdbServer().disconnect(other)
    assert [one.reason for one in refusals] == [Reason.DEVICE_BUSY] * 3
    assert f"{other} is in use by another collection, under another name" in str(refusals[0])
    bench.assert_next_works()


@pytest.mark.parametrize("is_named", [False, True])
def test_what_is_owed_is_paid_under_the_devices_other_name(bench, is_named):
    bench.device.set_faults(rm="refuse")
    (left,) = bench.collect().leftovers
    bench.device.set_faults()
    serial = bench.device.serial
    other = serial.replace("127.0.0.1", "localhost")
    standin_fixtures.attach(other)
    AdbServer().disconnect(serial)
    try:
        swept = sweep(bench.settings, serial=other if is_named else None, connect_timeout_s=2)
    finally:
        AdbServer().disconnect(other)
        standin_fixtures.attach(serial)
    assert swept == SweepResult(cleaned=(f"{left} on {other}",))
    bench.assert_clean()


def test_the_next_collection_under_another_name_pays_what_is_owed(bench):
    bench.device.set_faults(rm="refuse")
    assert len(bench.collect().leftovers) == 1
    bench.device.set_faults()
    other = bench.device.serial.replace("127.0.0.1", "localhost")
    standin_fixtures.attach(other)
    try:
        bench.collect(serial=other)
    finally:
        AdbServer().disconnect(other)
    bench.assert_clean()


def test_android_9(bench):
    bench.device.set_properties(ro__build__version__sdk="28", ro__build__version__release="9")
    error = bench.fail()
    assert error.reason is Reason.ANDROID_TOO_OLD
    assert "Android 9" in str(error)
    bench.assert_clean()


def forget(serial):
    import adbutils  # noqa: PLC0415

    adbutils.AdbClient().disconnect(serial)


# ---- it goes away -----------------------------------------------------------------------------------
@pytest.mark.parametrize("stage", ["explore", "pull"])
def test_unplugged_for_good(bench, stage):
    error = bench.fail(at={stage: bench.device.unplug})
    assert error.reason is Reason.DEVICE_LOST
    assert error.leftovers
    assert any("perfetto-traces" in line for line in remaining(bench.settings))  # the trace stays listed
    bench.device.plug()
    swept = bench.sweep()
    assert swept.remaining == ()
    assert any("perfetto-traces" in line for line in swept.cleaned)
    bench.assert_clean()
    bench.assert_next_works()


@pytest.mark.parametrize("stage", ["explore", "stop", "log"])
def test_unplugged_for_a_moment(bench, stage):
    """The recording goes on without us; the session takes up where it was."""

    def wiggle():
        bench.device.unplug()
        threading.Timer(0.5, bench.device.plug).start()

    result = bench.collect(at={stage: wiggle}, time_limit_s=3.0, reconnect_timeout_s=10.0)
    assert result.step_count > 0
    bench.assert_clean()


def test_unplugged_in_the_middle_of_the_copy(bench):
    """No half of a file is accepted: when the device is back the copy begins again."""
    bench.device.set_faults(pad_bytes=150_000_000)

    def cut():
        threading.Timer(0.5, bench.device.unplug).start()
        threading.Timer(1.5, bench.device.plug).start()

    result = bench.collect(at={"pull": cut}, reconnect_timeout_s=15.0, max_bytes_per_minute=1e10)
    assert (result.run_folder / "trace.perfetto-trace").stat().st_size > 150_000_000
    bench.assert_clean()


def test_restarted(bench):
    error = bench.fail(at={"stop": bench.device.reboot}, reconnect_timeout_s=10.0)
    assert error.reason is Reason.DEVICE_REBOOTED
    bench.assert_clean()
    bench.device.reset()
    standin_fixtures.attach(bench.device.serial)
    bench.assert_next_works()


@pytest.mark.parametrize("stage", ["explore", "pull"])
def test_adb_server_restarted(bench, stage):
    result = bench.collect(at={stage: standin_device.stop_adb_server}, time_limit_s=2.5, reconnect_timeout_s=15.0)
    assert result.step_count > 0
    bench.assert_clean()


def test_a_command_that_never_answers_is_ended_on_the_device(bench):
    bench.device.set_faults(delay_s={"am": 60})
    error = bench.fail(launch_timeout_s=1.0, command_timeout_s=1.0)
    assert error.reason is Reason.DEVICE_TIMEOUT
    bench.device.set_faults()
    bench.sweep()
    bench.assert_clean()
    bench.assert_next_works()


# ---- perfetto ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        ("refuse", Reason.PERFETTO_REFUSED),
        ("die", Reason.PERFETTO_DIED),
        ("empty", Reason.TRACE_EMPTY),
        ("half", Reason.TRACE_TRUNCATED),
        ("hang", Reason.PERFETTO_HUNG),
    ],
)
def test_perfetto(bench, mood, reason):
    bench.device.set_faults(perfetto=mood)
    error = bench.fail(time_limit_s=2.2)
    assert error.reason is reason
    assert error.leftovers == ()
    bench.assert_clean()
    if mood in ("die", "hang"):
        bench.assert_next_works()


def test_a_device_that_is_full_is_what_ended_perfetto(bench):
    bench.device.set_faults(perfetto="die", free_kb=40)
    error = bench.fail(time_limit_s=2.2)
    assert error.reason is Reason.DEVICE_NO_SPACE
    assert "40,960 bytes are free" in str(error)
    bench.assert_clean()


def test_a_trace_that_grows_too_fast_stops_the_session(bench):
    bench.device.set_faults(pad_bytes=30_000_000)
    error = bench.fail(max_bytes_per_minute=20e6, time_limit_s=30.0)
    assert error.reason is Reason.TRACE_BYTES_EXCEEDED
    bench.assert_clean()


def test_deleting_refused_is_listed_and_swept_later(bench):
    bench.device.set_faults(rm="refuse")
    result = bench.collect()
    assert result.run_folder.is_dir()  # the run itself is whole
    assert len(result.leftovers) == 1
    assert result.record.leftover_path == result.leftovers[0]
    assert bench.device.path(result.leftovers[0]).exists()
    swept = bench.sweep()
    assert swept.remaining == (f"{result.leftovers[0]} on {bench.device.serial}",)
    assert swept.unlisted == ()
    bench.device.set_faults()
    assert bench.sweep().remaining == ()
    bench.assert_clean()


def test_who_names_a_device_to_be_swept_that_cannot_be_looked_at_is_told(bench):
    with pytest.raises(Rejected, match="'no-such' is not among the attached devices") as refusal:
        sweep(bench.settings, serial="no-such", connect_timeout_s=0.2)
    assert refusal.value.reason is Reason.DEVICE_NOT_FOUND


# ---- the explorer -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        ("hang", Reason.EXPLORER_HUNG),
        ("crash", Reason.EXPLORER_CRASHED),
        ("never", Reason.EXPLORER_NOT_STARTED),
    ],
)
def test_monkey(bench, mood, reason):
    bench.device.set_faults(monkey=mood)
    error = bench.fail(time_limit_s=20.0)
    assert error.reason is reason
    bench.assert_clean()
    if mood == "hang":
        bench.assert_next_works()


def test_an_explorer_that_waits_for_its_interval_is_not_hung(bench):
    result = bench.collect(action_interval_s=2.5, explorer_silence_s=1.0, time_limit_s=4.0)
    assert result.stop_reason == "time_limit"


def test_monkey_that_falls_over_before_the_first_look_had_started(bench):
    bench.device.set_faults(monkey="crash")
    error = bench.fail(time_limit_s=20.0, action_interval_s=0.01)
    assert error.reason is Reason.EXPLORER_CRASHED
    bench.assert_clean()


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("time.sleep(600)", Reason.EXPLORER_HUNG),
        ("os.system('sleep 601 & sleep 602')", Reason.EXPLORER_HUNG),
        ("time.sleep(0.3); sys.exit('no idea what to press')", Reason.EXPLORER_CRASHED),
        ("path.write('{\"step\": 0, \"at_ms\"')\npath.write('\\n'); time.sleep(5)", Reason.EXPLORER_OUTPUT_INVALID),
        ("path.write(json.dumps({'at_ms': 5, 'state': 'x'}) + '\\n')", Reason.EXPLORER_OUTPUT_INVALID),
        ("pass", Reason.EXPLORER_NOT_STARTED),
    ],
)
def test_explorer_program(bench, program, reason):
    error = bench.fail(explorer="command", explorer_command=bench.script(program), time_limit_s=20.0)
    assert error.reason is reason
    assert processes_with("sleep 601 ", "sleep 602 ") == []  # a plain "sleep 60" may be anybody's
    bench.assert_clean()


def test_explorer_program_that_does_not_exist(bench):
    error = bench.fail(explorer="command", explorer_command=("/no/such/program", "{path}"))
    assert error.reason is Reason.EXPLORER_NOT_STARTED
    bench.assert_clean()


def processes_with(*beginnings):
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if command.startswith(beginnings):
            found.append(command)
    return found


# ---- the app ----------------------------------------------------------------------------------------
def test_app_not_installed(bench):
    error = bench.fail(app="com.rig.other")
    assert error.reason is Reason.APP_NOT_INSTALLED
    bench.assert_clean()


def test_app_crashes_at_start(bench):
    error = bench.fail(apk=bench.apk(crash_at_start=True), launch_timeout_s=1.0)
    assert error.reason is Reason.APP_CRASHED_AT_START
    bench.assert_clean()
    bench.assert_next_works()


def test_app_without_a_launcher(bench):
    assert bench.fail(apk=bench.apk(activity=False)).reason is Reason.APP_NOT_STARTED
    bench.assert_clean()


def test_app_of_another_version_than_expected(bench):
    error = bench.fail(version_name="9.9")
    assert error.reason is Reason.BUILD_MISMATCH
    assert "'1.4.0'" in str(error)
    bench.assert_clean()


def test_apk_of_another_app(bench):
    assert bench.fail(apk=bench.apk(package="com.rig.other")).reason is Reason.BUILD_MISMATCH


def test_apk_that_is_none(bench):
    path = bench.folder / "torn.apk"
    path.write_bytes(Path(bench.apk()).read_bytes()[:200])
    assert bench.fail(apk=str(path)).reason is Reason.BUILD_UNREADABLE


def test_install_refused(bench):
    bench.device.set_faults(install="refuse")
    error = bench.fail(apk=bench.apk())
    assert error.reason is Reason.INSTALL_REFUSED
    assert "INSTALL_FAILED_INSUFFICIENT_STORAGE" in str(error)
    bench.assert_clean()


# ---- space, heat, clocks ----------------------------------------------------------------------------
def test_no_space_on_the_device(bench):
    bench.device.set_faults(free_kb=1000)
    error = bench.fail(min_free_bytes=64 << 20)
    assert error.reason is Reason.DEVICE_NO_SPACE
    assert "1,024,000" in str(error)
    bench.assert_clean()


@pytest.fixture
def full_disk(tmp_path):
    """A file system of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_no_space_on_the_host(bench, full_disk):
    error = bench.fail(out=full_disk / "inbox", min_free_bytes=64 << 20)
    assert error.reason is Reason.HOST_NO_SPACE
    bench.assert_clean()


def test_a_file_stands_where_the_run_folders_should(bench, tmp_path):
    (tmp_path / "file").write_text("")
    error = bench.fail(out=tmp_path / "file" / "inbox")
    assert error.reason is Reason.FOLDER_UNWRITABLE
    assert str(tmp_path / "file" / "inbox") in str(error)
    bench.assert_clean()


def test_the_hosts_disk_fills_up_in_the_copy(bench, full_disk):
    bench.device.set_faults(pad_bytes=3_000_000)
    bench.folder = full_disk
    error = bench.fail()
    assert error.reason is Reason.HOST_NO_SPACE
    bench.assert_clean()


def test_too_hot(bench):
    bench.device.set_faults(temperature=455)
    error = bench.fail(max_battery_celsius=35.0, cool_down_limit_s=0.5)
    assert error.reason is Reason.DEVICE_TOO_HOT
    assert "45.5 °C" in str(error)
    bench.assert_clean()


def test_a_clock_that_is_set_does_not_move_monkeys_steps(bench):
    result = bench.collect(at={"explore": lambda: bench.device.set_faults(clock_offset_s=7200)}, time_limit_s=2.0)
    document = bench.document(result)
    assert document["collection"]["clock"]["device_clock_set_by_s"] == pytest.approx(7200, abs=1)
    assert document["exploration"]["start_ns"] <= document["path"][0]["ts_ns"] <= document["exploration"]["end_ns"]


def test_a_crash_after_the_clock_was_set_back_is_not_missed(bench):
    result = bench.collect(
        apk=bench.apk(crash_after=4),
        at={"explore": lambda: bench.device.set_faults(clock_offset_s=-86400)},
        time_limit_s=3.0,
    )
    (problem, *_) = bench.document(result)["functional_problems"]
    assert problem["kind"] == "crash"
    assert "ts_ns" not in problem  # that it happened is known, when is not


def test_a_clock_that_is_set_makes_fastbots_steps_unplaceable(bench):
    command = bench.script("""
        import os
        for step in range(100):
            name = f"step-{step}-123-{step}-{time.time() * 1000:.0f}.xml"
            open(os.path.join(os.environ["PERFREG_OUTPUT"], name), "w").close()
            time.sleep(0.2)
    """)
    error = bench.fail(
        explorer="fastbot2",
        explorer_command=command,
        at={"explore": lambda: bench.device.set_faults(clock_offset_s=-3600)},
    )
    assert error.reason is Reason.CLOCK_JUMPED
    assert "was set by -3" in str(error)
    bench.assert_clean()


# ---- we are ended ourselves -------------------------------------------------------------------------
KILLED = """
import os, signal, sys
from pathlib import Path
from perfreg_assets.collection.collect import collect
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.errors import CollectionError
from perfreg_assets.settings import Settings

folder, serial, apk, stage, how = Path(sys.argv[1]), *sys.argv[2:6]
count = [0]
# Whoever started the tests in the background of a shell has them ignore Ctrl-C, and their children with them.
signal.signal(signal.SIGINT, signal.default_int_handler)

if stage == "renaming":
    Path.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL)

class Collected:
    def __del__(self):  # one of the places where Python drops whatever is raised
        os.kill(os.getpid(), getattr(signal, how.removesuffix(", dropped")))
        for _ in range(1000):
            pass

twice = []

def progress(now):
    if now.stage == "restore" and twice:
        os.kill(os.getpid(), getattr(signal, twice.pop()))
    if now.stage == stage:
        count[0] += 1
        if count[0] == (2 if stage == "explore" else 1):
            if how.endswith(", dropped"):
                Collected()
            elif how.endswith(", twice"):
                twice.append(how.removesuffix(", twice"))
                os.kill(os.getpid(), getattr(signal, twice[0]))
            else:
                os.kill(os.getpid(), getattr(signal, how))

# It ends long before its time where it is ended while exploring, on a slow machine too.
limit_s = 240.0 if stage == "explore" else 2.0
config = CollectionConfig(app="com.rig.notes", apk=apk, serial=serial, time_limit_s=limit_s, action_interval_s=0.3,
    launch_settle_s=0.1, min_free_bytes=0, file_write_period_ms=300, progress_interval_s=0.3,
    keep_screen_on=False, animations_off=False, airplane_mode=True)
settings = Settings(home=folder / "home", warehouse=folder / "w.duckdb")
try:
    result = collect(config, settings=settings, runs_out=folder / "inbox", progress=progress)
    print(result.run_folder.is_dir(), result.is_interrupted, result.leftovers)
except CollectionError as error:
    sys.exit(f"{error.reason.code}: {error}")
"""


def run_and_end(bench, stage, how):
    return subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(KILLED),
            str(bench.folder),
            bench.device.serial,
            bench.apk(),
            stage,
            how,
        ],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


STAGES = ("device", "sweep", "prepare", "install", "cool_down", "record", "launch", "explore", "stop", "pull", "log")


@pytest.mark.parametrize("stage", [*STAGES, "write", "renaming", "restore"])
def test_sigkill_at_any_step_leaves_nothing_unlisted_and_a_sweep_cleans(bench, stage):
    done = run_and_end(bench, stage, "SIGKILL")
    assert done.returncode == -signal.SIGKILL, done.stderr
    folders = list(bench.out.iterdir()) if bench.out.exists() else []
    seen = [folder for folder in folders if not folder.name.startswith(".")]  # what the inbox looks at
    assert [folder for folder in seen if not (folder / "run.json").exists()] == []
    assert len(seen) == (1 if stage == "restore" else 0)
    swept = sweep(bench.settings, connect_timeout_s=5)
    assert (list(bench.out.iterdir()) if bench.out.exists() else []) == seen
    assert swept.remaining == ()
    assert swept.unlisted == ()
    bench.assert_clean()
    assert (bench.device.settings() or {}).get("global/airplane_mode_on", "0") == "0"


def test_the_next_collection_sweeps_by_itself(bench):
    assert run_and_end(bench, "explore", "SIGKILL").returncode == -signal.SIGKILL
    assert remaining(bench.settings)
    bench.device.install("com.rig.notes", "1.4.0")
    result = bench.collect(apk=bench.apk())
    assert any("cleaned" in now.message for now in bench.stages)
    assert result.leftovers == ()
    bench.assert_clean()


def test_an_interrupt_that_is_dropped_at_the_end_does_not_keep_the_device_from_being_cleaned(bench):
    """The next report after it is that the device is given back."""
    done = run_and_end(bench, "write", "SIGTERM, dropped")
    assert "Exception ignored in" in done.stderr
    assert done.returncode == 0, done.stderr
    bench.assert_clean()


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
def test_told_to_end_while_it_gives_the_device_back_a_session_is_kept_and_the_device_cleaned(bench, how):
    done = run_and_end(bench, "restore", how)
    assert (done.returncode, done.stdout.strip()) == (0, "True True ()"), done.stderr
    bench.assert_clean()


def interrupt():
    raise KeyboardInterrupt


@pytest.fixture
def settling_is_interrupted(monkeypatch):
    """Before the second debt is paid."""
    count = []
    whole = journal.pay

    def pay(debt, device):
        count.append(debt)
        return interrupt() if len(count) == 2 else whole(debt, device)

    monkeypatch.setattr(journal, "pay", pay)
    return lambda: monkeypatch.setattr(journal, "pay", whole)


def test_who_ends_the_cleaning_too_is_told_what_is_left(bench, settling_is_interrupted):
    error = bench.fail(at={"explore": interrupt}, time_limit_s=60.0)
    assert error.reason is Reason.COLLECTION_CUT_SHORT
    left = {debt.split(" on ")[0] for debt in remaining(bench.settings)}
    assert len(left) > 1
    assert {debt.split(" on ")[0] for debt in error.leftovers} == left
    assert "interrupted in stage explore" in str(error)
    assert all(debt in str(error) for debt in error.leftovers)
    assert error.record.leftover_path
    settling_is_interrupted()
    assert bench.sweep().remaining == ()
    bench.assert_clean()


def test_a_session_whose_folder_is_in_its_place_is_one_whatever_ends_the_cleaning(bench, settling_is_interrupted):
    result = bench.collect()
    assert (result.run_folder.is_dir(), result.record.state, result.is_interrupted) == (True, "collected", True)
    assert result.leftovers
    settling_is_interrupted()
    assert bench.sweep().remaining == ()


def test_a_failing_report_does_not_keep_the_device_from_being_cleaned(bench):
    assert bench.collect(at={"restore": interrupt}).is_interrupted
    bench.assert_clean()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, dg.DagsterExecutionInterruptedError, SystemExit])
def test_an_interrupted_session_says_in_which_stage_and_by_what(bench, raised):
    def happen():
        raise raised

    error = bench.fail(at={"launch": happen})
    assert (error.reason, "in stage launch" in str(error)) == (Reason.COLLECTION_CANCELLED, True)
    assert isinstance(error.__cause__, raised)
    bench.assert_clean()


@pytest.mark.parametrize(
    "how", ["SIGINT", "SIGTERM", "SIGINT, dropped", "SIGTERM, dropped", "SIGINT, twice", "SIGTERM, twice"]
)
def test_stopped_by_hand_the_device_is_cleaned_at_once(bench, how):
    """Also where the interrupt meets a place in which Python drops exceptions."""
    done = run_and_end(bench, "explore", how)
    assert done.returncode == 1
    assert ("Exception ignored in" in done.stderr) is how.endswith("dropped")
    assert done.stderr.splitlines()[-1].startswith("collection_cancelled: ")
    bench.assert_nothing_accepted()
    bench.assert_clean()
