"""What is read of a recording part by part, while it grows and is dropped, is what is read of it whole."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods.reduction import MODES
from perfreg_assets.model.profile_shelf import installed
from perfreg_assets.model.recording_parts import PartReader
from perfreg_assets.model.watching import TraceWatch
from perfreg_assets.model.window_judging import Learned, learn, window_ns
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.event_types import count_events, most_frequent, survey, type_totals
from perfreg_assets.traces.inspection import inspect_trace
from perfreg_assets.traces.joined_costs import PROFILES_DIFFER, UNNAMED
from perfreg_assets.traces.packets import framed
from perfreg_assets.traces.profile_choice import Profiles
from perfreg_assets.traces.slice_uses import NO_SLICES

SESSION = Path(__file__).parents[1] / "data" / "sessions" / "notes-000"
SETTINGS = Settings(reduction_window_s=0.04, reduction_reference_s=22.0, reduction_rim_s=0.2, reduction_gap_s=0.2)
SECOND = 1_000_000_000
DEVICES = Path(__file__).parents[1] / "data" / "android-traces"
POWER = Settings(interval_s=0.25, reduction_window_s=0.02, reduction_rim_s=0.02, reduction_gap_s=0.02)
FOREVER = (1 << 63) - 1


@pytest.fixture(scope="module")
def run():
    return json.loads((SESSION / "run.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def recording(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "t"
    path.write_bytes(gzip.decompress((SESSION / run["trace"]).read_bytes()))
    return path


@pytest.fixture(scope="module")
def joined(run, recording, tmp_path_factory):
    """Grown in pieces, of which what is usual is dropped."""
    exploration = run["exploration"]
    parts = PartReader(run["app"], SETTINGS, part_s=15.0)
    watch = TraceWatch(tmp_path_factory.mktemp("out") / "a", SETTINGS, None, lag_s=6.0, app=run["app"], parts=parts)
    parts.explore_from(exploration["start_ns"])
    content, sizes = recording.read_bytes(), []
    piece = len(content) // 25
    for begin in range(0, len(content), piece):
        watch.append(content[begin : begin + piece])
        if begin + piece >= len(content):
            parts.explore_until(exploration["end_ns"])
        watch.step(is_last=begin + piece >= len(content))
        sizes.append(watch.spool.size)
    assert min(sizes[15:-1]) < len(content) / 2  # dropped meanwhile
    return parts


def test_series_thread_times_and_starts_are_those_of_the_whole_trace(run, recording, joined):
    exploration = run["exploration"]
    whole = inspect_trace(
        recording, app=run["app"], exploration=(exploration["start_ns"], exploration["end_ns"]),
        time_limit_s=run["config"]["time_limit_s"], settings=SETTINGS,
    )  # fmt: skip
    found = joined.joined([], file_bytes=7, sha256="ab")
    assert whole.health.is_complete
    assert found.health.is_complete, found.health
    assert (found.health.file_bytes, found.health.sha256) == (7, "ab")
    assert [one.name for one in found.series] == [one.name for one in whole.series]
    compared = 0
    for own, other in zip(found.series, whole.series, strict=True):
        assert (own.values is None) == (other.values is None), own.name
        if own.values is not None:
            assert (own.start_ns, own.interval_s) == (other.start_ns, other.interval_s)
            np.testing.assert_array_equal(own.values, other.values, err_msg=own.name)
            compared += 1
    assert compared >= 9
    np.testing.assert_allclose(sums(found.threads), sums(whole.threads), atol=1e-9)
    assert [(one.metric, one.value) for one in found.measurements] == [
        (one.metric, one.value) for one in whole.measurements
    ]
    assert found.slices == whole.slices == NO_SLICES
    assert found.energies == whole.energies  # which says what was not recorded
    assert found.energies.reason_code == Reason.SERIES_MISSING.code


def sums(threads):
    """(2, seconds) what ran, of the app and in all."""
    running = threads.of_state("running")
    return np.stack([threads.seconds[running & threads.is_app].sum(axis=0), threads.seconds[running].sum(axis=0)])


def test_what_was_not_recorded_makes_the_run_incomplete(run, joined):
    start = run["exploration"]["start_ns"]
    lost = joined.joined([(start + 20 * SECOND, start + 23 * SECOND)], file_bytes=1, sha256="")
    assert lost.health.reason is Reason.TRACE_DATA_LOSS
    assert "3.0 s were not recorded" in lost.health.detail
    assert lost.series == []
    before = joined.joined([(start - 9 * SECOND, start - 2 * SECOND)], file_bytes=1, sha256="")
    assert before.health.is_complete


def test_a_recording_in_which_the_app_is_not_and_one_of_nothing_say_so(run, recording):
    parts = PartReader("com.nobody", SETTINGS, part_s=10.0)
    assert parts.joined([], file_bytes=0, sha256="").health.reason is Reason.TRACE_TOO_SHORT
    start = run["exploration"]["start_ns"]
    parts.explore_from(start)
    parts.read(recording, start + 5 * SECOND)
    assert parts.needed_from_ns == 0
    parts.read(recording, start + 12 * SECOND)
    assert parts.needed_from_ns == start + 12 * SECOND
    assert parts.joined([], file_bytes=0, sha256="").health.reason is Reason.PACKAGE_MISSING


def test_a_part_of_which_the_beginning_is_lacking_is_not_joined_at_a_wrong_time(run, recording):
    start = run["exploration"]["start_ns"]
    parts = PartReader(run["app"], SETTINGS.with_values(duration_tolerance_ratio=0.5), part_s=10.0)
    parts.explore_from(start - 8 * SECOND)  # the recording began later
    parts.read(recording, start + 32 * SECOND)
    lost = parts.joined([], file_bytes=0, sha256="")
    assert lost.health.reason is Reason.TRACE_DATA_LOSS
    assert "of 40.0 s" in lost.health.detail
    assert lost.series == []


def as_it_came(content):
    """A recording whose buffers were read in the end, one behind the other, in the order of its packets' times."""
    made, last = [], {}
    for packet in proto.Trace.FromString(gzip.decompress(content)).packet:
        events, sequence = packet.ftrace_events, packet.trusted_packet_sequence_id
        times = [*(one.timestamp for one in events.event), *events.compact_sched.switch_timestamp[:1]]
        if not times:  # those of a sequence stay in their order
            times = [last.setdefault(sequence, 0)]
            last[sequence] = times[0] = max(times[0], packet.timestamp)
        made.append((min(times), packet))
    made.sort(key=lambda one: one[0])
    return b"".join(framed(packet.SerializeToString()) for _, packet in made)


