"""Perfetto's text config from a list of data sources.

The default set is the thesis' choice [3.3, about 20 MB a minute instead of 400]: the scheduler's switches in the
compact encoding, memory of every process, frequencies of the cores. System calls and atrace are most of the size
and therefore asked for by name only. Process names have a small buffer of their own: in a shared ring the switches
push them out and processes lose their names (google/perfetto#889). So has what neither the kernel's events nor process
names come by: what is lost there takes no other series away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfreg_assets.catalogue import sources_for
from perfreg_assets.reasons import Reason, Rejected

MINIMUM_SDK = 29
"""Android 10; before it perfetto is not part of the system [thesis 3.3]."""
DEFAULT_SOURCES = ("sched", "process_stats", "cpufreq")

_MAIN, _NAMES, _OTHERS = 0, 1, 2  # buffers
_ATRACE_CATEGORY = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True)
class PerfettoOptions:
    """Values that the config needs besides the list of sources."""

    app: str
    duration_ms: int
    memory_poll_ms: int = 1000
    buffer_kb: int = 65536
    file_write_period_ms: int = 2500
    max_trace_bytes: int = 8 << 30
    atrace_categories: tuple[str, ...] = ()
    clear_period_ms: int | None = None
    """How often names and other state are written anew, so that a part of the trace can be understood by itself."""
    session_name: str | None = None
    """Of a recording that stays in its buffers, of which copies are made by this name."""
    is_plain: bool = False
    """Without what Android 10's perfetto does not know: it refuses a config with an unknown field."""


@dataclass(frozen=True)
class _Source:
    """What one name of the list adds to the config."""

    summary: str
    minimum_sdk: int = MINIMUM_SDK
    ftrace_events: tuple[str, ...] = ()
    ftrace_options: Callable[[PerfettoOptions], list[str]] | None = None
    data_source: Callable[[PerfettoOptions], str | None] | None = None
    names_app_by_user: bool = False
    """Its events know the app's user (uid) only, so the list of packages has to be recorded, too."""


def _source(name: str, body: str = "", buffer: int = _OTHERS) -> str:
    return f'data_sources {{\n  config {{\n    name: "{name}"\n    target_buffer: {buffer}\n{body}  }}\n}}\n'


def _process_stats(options: PerfettoOptions) -> str:
    return _source(
        "linux.process_stats",
        "    process_stats_config {\n"
        "      scan_all_processes_on_start: true\n"
        "      record_thread_names: true\n"
        f"      proc_stats_poll_ms: {options.memory_poll_ms}\n"
        "    }\n",
        buffer=_NAMES,
    )


def _cpufreq(options: PerfettoOptions) -> str | None:
    if options.is_plain:
        return None
    # Without polling the frequency of a core is unknown until it first changes (docs/data-sources/cpu-freq.md).
    polled = _source("linux.sys_stats", "    sys_stats_config {\n      cpufreq_period_ms: 500\n    }\n", _MAIN)
    # Once, the frequencies that there are: by them a power profile of another chip is known.
    return polled + _source("linux.system_info", buffer=_NAMES)


def _atrace(options: PerfettoOptions) -> list[str]:
    lines = [f"atrace_categories: {quoted(category)}" for category in options.atrace_categories]
    return [*lines, f"atrace_apps: {quoted(options.app)}"]


_HEAP_DUMP_MS = 5000  # a dump is a point of the series; each writes every call stack that allocated

