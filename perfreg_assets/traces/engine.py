"""A loaded trace that answers PerfettoSQL, on an engine of our own start and with limits on its time and memory."""

from __future__ import annotations

import http.client
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import columns
from perfreg_assets.traces.engine_choice import EngineChoice, logger
from perfreg_assets.traces.engine_process import EngineProcess
from perfreg_assets.traces.engines import NARROW_BYTES, Engines
from perfreg_assets.traces.memory_budget import allowed_bytes
from perfreg_assets.traces.rpc_client import RpcClient
from perfreg_assets.traces.trace_file import unpacked_chunks

__all__ = ["QueryError", "TraceSession", "once_more", "open_trace", "start_engine"]

_announced: set[tuple[EngineChoice, str]] = set()
T = TypeVar("T")


class QueryError(Exception):
    """The engine refused a statement; the text is its own, with the place. The session goes on."""


def open_trace(path: Path, settings: Settings, engines: Engines | None = None) -> TraceSession:
    """Starts an engine and loads a trace (a Perfetto trace, gzip or not). Use as a context manager, or `close()`.

    Args:
        engines: of a batch that it belongs to.

    Raises:
        Rejected: TRACE_… for what is wrong with the file, ENGINE_… for what happened to the engine.
    """
    session = start_engine(settings, engines)
    try:
        session.load(unpacked_chunks(path, settings.trace_max_bytes), name=path.name)
    except BaseException as error:
        session.close()
        if not session.lacks_addresses(error):
            raise
    else:
        return session
    session = start_engine(settings, engines, is_wide=True)
    try:
        session.load(unpacked_chunks(path, settings.trace_max_bytes), name=path.name)
    except BaseException:
        session.close()
        raise
    return session


def once_more(read: Callable[[], T]) -> T:
    """What `read` gives, with engines of its own start; asked again where something else ended one, which says nothing
    of the trace.

    Raises:
        Rejected: as `read`; ENGINE_KILLED where that ends the same.
    """
    try:
        return read()
    except Rejected as rejected:
        if rejected.reason is not Reason.ENGINE_KILLED:
            raise
        logger.info("read once more: %s", rejected.detail)
    return read()


def start_engine(settings: Settings, engines: Engines | None = None, *, is_wide: bool = False) -> TraceSession:
    """An engine without a trace.

    Args:
        engines: of the batch that it is for; without, it is the only one.
        is_wide: it must be able to address more than 4 GiB, see `TraceSession.lacks_addresses`.

    Raises:
        Rejected: ENGINE_UNAVAILABLE; another ENGINE_… where it ended, or was too slow, before it told its version.
    """
    begin = time.perf_counter()
    own = Engines(settings) if engines is None else None
    process: EngineProcess | None = None
    try:
        process = (engines or own or Engines(settings)).start(is_wide=is_wide)
        session = TraceSession(process, settings, own)
    except BaseException:
        if process is not None:
            process.close()
        if own is not None:
            own.close()
        raise
    session.start_seconds = time.perf_counter() - begin
    return session


