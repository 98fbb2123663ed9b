"""Power profiles of real devices in all dialects, measured curves, and files that must be refused."""

import os
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets import bundled
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.power_profile import parse_profile, read_profile

DATA = Path(__file__).parents[1] / "data"
FILES = sorted((DATA / "power-profiles").glob("*.xml"))
STUBS = [path for path in FILES if "sdk_gphone" in path.name or "sm-t810" in path.name]


def parse(text, volts=3.85):
    return parse_profile(text.encode(), "power_profile.xml", nominal_voltage_v=volts)


def array(name, *values):
    return f'<array name="{name}">\n' + "".join(f"<value>{value}</value>\n" for value in values) + "</array>\n"


def item(name, value):
    return f'<item name="{name}">{value}</item>\n'


CORES = array("cpu.core_speeds.cluster0", 300000, 600000) + array("cpu.core_power.cluster0", 10, 20)


def device(*parts):
    return '<?xml version="1.0"?>\n<device name="Android">\n' + "".join(parts) + "</device>"


@pytest.mark.parametrize("path", [path for path in FILES if path not in STUBS], ids=lambda path: path.stem)
def test_real_profiles_are_read(path):
    found, content = read_profile(path, nominal_voltage_v=3.85)
    assert content == path.read_bytes()
    expected = {
        "core_power": "cores", "active.clusterN": "clusters", "scaling_policy": "steps", "frd-l09": "single",
        "mia2lite": "single", "pixel3a": "cores", "redminote8t": "cores",
    }  # fmt: skip
    assert found.dialect == next(dialect for word, dialect in expected.items() if word in path.stem)
    assert not found.is_stub


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.stem)
def test_a_stub_is_refused(path):
    with pytest.raises(Rejected) as caught:
        read_profile(path, nominal_voltage_v=3.85)
    assert caught.value.reason is Reason.PROFILE_STUB


def test_what_the_installation_brings_can_be_used():
    found = {
        path.stem: read_profile(path, nominal_voltage_v=3.85)[0] for path in bundled.power_profiles_dir().glob("*.xml")
    }
    assert len(found) >= 8
    assert found["cheetah"].first_cores == (0, 4, 6)
    assert found["cheetah"].charge_of(2, np.array([500000.0])).tolist() == [13.16]
    assert found["cheetah"].cluster(1).cluster_ma == 1.16
    assert (found["cheetah"].active_ma, found["cheetah"].base_ma, found["cheetah"].capacity_mah) == (
        8.2, {"suspend": 13.3, "idle": 35.6}, 5000.0,
    )  # fmt: skip
    # In the older dialects cpu.active[] is the whole core, and awake is the device's floor.
    assert (found["bullhead"].active_ma, found["bullhead"].base_ma) == (0.0, {"idle": 0.075, "awake": 4.397})
    assert found["hammerhead"].first_cores is None


def test_a_measured_curve_is_a_profile_without_shares():
    found, _ = read_profile(DATA / "measured-curves" / "freqbench__gs101.csv", nominal_voltage_v=3.85)
    assert (found.source, found.first_cores, found.active_ma) == ("curve", (0, 4, 6), 0.0)
    assert found.charge_of(0, np.array([300000.0]))[0] * 3.85 == pytest.approx(56.123879379095065)  # mW as measured
    assert all(one.cluster_ma == 0 for one in found.clusters)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (device(item("screen.on", 3)), "no table of the CPU"),
        (device(CORES.replace("20<", "-20<")), "line 9: cpu.core_power.cluster0 is -20 mA"),
        (device(CORES.replace("20<", "NaN<")), "line 9: cpu.core_power.cluster0 is nan mA"),
        (device(CORES.replace("20<", "10001<")), "line 9: cpu.core_power.cluster0 is 10001 mA"),
        (device(CORES.replace("20<", "many<")), "line 9: cpu.core_power.cluster0 is 'many', no number"),
        (device(CORES.replace("600000", "300000")), "line 5: cpu.core_speeds.cluster0 is not ascending at 300000 kHz"),
        (device(CORES.replace("600000", "inf")), "line 5: cpu.core_speeds.cluster0 is not ascending"),
        (device(CORES.replace("<value>20</value>\n", "")), "cpu.core_speeds.cluster0 has 2 values"),
        (device(CORES, CORES), "is there twice"),
        (device(CORES, array("cpu.clusters.cores", 4, 4)), "tells 2 clusters, there are 1"),
        (device(CORES, array("cpu.clusters.cores", 2.5)), "is 2.5, no number of cores"),
        (device(CORES, item("battery.capacity", "NaN")), "battery.capacity is nan mAh"),
        (device(CORES).replace("cluster0", "cluster1"), "clusters [1] have frequencies"),
        (device(CORES)[:-4], "line 11"),
        ('<?xml version="1.0"?>\n<!DOCTYPE d [<!ENTITY a "x">]>\n<device/>', "line 2: declarations are not taken"),
        ("{}", "neither XML nor a measured curve"),
        ("CPU,Frequency (kHz),Power (mW)\n", "the table has no row"),
        ("CPU,Frequency (kHz),Power (mW)\n0,300000,\n", "line 2 lacks a number"),
        ("CPU,Frequency (kHz),Power (mW)\n0,300000,5\n0,300000,6\n", "line 3: core 0 at 300000 kHz"),
        ("CPU,Frequency (kHz),Power (mW)\n0,300000,-5\n", "line 2: core 0 at 300000 kHz takes -5 mW"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(text, words):
    with pytest.raises(Rejected) as caught:
        parse(text)
    assert caught.value.reason is Reason.PROFILE_MALFORMED
    assert words in str(caught.value)


@pytest.mark.parametrize("encoding", ["gbk", "utf-32", "ANSI", "base64", "punycode"])
def test_an_encoding_that_is_not_read_is_refused_and_ends_nothing_else(encoding):
    text = device(CORES).replace('"1.0"', f'"1.0" encoding="{encoding}"')
    with pytest.raises(Rejected, match=r"line 1: its encoding is not read .* write it as UTF-8") as caught:
        parse(text)
    assert caught.value.reason is Reason.PROFILE_MALFORMED


def test_bytes_that_are_no_text_are_refused():
    for content in (b"\x00\x01\x02", b"\xff\xfe<", b"<" + b"a" * (1 << 20)):
        with pytest.raises(Rejected) as caught:
            parse_profile(content, "x.xml", nominal_voltage_v=3.85)
        assert caught.value.reason is Reason.PROFILE_MALFORMED


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Rejected, match=r"nowhere\.xml") as caught:
        read_profile(tmp_path / "nowhere.xml", nominal_voltage_v=3.85)
    assert caught.value.reason is Reason.PROFILE_UNREADABLE


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "circle", "folder"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, kind):
    path = tmp_path / "power_profile.xml"
    {"pipe": os.mkfifo, "circle": lambda one: one.symlink_to(one.name), "folder": Path.mkdir}[kind](path)
    with pytest.raises(Rejected, match=r"power_profile\.xml") as caught:
        read_profile(path, nominal_voltage_v=3.85)
    assert caught.value.reason is Reason.PROFILE_UNREADABLE


def test_a_link_to_a_profile_is_followed(tmp_path):
    link = tmp_path / "power_profile.xml"
    link.symlink_to(next(path for path in FILES if path not in STUBS))
    assert read_profile(link, nominal_voltage_v=3.85)[1] == link.read_bytes()
