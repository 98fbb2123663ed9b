"""The text config, read back by Perfetto's own protobuf definition."""

import itertools
from dataclasses import replace

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.catalogue import DATA_SOURCES
from perfreg_assets.collection.perfetto_config import (
    DEFAULT_SOURCES,
    SOURCES,
    PerfettoOptions,
    check_android,
    choose_sources,
    perfetto_config,
    quoted,
)
from perfreg_assets.reasons import Reason, Rejected

OPTIONS = PerfettoOptions(app="com.rig.shop", duration_ms=600_000)


def parsed(names, options=OPTIONS):
    return text_format.Parse(perfetto_config(names, options), proto.TraceConfig())


def sources(config):
    return {source.config.name: source.config for source in config.data_sources}


def test_the_default_records_switches_memory_and_frequencies_and_neither_system_calls_nor_atrace():
    config = parsed(DEFAULT_SOURCES)
    found = sources(config)
    assert set(found) == {"linux.ftrace", "linux.process_stats", "linux.sys_stats", "linux.system_info"}
    ftrace = found["linux.ftrace"].ftrace_config
    assert ftrace.compact_sched.enabled
    assert {"sched/sched_switch", "power/cpu_frequency"} <= set(ftrace.ftrace_events)
    assert not [event for event in ftrace.ftrace_events if "syscall" in event]
    assert list(ftrace.atrace_categories) == list(ftrace.atrace_apps) == []
    assert found["linux.process_stats"].process_stats_config.proc_stats_poll_ms == 1000
    assert found["linux.sys_stats"].sys_stats_config.cpufreq_period_ms > 0  # so that the first frequency is known


def test_process_names_have_a_buffer_of_their_own():
    config = parsed(DEFAULT_SOURCES)
    found = sources(config)
    assert len(config.buffers) == 2
    assert found["linux.process_stats"].target_buffer != found["linux.ftrace"].target_buffer
    assert config.buffers[1].size_kb < config.buffers[0].size_kb


def test_what_is_no_kernel_event_has_a_buffer_of_its_own():
    config = parsed([*DEFAULT_SOURCES, "heap", "power_rails", "gpu", "network_packets"])
    found = sources(config)
    assert len(config.buffers) == 3
    needed = {found[name].target_buffer for name in ("linux.ftrace", "linux.process_stats", "linux.sys_stats")}
    for name in ("android.heapprofd", "android.power", "android.gpu.memory", "android.packages_list"):
        assert found[name].target_buffer not in needed
    assert [source.config.name for source in config.data_sources].count("android.packages_list") == 1


def test_the_sources_of_io_and_gpu_ask_for_the_events_that_the_series_are_made_of():
    events = set(sources(parsed(["io_wait", "block_io", "gpu"]))["linux.ftrace"].ftrace_config.ftrace_events)
    assert events >= {"sched/sched_blocked_reason", "block/block_io_start", "block/block_io_done"}
    assert events >= {"power/gpu_frequency", "power/gpu_work_period", "gpu_mem/gpu_mem_total"}
    heap = sources(parsed(["heap"]))["android.heapprofd"].heapprofd_config
    assert heap.continuous_dump_config.dump_interval_ms > 0  # one dump at the end would be no series


def test_what_a_source_records_is_what_the_gate_takes_it_for():
    for name, source in DATA_SOURCES.items():
        if name not in SOURCES:
            continue
        assert set(source.perfetto) >= set(sources(parsed([name], replace(OPTIONS, atrace_categories=("view",))))), name


def test_a_recording_ends_itself_and_is_written_while_it_grows():
    config = parsed(DEFAULT_SOURCES)
    assert config.duration_ms == 600_000
    assert config.write_into_file
    assert config.file_write_period_ms > 0
    assert config.flush_period_ms >= config.file_write_period_ms
    assert config.max_file_size_bytes > 0


def test_the_plain_config_lacks_what_an_old_perfetto_refuses_and_records_the_same_sources():
    plain = parsed(DEFAULT_SOURCES, replace(OPTIONS, is_plain=True))
    found = sources(plain)
    assert set(found) == {"linux.ftrace", "linux.process_stats"}
    assert not found["linux.ftrace"].ftrace_config.HasField("compact_sched")
    assert "power/cpu_frequency" in found["linux.ftrace"].ftrace_config.ftrace_events


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_a_config_that_perfetto_understands(name):
    config = parsed([name])
    assert len(config.data_sources) >= 1
    assert SOURCES[name].summary


def test_any_pair_of_sources_goes_together_and_order_does_not_matter():
    for pair in itertools.combinations(SOURCES, 2):
        assert perfetto_config(pair, OPTIONS) == perfetto_config(pair[::-1], OPTIONS)
        names = [source.config.name for source in parsed(pair).data_sources]
        assert len(names) == len(set(names))


def test_axes_add_to_what_every_run_is_judged_by_and_names_alone_replace_it():
    assert choose_sources(None, ()) == ()
    assert choose_sources(None, ("sched",)) == ("sched",)
    chosen = choose_sources("io, gpu", ("heap",))
    assert set(chosen) == {*DEFAULT_SOURCES, "io_wait", "block_io", "gpu", "heap"}
    parsed(chosen)
    with pytest.raises(ValueError, match="'disk' is no axis"):
        choose_sources("io,disk", ())


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_survives_as_a_string_of_the_config(text):
    config = text_format.Parse(f"unique_session_name: {quoted(text)}", proto.TraceConfig())
    assert config.unique_session_name == text


def test_an_unknown_source_and_a_category_that_is_none_are_refused():
    for names, categories in ((["sched", "everything"], ()), ([], ()), (["atrace"], ('gfx"',))):
        with pytest.raises(Rejected) as refusal:
            perfetto_config(names, PerfettoOptions("com.rig.shop", 1000, atrace_categories=categories))
        assert refusal.value.reason is Reason.DATA_SOURCE_UNKNOWN


@pytest.mark.parametrize(
    ("sdk", "names", "accepted"),
    [
        (28, ["sched"], False),
        (29, ["sched"], True),
        (30, ["frame_timeline"], False),
        (31, ["frame_timeline"], True),
        (33, ["network_packets"], False),
    ],
)
def test_old_androids_are_refused_by_what_is_asked_of_them(sdk, names, accepted):
    if accepted:
        check_android(sdk, "x", names)
        return
    with pytest.raises(Rejected) as refusal:
        check_android(sdk, "x", names)
    assert refusal.value.reason is Reason.ANDROID_TOO_OLD