SOURCES: dict[str, _Source] = {
    "sched": _Source(
        "scheduler switches (compact), starts and names of threads",
        # The trace processor takes the end of a process from sched_process_free.
        ftrace_events=(
            *("sched/sched_switch", "task/task_newtask", "task/task_rename"),
            *("sched/sched_process_exit", "sched/sched_process_free"),
        ),
    ),
    "sched_waking": _Source("wake-ups: who waits for whom", ftrace_events=("sched/sched_waking",)),
    "io_wait": _Source("whether a thread waits for I/O", ftrace_events=("sched/sched_blocked_reason",)),
    "block_io": _Source("operations of block devices", ftrace_events=("block/block_io_start", "block/block_io_done")),
    "gpu": _Source(
        "frequency, work and memory of the GPUs",
        ftrace_events=("power/gpu_frequency", "power/gpu_work_period", "gpu_mem/gpu_mem_total"),
        data_source=lambda options: _source("android.gpu.memory"),
        names_app_by_user=True,
    ),
    "process_stats": _Source("memory of every process, polled", data_source=_process_stats),
    "cpufreq": _Source(
        "frequency of the cores, events and polled",
        ftrace_events=("power/cpu_frequency",),
        data_source=_cpufreq,
    ),
    "cpu_idle": _Source("idle states of the cores (energy)", ftrace_events=("power/cpu_idle", "power/suspend_resume")),
    "thermal": _Source(
        "temperatures and throttling", ftrace_events=("thermal/thermal_temperature", "thermal/cdev_update")
    ),
    "atrace": _Source("user events of the app and the named categories", ftrace_options=_atrace),
    "syscalls": _Source(
        "system calls (most of a trace's size)", ftrace_events=("raw_syscalls/sys_enter", "raw_syscalls/sys_exit")
    ),
    "frame_timeline": _Source(
        "expected and actual frames",
        minimum_sdk=31,
        data_source=lambda options: _source("android.surfaceflinger.frametimeline"),
    ),
    "power_rails": _Source(
        "power rails and battery counters",
        data_source=lambda options: _source(
            "android.power",
            "    android_power_config {\n"
            "      battery_poll_ms: 1000\n"
            "      battery_counters: BATTERY_COUNTER_CAPACITY_PERCENT\n"
            "      battery_counters: BATTERY_COUNTER_CHARGE\n"
            "      battery_counters: BATTERY_COUNTER_CURRENT\n"
            "      collect_power_rails: true\n"
            "    }\n",
        ),
    ),
    "network_packets": _Source(
        "network packets per process",
        names_app_by_user=True,
        minimum_sdk=34,
        data_source=lambda options: _source(
            "android.network_packets", "    network_packet_trace_config {\n      poll_ms: 250\n    }\n"
        ),
    ),
    "heap": _Source(
        "native allocations of the app, sampled",
        data_source=lambda options: _source(
            "android.heapprofd",
            "    heapprofd_config {\n"
            "      sampling_interval_bytes: 65536\n"
            f"      process_cmdline: {quoted(options.app)}\n"
            "      continuous_dump_config {\n"
            f"        dump_phase_ms: {_HEAP_DUMP_MS}\n"
            f"        dump_interval_ms: {_HEAP_DUMP_MS}\n"
            "      }\n"
            "      shmem_size_bytes: 8388608\n"
            "      block_client: true\n"
            "    }\n",
        ),
    ),
    "logcat": _Source(
        "log lines inside the trace",
        data_source=lambda options: _source(
            "android.log",
            "    android_log_config {\n      log_ids: LID_DEFAULT\n      log_ids: LID_SYSTEM\n"
            "      log_ids: LID_CRASH\n      min_prio: PRIO_WARN\n    }\n",
        ),
    ),
}


def choose_sources(axes: str | None, named: Sequence[str]) -> tuple[str, ...]:
    """The sources to record: those named; with axes, the default ones, those of the axes and those named.

    Args:
        axes: of the catalogue, separated by commas; None: none were asked for.

    Raises:
        ValueError: an axis is not known, or all that could be recorded for it changes the load.
    """
    if axes is None:
        return tuple(named)
    wanted = sources_for(part.strip() for part in axes.split(",") if part.strip())
    return tuple(dict.fromkeys((*DEFAULT_SOURCES, *wanted, *named)))


