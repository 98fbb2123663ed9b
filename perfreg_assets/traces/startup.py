"""Startup times: from a launch of the app to its first frame and to its full display.

Launches and times are those of Perfetto's standard library (`android.startup`), from the user events of the system
(atrace am, wm, view, gfx) and of the app. From Android 12 on the library finds frames by the frame timeline only.
"""

from __future__ import annotations

import numpy as np

from perfreg_assets.traces.columns import QueryResult, Table
from perfreg_assets.traces.engine import QueryError, TraceSession
from perfreg_assets.traces.measurement import Measurement, measured, missing
from perfreg_assets.traces.statements import statement

_SCHEMA = {"ts": "int64", "package": "string", "startup_type": "string", "initial_ns": "Int64", "full_ns": "Int64"}
_NO_LAUNCH = QueryResult((), "", ()).table(_SCHEMA)
_UNTYPED = "untyped"  # Android 9 and earlier do not tell
_TYPES = ("cold", "warm", "hot", _UNTYPED)
_NOT_SHOWN = {
    "initial": "the trace shows no frame of the app after its launch (Android 12 and later needs the frame timeline)",
    "full": "the app did not report that it was fully drawn (Activity.reportFullyDrawn)",
}


def startup_times(
    session: TraceSession, *, app: str, start_ns: int, end_ns: int, has_slices: bool = True
) -> list[Measurement]:
    """Time to initial and to full display per type of launch: the median over the app's launches of that type.

    Every startup metric of the catalogue is in the result, in seconds, or with the reason why there is none.

    Args:
        session: with a trace loaded.
        app: application id.
        start_ns, end_ns: launches that begin in [start_ns, end_ns) count.
        has_slices: False for a trace that is known to have none: launches are made of them, and looking for them costs
            as much as everything else that is asked of a small trace.

    Raises:
        Rejected: ENGINE_…
    """
    try:
        launches = session.query(statement("startups"), _SCHEMA) if has_slices else _NO_LAUNCH
    except QueryError as error:  # an engine of another release may lack the module, not the run's fault
        refusal = f"the trace processor refuses startups.sql: {' '.join(str(error).split())[-200:]}"
        return [missing(_metric(display, kind), refusal) for display in _NOT_SHOWN for kind in _TYPES]
    own = launches.take(launches["package"] == app)
    ts = own["ts"]
    # The library takes the first frame or report after a launch, even when that belongs to a later launch.
    until_next = np.append(np.diff(ts), np.iinfo(np.int64).max)
    kinds = np.array([kind if kind in _TYPES else _UNTYPED for kind in own["startup_type"]], object)
    inside = (ts >= start_ns) & (ts < end_ns)
    found = []
    for display, not_shown in _NOT_SHOWN.items():
        shown = own[f"{display}_ns"].values  # 0 where it was not shown
        is_own = inside & (shown > 0) & (shown <= until_next)
        for kind in _TYPES:
            of_kind = inside & (kinds == kind)
            if (of_kind & is_own).any():
                found.append(_median(_metric(display, kind), ts[of_kind & is_own], shown[of_kind & is_own]))
            else:
                why = not_shown if of_kind.any() else _no_launch(kind, launches, bool(inside.any()))
                found.append(missing(_metric(display, kind), why))
    return found


def _metric(display: str, kind: str) -> str:
    return f"startup_{display}_display_{kind}"


def _median(metric: str, ts: np.ndarray, shown_ns: np.ndarray) -> Measurement:
    launches = [{"ts_ns": int(at), "seconds": float(ns) / 1e9} for at, ns in zip(ts, shown_ns, strict=True)]
    value = float(np.median(shown_ns)) / 1e9
    return measured(metric, value, {"source": "trace", "module": "android.startup", "launches": launches})


def _no_launch(kind: str, launches: Table, is_launched: bool) -> str:
    if not len(launches):
        return "the trace shows no launch of any app (atrace categories am and wm)"
    if not is_launched:
        return "the app was not launched while it was recorded"
    return "the trace tells the type of every launch" if kind == _UNTYPED else f"the app had no {kind} launch"
