"""The device's own power profile and its times in state: fetched by a collection, and kept with the run."""

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import standin_apk

from perfreg_assets import bundled
from perfreg_assets.collection.power_profile import as_text
from perfreg_assets.collection.state_times import PolicyTicks, described, parse_state_times
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.power_profile import parse_profile

FILES = {path.stem: path.read_text() for path in bundled.power_profiles_dir().glob("*.xml")}
FRAMEWORK, OVERLAY = "/system/framework/framework-res.apk", "/vendor/overlay/Power.apk"


# ---- the binary form -----------------------------------------------------------------------------
@pytest.mark.parametrize("name", FILES)
def test_the_binary_form_says_what_the_text_says(name):
    found = parse_profile(as_text(standin_apk.binary_xml(FILES[name])).encode(), name, nominal_voltage_v=3.85)
    wanted = parse_profile(FILES[name].encode(), name, nominal_voltage_v=3.85)
    assert (found.active_ma, found.base_ma, found.capacity_mah) == (
        wanted.active_ma, wanted.base_ma, wanted.capacity_mah,
    )  # fmt: skip
    assert found.first_cores == wanted.first_cores
    for own, their in zip(found.clusters, wanted.clusters, strict=True):
        assert np.array_equal(own.khz, their.khz)
        assert np.array_equal(own.charge_ma, their.charge_ma)


OVERLAYS = sorted((Path(__file__).parents[1] / "data" / "power-profiles").glob("*.apk"))


@pytest.mark.parametrize("path", OVERLAYS, ids=lambda path: path.stem)
def test_what_androids_own_compilers_make_of_it_says_the_same(path):
    """Overlays as `aapt package` and `aapt2 compile` and `link` make them of a device's power_profile.xml."""
    _, device, _ = path.stem.replace("__", "_").split("_")
    with zipfile.ZipFile(path) as apk:
        content = apk.read("res/xml/power_profile.xml")
    assert not content.lstrip().startswith(b"<")
    found = parse_profile(as_text(content).encode(), device, nominal_voltage_v=3.85)
    wanted = parse_profile(FILES[device].encode(), device, nominal_voltage_v=3.85)
    assert (found.dialect, found.first_cores, found.active_ma) == (wanted.dialect, wanted.first_cores, wanted.active_ma)
    assert (found.base_ma, found.capacity_mah) == (wanted.base_ma, wanted.capacity_mah)
    for own, their in zip(found.clusters, wanted.clusters, strict=True):
        assert np.array_equal(own.khz, their.khz)
        assert np.array_equal(own.charge_ma, their.charge_ma)
        assert own.cluster_ma == their.cluster_ma


def test_text_stays_as_it_is_and_what_is_neither_is_refused():
    assert as_text(b"<device/>") == "<device/>"
    for content in (b"\x03\x00\x08\x00junk", b"\x00" * 40):
        with pytest.raises(Rejected) as caught:
            as_text(content)
        assert caught.value.reason is Reason.PROFILE_MALFORMED


# ---- on a device ---------------------------------------------------------------------------------
@pytest.fixture
def resources(bench):
    """Puts the framework's resources and an overlay of them onto the device."""
    device = bench.device
    standin_apk.write_resources(device.path(FRAMEWORK), FILES["oriole"])
    standin_apk.write_resources(device.path(OVERLAY), FILES["cheetah"])
    standin_apk.write_apk(device.path("/vendor/overlay/Other.apk"), package="com.rig.other")
    yield device
    device.path(FRAMEWORK).unlink()
    device.path(OVERLAY).unlink()
    device.set_overlays()


@pytest.mark.device
@pytest.mark.parametrize(("is_enabled", "name", "source"), [(True, "cheetah", OVERLAY), (False, "oriole", FRAMEWORK)])
def test_the_profile_that_holds_is_kept_with_the_run_and_nothing_on_the_device(
    bench, resources, is_enabled, name, source
):
    resources.set_overlays(**{"rig.power": (is_enabled, OVERLAY), "rig.other": (True, "/vendor/overlay/Other.apk")})
    result = bench.collect()
    kept = (result.run_folder / "power_profile.xml").read_bytes()
    assert parse_profile(kept, "kept", nominal_voltage_v=3.85).active_ma == (8.2 if name == "cheetah" else 12.37)
    told = bench.document(result)["collection"]["power_profile"]
    assert told == {"source": source, "sha256": hashlib.sha256(kept).hexdigest()}
    bench.assert_clean()


@pytest.mark.device
def test_a_device_without_one_is_collected_from_all_the_same_and_the_reason_is_told(bench):
    result = bench.collect()
    assert not (result.run_folder / "power_profile.xml").exists()
    assert "neither the framework" in bench.document(result)["collection"]["power_profile"]["reason"]
    without = bench.collect(data_sources=("sched", "process_stats"))
    assert "power_profile" not in bench.document(without)["collection"]
    bench.assert_clean()


@pytest.mark.device
def test_a_damaged_resource_is_a_reason(bench, resources):
    path = resources.path(OVERLAY)
    path.write_bytes(path.read_bytes()[:200])
    resources.set_overlays(**{"rig.power": (True, OVERLAY)})
    told = bench.document(bench.collect())["collection"]["power_profile"]
    assert told["source"] == FRAMEWORK


# ---- times in state ------------------------------------------------------------------------------
TEXT = "105.25 200.00\npolicy 0 0 1 2 3\n300000 1000\n600000 5\npolicy 4 4 5\n500000 7\n"


def test_times_in_state_are_read_by_cluster():
    found = parse_state_times(TEXT)
    assert found.uptime_s == 105.25
    assert found.policies == {
        0: PolicyTicks(4, ((300000, 1000), (600000, 5))), 4: PolicyTicks(2, ((500000, 7),)),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "1.0 2.0\n", "x\npolicy 0 0\n1 2\n", "1.0 2.0\npolicy 0 0\nboom\n", "1.0 2.0\n1 2\n"]
)
def test_what_a_device_does_not_tell_is_not_known(text):
    assert parse_state_times(text) is None


def test_run_json_has_both_moments_or_none():
    before, after = parse_state_times(TEXT), parse_state_times(TEXT.replace("105.25", "106.25").replace("1000", "1100"))
    told = json.loads(json.dumps(described(before, after)))
    assert told["cpu_frequencies_khz"] == {"0": [300000, 600000], "4": [500000]}
    times = told["cpu_time_in_state"]
    assert (times["start_s"], times["end_s"]) == (105.25, 106.25)
    assert times["policies"]["0"]["core_count"] == 4
    assert (times["policies"]["0"]["start"][0], times["policies"]["0"]["end"][0]) == ([300000, 1000], [300000, 1100])
    assert described(before, None) == described(None, after) == {}
