"""One device over a real adb server and a real adbd."""

import hashlib
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from perfreg_assets.collection.adb_server import AdbServer, AttachedDevice, is_remote_serial, parse_devices
from perfreg_assets.collection.background_process import start_background
from perfreg_assets.collection.device import Device
from perfreg_assets.collection.device_shell import POLL_BACKGROUND, PROCESS_STATE
from perfreg_assets.reasons import Reason, Rejected


@pytest.fixture
def device(standin):
    return Device(AdbServer(), standin.serial, token="bench")


def refused(call):
    with pytest.raises(Rejected) as refusal:
        call()
    return refusal.value.reason


def test_adbs_listing_is_read_in_all_its_spellings():
    listing = (
        "R5CT30                 device usb:1-2 product:bluejay model:Pixel_6a device:bluejay transport_id:3\n"
        "127.0.0.1:5599         device product: model: device: transport_id:1\n"
        "emulator-5554          offline transport_id:7\n"
        "0123456789             unauthorized usb:1-3 transport_id:4\n"
        "FA77                   no permissions (user in plugdev group; are your udev rules wrong?); "
        "see [http://developer.android.com/tools/device.html] usb:1-4 transport_id:5\n"
        "\n"
    )
    first, second, third, fourth, fifth = parse_devices(listing)
    assert first == AttachedDevice("R5CT30", "device", "Pixel_6a")
    assert str(first) == "R5CT30 (Pixel_6a, device)"
    assert second == AttachedDevice("127.0.0.1:5599", "device", None)
    assert (third.state, fourth.state) == ("offline", "unauthorized")
    assert fifth.state.startswith("no permissions (user in plugdev group")


@pytest.mark.device
def test_a_device_whose_key_is_being_tried_is_waited_for(device, monkeypatch):
    """As adb lists each that is plugged in again."""
    choose, states = AdbServer.choose, ["offline", "authorizing", "authorizing"]

    def chosen(server, serial):
        found = choose(server, serial)
        return replace(found, state=states.pop(0)) if states else found

    monkeypatch.setattr(AdbServer, "choose", chosen)
    device.wait_ready(10.0)
    assert states == []
    states += ["unauthorized"]
    assert refused(lambda: device.wait_ready(10.0)) is Reason.DEVICE_UNAUTHORIZED


@pytest.mark.parametrize(
    ("serial", "is_remote"),
    [
        ("192.168.1.7:5555", True),
        ("adb-R5CT30-abCD12._adb-tls-connect._tcp", True),  # as adb names what it found by itself
        ("adb-R5CT30-abCD12._adb-tls-connect._tcp.", True),
        ("adb-R5CT30._adb._tcp", True),
        ("127.0.0.1:5555", False),
        ("emulator-5554", False),
        ("R5CT30", False),
    ],
)
def test_a_device_that_airplane_mode_would_cut_off_is_known_by_its_serial(serial, is_remote):
    assert is_remote_serial(serial) is is_remote


@pytest.mark.device
def test_a_command_has_its_code_and_its_two_outputs_apart(device):
    result = device.run(["sh", "-c", "echo out; echo err >&2; exit 7"])
    assert (result.returncode, result.stdout, result.stderr) == (7, b"out\n", b"err\n")
    assert device.run(["cat"], stdin=bytes(range(256)) * 1000).stdout == bytes(range(256)) * 1000
    assert device.run(["no-such-tool"]).returncode == 127
    assert refused(lambda: device.check(["sh", "-c", "exit 3"])) is Reason.DEVICE_COMMAND_FAILED


@pytest.mark.device
def test_a_command_that_prints_digits_first_keeps_them(device):
    assert device.run(["echo", "4711"]).stdout == b"4711\n"


@pytest.mark.device
def test_a_command_that_takes_too_long_is_ended_with_all_it_started(device, standin):
    began = time.monotonic()
    call = ["sh", "-c", "sleep 501 & sh -c 'sleep 502; true' & sleep 503; true"]
    assert refused(lambda: device.run(call, timeout_s=0.5)) is Reason.DEVICE_TIMEOUT
    assert time.monotonic() - began < 10
    standin._wait_for(lambda: not standin.processes_named("sleep 50"), "the processes to end")


@pytest.mark.device
def test_a_command_that_ignores_being_asked_is_ended_all_the_same(device, standin):
    call = ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]
    assert refused(lambda: device.run(call, timeout_s=0.5)) is Reason.DEVICE_TIMEOUT
    standin._wait_for(lambda: not standin.processes_named("trap"), "the process to end")


@pytest.mark.device
def test_endless_output_is_cut_off(device, standin):
    assert refused(lambda: device.run(["yes"], maximum_bytes=100_000)) is Reason.DEVICE_COMMAND_FAILED
    standin._wait_for(lambda: not standin.processes_named("yes"), "the process to end")