def check_sources(names: Sequence[str], atrace_categories: Sequence[str] = ()) -> None:
    """Refuses unknown sources, before a device is touched.

    Raises:
        Rejected: DATA_SOURCE_UNKNOWN.
    """
    for name in names:
        if name not in SOURCES:
            raise Rejected(Reason.DATA_SOURCE_UNKNOWN, f"{name[:80]!r} is not one of {', '.join(SOURCES)}")
    if not names:
        raise Rejected(Reason.DATA_SOURCE_UNKNOWN, "no data source is named")
    for category in atrace_categories:
        if not _ATRACE_CATEGORY.fullmatch(category):
            raise Rejected(Reason.DATA_SOURCE_UNKNOWN, f"{category[:80]!r} is not an atrace category")


def check_android(sdk: int, release: str, names: Sequence[str]) -> None:
    """Refuses devices that cannot record what is asked for.

    Raises:
        Rejected: ANDROID_TOO_OLD.
    """
    if sdk < MINIMUM_SDK:
        raise Rejected(Reason.ANDROID_TOO_OLD, f"the device has Android {release} (API {sdk})")
    for name in names:
        if sdk < SOURCES[name].minimum_sdk:
            needed = SOURCES[name].minimum_sdk
            raise Rejected(Reason.ANDROID_TOO_OLD, f"source {name} needs API {needed}, the device has API {sdk}")


def quoted(text: str) -> str:
    """A string literal of protobuf's text format."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _place(options: PerfettoOptions) -> list[str]:
    """Where the recording goes: into a file that grows, or it stays in the buffers."""
    if options.session_name is not None:
        return [f"unique_session_name: {quoted(options.session_name)}\n"]
    return [
        "write_into_file: true\n",
        f"file_write_period_ms: {options.file_write_period_ms}\n",
        f"max_file_size_bytes: {options.max_trace_bytes}\n",
    ]


def perfetto_config(names: Sequence[str], options: PerfettoOptions) -> str:
    """Perfetto's config in text format, the same text for the same arguments.

    `duration_ms` bounds the recording even when nobody is left to stop it. The trace is written into its file
    while it grows, so that its size can be watched and RAM does not bound the session.

    Raises:
        Rejected: DATA_SOURCE_UNKNOWN.
    """
    check_sources(names, options.atrace_categories)
    chosen = [SOURCES[name] for name in SOURCES if name in names]
    own = [source.data_source(options) or "" for source in chosen if source.data_source]
    if any(source.names_app_by_user for source in chosen):
        own.append(_source("android.packages_list"))
    has_others = any(f"target_buffer: {_OTHERS}" in text for text in own)
    parts = [
        f"buffers {{\n  size_kb: {options.buffer_kb}\n  fill_policy: RING_BUFFER\n}}\n",
        f"buffers {{\n  size_kb: {max(4096, options.buffer_kb // 16)}\n  fill_policy: RING_BUFFER\n}}\n",
        *([f"buffers {{\n  size_kb: {options.buffer_kb}\n  fill_policy: RING_BUFFER\n}}\n"] if has_others else []),
        f"duration_ms: {options.duration_ms}\n",
        *_place(options),
        f"flush_period_ms: {max(5000, options.file_write_period_ms)}\n",
    ]
    if options.clear_period_ms is not None and not options.is_plain:
        parts.append(f"incremental_state_config {{\n  clear_period_ms: {options.clear_period_ms}\n}}\n")
    events = [event for source in chosen for event in source.ftrace_events]
    extra = [line for source in chosen if source.ftrace_options for line in source.ftrace_options(options)]
    if events or extra:
        lines = [f"ftrace_events: {quoted(event)}" for event in events] + extra
        body = "".join(f"      {line}\n" for line in lines)
        if "sched" in names and not options.is_plain:
            body += "      compact_sched {\n        enabled: true\n      }\n"
        body += "      buffer_size_kb: 8192\n      drain_period_ms: 250\n"
        parts.append(_source("linux.ftrace", f"    ftrace_config {{\n{body}    }}\n", _MAIN))
    return "".join(parts + own)