class Device:
    """A recording of a device, read whole and in parts while what is usual of it is dropped."""

    def __init__(self, folder, name, app, settings, lag_s, part_s):
        self.path, self.app, self.settings = folder / name, app, settings
        self.path.write_bytes(as_it_came((DEVICES / f"{name}.perfetto-trace.gz").read_bytes()))
        with open_trace(self.path, settings) as session:
            first, last = load_contents(session).recorded_ns
        self.span = first + SECOND // 10, last
        ninth = (last - first) // 9
        steps = [(first + place * ninth + 12_345_678, name) for place, name in enumerate("abacabca", 1)]
        self.screens = [*steps, (FOREVER, "d")]
        self.profiles = Profiles(of_devices=installed())
        self.parts = PartReader(app, settings, part_s=part_s, profiles=lambda: self.profiles)
        self.watch = TraceWatch(
            folder / "out", settings, usual(self.path, settings), lag_s=lag_s, app=app, parts=self.parts
        )
        self.parts.explore_from(self.span[0])
        self.sizes = []

    def grow(self, pieces=30):
        content = self.path.read_bytes()
        piece = len(content) // pieces + 1
        for begin in range(0, len(content), piece):
            self.watch.append(content[begin : begin + piece])
            is_last = begin + piece >= len(content)
            known = self.screens[:-1] if is_last else self.known(begin / len(content))
            self.parts.explore_steps(lambda known=known: known)
            if is_last:
                self.parts.explore_until(self.span[1])
            self.watch.step(is_last=is_last)
            self.sizes.append(self.watch.spool.size)
        assert len(self.parts._parts) > 2
        return self.parts.joined([], file_bytes=7, sha256="", screens=self.screens, profiles=self.profiles)

    def known(self, share):
        """Steps that were told when so much of the recording was written."""
        now = self.span[0] + share * (self.span[1] - self.span[0])
        return [step for step in self.screens[:-1] if step[0] < now]

    def whole(self):
        return inspect_trace(
            self.path, app=self.app, exploration=self.span, time_limit_s=(self.span[1] - self.span[0]) / 1e9,
            settings=self.settings, screens=self.screens, profiles=self.profiles,
        )  # fmt: skip


