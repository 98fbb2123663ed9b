"""What is said of a trace that nobody said anything about."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.app_candidates import is_app_like
from perfreg_assets.traces.overview import look_over

TARGET = "androidx.benchmark.integration.macrobenchmark.target"


@pytest.fixture(scope="module")
def pixel(data_folder, settings):
    path = data_folder / "android-traces" / "pixel6a_api32_startup_warm.perfetto-trace.gz"
    return look_over(path, settings, with_series=True)


def test_a_trace_of_a_device_tells_device_start_and_length(pixel):
    assert pixel.device.description == "bluejay / Android 13"
    assert pixel.device.sdk == 33
    assert pixel.started_at == datetime(2022, 8, 26, 20, 38, 35, 524324, tzinfo=UTC)
    assert pixel.duration_s == pytest.approx(1.918, abs=0.001)


def test_the_likeliest_app_is_the_one_that_ran_most_and_neither_the_system_nor_the_driver(pixel):
    assert pixel.app == TARGET
    assert pixel.candidates[0].name == TARGET
    assert pixel.candidates[0].cpu_s == pytest.approx(0.0588, abs=0.0001)
    assert {one.name for one in pixel.candidates}.isdisjoint({"com.google.process.gapps", TARGET[:-6] + "test"})
    assert pixel.health.is_complete
    values = {one.name: one.values for one in pixel.series}
    assert values["cpu_app"].size == 1
    assert values["heap_app"] is None


@pytest.mark.parametrize(
    ("name", "is_it"),
    [
        ("com.rig.notes", True), ("com.android.chrome", True), ("com.android.systemui", False), ("python", False),
        ("/system/bin/traced", False), ("com.rig.notes.test", False), ("android.process.media", False),
    ],
)  # fmt: skip
def test_an_app_is_known_by_its_name(name, is_it):
    assert is_app_like(name) is is_it


def test_a_machine_that_is_no_android_and_a_clock_that_nobody_set(make_trace, settings, tmp_path):
    maker = make_trace().process(10, "com.rig.one").process(11, "com.rig.two:remote")
    maker.schedule([(0, 10, 10**9, 2 * 10**9), (0, 11, 2 * 10**9, 5 * 10**9)])
    found = look_over(maker.write(tmp_path / "a.pftrace"), settings, "com.rig.on")
    assert (found.device.description, found.started_at) == (None, None)
    assert [one.name for one in found.candidates] == ["com.rig.two", "com.rig.one"]
    assert found.health.reason is Reason.PACKAGE_MISSING
    assert found.health.detail.endswith("(did you mean com.rig.one or com.rig.two?)")
    other = look_over(tmp_path / "a.pftrace", settings, "org.elsewhere.x")
    assert other.health.detail.endswith("(those that may be apps and ran most: com.rig.two, com.rig.one)")


def test_what_is_no_trace_is_refused(settings, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<html></html>")
    with pytest.raises(Rejected) as refused:
        look_over(path, settings)
    assert refused.value.reason is Reason.TRACE_NOT_PERFETTO


def test_a_trace_that_the_engine_cannot_read_is_named(data_folder, settings):
    path = data_folder / "bad-traces" / "bad_bitflip200.pftrace"
    with pytest.raises(Rejected) as refused:
        look_over(path, settings)
    assert refused.value.reason is Reason.TRACE_CORRUPT
    assert str(refused.value).startswith(f"{path.name}: CPU ")
