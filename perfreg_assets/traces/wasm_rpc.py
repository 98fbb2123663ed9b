"""The trace processor's HTTP interface on the WebAssembly engine: path and body in, reply out."""

from __future__ import annotations

import os
import sys
import threading
from typing import NoReturn

from perfreg_assets.traces.rpc_envelope import field, fields
from perfreg_assets.traces.supervisor import EXIT_MEMORY
from perfreg_assets.traces.wasm_engine import EngineCrashError, EngineMemoryError, WasmEngine

EXIT_CRASH = 98

# TraceProcessorRpc.TraceProcessorMethod, protos/perfetto/trace_processor/trace_processor.proto
_APPEND, _FINALIZE, _QUERY, _METRIC, _RESTORE = 1, 2, 3, 5, 7
_METATRACE_ON, _METATRACE_READ, _STATUS, _RESET, _SUMMARY = 8, 9, 10, 11, 15

# path -> (method, field of its arguments in TraceProcessorRpc or 0)
_ROUTES = {
    "/status": (_STATUS, 0),
    "/parse": (_APPEND, 101),
    "/notify_eof": (_FINALIZE, 0),
    "/query": (_QUERY, 103),
    "/compute_metric": (_METRIC, 105),
    "/trace_summary": (_SUMMARY, 110),
    "/enable_metatrace": (_METATRACE_ON, 106),
    "/disable_and_read_metatrace": (_METATRACE_READ, 0),
    "/restore_initial_tables": (_RESTORE, 0),
}


class RpcError(Exception):
    """The engine refused the envelope itself."""


class Rpc:
    """Calls one at a time. When the engine crashes the process says why on standard error and exits (`EXIT_CRASH`,
    `EXIT_MEMORY`), as a native engine does: one way for the caller to learn of it."""

    def __init__(self, engine: WasmEngine) -> None:
        self.engine = engine
        self._lock = threading.Lock()

    def reset(self, *, with_raw_ftrace: bool) -> None:
        """Forgets the trace. Without raw events `ftrace_event` stays empty, which saves much of the memory."""
        self._call(_RESET, 107, field(2, int(with_raw_ftrace)))

    def answer(self, path: str, body: bytes) -> list[memoryview] | None:
        """See `loopback_http.Answer`."""
        route = _ROUTES.get(path)
        if route is None:
            return None
        try:
            return self._call(*route, body)
        except RpcError as error:
            _exit(EXIT_CRASH, str(error))

    def _call(self, method: int, arguments_field: int = 0, arguments: bytes = b"") -> list[memoryview]:
        """The payloads of all replies; end to end they are one message, because protobuf merges."""
        request = field(2, method) + (field(arguments_field, arguments) if arguments_field else b"")
        with self._lock:
            try:
                pieces = self.engine.rpc(field(1, request))
            except EngineCrashError as error:
                _exit(EXIT_MEMORY if isinstance(error, EngineMemoryError) else EXIT_CRASH, str(error))
        out: list[memoryview] = []
        for _, reply in fields(memoryview(b"".join(pieces))):
            if isinstance(reply, int):
                continue
            for number, value in fields(reply):
                if number == 5 and not isinstance(value, int):
                    raise RpcError(str(value, "utf-8", "replace"))
                if number == 4:
                    raise RpcError(f"this trace processor does not know RPC method {value!r}")
                if number > 200 and not isinstance(value, int):  # 201… are the results
                    out.append(value)
        return out


def _exit(code: int, why: str) -> NoReturn:
    sys.stderr.write(why + "\n")
    sys.stderr.flush()
    os._exit(code)
