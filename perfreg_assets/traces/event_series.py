"""Series of frames and of the network, whose rows are told apart by what they say of themselves."""

from __future__ import annotations

import numpy as np

from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.processes import belongs_to
from perfreg_assets.traces.row_series import count, sum_at
from perfreg_assets.traces.scope import Scope

# Jank that the app is the cause of, as Perfetto's android_is_app_jank_type, for labels that name several kinds
_APP_JANK = {"App Deadline Missed", "App Resynced Jitter"}


def frame_series(scope: Scope) -> list[Series]:
    """Frames the app presented per second, and those of them that were late through the app's own fault.

    A frame counts in the interval in which it began.
    """
    names, grid = ("frames_app", "frames_janky_app"), scope.grid
    table = scope.rows("frames", {"ts": "int64", "upid": "Int64", "jank_type": "string"})
    if isinstance(table, str) or not len(table):
        why = table if isinstance(table, str) else "the trace has no frame timeline (Android 12 and later)"
        return [grid.missing(name, why) for name in names]
    upid = table["upid"]
    table = table.take(np.isin(upid.values, scope.upids) & ~upid.is_null)
    labels = [text or "" for text in table["jank_type"]]
    is_janky = np.array([not _APP_JANK.isdisjoint(text.split(", ")) for text in labels], dtype=bool)
    ts = table["ts"]
    return [
        grid.series(name, count(ts[chosen], grid) / grid.interval_s)
        for name, chosen in zip(names, (np.ones(ts.size, dtype=bool), is_janky), strict=True)
    ]


def network_series(scope: Scope) -> list[Series]:
    """Bytes received and sent per second, by the app and by all. A row that sums up packets over some time counts in
    the interval in which it began."""
    grid = scope.grid
    table = scope.rows(
        "network_packets",
        {"ts": "int64", "dur": "int64", "package_name": "string", "direction": "string", "bytes": "Int64"},
    )
    names = {
        "net_received_app": "Received",
        "net_sent_app": "Transmitted",
        "net_received": "Received",
        "net_sent": "Transmitted",
    }
    if isinstance(table, str) or not len(table):
        why = table if isinstance(table, str) else "the trace has no network packets (Android 14 and later)"
        return [grid.missing(name, why) for name in names]
    is_app = belongs_to(table["package_name"], scope.app)
    out = []
    for name, direction in names.items():
        chosen = table["direction"] == direction
        chosen &= is_app | (not name.endswith("_app"))
        amount = sum_at(table["ts"][chosen], table["bytes"].values[chosen], grid)
        out.append(grid.series(name, amount / grid.interval_s))
    return out
