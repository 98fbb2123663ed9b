"""Every series and metric: what it is, which direction is worse, what records it, and what spoils it.

The one home of these facts. Extractors take names and units from here, the gate takes the loss counters, the device
side the data sources, detectors the kind and the direction, pages the words, and `migrate` fills the table behind
`marts.series_names`. To add a series: a row here, its statement in sql/perfetto and its extractor in traces/.
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
_NUMBER = "<n>"


@dataclass(frozen=True, kw_only=True)
class SeriesDefinition:
    """Attributes:
    name: of the series, or a pattern with `<n>` for a number (`cpu_core_<n>`).
    unit: of the stored values.
    label: as a heading; `short`: as the subject of a sentence. Both may hold `<n>`.
    sources: the data sources that a collection has to record for it (`collection.perfetto_config.SOURCES`).
    is_judged: by default; the setting `judged_series` asks for others.
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

    @property
    def pattern(self) -> str:
        """A regular expression that the whole name matches."""
        return re.escape(self.name).replace(re.escape(_NUMBER), "([0-9]+)")

    def numbered(self, number: int) -> str:
        """The name of the series of that number, of a core say."""
        return self.name.replace(_NUMBER, str(number))


@dataclass(frozen=True)
class DisplayUnit:
    """How values of a stored unit are shown: `value * factor`, on an axis titled `axis`; `exact` is the stored one."""

    factor: float
    axis: str
    exact: str


@dataclass(frozen=True)
class LossCounter:
    """A counter of the trace processor (severity error or data_loss), by the beginning of its name.

    Attributes:
        spoils: the data sources whose series cannot be trusted when it is not 0; `EVERYTHING`; or none.
        tolerated_share: of the scheduling slices; healthy traces have so many.
        why: what it counts, as far as that explains what it spoils.
    """

    prefix: str
    spoils: tuple[str, ...]
    why: str
    tolerated_share: float = 0.0


_CORE_SECONDS, _BYTES, _CYCLES, _KHZ = "core-seconds/s", "bytes", "cycles/s", "kHz"

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
        name="io_wait_app", unit="thread-seconds/s", kind="load", axis="io", label="Threads of the app waiting for I/O",
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
}


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
        words = {name: getattr(known, name).replace(_NUMBER, found[1]) for name in ("label", "short", "description")}
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


def is_known(name: str) -> bool:
    """Whether the catalogue has a series or metric of that name."""
    return any(re.fullmatch(one.pattern, name) for one in SERIES)


def judged_by_default() -> tuple[str, ...]:
    """Names of the series that are judged unless a setting says otherwise; metrics (scalar) are not among them."""
    return tuple(one.name for one in SERIES if one.is_judged and one.kind != "scalar")


def sources_for(axes: Iterable[Axis]) -> tuple[str, ...]:
    """The data sources that a collection has to record for all series of some axes, each once, in catalogue order."""
    wanted = set(axes)
    return tuple(dict.fromkeys(source for one in SERIES if one.axis in wanted for source in one.sources))


def display_unit(unit: str) -> DisplayUnit:
    """How values of a unit are shown; an unknown unit as it is."""
    return UNITS.get(unit, DisplayUnit(1.0, unit, unit))