def usual(path, settings):
    """The recording as its own reference, twice: short as it is, little of it is unusual."""
    limit, width = settings.trace_max_bytes, window_ns(settings)
    found = survey(path, limit)
    types = most_frequent(type_totals(path, limit, found, 1 << 60))
    counts = np.tile(count_events(path, limit, found, types, width).counts, (3, 1))
    return Learned(learn(counts, MODES["default"], "itself"), types, width)


@pytest.mark.parametrize(
    ("name", "app", "settings", "lag_s", "part_s"),
    [
        (
            "pixel7pro_60s_sched_rss_cpufreq_rails", "/system/bin/traced_probes",
            POWER.with_values(interval_s=1.0), 4.0, 9.0,
        ),
        ("pixel6_api32_odpm_rails", "system_server", POWER, 0.4, 0.8),
    ],
    ids=["cheetah", "oriole"],
)  # fmt: skip
def test_energies_and_sums_of_slices_are_those_of_the_whole_trace(name, app, settings, lag_s, part_s, tmp_path):
    device = Device(tmp_path, name, app, settings, lag_s, part_s)
    found, whole = device.grow(), device.whole()
    assert max(device.sizes[:-1]) < 0.8 * device.path.stat().st_size  # dropped meanwhile
    assert whole.health.is_complete, whole.health
    assert found.health.is_complete, found.health
    for own, other in zip(found.series, whole.series, strict=True):
        assert (own.name, own.values is None) == (other.name, other.values is None)
        if own.values is not None:
            # Who could run and had no core when a part began: since when is told only by what was dropped.
            near = 0.01 if own.name == "runnable_app" else 0.0
            np.testing.assert_allclose(own.values, other.values, rtol=1e-9, atol=near, err_msg=own.name)
    assert_same(found.energies, whole.energies)
    if name.startswith("pixel"):
        assert {one.name for one in found.series if one.values is not None} >= {"power_cpu_app", "power_cpu_total"}
        assert len(found.energies.threads) > 10
        assert {one.screen for one in found.energies.steps} == {"a", "b", "c", "d"}
        assert {one.source for one in found.energies.charges} == {"profile", "rail"}
    assert isinstance(found.slices, str) == name.startswith("pixel7pro")
    if isinstance(found.slices, str):
        assert found.slices == whole.slices
        return
    rows, expected = (rows_of(one.slices) for one in (found, whole))
    assert rows == expected
    assert {key[0] for key in rows} == {"a", "b", "c", "d"}
    assert UNNAMED not in {key[0] for key in rows}


def assert_same(one, other):
    """Equal but for the last digits of sums, and for the order of rows that are as much as each other."""
    if isinstance(one, float) and isinstance(other, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)
    elif dataclasses.is_dataclass(one):
        assert type(one) is type(other)
        for field in dataclasses.fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, tuple) and one and dataclasses.is_dataclass(one[0]):
        assert len(one) == len(other)
        for own, another in zip(sorted(one, key=named), sorted(other, key=named), strict=True):
            assert_same(own, another)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


def named(row):
    return [str(value) for value in vars(row).values() if not isinstance(value, float)]


def rows_of(uses):
    keys = zip(uses.screen, uses.process, uses.thread, uses.slice, strict=True)
    columns = (uses.call_count, uses.called_ns, uses.max_ns, uses.self_ns, uses.total_ns, uses.screen_ns)
    return dict(zip(keys, zip(*(column.tolist() for column in columns), strict=True), strict=True))


def test_parts_that_were_estimated_by_different_profiles_say_so_and_are_not_added(tmp_path):
    name = "pixel7pro_60s_sched_rss_cpufreq_rails"
    device = Device(tmp_path, name, "/system/bin/traced_probes", SETTINGS, 4.0, 20.0)
    start = device.span[0]
    device.parts.read(device.path, start + 20 * SECOND)
    own = tmp_path / "power_profile.xml"
    own.write_bytes(installed()["cheetah"].content.replace(b"</device>", b"<!-- another --></device>"))
    device.profiles = Profiles(own=own, of_devices=installed())
    device.parts.read(device.path, start + 40 * SECOND)
    found = device.parts.joined([], file_bytes=1, sha256="", profiles=device.profiles)
    assert found.health.is_complete
    assert (found.energies.reason_code, found.energies.reason) == (Reason.SERIES_MISSING.code, PROFILES_DIFFER)
    assert {one.source for one in found.energies.charges} == {"rail"}  # what was measured can be added
    missing = {one.name: one.missing_reason for one in found.series if one.values is None}
    assert missing["power_cpu_total"] == PROFILES_DIFFER
    assert "cpu_total" not in missing
