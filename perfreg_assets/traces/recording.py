"""How a trace was recorded, as far as it tells: what changed the load, and what was written into which buffer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from google.protobuf import text_format
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.catalogue import DATA_SOURCES, EVERYTHING, FTRACE, PROCESS_STATS
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.statements import statement

# atrace's categories that switch on kernel events only (frameworks/native/cmds/atrace/atrace.cpp); all others make apps
# and services write sections
_KERNEL_CATEGORIES = frozenset(
    {
        *("sched", "irq", "irqoff", "preemptoff", "i2c", "freq", "membus", "idle", "disk", "mmc", "load", "sync"),
        *("workq", "memreclaim", "regulators", "binder_driver", "binder_lock", "pagecache", "memory", "thermal"),
        *("ion", "cdev", "gpu", "thermal_tj"),
    }
)


@dataclass(frozen=True)
class Recording:
    """Attributes:
    load_sources: names of `catalogue.DATA_SOURCES` that change the load, sorted.
    buffers: number of a buffer → Perfetto's data sources that wrote into it; empty if the trace does not say.
    """

    load_sources: tuple[str, ...]
    buffers: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def sources_of_buffer(self, number: int | None) -> set[str]:
        """The data sources that a loss in a buffer spoils.

        A buffer with kernel events or process names spoils everything: all is attributed by them. So does one of which
        nothing is known.
        """
        writers = self.buffers.get(number) if number is not None else None
        if not writers or writers & {FTRACE, PROCESS_STATS}:
            return {EVERYTHING}
        return {name for name, source in DATA_SOURCES.items() if not writers.isdisjoint(source.perfetto)}


def load_recording(session: TraceSession) -> Recording:
    """By the configuration that the trace holds, else by what it contains.

    Raises:
        Rejected: ENGINE_…
    """
    texts = session.query(statement("trace_configs"), {"config": "string"})["config"]
    configs = [config for text in texts if (config := _parsed(str(text))) is not None]
    if not configs:
        found = session.query(statement("load_sources"), {"source": "string"})["source"]
        return Recording(tuple(sorted(str(name) for name in found)))
    sources = [source.config for config in configs for source in config.data_sources]
    load = {name for source in sources for name in _load_sources(source)}
    if len(configs) > 1:  # sessions put together: their buffers have the same numbers
        return Recording(tuple(sorted(load)))
    buffers: dict[int, set[str]] = {number: set() for number in range(len(configs[0].buffers))}
    for source in sources:
        buffers.setdefault(source.target_buffer, set()).add(source.name)
    return Recording(tuple(sorted(load)), {number: frozenset(names) for number, names in buffers.items()})


def _parsed(text: str) -> proto.TraceConfig | None:
    """None for a text that is none: then the trace's contents tell."""
    try:
        return text_format.Parse(text, proto.TraceConfig(), allow_unknown_field=True)
    except text_format.ParseError:
        return None


def _load_sources(config: proto.DataSourceConfig) -> Iterable[str]:
    """Names of the data sources that change the load and that a part of a trace's configuration asks for."""
    ftrace = config.ftrace_config
    if config.name == FTRACE and (ftrace.atrace_apps or not _KERNEL_CATEGORIES.issuperset(ftrace.atrace_categories)):
        yield "atrace"
    for name, source in DATA_SOURCES.items():
        if not source.changes_load or config.name not in source.perfetto:
            continue
        if config.name != FTRACE or any(event.startswith(source.ftrace_events) for event in ftrace.ftrace_events):
            yield name