class TraceSession:
    """One engine with at most one trace. For one thread at a time; several sessions at once are fine.

    `engine_timeout_s` is the engine's total working time for this session: loading and all queries together, idle
    time not counted. After the engine is gone every call raises the same `Rejected` that says why.
    """

    def __init__(self, process: EngineProcess, settings: Settings, engines: Engines | None = None) -> None:
        """
        Args:
            engines: to be closed with the session.
        """
        self._process = process
        self._engines = engines
        self._limit_s = settings.engine_timeout_s
        self._left_s = settings.engine_timeout_s
        self._may_widen = process.is_narrow and allowed_bytes(settings) > NARROW_BYTES
        self.sched_slices_max = settings.sched_slices_max
        self._failure: Rejected | None = None
        self._client = RpcClient(process.address)
        self.kind = process.choice.kind
        self.start_seconds = 0.0
        self.load_seconds = 0.0
        self.query_seconds = 0.0
        with self._working("while telling its version"):
            self.version: str = self._client.version(self._left_s)
        first = (process.choice, self.version) not in _announced
        _announced.add((process.choice, self.version))
        logger.log(
            logging.INFO if first else logging.DEBUG,
            "trace engine: %s, %s (%s)",
            self.kind,
            self.version,
            process.choice.path,
        )

    def lacks_addresses(self, error: BaseException) -> bool:
        """Whether the session failed because the engine can address 4 GiB only, while more memory is allowed: an engine
        started with `is_wide` may succeed."""
        return self._may_widen and isinstance(error, Rejected) and error.reason is Reason.ENGINE_MEMORY

    @property
    def engine_seconds(self) -> float:
        """Wall seconds spent waiting for the engine: start, load, queries."""
        return self.start_seconds + self.load_seconds + self.query_seconds

    def load(self, chunks: Iterable[bytes], *, name: str | None = None) -> None:
        """Feeds the trace, unpacked or gzip, in pieces of any size (under 32 MiB is best).

        Args:
            name: of its file, where what is told of it does not stand beside one.

        Raises:
            Rejected: TRACE_CORRUPT or TRACE_NOT_PERFETTO with the engine's own words; ENGINE_…; whatever reading
                raises.
        """
        begin = time.perf_counter()
        with self._working(f"while loading {name or 'the trace'}"):
            for chunk in chunks:
                if error := self._client.parse(chunk, self._remaining_s(begin)):
                    raise _refused(error, name)
            if error := self._client.notify_end(self._remaining_s(begin)):
                raise _refused(error, name)
        self.load_seconds += time.perf_counter() - begin

    def query(self, sql: str, schema: columns.Schema) -> columns.Table:
        """The rows of the last statement with exactly the declared columns and types (see `columns.Schema`).

        Raises:
            QueryError: the statement is wrong.
            columns.SchemaError: the result is not as declared.
            Rejected: ENGINE_TIMEOUT, ENGINE_MEMORY, ENGINE_CRASHED or ENGINE_KILLED; the session is over.
        """
        return self._execute(sql).table(schema)

    def _execute(self, sql: str) -> columns.QueryResult:
        begin = time.perf_counter()
        with self._working("in a query"):
            result = columns.QueryResult.of(self._client.query(sql, self._remaining_s(begin)))
        self.query_seconds += time.perf_counter() - begin
        if result.error:
            raise QueryError(result.error)
        return result

    def _remaining_s(self, begin: float) -> float:
        return self._left_s - (time.perf_counter() - begin)

    @contextmanager
    def _working(self, what: str) -> Iterator[None]:
        """Within: the engine works, on the clock. Any break of the connection becomes the reason why."""
        if self._failure is not None:
            raise self._failure
        begin = time.perf_counter()
        try:
            if self._left_s <= 0:
                raise TimeoutError
            yield
        except (OSError, http.client.HTTPException, columns.BrokenResultError) as error:
            if isinstance(error, TimeoutError):
                self._process.kill()
                self._failure = Rejected(
                    Reason.ENGINE_TIMEOUT, f"the engine worked for {self._limit_s:g} s and was ended {what}"
                )
            else:
                self._failure = self._process.failure(what)
            raise self._failure from error
        finally:
            self._left_s -= time.perf_counter() - begin

    def close(self) -> None:
        """Ends the engine. Safe to call twice; later queries say that the session is closed."""
        self._client.close()
        self._process.close()
        if self._engines is not None:
            self._engines.close()
        if self._failure is None:
            self._failure = Rejected(Reason.ENGINE_UNAVAILABLE, "the trace session is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _refused(text: str, name: str | None) -> Rejected:
    is_foreign = "Unknown trace type" in text
    told = " ".join(text.split())
    detail = told if name is None else f"{name}: {told}"
    return Rejected(Reason.TRACE_NOT_PERFETTO if is_foreign else Reason.TRACE_CORRUPT, detail)