@pytest.mark.device
def test_a_background_process_has_a_pid_an_output_and_a_marker_when_it_has_ended(device):
    process = start_background(
        device, ["sh", "-c", "echo one; sleep 0.6; echo two; exit 5"], log_path="/data/local/tmp/b"
    )
    again = start_background(device, ["sh", "-c", "echo another"], log_path="/data/local/tmp/b")
    assert again.pid == process.pid  # asked twice, started once
    deadline, text, status = time.monotonic() + 10, "", None
    while status is None and time.monotonic() < deadline:
        status, output = process.poll()
        text += output
        time.sleep(0.05)
    assert (status, text) == (5, "one\ntwo\n")


@pytest.mark.device
def test_a_background_process_survives_a_lost_cable_and_is_ended_with_its_children(device, standin):
    process = start_background(device, ["sh", "-c", "sleep 504 & sleep 505"], log_path="/data/local/tmp/b")
    standin.unplug()
    assert refused(process.poll) in (Reason.DEVICE_LOST, Reason.DEVICE_OFFLINE)
    standin.plug()
    device.wait_ready(10)
    assert process.poll()[0] is None
    assert device.marked_processes()
    process.terminate()
    standin._wait_for(lambda: not standin.processes_named("sleep 50"), "the processes to end")
    assert device.marked_processes() == []
    assert process.poll()[0] == -1  # ended from outside: no return code


@pytest.mark.parametrize(("script", "arguments", "gone"), [
    (POLL_BACKGROUND, ["{log}", "1", "{pid}"], "gone"),
    (PROCESS_STATE, ["{pid}"], ""),
])  # fmt: skip
def test_a_process_that_is_reaped_while_it_is_looked_at_is_gone(script, arguments, gone, tmp_path):
    process = subprocess.Popen(["true"])
    while f"{process.pid} (true) Z" not in Path(f"/proc/{process.pid}/stat").read_text():
        time.sleep(0.01)
    for name in ("grep", "sed"):  # whatever reads the state first waits until the process is reaped
        tool = tmp_path / name
        tool.write_text(
            f"#!/bin/sh\ntouch {tmp_path}/reached\nwhile [ ! -e {tmp_path}/reaped ]; do sleep .01; done\n"
            f'exec {shutil.which(name)} "$@"\n'
        )
        tool.chmod(0o755)
    values = [argument.format(log=tmp_path / "log", pid=process.pid) for argument in arguments]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    look = subprocess.Popen(["sh", "-c", script, "sh", *values], env=environment, stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "reached").exists():
        assert look.poll() is None
        time.sleep(0.01)
    process.wait()
    (tmp_path / "reaped").touch()
    assert look.communicate(timeout=30)[0].strip() == gone


@pytest.mark.device
def test_only_processes_with_this_token_are_found(device, standin):
    other = device.marked_as("somebody-else")
    start_background(other, ["sleep", "506"], log_path="/data/local/tmp/o")
    assert device.marked_processes() == []
    assert other.marked_processes()
    assert device.marked_as("bench-2").marked_processes() == []


@pytest.mark.device
@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 3_000_001])
def test_files_arrive_whole_in_both_directions(device, tmp_path, size):
    content = os.urandom(size)
    (tmp_path / "a").write_bytes(content)
    device.push(tmp_path / "a", "/data/local/tmp/a", timeout_s=20)
    steps = []
    facts = device.pull("/data/local/tmp/a", tmp_path / "b", timeout_s=20, on_bytes=steps.append)
    assert facts == (size, hashlib.sha256(content).hexdigest())
    assert (tmp_path / "b").read_bytes() == content
    assert steps == sorted(steps)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.device
def test_what_is_not_there_cannot_be_copied_and_leaves_nothing(device, tmp_path):
    assert refused(lambda: device.pull("/data/local/tmp/none", tmp_path / "b", timeout_s=5)) is Reason.TRANSFER_DAMAGED
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").write_bytes(b"x")
    refusal = refused(lambda: device.push(tmp_path / "a", "/proc/none/a", timeout_s=5))
    assert refusal is Reason.DEVICE_COMMAND_FAILED


@pytest.mark.device
def test_a_file_that_changes_while_it_is_copied_is_refused(device, tmp_path, monkeypatch, standin):
    standin.path("/data/local/tmp/a").write_bytes(b"before")
    honest = device.file_sha256

    def then_changed(path, **options):
        digest = honest(path, **options)
        standin.path(path).write_bytes(b"after!")
        return digest

    monkeypatch.setattr(device, "file_sha256", then_changed)
    assert refused(lambda: device.pull("/data/local/tmp/a", tmp_path / "b", timeout_s=5)) is Reason.TRANSFER_DAMAGED
    assert list(tmp_path.iterdir()) == []


@pytest.mark.device
def test_both_clocks_are_read_within_the_stated_error(device):
    """The stand-in's time since boot is this computer's: the true offset is zero."""
    sample = device.clock_sample()
    assert abs(sample.host_boot_s - sample.device_boot_s) <= sample.error_s + 0.005
    assert 0 < sample.error_s < 2


@pytest.mark.device
def test_facts_and_free_space(device, standin):
    facts = device.facts()
    assert facts.description == "Rig Phone / Android 14"
    assert facts.sdk == 34
    assert device.free_bytes("/data/local/tmp") > 1 << 20
    standin.set_properties(ro__build__version__sdk="unknown")
    assert refused(device.facts) is Reason.DEVICE_COMMAND_FAILED
