"""From a loaded trace to the run's series, all on one grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from perfreg_assets.catalogue import definition_of
from perfreg_assets.reasons import Reason
from perfreg_assets.traces.contents import TraceContents, load_contents
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.event_series import frame_series, network_series
from perfreg_assets.traces.grid import Grid, Series
from perfreg_assets.traces.memory_series import MEMORY_SERIES, memory_series
from perfreg_assets.traces.power_series import APP, CLUSTER, TOTAL, power_series
from perfreg_assets.traces.rail_series import CPU_RAIL, RAIL, rail_series
from perfreg_assets.traces.row_series import RULES
from perfreg_assets.traces.sched_series import frequency_series, sched_series
from perfreg_assets.traces.scope import Scope

__all__ = ["EXTRACTORS", "Series", "extract_series", "series_of"]


@dataclass(frozen=True)
class Extractor:
    """Makes the series of these names of the catalogue, or says why the trace has none."""

    names: tuple[str, ...]
    extract: Callable[[Scope], list[Series]]


EXTRACTORS = (
    Extractor(
        (
            *("cpu_app", "cpu_total", "cpu_core_<n>", "cpu_app_core_<n>"),
            *("cycles_app", "cycles_total", "threads_running_app"),
        ),
        sched_series,
    ),
    Extractor(("cpu_freq_<n>",), frequency_series),
    Extractor(MEMORY_SERIES, memory_series),
    Extractor(("frames_app", "frames_janky_app"), frame_series),
    Extractor(("net_received_app", "net_sent_app", "net_received", "net_sent"), network_series),
    Extractor((APP, TOTAL, CLUSTER), power_series),
    Extractor((CPU_RAIL, RAIL), rail_series),
    *(Extractor((rule.series,), rule.extract) for rule in RULES),
)


def extract_series(
    session: TraceSession,
    *,
    app: str,
    start_ns: int,
    end_ns: int,
    interval_s: float,
    contents: TraceContents | None = None,
    losses: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Series]:
    """All series of the run that the trace has, and for those it lacks the reason.

    Args:
        session: with a trace loaded.
        app: the application id; its sub-processes `app:…` count too.
        start_ns, end_ns: the window in trace nanoseconds. The grid begins at `start_ns` exactly; an interval that does
            not fit whole before `end_ns` is left out (see `Grid.covering`).
        interval_s: width of an interval in seconds.
        contents: of this trace, if loaded already.
        losses: what the recording lost, as in `TraceHealth`; series that are made of it have no values.

    Raises:
        Rejected: ENGINE_…; TRACE_CORRUPT for timestamps that make no sense.
    """
    scope = Scope(session, contents or load_contents(session), Grid.covering(start_ns, end_ns, interval_s), app)
    return series_of(scope, losses or {})


def series_of(scope: Scope, losses: Mapping[str, tuple[str, ...]]) -> list[Series]:
    """As `extract_series`.

    Raises:
        Rejected: as there.
    """
    found = [series for extractor in EXTRACTORS for series in extractor.extract(scope)]
    return [_unless_spoilt(series, losses) for series in found]


def _unless_spoilt(series: Series, losses: Mapping[str, tuple[str, ...]]) -> Series:
    """The series, or none where a loss spoils a data source it is made of.

    A series that is missing anyway was perhaps not recorded at all: only a loss of one single source says that it was.
    """
    sources = definition_of(series.name).sources
    spoiling = [
        counter
        for counter, spoilt in losses.items()
        if not set(spoilt).isdisjoint(sources) and (series.values is not None or len(spoilt) == 1)
    ]
    if not spoiling:
        return series
    return series.without_values(Reason.SERIES_SPOILT, f"the recording lost data ({', '.join(spoiling)})")
