"""A loaded trace that answers PerfettoSQL: the official `perfetto` client against an engine of our own start.

The client is used for the protocol; starting, limits and ending are ours, because the stock launcher polls once a
second, has no limits, leaves the engine behind when Python is killed, and drops errors met at the end of a trace.
"""

from __future__ import annotations

import http.client
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pandas as pd
from google.protobuf.message import DecodeError
from perfetto.trace_processor import TraceProcessor

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import columns
from perfreg_assets.traces.engine_choice import EngineChoice, choose_engine, logger
from perfreg_assets.traces.engine_process import EngineProcess
from perfreg_assets.traces.trace_file import unpacked_chunks

__all__ = ["EngineChoice", "QueryError", "TraceSession", "choose_engine", "open_trace", "start_engine"]

_announced: set[tuple[EngineChoice, str]] = set()


class QueryError(Exception):
    """The engine refused a statement; the text is its own, with the place. The session goes on."""


def open_trace(path: Path, settings: Settings) -> TraceSession:
    """Starts an engine and loads a trace (a Perfetto trace, gzip or not). Use as a context manager, or `close()`.

    Raises:
        Rejected: TRACE_… for what is wrong with the file, ENGINE_… for what happened to the engine.
    """
    session = start_engine(settings)
    try:
        session.load(unpacked_chunks(path, settings.trace_max_bytes))
    except BaseException:
        session.close()
        raise
    return session


def start_engine(settings: Settings) -> TraceSession:
    """An engine without a trace.

    Raises:
        Rejected: ENGINE_UNAVAILABLE.
    """
    begin = time.perf_counter()
    process = EngineProcess(choose_engine(settings), settings)
    try:
        session = TraceSession(process, settings)
    except BaseException:
        process.close()
        raise
    session.start_seconds = time.perf_counter() - begin
    return session


class TraceSession:
    """One engine with at most one trace. For one thread at a time; several sessions at once are fine.

    `engine_timeout_s` is the engine's total working time for this session: loading and all queries together, idle
    time not counted. After the engine is gone every call raises the same `Rejected` that says why.
    """

    def __init__(self, process: EngineProcess, settings: Settings) -> None:
        self._process = process
        self._limit_s = settings.engine_timeout_s
        self._left_s = settings.engine_timeout_s
        self._is_timed_out = threading.Event()
        self._failure: Rejected | None = None
        self._client = TraceProcessor(addr=process.address)
        self.kind = process.choice.kind
        self.start_seconds = 0.0
        self.load_seconds = 0.0
        self.query_seconds = 0.0
        with self._working("while telling its version"):
            self.version: str = self._client.http.status().human_readable_version
        first = (process.choice, self.version) not in _announced
        _announced.add((process.choice, self.version))
        logger.log(
            logging.INFO if first else logging.DEBUG,
            "trace engine: %s, %s (%s)",
            self.kind,
            self.version,
            process.choice.path,
        )

    @property
    def engine_seconds(self) -> float:
        """Wall seconds spent waiting for the engine: start, load, queries."""
        return self.start_seconds + self.load_seconds + self.query_seconds

    def load(self, chunks: Iterable[bytes]) -> None:
        """Feeds the trace, unpacked or gzip, in pieces of any size (under 32 MiB is best).

        Raises:
            Rejected: TRACE_CORRUPT or TRACE_NOT_PERFETTO with the engine's own words; ENGINE_…; whatever reading
                raises.
        """
        begin = time.perf_counter()
        backend, end = self._client.http, self._client.protos.TraceProcessorRpc().finalize_data_result
        with self._working("while loading the trace"):
            for chunk in chunks:
                if error := backend.parse(chunk).error:
                    raise _refused(error)
            end.ParseFromString(backend.notify_eof())  # the stock client drops this answer
            if end.error:
                raise _refused(end.error)
        self.load_seconds += time.perf_counter() - begin

    def query(self, sql: str, schema: columns.Schema) -> pd.DataFrame:
        """The rows of the last statement with exactly the declared columns and types (see `columns.Schema`).

        Raises:
            QueryError: the statement is wrong.
            columns.SchemaError: the result is not as declared.
            Rejected: ENGINE_TIMEOUT, ENGINE_MEMORY or ENGINE_CRASHED; the session is over.
        """
        result = self._execute(sql)
        return columns.frame(result.column_names, result.batch, schema)

    def arrays(self, sql: str, schema: columns.Schema) -> dict[str, np.ndarray]:
        """As `query`, as plain arrays: for many rows."""
        result = self._execute(sql)
        return columns.arrays(result.column_names, result.batch, schema)

    def _execute(self, sql: str) -> Any:
        begin = time.perf_counter()
        with self._working("in a query"):
            result = self._client.http.execute_query(sql)
        self.query_seconds += time.perf_counter() - begin
        if result.error:
            raise QueryError(result.error)
        return result

    @contextmanager
    def _working(self, what: str) -> Iterator[None]:
        """Within: the engine works, on the clock. Any break of the connection becomes the reason why."""
        if self._failure is not None:
            raise self._failure
        begin = time.monotonic()
        timer = threading.Timer(max(self._left_s, 0.0), self._expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (OSError, http.client.HTTPException, DecodeError) as error:
            failure = self._process.failure(what)
            if self._is_timed_out.is_set():
                failure = Rejected(
                    Reason.ENGINE_TIMEOUT, f"the engine worked for {self._limit_s:g} s and was ended {what}"
                )
            self._failure = failure
            raise failure from error
        finally:
            timer.cancel()
            self._left_s -= time.monotonic() - begin

    def _expire(self) -> None:
        self._is_timed_out.set()
        self._process.kill()

    def close(self) -> None:
        """Ends the engine. Safe to call twice; later queries say that the session is closed."""
        self._client.close()
        self._process.close()
        if self._failure is None:
            self._failure = Rejected(Reason.ENGINE_UNAVAILABLE, "the trace session is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _refused(text: str) -> Rejected:
    is_foreign = "Unknown trace type" in text
    return Rejected(Reason.TRACE_NOT_PERFETTO if is_foreign else Reason.TRACE_CORRUPT, " ".join(text.split()))
