"""Which traces are whole. A trace that loads is not thereby complete."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import time
import zlib
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets import catalogue
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces import inspection
from perfreg_assets.traces.framing import PacketFraming
from perfreg_assets.traces.gate import check_facts, check_file
from perfreg_assets.traces.inspection import inspect_trace
from perfreg_assets.traces.nested_packets import NestedPackets
from perfreg_assets.traces.reduced import mark
from perfreg_assets.traces.rpc_envelope import field
from perfreg_assets.traces.work_limit import WorkLimit

SECOND = 1_000_000_000
APP = "com.rig.app"


def reason_of(path, settings, **expected):
    with pytest.raises(Rejected) as rejected:
        check_file(path, settings=settings, **expected)
    return rejected.value.reason


def verdict_on_bytes(path, settings):
    try:
        check_file(path, settings=settings)
    except Rejected as error:
        return error.reason
    return None


@pytest.fixture
def healthy(make_trace):
    """Ten seconds of an app that runs and has memory."""

    def build(name=APP):
        maker = make_trace().process(10, name, {11: "worker"})
        maker.schedule([(cpu, 10 + cpu, s * SECOND + 1, s * SECOND + SECOND // 2) for s in range(10) for cpu in (0, 1)])
        return maker.memory(1, 10, rss=1000).memory(5 * SECOND, 10, rss=2000).memory(10 * SECOND, 10, rss=1000)

    return build


@pytest.fixture
def inspect(tmp_path, settings):
    def run(maker_or_bytes, *, app=APP, exploration=(0, 10 * SECOND), time_limit_s=10.0, **changes):
        path = tmp_path / "t.perfetto-trace"
        content = maker_or_bytes if isinstance(maker_or_bytes, bytes) else maker_or_bytes.serialize()
        path.write_bytes(content)
        return inspect_trace(
            path, app=app, exploration=exploration, time_limit_s=time_limit_s, settings=settings.with_values(**changes)
        )[:2]

    return run


# ---- the bytes ---------------------------------------------------------------------------------------
BAD = {
    "bad_1byte.pftrace": Reason.TRACE_TRUNCATED,
    "bad_bitflip200.pftrace": Reason.TRACE_CORRUPT,
    "bad_empty.pftrace": Reason.TRACE_EMPTY,
    "bad_gz_trunc.pftrace": Reason.TRACE_GZIP_DAMAGED,
    "bad_html.pftrace": Reason.TRACE_NOT_PERFETTO,
    "bad_png.pftrace": Reason.TRACE_NOT_PERFETTO,
    "bad_random64k.pftrace": Reason.TRACE_NOT_PERFETTO,
    "bad_trunc-1.pftrace": Reason.TRACE_TRUNCATED,
    "bad_trunc50.pftrace": Reason.TRACE_TRUNCATED,
    "bad_trunc99.pftrace": Reason.TRACE_TRUNCATED,
    "bad_zeros64k.pftrace": Reason.TRACE_NOT_PERFETTO,
}


def test_every_damaged_file_is_in_the_table_below(data_folder):
    assert {path.name for path in (data_folder / "bad-traces").iterdir()} == {*BAD, "bad_gz_ok.pftrace"}


@pytest.mark.parametrize(("name", "reason"), BAD.items())
def test_each_damaged_file_has_its_reason(data_folder, settings, name, reason):
    health, series, *_ = inspect_trace(
        data_folder / "bad-traces" / name, app="app", exploration=None, time_limit_s=0.1, settings=settings
    )
    assert (health.is_complete, health.reason, series) == (False, reason, [])
    assert health.detail


def test_the_undamaged_one_among_them_is_complete(data_folder, settings):
    health, series, *_ = inspect_trace(
        data_folder / "bad-traces" / "bad_gz_ok.pftrace",
        app="app0",
        exploration=None,
        time_limit_s=0.2,
        settings=settings.with_values(interval_s=0.05),
    )
    assert health.is_complete, health.detail
    assert series


def test_facts_of_a_whole_file(tmp_path, healthy, settings):
    content = healthy().serialize()
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(content))
    facts = check_file(
        path,
        settings=settings,
        expected_bytes=path.stat().st_size,
        expected_sha256=hashlib.sha256(path.read_bytes()).hexdigest().upper(),
    )
    assert facts.is_gzip
    assert facts.unpacked_bytes == len(content)
    assert facts.file_bytes == path.stat().st_size
    assert facts.packet_count == 6  # process tree, three samples of memory, two cores


def test_size_and_sha256_must_be_as_stated(tmp_path, healthy, settings):
    path = healthy().write(tmp_path / "t")
    size = path.stat().st_size
    assert reason_of(path, settings, expected_bytes=size + 1) is Reason.TRACE_SIZE_MISMATCH
    assert reason_of(path, settings, expected_bytes=size, expected_sha256="0" * 64) is Reason.TRACE_SHA256_MISMATCH


def test_a_damaged_file_of_the_stated_size_is_a_mismatch_first(tmp_path, healthy, settings):
    path = healthy().write(tmp_path / "t")
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    path.write_bytes(content[:-10] + bytes(10))
    assert (
        reason_of(path, settings, expected_bytes=len(content), expected_sha256=sha256) is Reason.TRACE_SHA256_MISMATCH
    )
    path.write_bytes(b"")
    assert reason_of(path, settings, expected_bytes=len(content), expected_sha256=sha256) is Reason.TRACE_EMPTY


def test_things_that_are_no_files_are_refused_without_waiting(tmp_path, settings):
    os.mkfifo(tmp_path / "fifo")
    assert reason_of(tmp_path / "fifo", settings) is Reason.TRACE_NOT_PERFETTO
    assert reason_of(tmp_path, settings) is Reason.TRACE_NOT_PERFETTO
    assert reason_of(tmp_path / "none", settings) is Reason.TRACE_FILE_MISSING
    (tmp_path / "loop").symlink_to("loop")
    assert reason_of(tmp_path / "loop", settings) is Reason.FOLDER_UNREADABLE


@pytest.mark.parametrize("cut", [1, 5, 11, 50, -9, -1])
def test_a_gzip_stream_cut_anywhere_is_damaged(tmp_path, healthy, settings, cut):
    packed = gzip.compress(healthy().serialize())
    path = tmp_path / "t.gz"
    path.write_bytes(packed[: cut if cut > 1 else len(packed) + cut if cut < 0 else 3])
    assert reason_of(path, settings) is Reason.TRACE_GZIP_DAMAGED


def test_a_gzip_stream_with_a_wrong_checksum_or_a_tail_is_damaged(tmp_path, healthy, settings):
    packed = bytearray(gzip.compress(healthy().serialize()))
    path = tmp_path / "t.gz"
    path.write_bytes(packed + b"tail")
    assert reason_of(path, settings) is Reason.TRACE_GZIP_DAMAGED
    packed[-8] ^= 1
    path.write_bytes(packed)
    assert reason_of(path, settings) is Reason.TRACE_GZIP_DAMAGED


def test_gzip_in_several_members_is_whole_and_loads(inspect, healthy):
    content = healthy().serialize()
    members = b"".join(gzip.compress(content[at : at + 100]) for at in range(0, len(content), 100))
    health, _ = inspect(members)
    assert health.is_complete, health.detail
    assert health.unpacked_bytes == len(content)


def test_gzip_within_gzip_is_refused(tmp_path, healthy, settings):
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(gzip.compress(healthy().serialize())))
    assert reason_of(path, settings) is Reason.TRACE_NOT_PERFETTO


def test_a_gzip_bomb_is_stopped_at_the_limit(tmp_path, settings):
    path = tmp_path / "bomb.gz"
    packet = field(1, field(8, 1) + bytes(1 << 20))
    with gzip.open(path, "wb") as file:
        for _ in range(64):
            file.write(packet)
    assert path.stat().st_size < 100_000
    assert reason_of(path, settings.with_values(trace_max_bytes=10 << 20)) is Reason.TRACE_TOO_LARGE


def test_a_bomb_of_empty_packets_is_stopped_early(tmp_path, settings):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\x0a\x00" * 40_000_000, 1))
    assert reason_of(path, settings) is Reason.TRACE_CORRUPT


def members(count):
    """A gzip file of one packet in so many members of one byte each."""
    body = b"\x08\x01" * (count // 2)
    header = field(1, body)[: -len(body)]
    return gzip.compress(header) + b"".join(gzip.compress(body[at : at + 1], 1, mtime=0) for at in range(len(body)))


def test_a_packet_in_many_pieces_costs_by_their_number_and_not_by_its_square(tmp_path, settings):
    """CPU time of 4,000 and 16,000 pieces: adding all up at each piece would make it sixteen times as much."""
    taken = []
    for count in (4000, 16_000):
        path = tmp_path / f"{count}.gz"
        path.write_bytes(members(count))
        begin = time.thread_time()
        assert check_file(path, settings=settings).packet_count == 1
        taken.append(time.thread_time() - begin)
    assert taken[1] < 9 * taken[0]


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"\x0a\x06\x08\x01\x08\x01\x08\x01" * 3_000_000, 1), None],
    ids=["tiny packets", "tiny packets within compressed ones"],
)
def test_a_small_file_that_takes_long_to_read_is_stopped_by_its_cpu_time(tmp_path, settings, content):
    path = tmp_path / "bomb"
    path.write_bytes(content or packed(*[b"\x0a\x06\x08\x01\x08\x01\x08\x01"] * 3_000_000))
    assert path.stat().st_size < 200_000
    hasty = settings.with_values(trace_check_s=0.1)
    begin = time.thread_time()
    with pytest.raises(Rejected, match="trace_check_s") as rejected:
        check_file(path, settings=hasty)
    assert time.thread_time() - begin < 2
    assert rejected.value.reason is Reason.TRACE_TOO_SLOW
    assert rejected.value.reason.is_damage


def packed(*packets, number=50, pack=zlib.compress):
    """A packet of compressed packets."""
    return field(1, field(number, pack(b"".join(packets))))


def zstd(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


PLAIN = field(1, field(8, 1) + bytes(1 << 20))


@pytest.mark.parametrize(("number", "pack"), [(50, zlib.compress), (133, zstd), (50, gzip.compress)])
def test_a_bomb_of_compressed_packets_is_stopped_at_the_limit(tmp_path, settings, number, pack):
    path = tmp_path / "bomb"
    path.write_bytes(packed(*[PLAIN] * 32, number=number, pack=pack))
    assert path.stat().st_size < 100_000
    assert check_file(path, settings=settings).unpacked_bytes > 32 << 20
    assert reason_of(path, settings.with_values(trace_max_bytes=10 << 20)) is Reason.TRACE_TOO_LARGE


def test_many_compressed_packets_add_up(tmp_path, settings):
    path = tmp_path / "bomb"
    path.write_bytes(packed(*[PLAIN] * 4) * 8)
    assert reason_of(path, settings.with_values(trace_max_bytes=30 << 20)) is Reason.TRACE_TOO_LARGE


def test_plain_and_compressed_packets_add_up(tmp_path, settings):
    limited, plain, compressed = settings.with_values(trace_max_bytes=30 << 20), PLAIN * 20, packed(*[PLAIN] * 20)
    for name, content in (("plain", plain), ("compressed", compressed)):
        (tmp_path / name).write_bytes(content)
        check_file(tmp_path / name, settings=limited)
    both = tmp_path / "both"
    both.write_bytes(compressed + plain)
    assert reason_of(both, limited) is Reason.TRACE_TOO_LARGE


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_reduced_trace_of_any_length_says_so_and_need_not_be_the_one_that_was_recorded(tmp_path, settings, pack):
    path = tmp_path / "reduced"
    path.write_bytes(pack(mark() + PLAIN * 8))
    facts = check_file(path, settings=settings, expected_bytes=1, expected_sha256="0" * 64)
    assert facts.is_reduced
    check_facts(facts, expected_bytes=1, expected_sha256="0" * 64)
    path.write_bytes(pack(PLAIN + mark() + PLAIN * 8))  # not its first packet
    assert not check_file(path, settings=settings).is_reduced
    assert reason_of(path, settings, expected_sha256="0" * 64) is Reason.TRACE_SHA256_MISMATCH


def longer(tag):
    """The same tag in a longer spelling, which the engine takes as well."""
    return tag[:-1] + bytes([tag[-1] | 0x80, 0x80, 0x00])


@pytest.mark.parametrize(
    "disguise",
    [lambda content: field(8, 1) + field(9, b"x") + content, lambda content: longer(content[:2]) + content[2:]],
)
def test_compressed_packets_are_found_wherever_the_engine_finds_them(tmp_path, settings, disguise):
    path = tmp_path / "bomb"
    path.write_bytes(field(1, disguise(field(50, zlib.compress(PLAIN * 32)))))
    assert reason_of(path, settings.with_values(trace_max_bytes=10 << 20)) is Reason.TRACE_TOO_LARGE


def test_compressed_packets_within_compressed_packets_are_refused(tmp_path, settings):
    path = tmp_path / "bomb"
    path.write_bytes(packed(packed(PLAIN)))
    assert reason_of(path, settings) is Reason.TRACE_CORRUPT


@pytest.mark.parametrize("damage", [lambda one: one[:-5], lambda one: b"no" + one[2:]])
def test_damaged_compressed_packets_are_corrupt(tmp_path, settings, damage):
    path = tmp_path / "damaged"
    path.write_bytes(packed(PLAIN, pack=lambda content: damage(zlib.compress(content))))
    assert reason_of(path, settings) is Reason.TRACE_CORRUPT


def test_a_whole_trace_in_compressed_packets_is_whole(inspect, healthy):
    health, series = inspect(packed(healthy().serialize()))
    assert health.is_complete, health.detail
    assert {one.name for one in series} == {one.name for one in inspect(healthy())[1]}


@given(st.lists(st.integers(0, 3000), max_size=30))
def test_compressed_packets_are_counted_however_the_bytes_arrive(sizes):
    content = field(1, field(8, 1) + bytes(5000)) + packed(PLAIN) + field(1, field(8, 1))
    nested = NestedPackets("t", 1 << 30, WorkLimit("t", 60))
    at = 0
    for size in [*sizes, len(content)]:
        nested.framing.feed(content[at : at + size])
        at += size
    nested.framing.finish()
    assert (nested.framing.packet_count, nested.packet_count, nested.total_bytes) == (3, 1, len(PLAIN))


def test_a_text_that_begins_like_a_packet_is_no_trace(tmp_path, settings):
    path = tmp_path / "t"
    path.write_text("\n<!doctype html>\n<html><body>" + "not found " * 100)
    assert reason_of(path, settings) is Reason.TRACE_NOT_PERFETTO


def frame_all(content: bytes, sizes: list[int]) -> int:
    framing = PacketFraming("t")
    at = 0
    for size in sizes:
        framing.feed(content[at : at + size])
        at += size
    framing.feed(content[at:])
    framing.finish()
    return framing.packet_count


@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=8), st.lists(st.integers(0, 3000), max_size=30))
def test_framing_does_not_depend_on_how_the_bytes_arrive(lengths, sizes):
    content = b"".join(field(1, field(8, 1) + field(9, bytes(length))) for length in lengths)
    assert frame_all(content, sizes) == len(lengths)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.data())
def test_every_cut_inside_a_packet_is_found(lengths, data):
    packets = [field(1, field(8, 1) + field(9, bytes(length))) for length in lengths]
    content = b"".join(packets)
    borders = {sum(map(len, packets[:k])) for k in range(len(packets) + 1)}
    cut = data.draw(st.integers(1, len(content) - 1).filter(lambda at: at not in borders)) if len(content) > 1 else 1
    with pytest.raises(Rejected) as rejected:
        frame_all(content[:cut], [])
    assert rejected.value.reason is Reason.TRACE_TRUNCATED


def test_two_hundred_hostile_files_each_end_with_a_reason_or_complete(tmp_path, healthy, settings):
    # Cut at every percent, bits flipped, holes, swapped and repeated parts: no exception, no engine left hanging.
    content = healthy().serialize()
    random_state = random.Random(7)
    allowed = {reason for reason in Reason if reason.name.startswith(("TRACE_", "SOURCE_", "PACKAGE_", "ENGINE_"))}
    found: dict[str, int] = {}
    files = [content[: len(content) * percent // 100] for percent in range(100)]
    for _ in range(100):
        damaged = bytearray(content)
        for _ in range(random_state.choice([1, 3, 30])):
            damaged[random_state.randrange(len(damaged))] ^= 1 << random_state.randrange(8)
        if random_state.random() < 0.3:
            at = random_state.randrange(len(damaged))
            damaged[at : at + 40] = bytes(random_state.randrange(0, 60))
        files.append(bytes(damaged))
    for number, damaged in enumerate(files):
        path = tmp_path / str(number)
        path.write_bytes(damaged)
        reason = verdict_on_bytes(path, settings)
        if reason is not None:
            found[reason] = found.get(reason, 0) + 1
            continue
        if number % 8:  # an engine start each: every eighth of those whose framing survived
            continue
        health, series, *_ = inspect_trace(
            path,
            app=APP,
            exploration=(0, 10 * SECOND),
            time_limit_s=10,
            settings=settings.with_values(engine_timeout_s=20),
        )
        assert health.is_complete == (health.reason is None) == bool(series)
        assert health.reason is None or health.reason in allowed
    assert set(found) <= allowed
    assert found[Reason.TRACE_TRUNCATED] >= 90
    assert found[Reason.TRACE_EMPTY] == 1


# ---- the contents ------------------------------------------------------------------------------------
def test_a_healthy_trace_is_complete(inspect, healthy):
    health, series = inspect(healthy())
    assert health.is_complete, health.detail
    assert health.reason is None
    assert health.app_processes == (APP,)
    assert {"sched", "process_memory"} <= set(health.data_sources)
    assert health.packet_count == 6
    assert health.engine_version.startswith("Perfetto v")
    assert {each.name for each in series if each.values is not None} >= {"cpu_app", "cpu_total", "rss_app"}
    assert all(len(each.values) == 9 for each in series if each.values is not None)  # events end at 9.5 s


def test_the_app_must_be_there(inspect, healthy):
    health, series = inspect(healthy(), app="com.rig.other")
    assert health.reason is Reason.PACKAGE_MISSING
    assert "com.rig.other" in health.detail
    assert series == []


def test_a_trace_without_scheduling_and_memory_has_no_source(inspect, make_trace):
    maker = make_trace().process(10, APP).frequency(0, 1, 1000).frequency(0, 10 * SECOND, 2000)
    health, _ = inspect(maker)
    assert health.reason is Reason.SOURCE_MISSING
    assert "cpu_frequency" in health.detail


def test_a_trace_with_memory_only_is_complete_and_its_cpu_is_missing(inspect, make_trace):
    maker = make_trace().process(10, APP).memory(0, 10, rss=100).memory(10 * SECOND, 10, rss=200)
    health, series = inspect(maker)
    assert health.is_complete, health.detail
    by_name = {each.name: each for each in series}
    assert by_name["rss_app"].values is not None
    assert by_name["cpu_app"].values is None


def test_a_trace_without_memory_is_complete_and_its_memory_is_missing(inspect, make_trace):
    health, series = inspect(make_trace().process(10, APP).schedule([(0, 10, 0, 10 * SECOND)]))
    assert health.is_complete, health.detail
    assert {each.name: each for each in series}["rss_app"].missing_reason


@pytest.mark.parametrize(
    ("exploration", "reason"),
    [
        ((0, 10 * SECOND), None),
        ((0, 11 * SECOND), Reason.TRACE_TOO_SHORT),  # 9.5 of 11 s
        ((-2 * SECOND, 9 * SECOND), Reason.TRACE_TOO_SHORT),
        ((2 * SECOND, 3 * SECOND), None),
        ((100 * SECOND, 110 * SECOND), Reason.TRACE_TOO_SHORT),
        ((2 * SECOND, 2 * SECOND + 1000), Reason.TRACE_TOO_SHORT),
    ],
)
def test_the_events_must_cover_the_exploration(inspect, healthy, exploration, reason):
    health, _ = inspect(healthy(), exploration=exploration)
    assert health.reason is reason, health.detail


@pytest.mark.parametrize(("time_limit_s", "reason"), [(10.0, None), (12.0, Reason.TRACE_TOO_SHORT)])
def test_without_an_exploration_the_time_limit_counts(inspect, healthy, time_limit_s, reason):
    health, series = inspect(healthy(), exploration=None, time_limit_s=time_limit_s)
    assert health.reason is reason, health.detail
    if reason is None:
        assert series[0].start_ns == 1


def test_old_process_samples_do_not_hide_that_events_were_overwritten(inspect, make_trace):
    # A ring buffer lost the first six seconds of events; the memory samples span everything.
    maker = make_trace().process(10, APP).schedule([(0, 10, 6 * SECOND, 10 * SECOND)])
    maker.memory(0, 10, rss=100).memory(10 * SECOND, 10, rss=100)
    health, _ = inspect(maker)
    assert health.reason is Reason.TRACE_TOO_SHORT
    assert "4.0 s" in health.detail


def test_a_recording_that_begins_late_keeps_the_explorations_grid(inspect, healthy):
    health, series = inspect(healthy(), exploration=(-300_000_000, 9_700_000_000))
    assert health.is_complete, health.detail
    assert health.window_ns == (700_000_000, 9_600_000_000)
    assert series[0].start_ns == 700_000_000
    assert len(series[0].values) == 8


def test_lost_kernel_events_are_data_loss(inspect, healthy):
    health, _ = inspect(healthy().lost_events(0, 17))
    assert health.reason is Reason.TRACE_DATA_LOSS
    assert "17" in health.detail
    assert health.stats["ftrace_cpu_commit_overrun_delta"] == 17


def test_a_failed_final_flush_is_data_loss(inspect, healthy):
    maker = healthy()
    maker.packet().trace_stats.final_flush_outcome = 2
    health, _ = inspect(maker)
    assert health.reason is Reason.TRACE_DATA_LOSS
    assert "traced_final_flush_failed" in health.detail


STREAMED = "write_into_file: true file_write_period_ms: 2500"
RING, FULL_STOP = "buffers { size_kb: 64 fill_policy: RING_BUFFER }", "buffers { size_kb: 64 fill_policy: DISCARD }"


def test_a_config_without_flushes_costs_memory_and_no_data(inspect, healthy):
    health, series = inspect(healthy().config(f"{RING} {STREAMED}"))
    assert health.is_complete, health.detail
    assert health.stats == {"config_write_into_file_no_flush": 1}
    assert all(each.reason_code != "series_spoilt" for each in series)


def test_a_buffer_that_stops_when_it_is_full_lost_something_only_when_it_was_full(inspect, healthy):
    config = f"{RING} {FULL_STOP} {STREAMED} flush_period_ms: 5000"

    def maker(discarded):
        made = healthy().config(config)
        stats = made.packet().trace_stats
        stats.buffer_stats.add(chunks_written=7, chunks_discarded=4)  # a ring discards what it holds already
        stats.buffer_stats.add(chunks_written=7, chunks_discarded=discarded)
        return made

    health, _ = inspect(maker(0))
    assert health.is_complete, health.detail
    assert health.stats == {"config_write_into_file_discard": 1}
    health, _ = inspect(maker(3))
    assert health.reason is Reason.TRACE_DATA_LOSS
    assert "traced_buf_chunks_discarded = 3" in health.detail


def test_a_heap_profile_that_lost_data_takes_no_other_series_away(inspect, healthy):
    def maker(overran):
        made = healthy().clocks()
        for second in range(1, 10):
            made.heap_dump(second * SECOND, 10, allocated=1000 * second, freed=0, overran=overran)
        return made

    health, series = inspect(maker(overran=False))
    assert health.is_complete, health.detail
    assert {each.name: each for each in series}["heap_app"].values is not None

    health, series = inspect(maker(overran=True))
    assert health.is_complete, health.detail
    by_name = {each.name: each for each in series}
    heap = by_name["heap_app"]
    assert (heap.values, heap.reason_code, heap.unit) == (None, "series_spoilt", "bytes")
    assert "heapprofd_buffer_overran = " in heap.missing_reason
    for name in ("cpu_app", "cpu_total", "rss_app"):
        assert by_name[name].values is not None
        assert by_name[name].reason_code is None
    assert by_name["gpu_busy_app"].reason_code == "series_missing"


@pytest.mark.parametrize(
    ("lost_in", "complete", "spoilt"),
    [(0, False, set()), (1, True, {"heap_app"}), (2, True, {"gpu_freq_0", "gpu_busy_app", "gpu_memory_app"})],
)
def test_a_loss_in_a_buffer_spoils_what_was_written_there(inspect, healthy, lost_in, complete, spoilt):
    sources = [(0, "linux.ftrace"), (0, "linux.process_stats"), (1, "android.heapprofd"), (2, "android.gpu.memory")]
    config = "".join(f'data_sources {{ config {{ name: "{name}" target_buffer: {at} }} }}' for at, name in sources)
    made = healthy().config(f"{RING} {RING} {RING} {config}")
    stats = made.packet().trace_stats
    for number in range(3):
        stats.buffer_stats.add(trace_writer_packet_loss=5 * (number == lost_in))
    health, series = inspect(made)
    assert health.is_complete is complete, health.detail
    assert {each.name for each in series if each.reason_code == "series_spoilt"} == spoilt
    if not complete:
        assert health.reason is Reason.TRACE_DATA_LOSS


def test_a_loss_in_a_buffer_of_which_nothing_is_known_spoils_everything(inspect, healthy):
    made = healthy()
    made.packet().trace_stats.buffer_stats.add(trace_writer_packet_loss=5)
    assert inspect(made)[0].reason is Reason.TRACE_DATA_LOSS


def test_a_counter_that_nobody_knows_spoils_everything():
    assert catalogue.loss_counter("a_new_kind_of_loss").spoils == (catalogue.EVERYTHING,)
    assert catalogue.loss_counter("heapprofd_buffer_overran").spoils == ("heap",)
    assert catalogue.loss_counter("config_write_into_file_no_flush").spoils == ()


# ---- how it was recorded -----------------------------------------------------------------------------
def ftrace(*lines):
    return 'data_sources { config { name: "linux.ftrace" ftrace_config { ' + " ".join(lines) + " } } }"


@pytest.mark.parametrize(
    ("config", "load_sources"),
    [
        (ftrace('ftrace_events: "sched/sched_switch"', 'ftrace_events: "sched/sched_waking"'), ()),
        (ftrace('ftrace_events: "raw_syscalls/sys_enter"'), ("syscalls",)),
        (ftrace('atrace_categories: "freq"', 'atrace_categories: "idle"'), ()),  # the kernel's events only
        (ftrace('atrace_categories: "freq"', 'atrace_categories: "view"'), ("atrace",)),
        (ftrace('atrace_apps: "com.rig.app"', 'ftrace_events: "syscalls/sys_enter_read"'), ("atrace", "syscalls")),
        ('data_sources { config { name: "android.heapprofd" } } data_sources { config { name: "linux.perf" } }',
         ("callstacks", "heap")),
    ],
)  # fmt: skip
def test_the_sources_that_change_the_load_are_those_of_the_traces_config(inspect, healthy, config, load_sources):
    health, _ = inspect(healthy().config(f"{RING} {config}"))
    assert health.load_sources == load_sources


def test_without_a_config_the_contents_tell_what_changed_the_load(inspect, healthy):
    assert inspect(healthy())[0].load_sources == ()
    made = healthy().told(SECOND, "sys_enter", tid=10, id=63).told(SECOND + 5, "sys_exit", tid=10, id=63, ret=0)
    assert inspect(made)[0].load_sources == ("syscalls",)
    made = healthy().told(SECOND, "print", tid=10, buf="B|10|draw\n").told(SECOND + 5, "print", tid=10, buf="E|10\n")
    assert inspect(made)[0].load_sources == ("atrace",)
    made = healthy().clocks().heap_dump(SECOND, 10, allocated=100, freed=0)
    assert inspect(made)[0].load_sources == ("heap",)


def test_a_trace_that_was_not_looked_into_does_not_say_how_it_was_recorded(inspect):
    assert inspect(b"")[0].load_sources is None


# ---- reading once ------------------------------------------------------------------------------------
def test_a_file_that_was_checked_and_did_not_change_is_not_checked_again(tmp_path, healthy, settings, monkeypatch):
    path = healthy().write(tmp_path / "t.perfetto-trace")
    facts = check_file(path, settings=settings)

    def look(known, **expected):
        return inspect_trace(
            path, app=APP, exploration=(0, 10 * SECOND), time_limit_s=10, settings=settings, known=known, **expected
        )[0]

    again, seen = [], look(facts)

    def count(*arguments, **options):
        again.append(arguments)
        return check_file(*arguments, **options)

    monkeypatch.setattr(inspection, "check_file", count)
    health = look(facts)
    assert (health.is_complete, health.sha256, health.packet_count) == (True, facts.sha256, facts.packet_count)
    assert (replace(health, seconds={}), again) == (replace(seen, seconds={}), [])
    assert look(facts, expected_sha256="0" * 64).reason is Reason.TRACE_SHA256_MISMATCH
    assert look(facts, expected_bytes=1).reason is Reason.TRACE_SIZE_MISMATCH
    assert again == []

    content = path.read_bytes()
    path.write_bytes(content[:-1])  # cut since
    assert look(facts).reason is Reason.TRACE_TRUNCATED
    path.write_bytes(content)
    os.utime(path, ns=(0, facts.mtime_ns + 1))  # as long, but written anew
    assert look(facts).is_complete
    assert len(again) == 2


def test_parse_errors_in_what_series_read_are_errors_and_elsewhere_only_recorded(inspect, healthy):
    maker = healthy()
    maker.packet().android_log.stats.num_failed = 3
    health, _ = inspect(maker)
    assert health.is_complete, health.detail
    assert health.stats == {"android_log_num_failed": 3}

    maker = healthy()
    for _ in range(3):
        packet = maker.packet()
        packet.timestamp, packet.timestamp_clock_id = 5, 64  # a clock that no snapshot explains
        packet.trusted_packet_sequence_id = 9
        packet.process_stats.processes.add(pid=10).vm_rss_kb = 1
    health, _ = inspect(maker)
    assert health.reason is Reason.TRACE_ERRORS
    assert "clock_sync_failure" in health.detail


@pytest.mark.parametrize("ts", [2**62, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("exploration", [(0, 10 * SECOND), None])
def test_timestamps_beyond_all_sense_end_with_a_reason(inspect, healthy, ts, exploration):
    absurd = {Reason.TRACE_CORRUPT, Reason.TRACE_DATA_LOSS, Reason.TRACE_ERRORS}
    health, series = inspect(healthy().schedule([(7, 10, 5 * SECOND, ts)]), exploration=exploration)
    assert health.is_complete == bool(series)
    assert health.reason in (absurd if exploration is None else absurd | {None})
    health, _ = inspect(healthy().memory(ts, 10, rss=5), exploration=exploration)
    assert health.reason in absurd | {None}


def test_an_engine_that_exceeds_its_time_is_a_reason_for_the_run(tmp_path, session_folder, settings):
    limited = settings.with_values(engine_timeout_s=1)
    # 400 MB of events are more than a second's work
    one = gzip.decompress((session_folder / "trace.perfetto-trace.gz").read_bytes())
    path = tmp_path / "long.perfetto-trace"
    path.write_bytes(one * 40)
    health, series, *_ = inspect_trace(path, app="com.rig.notes", exploration=None, time_limit_s=1, settings=limited)
    assert health.reason is Reason.ENGINE_TIMEOUT
    assert series == []
    assert health.packet_count > 0


# ---- names -------------------------------------------------------------------------------------------
HOSTILE = [
    "';DROP/**/TABLE/**/process;--",
    "'||(SELECT/**/1)||'",
    "a'b",
    'a"b',
    "a;b",
    "line\nbreak",
    "x')OR(1=1",
    "${jndi:ldap://x}",
    "../../etc/passwd",
    "percent%s%n",
    "ünïcödé漢字🙂",
    "no\u00a0break",
    "glob*?[a]",
    ":upids",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_compared_and_never_run(inspect, healthy, name):
    health, series = inspect(healthy(name), app=name)
    assert health.is_complete, health.detail
    assert health.app_processes == (name,)
    by_name = {each.name: each for each in series}
    assert by_name["cpu_app"].values.sum() == pytest.approx(9, abs=1e-6)

    ordinary, _ = inspect(healthy(APP), app=APP)
    assert ordinary.process_count == health.process_count  # nothing was dropped or added by the name
    other, _ = inspect(healthy(name), app=APP)
    assert other.reason is Reason.PACKAGE_MISSING


def test_a_statement_as_the_apps_name_finds_nothing_and_changes_nothing(inspect, healthy):
    health, _ = inspect(healthy(), app="'; DROP TABLE process; --")
    assert health.reason is Reason.PACKAGE_MISSING
    assert health.app_processes == ()
    assert inspect(healthy("'; DROP TABLE process; --"))[0].process_count == health.process_count


def test_names_that_are_not_utf8_do_no_harm(inspect, healthy, make_trace):
    raw = field(1, field(2, field(1, field(1, 30) + field(2, 1) + field(3, b"\xff\xfe'; DROP TABLE process; --"))))
    health, _ = inspect(healthy().serialize() + raw)
    assert health.is_complete, health.detail


# ---- recorded traces ---------------------------------------------------------------------------------
def test_the_recorded_session_is_complete_with_all_its_series(session_folder, settings):
    run = json.loads((session_folder / "run.json").read_text())
    health, series, *_ = inspect_trace(
        session_folder / run["trace"],
        app=run["app"],
        exploration=(run["exploration"]["start_ns"], run["exploration"]["end_ns"]),
        time_limit_s=run["config"]["time_limit_s"],
        expected_bytes=run["trace_bytes"],
        expected_sha256=run["trace_sha256"],
        settings=settings,
    )
    assert health.is_complete, health.detail
    assert health.stats == {}
    by_name = {each.name: each for each in series}
    for name in ("cpu_app", "cpu_total", "rss_app", "rss_anon_app", "rss_file_app", "swap_app", "threads_running_app"):
        assert by_name[name].values is not None
        assert len(by_name[name].values) == 70
        assert by_name[name].start_ns == run["exploration"]["start_ns"]
    assert (by_name["cpu_total"].values <= 2 + 1e-9).all()  # two cores
    assert set(health.seconds) == {"file", "engine", "series"}


REAL = {  # trace → (app, reason)
    "emanafa_cpufreq_15s": ("any.app", Reason.SOURCE_MISSING),
    "emulator_api31_39s_chrome": ("com.android.chrome", None),
    "microsoft_test_trace": ("TraceLogApiTest", None),
    "nexus5x_api24_startup_cold": ("androidx.benchmark.integration.macrobenchmark.target", None),
    "pixel4_api31_commas_in_slice_names": ("androidx.benchmark.integration.macrobenchmark.target", None),
    "pixel6_api32_odpm_rails": ("androidx.benchmark.integration.macrobenchmark.target", None),
    "pixel6a_api32_startup_warm": ("androidx.benchmark.integration.macrobenchmark.target", None),
    "pixel7a_rails_50mbps_0": ("any.app", Reason.SOURCE_MISSING),
    "pixel7a_rails_50mbps_1": ("any.app", Reason.SOURCE_MISSING),
    "pixel7a_rails_50mbps_2": ("any.app", Reason.SOURCE_MISSING),
    "pixel7pro_60s_sched_rss_cpufreq_rails": ("com.google.android.gms.persistent", None),
    "pixel7pro_nowinandroid_compose_slices": ("com.google.samples.apps.nowinandroid", Reason.SOURCE_MISSING),
    "pixel8_rails_speedtest": ("any.app", Reason.SOURCE_MISSING),
    "pixel8_rails_standby": ("any.app", Reason.SOURCE_MISSING),
}


def test_every_real_devices_trace_is_in_the_table_below(data_folder):
    assert {path.name.split(".")[0] for path in (data_folder / "android-traces").iterdir()} == set(REAL)


@pytest.mark.parametrize(("name", "app", "reason"), [(name, *rest) for name, rest in REAL.items()])
def test_healthy_traces_of_real_devices_pass_whatever_their_other_sources_lost(
    data_folder, settings, name, app, reason
):
    health, series, *_ = inspect_trace(
        data_folder / "android-traces" / f"{name}.perfetto-trace.gz",
        app=app,
        exploration=None,
        time_limit_s=0.4,
        settings=settings.with_values(interval_s=0.1),
    )
    assert health.reason is reason, health.detail
    assert health.is_complete == bool(series)
