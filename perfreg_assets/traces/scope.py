"""What series are made from: one loaded trace, one app, one grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from perfreg_assets.traces.columns import Nullable, Schema, Table
from perfreg_assets.traces.contents import TraceContents
from perfreg_assets.traces.core_counters import CoreCounters, load_core_counters
from perfreg_assets.traces.core_pieces import CorePieces, cut
from perfreg_assets.traces.engine import QueryError, TraceSession
from perfreg_assets.traces.frequency import Clock
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.processes import AppProcess, app_threads, belongs_to, find_app, idle_threads
from perfreg_assets.traces.profile_choice import Profiles
from perfreg_assets.traces.statements import placeholders, statement

_SHARED = frozenset({"runnable"})  # statements whose rows serve more than one purpose
_SHORT_STATES = frozenset({"runnable", "io_wait"})
Screens = Sequence[tuple[int, str]]
"""(until when, screen) in order of time: a screen holds until its action is sent; "" for one that is not known."""

_Known = TypeVar("_Known")


@dataclass(frozen=True)
class Scope:
    """`app` is the application id; its sub-processes `app:…` count too.

    Attributes:
        profiles: what the device may draw, to choose from.
        screens: of the run's path.
        told_from_ns: from when on the trace is whole; of what was before, it was kept what a part needs. A thread that
            could run or waited for I/O since before then has done other things meanwhile. None: it is whole.
    """

    session: TraceSession
    contents: TraceContents
    grid: Grid
    app: str
    profiles: Profiles = field(default_factory=Profiles, compare=False)
    screens: Screens = ()
    told_from_ns: int | None = None
    _known: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False, compare=False)
    _known_rows: dict[str, Table | str] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def processes(self) -> tuple[AppProcess, ...]:
        return find_app(self.contents.processes, self.contents.threads, self.app)

    @cached_property
    def upids(self) -> list[int]:
        return [upid for process in self.processes for upid in process.upids]

    @cached_property
    def utids(self) -> list[int]:
        return app_threads(self.contents.threads, self.processes)

    @cached_property
    def idle_utids(self) -> np.ndarray:
        return idle_threads(self.contents.threads)

    @cached_property
    def cores(self) -> CorePieces:
        return self.cut(self.grid)

    def cut(self, grid: Grid) -> CorePieces:
        """The scheduling slices on another grid than the scope's, see `core_pieces.cut`."""
        return cut(self.contents.sched, grid, np.array(self.utids, dtype=np.int64), self.idle_utids)

    @cached_property
    def core_counters(self) -> CoreCounters:
        return load_core_counters(self.session)

    @property
    def clocks(self) -> dict[int, Clock] | str:
        return self.core_counters.clocks

    @cached_property
    def uids(self) -> list[int]:
        """Android's users that the app runs as."""
        table = self.session.query(statement("app_users"), {"name": "string", "uid": "int64"})
        return sorted({int(uid) for uid in table["uid"][belongs_to(table["name"], self.app)]})

    def once(self, make: Callable[[Scope], _Known]) -> _Known:
        """What is made of the scope, made once though several series need it."""
        if make not in self._known:
            self._known[make] = make(self)
        found: _Known = self._known[make]
        return found

    def rows(self, name: str, schema: Schema) -> Table | str:
        """The rows of a statement, or why there are none.

        A statement may have the placeholders `:upids`, `:utids` and `:uids`: the app's. An engine of another release
        may lack a table, which is not the run's fault.

        Raises:
            Rejected: ENGINE_…
        """
        if name in self._known_rows:
            return self._known_rows[name]
        values = {key: list(getattr(self, key)) for key in placeholders(name)}
        found: Table | str
        try:
            found = self.session.query(statement(name, **values), schema)
        except QueryError as error:
            found = f"the trace processor refuses {name}.sql: {' '.join(str(error).split())[-200:]}"
        if name in _SHORT_STATES and self.told_from_ns is not None and not isinstance(found, str):
            found = _begun_since(found, self.told_from_ns)
        if name in _SHARED:
            self._known_rows[name] = found
        return found


def _begun_since(rows: Table, from_ns: int) -> Table:
    """Those that began then or later, and those without a time."""
    ts = rows["ts"]
    if isinstance(ts, Nullable):
        return rows.take(ts.is_null | (ts.values >= from_ns))
    return rows.take(ts >= from_ns)
