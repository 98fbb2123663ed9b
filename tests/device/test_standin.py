"""The stand-in is what it says: a real adbd on loopback, a trace that is the recorded one at another time."""

import json
import time
from pathlib import Path

import adbutils
import pytest
import standin as standin_device
import standin_apk
import standin_fixtures
import standin_trace

from perfreg_assets.settings import Settings
from perfreg_assets.traces.inspection import inspect_trace


@pytest.fixture(scope="module")
def packets():
    return standin_trace.read_packets(standin_fixtures.TRACE)


def test_a_trace_shifted_by_nothing_is_the_same_bytes(packets):
    assert packets
    assert all(standin_trace.shifted(packet, 0) == packet for _, packet in packets)


def test_a_shifted_trace_has_all_its_times_moved_and_nothing_else(packets):
    delta = 3_600_000_000_000
    for moment, packet in packets:
        moved = standin_trace.shifted(packet, delta)
        assert standin_trace.packet_time(moved) == (None if moment is None else moment + delta)
        assert standin_trace.shifted(moved, -delta) == packet


def test_framed_packets_read_back(packets, tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(b"".join(standin_trace.framed(packet) for _, packet in packets))
    assert standin_trace.read_packets(path) == packets


@pytest.mark.device
def test_adbd_is_debians_own_and_listens_on_loopback_only(standin):
    versions = json.loads((standin_device.cache_dir() / "versions.json").read_text())
    assert standin.adbd_version == versions["adbd"]
    listening = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            if state == "0A" and int(address.rsplit(":", 1)[1], 16) == standin.port:
                listening.add(address.rsplit(":", 1)[0])
    assert listening <= {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}
    assert listening


@pytest.mark.device
def test_unplugging_leaves_what_runs_on_the_device_alone(standin):
    device = adbutils.AdbClient().device(standin.serial)
    device.shell("nohup sleep 300 >/dev/null 2>&1 & sleep 0.3")
    before = standin.processes_named("sleep 300")
    standin.unplug()
    assert standin.processes_named("sleep 300") == before != []
    standin.plug()
    standin.reset()
    assert standin.leftovers() == []


@pytest.mark.device
def test_an_app_is_installed_started_and_stopped(standin, tmp_path):
    device = adbutils.AdbClient().device(standin.serial)
    apk = standin_apk.write_apk(tmp_path / "a.apk", package="com.rig.shop", version_name="1.5.0", version_code=150)
    device.sync.push(apk, "/data/local/tmp/a.apk")
    assert device.shell("pm install /data/local/tmp/a.apk") == "Success"
    assert "versionName=1.5.0" in device.shell("dumpsys package com.rig.shop")
    device.shell("am start -W -n com.rig.shop/.Home")
    assert device.shell("pidof com.rig.shop").isdigit()
    assert "com.rig.shop/.Home" in device.shell("dumpsys activity activities")
    device.shell("am force-stop com.rig.shop")
    assert device.shell("pidof com.rig.shop") == ""


@pytest.mark.device
def test_a_recording_holds_what_happened_until_it_was_told_to_end(standin, tmp_path):
    """perfetto flushes; the recorded trace lies in parts of half a second, those of one core behind another's."""
    standin.install("com.rig.notes", "1.4.0", 140)
    device = adbutils.AdbClient().device(standin.serial)
    remote = "/data/misc/perfetto-traces/short"
    config = "buffers { }\ndata_sources {\n}\nduration_ms: 60000"
    pid = int(device.shell(f"echo '{config}' | perfetto --txt -c - -o {remote} --background"))
    time.sleep(0.3)
    start_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    time.sleep(2.6)
    end_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    device.shell(f"kill -TERM {pid}; while kill -0 {pid}; do sleep 0.05; done")
    device.sync.pull(remote, tmp_path / "trace")
    health, *_ = inspect_trace(
        tmp_path / "trace",
        app="com.rig.notes",
        exploration=(start_ns, end_ns),
        time_limit_s=2.6,
        settings=Settings(home=tmp_path / "home", warehouse=tmp_path / "w.duckdb", interval_s=0.05),
    )
    assert health.is_complete, health.detail
