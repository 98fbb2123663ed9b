"""Which processes and threads of a trace belong to the app."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.statements import statement


@dataclass(frozen=True)
class AppProcess:
    """A process of the app; `start_ns`, `end_ns` only if the trace saw it begin or end."""

    upid: int
    name: str
    start_ns: int | None
    end_ns: int | None


def find_app(processes: pd.DataFrame, app: str) -> tuple[AppProcess, ...]:
    """The app's processes: those named as the app, and its sub-processes `app:…`.

    Several may have the same name, at once or one after the other; all of them count.

    Args:
        processes: as `TraceContents.processes`.
        app: application id.
    """
    return tuple(
        AppProcess(int(row.upid), str(row.name), _or_none(row.start_ts), _or_none(row.end_ts))
        for row in processes[belongs_to(processes["name"], app)].itertuples(index=False)
    )


def belongs_to(names: pd.Series, app: str) -> np.ndarray:
    """Boolean array: the name is the app's or that of one of its sub-processes. A plain comparison of texts."""
    texts = names.fillna("")
    return (texts == app).to_numpy(bool) | texts.str.startswith(app + ":").to_numpy(bool)


def load_threads(session: TraceSession, upids: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """(utids of the given processes, utids of the cores' idle tasks)."""
    table = session.query(statement("threads"), {"utid": "int64", "tid": "Int64", "upid": "Int64"})
    is_app = table["upid"].isin(upids).to_numpy(bool)
    is_idle = (table["tid"] == 0).fillna(False).to_numpy(bool)
    utid = table["utid"].to_numpy()
    return utid[is_app & ~is_idle], utid[is_idle]


def _or_none(value: object) -> int | None:
    return None if value is pd.NA else int(value)  # type: ignore[call-overload]
