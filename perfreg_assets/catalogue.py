"""Every series and metric: what it is, which direction is worse, what records it, and what spoils it.

The one home of these facts. Extractors take names and units from here, the gate takes the loss counters, the device
side the data sources, detectors the kind and the direction, pages the words, and `migrate` fills the table behind
`marts.series_names`. To add a series: a row here, its statement in sql/perfetto and its rule in traces/row_series.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

Kind = Literal["load", "memory", "level", "scalar"]
"""What a detector looks at. load: work in bursts, from 0 up. memory: what is held and grows. level: any other course.
scalar: one value per run, without a time axis."""
Axis = Literal["cpu", "memory", "frames", "io", "network", "gpu", "thermal", "energy", "startup", "app"]
"""What a reader asks about; a run has a verdict per axis. app: what the app or its test reports of itself."""
Worse = Literal["more", "less", "either"]
"""Which direction is a regression; `either`: whatever is unusual is worth a look, and nothing is an improvement."""

AXES: tuple[Axis, ...] = get_args(Axis)
EVERYTHING = "*"  # among what a loss counter spoils: all that the trace holds
FTRACE, PROCESS_STATS = "linux.ftrace", "linux.process_stats"  # Perfetto's names
_NUMBER, _NAME = "<n>", "<name>"
# Any name but cpu, which stands for all rails of the cores together
_ANY_NAME = "([a-z0-9_]{1,2}|[a-z0-9_]{4,}|[abd-z0-9_][a-z0-9_]{2}|c[a-oq-z0-9_][a-z0-9_]|cp[a-tv-z0-9_])"


@dataclass(frozen=True, kw_only=True)
class SeriesDefinition:
    """Attributes:
    name: of the series, or a pattern with `<n>` for a number (`cpu_core_<n>`) or `<name>` for a name.
    unit: of the stored values.
    label: as a heading; `short`: as the subject of a sentence. Both may hold `<n>`.
    sources: the data sources that a collection has to record for it (`collection.perfetto_config.SOURCES`).
    is_judged: by default; the setting `judged_series` asks for others.
    is_judged_where_recorded: whatever that setting says, where the run or its history has it: what few devices measure
        would else be a missing series of all others.
    is_steady: whether repetitions were averaged out of its values before, as a benchmark does: half a percent is noise
        then, and a tenth a disturbance.
    """

    name: str
    unit: str
    kind: Kind
    axis: Axis
    worse: Worse = "more"
    label: str
    short: str
    description: str
    sources: tuple[str, ...] = ()
    is_judged: bool = False
    is_judged_where_recorded: bool = False
    is_steady: bool = False

    @property
    def pattern(self) -> str:
        """A regular expression that the whole name matches."""
        return of_pattern(self.name)

    @property
    def is_of_app(self) -> bool:
        """Whether it is about the app alone, not about the device."""
        return "_app" in self.name

    @property
    def is_busy_time(self) -> bool:
        """Whether it is what cores were busy with, which no wait explains."""
        return self.unit in (_CORE_SECONDS, _CYCLES)

    def numbered(self, number: int) -> str:
        """The name of the series of that number, of a core say."""
        return self.named(str(number)).replace(_NUMBER, str(number))

    def named(self, name: str) -> str:
        """The name of the series of that name, of a rail say."""
        return self.name.replace(_NAME, name)


@dataclass(frozen=True)
class DisplayUnit:
    """How values of a stored unit are shown: `value * factor`, on an axis titled `axis`; `exact` is the stored one."""

    factor: float
    axis: str
    exact: str


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """What can be recorded.

    Attributes:
        perfetto: Perfetto's own data sources by which it comes into the trace.
        ftrace_events: beginnings of the names of the kernel events that are it, where they tell it in a trace's config.
        changes_load: why recording it changes what the app does; empty where it does not. Runs recorded with other
            such sources are not comparable.
    """

    perfetto: tuple[str, ...]
    ftrace_events: tuple[str, ...] = ()
    changes_load: str = ""


@dataclass(frozen=True)
class LossCounter:
    """A counter of the trace processor (severity error or data_loss), by the beginning of its name.

    Attributes:
        spoils: the data sources whose series cannot be trusted when it is not 0; `EVERYTHING`; or none.
        why: what it counts, as far as that explains what it spoils.
        tolerated_share: of the scheduling slices; healthy traces have so many.
        is_loss: events are gone, whatever the trace processor calls its severity.
        is_per_buffer: indexed by the recording's buffers, so it spoils only what was written into that buffer.
    """

    prefix: str
    spoils: tuple[str, ...]
    why: str
    tolerated_share: float = 0.0
    is_loss: bool = False
    is_per_buffer: bool = False


_CORE_SECONDS, _BYTES, _CYCLES, _KHZ = "core-seconds/s", "bytes", "cycles/s", "kHz"
_THREAD_SECONDS, _MW = "thread-seconds/s", "mW"

# What changes the load is what the app itself has to execute more for: a traced system call takes the kernel's slow
# way, an atrace section is a text that the app formats and writes, a profiled allocation unwinds the stack. Scheduler
# events (wake-ups too), block operations, frames, counters and polls are written by the kernel or by other processes,
# at a cost per event that is small against what the event tells of: they change nothing that is measured here.
DATA_SOURCES: dict[str, DataSource] = {
    "sched": DataSource(perfetto=(FTRACE,)),
    "sched_waking": DataSource(perfetto=(FTRACE,)),
    "io_wait": DataSource(perfetto=(FTRACE,)),
    "process_stats": DataSource(perfetto=(PROCESS_STATS, FTRACE)),
    "cpufreq": DataSource(perfetto=(FTRACE, "linux.sys_stats", "linux.system_info")),
    "cpu_idle": DataSource(perfetto=(FTRACE,)),
    "thermal": DataSource(perfetto=(FTRACE, "linux.sys_stats")),
    "gpu": DataSource(perfetto=(FTRACE, "linux.sys_stats", "android.gpu.memory", "android.packages_list")),
    "block_io": DataSource(perfetto=(FTRACE,)),
    "frame_timeline": DataSource(perfetto=("android.surfaceflinger.frametimeline",)),
    "network_packets": DataSource(perfetto=("android.network_packets", "android.packages_list")),
    "power_rails": DataSource(perfetto=("android.power",)),
    "logcat": DataSource(perfetto=("android.log",)),
    "syscalls": DataSource(
        perfetto=(FTRACE,),
        ftrace_events=("raw_syscalls/", "syscalls/"),
        changes_load="every system call of every process takes the kernel's slow way",
    ),
    "atrace": DataSource(
        perfetto=(FTRACE,),
        ftrace_events=("ftrace/print",),
        changes_load="the app formats and writes a text for each section",
    ),
    "heap": DataSource(
        perfetto=("android.heapprofd",), changes_load="sampled allocations of the app copy and unwind their stack"
    ),
    "java_heap": DataSource(perfetto=("android.java_hprof",), changes_load="each dump forks and halts the app"),
    "callstacks": DataSource(perfetto=("linux.perf",), changes_load="each sample interrupts the app's threads"),
}
"""By name; `collection.perfetto_config.SOURCES` says how those that `collect` offers are configured."""

SERIES: tuple[SeriesDefinition, ...] = (
    SeriesDefinition(
        name="cpu_app", unit=_CORE_SECONDS, kind="load", axis="cpu", label="CPU of the app", short="CPU",
        description="Running time of the app's processes on all cores; 1 is one core busy.",
        sources=("sched",), is_judged=True,
    ),
    SeriesDefinition(
        name="cpu_total", unit=_CORE_SECONDS, kind="load", axis="cpu", label="CPU of all processes", short="Total CPU",
        description="Running time of all processes on all cores; 1 is one core busy.",
        sources=("sched",), is_judged=True,
    ),
    SeriesDefinition(
        name="cpu_app_core_<n>", unit=_CORE_SECONDS, kind="load", axis="cpu", label="CPU of the app on core <n>",
        short="CPU on core <n>", description="Running time of the app's processes on this core.", sources=("sched",),
    ),
    SeriesDefinition(
        name="cpu_core_<n>", unit=_CORE_SECONDS, kind="load", axis="cpu", label="CPU of all processes on core <n>",
        short="Total CPU on core <n>", description="Running time of all processes on this core.", sources=("sched",),
    ),
    SeriesDefinition(
        name="cycles_app", unit=_CYCLES, kind="load", axis="cpu", label="CPU cycles of the app", short="CPU cycles",
        description="Running time of the app's processes weighted by the frequency of the cores.",
        sources=("sched", "cpufreq"),
    ),
    SeriesDefinition(
        name="cycles_total", unit=_CYCLES, kind="load", axis="cpu", label="CPU cycles of all processes",
        short="Total CPU cycles",
        description="Running time of all processes weighted by the frequency of the cores.",
        sources=("sched", "cpufreq"),
    ),
    SeriesDefinition(
        name="threads_running_app", unit="threads", kind="load", axis="cpu", label="Running threads of the app",
        short="Running threads", description="Threads of the app that ran during the interval.", sources=("sched",),
    ),
    SeriesDefinition(
        name="cpu_freq_<n>", unit=_KHZ, kind="level", axis="cpu", worse="either", label="Frequency of core <n>",
        short="Frequency of core <n>", description="Frequency of this core.", sources=("cpufreq",),
    ),
    SeriesDefinition(
        name="rss_app", unit=_BYTES, kind="memory", axis="memory", label="Memory of the app (RSS)", short="Memory",
        description="Resident memory of the app's processes.", sources=("process_stats",), is_judged=True,
    ),
    SeriesDefinition(
        name="rss_anon_app", unit=_BYTES, kind="memory", axis="memory", label="Anonymous memory of the app",
        short="Anonymous memory",
        description="Resident memory of the app that is not backed by files, such as its heap.",
        sources=("process_stats",),
    ),
    SeriesDefinition(
        name="rss_file_app", unit=_BYTES, kind="memory", axis="memory", label="File-backed memory of the app",
        short="File-backed memory",
        description="Resident memory of the app that is backed by files, such as its code.",
        sources=("process_stats",),
    ),
    SeriesDefinition(
        name="swap_app", unit=_BYTES, kind="memory", axis="memory", label="Swapped memory of the app",
        short="Swapped memory", description="Memory of the app that was swapped out.", sources=("process_stats",),
    ),
    SeriesDefinition(
        name="frames_app", unit="frames/s", kind="level", axis="frames", worse="less", label="Frames of the app",
        short="Frames", description="Frames the app presented.", sources=("frame_timeline",),
    ),
    SeriesDefinition(
        name="frames_janky_app", unit="frames/s", kind="load", axis="frames", label="Janky frames of the app",
        short="Janky frames", description="Frames that were late through the app's own fault.",
        sources=("frame_timeline",),
    ),
    SeriesDefinition(
        name="runnable_app", unit=_THREAD_SECONDS, kind="load", axis="cpu",
        label="Threads of the app waiting for a core", short="Waits for a core",
        description="Threads of the app that could run and waited for a core, on average.",
        sources=("sched", "sched_waking"),
    ),
    SeriesDefinition(
        name="syscalls_app", unit="calls/s", kind="load", axis="cpu", label="System calls of the app",
        short="System calls", description="System calls that the app's threads began.", sources=("syscalls",),
    ),
    SeriesDefinition(
        name="heap_app", unit=_BYTES, kind="memory", axis="memory", label="Native heap of the app", short="Native heap",
        description="Sampled native allocations of the app that were not freed since sampling began.",
        sources=("heap",),
    ),
    SeriesDefinition(
        name="gpu_freq_<n>", unit=_KHZ, kind="level", axis="gpu", worse="either", label="Frequency of GPU <n>",
        short="Frequency of GPU <n>", description="Frequency of this GPU; 0 is off.", sources=("gpu",),
    ),
    SeriesDefinition(
        name="gpu_busy_app", unit="gpu-seconds/s", kind="load", axis="gpu", label="GPU work of the app",
        short="GPU work", description="Time in which GPUs worked for the app; 1 is one GPU busy.", sources=("gpu",),
    ),
    SeriesDefinition(
        name="gpu_memory_app", unit=_BYTES, kind="memory", axis="gpu", label="GPU memory of the app",
        short="GPU memory", description="Memory that GPU drivers hold for the app's processes.", sources=("gpu",),
    ),
    SeriesDefinition(
        name="temperature_max", unit="celsius", kind="level", axis="thermal", label="Temperature of the hottest zone",
        short="Temperature", description="The highest temperature of the device's thermal zones.",
        sources=("thermal",),
    ),
    SeriesDefinition(
        name="throttling_level", unit="levels", kind="level", axis="thermal", label="Throttling", short="Throttling",
        description="The highest level to which a cooling device was set, 0 until the first was; 0 is no throttling.",
        sources=("thermal",),
    ),
    SeriesDefinition(
        name="idle_deep_ratio", unit="ratio", kind="level", axis="energy", worse="less", label="Deep idle of the cores",
        short="Deep idle",
        description="Share of the cores' time in idle states deeper than the first; a core is awake until it says.",
        sources=("cpu_idle",),
    ),
    SeriesDefinition(
        name="power_cpu_app", unit=_MW, kind="load", axis="energy", label="Power of the app's CPU", short="CPU power",
        description="What the cores drew for the app by the device's power profile.",
        sources=("sched", "cpufreq"),
    ),
    SeriesDefinition(
        name="power_cpu_total", unit=_MW, kind="load", axis="energy", label="Power of the CPU", short="Total CPU power",
        description="What the cores drew by the device's power profile, for all processes and woken up for none.",
        sources=("sched", "cpufreq"),
    ),
    SeriesDefinition(
        name="power_cpu_cluster_<n>", unit=_MW, kind="load", axis="energy", label="Power of the cores of cluster <n>",
        short="Power of cluster <n>", description="What this cluster and its cores drew by the device's power profile.",
        sources=("sched", "cpufreq"),
    ),
    SeriesDefinition(
        name="power_rail_cpu", unit=_MW, kind="load", axis="energy", label="Measured power of the CPU",
        short="Measured CPU power", description="What the device measured on the rails that feed its cores.",
        sources=("power_rails",), is_judged_where_recorded=True,
    ),
    SeriesDefinition(
        name="power_rail_<name>", unit=_MW, kind="load", axis="energy", label="Measured power of rail <name>",
        short="Power of rail <name>", description="What the device measured on this rail.", sources=("power_rails",),
    ),
    SeriesDefinition(
        name="io_wait_app", unit=_THREAD_SECONDS, kind="load", axis="io", label="Threads of the app waiting for I/O",
        short="I/O waits", description="Threads of the app that waited for I/O, on average.",
        sources=("sched", "io_wait"),
    ),
    SeriesDefinition(
        name="block_io_operations", unit="operations", kind="load", axis="io", label="Block I/O operations",
        short="Block I/O", description="Block operations queued or running on all devices, on average.",
        sources=("block_io",),
    ),
    SeriesDefinition(
        name="net_received_app", unit="bytes/s", kind="load", axis="network",
        label="Network traffic received by the app", short="Received traffic",
        description="Bytes the app received over the network.", sources=("network_packets",),
    ),
    SeriesDefinition(
        name="net_sent_app", unit="bytes/s", kind="load", axis="network", label="Network traffic sent by the app",
        short="Sent traffic", description="Bytes the app sent over the network.", sources=("network_packets",),
    ),
    SeriesDefinition(
        name="net_received", unit="bytes/s", kind="load", axis="network", label="Network traffic received",
        short="Total received traffic", description="Bytes all processes received over the network.",
        sources=("network_packets",),
    ),
    SeriesDefinition(
        name="net_sent", unit="bytes/s", kind="load", axis="network", label="Network traffic sent",
        short="Total sent traffic", description="Bytes all processes sent over the network.",
        sources=("network_packets",),
    ),
    *(
        SeriesDefinition(
            name=f"startup_{display}_display_{launch}", unit="s", kind="scalar", axis="startup",
            label=f"{start} to {end}", short=start if display == "initial" else f"{start} to {end}",
            description=f"Time from {begin} until {until}; the median over the run's launches.",
            sources=("atrace", "frame_timeline"), is_judged=True,
        )
        for display, end, until in (
            ("initial", "first frame", "the app's first frame was drawn"),
            ("full", "full display", "the app reported that it was fully drawn"),
        )
        for launch, start, begin in (
            ("cold", "Cold start", "a launch without a process of the app"),
            ("warm", "Warm start", "a launch with a process but without the activity"),
            ("hot", "Hot start", "a launch that brought the activity back to the front"),
            ("untyped", "Start", "a launch of which the trace does not tell cold, warm or hot"),
        )
    ),
)  # fmt: skip

UNITS: dict[str, DisplayUnit] = {
    _CORE_SECONDS: DisplayUnit(1.0, "cores busy", "core-seconds per second"),
    _CYCLES: DisplayUnit(1e-6, "million cycles/s", _CYCLES),
    _BYTES: DisplayUnit(1e-6, "MB", _BYTES),
    "bytes/s": DisplayUnit(1e-3, "kB/s", "bytes/s"),
    _KHZ: DisplayUnit(1e-3, "MHz", _KHZ),
    _THREAD_SECONDS: DisplayUnit(1.0, "threads", "thread-seconds per second"),
    "gpu-seconds/s": DisplayUnit(1.0, "GPUs busy", "GPU-seconds per second"),
    "celsius": DisplayUnit(1.0, "°C", "degrees Celsius"),
    "ratio": DisplayUnit(100.0, "%", "ratio"),
}
SMALLEST_AMOUNTS: dict[str, float] = {
    **{"s": 0.1, "ms": 100.0, "us": 1e5, "µs": 1e5, "ns": 1e8},  # what somebody waiting notices
    **{_BYTES: 1e6, "B": 1e6, "kB": 1e3, "KB": 1e3, "MB": 1.0},
    **{"ratio": 0.01, "%": 1.0},
}
"""Of units of amounts: what is worth a look where there was nothing before. Whole numbers in others are counts."""

_UNREAD = "no series is made of it"
LOSS_COUNTERS: tuple[LossCounter, ...] = (
    # Seen in healthy traces of real devices: perf_… (profiler samples dropped by design), mm_unknown_type,
    # …_unknown_keys (a newer kernel has more counters than the trace processor knows), misplaced_end_event (atrace
    # sections open at the start).
    *(
        LossCounter(prefix, (), _UNREAD)
        for prefix in (
            "android_br_", "android_log_", "app_wakelock_", "atom_", "deobfuscate_", "empty_chrome_", "etm_", "flow_",
            "ftrace_kprobe_", "fuchsia_", "game_intervention_", "heap_graph_", "hprof_", "invalid_cpu_times", "jit_",
            "json_", "kernel_trackevent_", "kernel_wakelock_", "legacy_v8_", "mali_", "meminfo_", "memory_snapshot_",
            "metatrace_", "misplaced_end_event", "mm_", "ninja_", "perf_", "pixel_modem_", "proc_stat_", "psi_",
            "rss_stat_unknown_keys", "slice_drop_", "spe_", "symbolization_", "systrace_", "thread_time_in_state_",
            "track_event_", "unknown_extension_", "v8_", "vmstat_", "vulkan_", "winscope_",
        )
    ),
    LossCounter("config_write_into_file_no_flush", (), "the service and the trace processor need more memory"),
    LossCounter("config_write_into_file_discard", (), "a loss is possible; traced_buf_chunks_discarded counts it"),
    LossCounter("energy_", ("power_rails",), "energy of consumers that the trace does not explain"),
    LossCounter("entity_state_", ("power_rails",), "power states that the trace does not explain"),
    LossCounter("power_rail_", ("power_rails",), "samples of rails that the trace does not name"),
    LossCounter("ftrace_thermal_", ("thermal",), "temperatures of zones that are not known"),
    LossCounter("gpu_", ("gpu",), "GPU events that cannot be read"),
    LossCounter("heapprofd_", ("heap",), "the heap profile ended early, was refused or is not whole"),
    LossCounter("stackprofile_", ("heap", "callstacks"), "sampled allocations whose stack cannot be read are left out"),
    LossCounter("task_state_", ("sched_waking",), "states of threads that make no sense"),
    LossCounter("packages_list_", ("network_packets", "gpu"), "traffic and GPU work name the user, not the app"),
    LossCounter("rss_stat_", ("process_stats",), "memory events that cannot be read"),
    LossCounter(
        "mismatched_sched_switch_tids", ("sched",),
        "a switch whose outgoing thread is not the one last switched in, so a switch between them was not recorded and "
        "one slice has a wrong border (28 of 25,562 slices on a Nexus 5X)",
        tolerated_share=0.02,
    ),
    LossCounter("compact_sched_", ("sched",), "scheduling events that cannot be read"),
    LossCounter("ftrace_cpu_", (EVERYTHING,), "the kernel overwrote events that nobody had read yet", is_loss=True),
    LossCounter("trace_sorter_", (EVERYTHING,), "events whose time makes no sense are dropped", is_loss=True),
    LossCounter(
        "traced_buf_", (EVERYTHING,), "the service lost data that was meant for this buffer",
        is_loss=True, is_per_buffer=True,
    ),
    LossCounter("traced_", (EVERYTHING,), "the service could not collect all data", is_loss=True),
)  # fmt: skip
_UNKNOWN = LossCounter("", (EVERYTHING,), "not known, so nothing can be trusted")


@cache
def of_pattern(name: str) -> str:
    """A regular expression that the names meant by `name` match as a whole."""
    return re.escape(name).replace(re.escape(_NUMBER), "([0-9]+)").replace(re.escape(_NAME), _ANY_NAME)


@cache
def definition_of(series: str) -> SeriesDefinition:
    """What a series is, by its name; the name is filled in where the definition is a pattern.

    An unknown name (another tool's data set) is a course of which more is worse, under its own name.
    """
    for known in SERIES:
        found = re.fullmatch(known.pattern, series)
        if found is None:
            continue
        if not found.groups():
            return known
        words = {
            name: getattr(known, name).replace(_NUMBER, found[1]).replace(_NAME, found[1])
            for name in ("label", "short", "description")
        }
        return SeriesDefinition(**{**vars(known), **words, "name": series})
    return SeriesDefinition(
        name=series, unit="", kind="level", axis="cpu", label=series, short=series, description=series
    )


def metric_definition(name: str, *, unit: str, worse: Worse, is_judged: bool = True) -> SeriesDefinition:
    """What a metric is: by the catalogue, else one of the app's own, which is what its row says it is."""
    if is_known(name):
        return definition_of(name)
    description = "Reported by the app or its test in run.json."
    return SeriesDefinition(
        name=name, unit=unit, kind="scalar", axis="app", worse=worse, label=name, short=name, description=description,
        is_judged=is_judged,
    )  # fmt: skip


def benchmark_definition(name: str, *, unit: str, worse: Worse) -> SeriesDefinition:
    """What the score of a benchmark is."""
    return SeriesDefinition(
        name=name, unit=unit, kind="scalar", axis="app", worse=worse, label=name, short=name,
        description="The score of a benchmark.", is_judged=True, is_steady=True,
    )  # fmt: skip


@cache
def is_known(name: str) -> bool:
    """Whether the catalogue has a series or metric of that name."""
    return any(re.fullmatch(one.pattern, name) for one in SERIES)


def axis_of(series: str) -> Axis:
    """The axis of a judged series or metric; what is in no catalogue is reported by the app itself."""
    return definition_of(series).axis if is_known(series) else "app"


def judged_by_default() -> tuple[str, ...]:
    """Names of the series that are judged unless a setting says otherwise; metrics (scalar) are not among them."""
    return tuple(one.name for one in SERIES if one.is_judged and one.kind != "scalar")


def judged_names(chosen: Iterable[str]) -> tuple[str, ...]:
    """Names of the series that may be judged: those that the setting `judged_series` chose first, then those that are
    judged wherever they were recorded."""
    return tuple(dict.fromkeys((*chosen, *(one.name for one in SERIES if one.is_judged_where_recorded))))


def sources_for(axes: Iterable[str]) -> tuple[str, ...]:
    """The data sources that a collection has to record for the series of some axes, each once, in catalogue order.

    Those that change the load are not among them: they are named one by one, as their runs compare with few others.

    Raises:
        ValueError: an axis is not known, or all that could be recorded for it changes the load.
    """
    wanted = tuple(dict.fromkeys(axes))
    found: dict[str, None] = {}
    for axis in wanted:
        if axis not in AXES:
            raise ValueError(f"{axis!r} is no axis; the known ones are {', '.join(AXES)}")
        needed = dict.fromkeys(source for one in SERIES if one.axis == axis for source in one.sources)
        harmless = {source: None for source in needed if not DATA_SOURCES[source].changes_load}
        if not harmless:
            hint = f"; name --data-source {' or '.join(needed)}, which changes the load" if needed else ""
            raise ValueError(f"nothing is recorded for the axis {axis!r} alone{hint}")
        found |= harmless
    return tuple(found)


def loss_counter(name: str) -> LossCounter:
    """What a counter of the trace processor spoils, by the longest beginning of its name that is known."""
    fitting = [one for one in LOSS_COUNTERS if name.startswith(one.prefix)]
    return max(fitting, key=lambda one: len(one.prefix), default=_UNKNOWN)


def display_unit(unit: str) -> DisplayUnit:
    """How values of a unit are shown; an unknown unit as it is."""
    return UNITS.get(unit, DisplayUnit(1.0, unit, unit))


def smallest_amount(unit: str) -> float | None:
    """What is worth a look of a unit of amounts where there was nothing before; None of other units."""
    return SMALLEST_AMOUNTS.get(unit)
