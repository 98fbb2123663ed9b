"""`trace_processor_shell -D` on the WebAssembly engine: the HTTP interface that the `perfetto` client talks to.

Started by `engine_process`; loopback only. Prints `compiling FOLDER` if the engine must be compiled first, and
`listening on ADDRESS` when it is ready; nothing else. When the engine crashes the process says why on standard
error and exits (`EXIT_CRASH`, `EXIT_MEMORY`), as a native engine does: one way for the caller to learn of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NoReturn

from perfreg_assets.traces.rpc_envelope import field, fields
from perfreg_assets.traces.supervisor import EXIT_MEMORY
from perfreg_assets.traces.wasm_engine import EngineCrashError, EngineMemoryError, WasmEngine

EXIT_CRASH = 98
_LOOPBACK = ("127.0.0.1", "localhost")

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
    """Calls one at a time; ends the process when the engine crashes."""

    def __init__(self, engine: WasmEngine) -> None:
        self._engine = engine
        self._lock = threading.Lock()

    def call(self, method: int, arguments_field: int = 0, arguments: bytes = b"") -> list[memoryview]:
        """The payloads of all replies; end to end they are one message, because protobuf merges."""
        request = field(2, method) + (field(arguments_field, arguments) if arguments_field else b"")
        with self._lock:
            try:
                pieces = self._engine.rpc(field(1, request))
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


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, rpc: Rpc) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.rpc = rpc


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        route = _ROUTES.get(self.path)
        if self._is_from_a_browser() or route is None:
            self._reply(404 if route is None else 403, [])
            return
        try:
            self._reply(200, self.server.rpc.call(*route, body))
        except RpcError as error:
            _exit(EXIT_CRASH, str(error))

    do_POST = do_GET  # noqa: N815 — http.server's name

    def _is_from_a_browser(self) -> bool:
        """No web page may drive the engine: browsers send one of these, or another host name (DNS rebinding)."""
        host = (self.headers.get("Host") or "").rpartition(":")[0]
        return bool(self.headers.get("Origin") or self.headers.get("Sec-Fetch-Site")) or host not in _LOOPBACK

    def _reply(self, code: int, pieces: list[memoryview]) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(sum(map(len, pieces))))
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Nothing: standard error is for the reason of a crash."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="wasm_shell", allow_abbrev=False)
    parser.add_argument("wasm", type=Path)
    parser.add_argument("-D", "--httpd", action="store_true", help="as trace_processor_shell; always on")
    parser.add_argument("--http-port", type=int, default=0)
    parser.add_argument("--no-ftrace-raw", action="store_true")
    parser.add_argument("--memory-bytes", type=int, required=True)
    parser.add_argument("--cache", type=Path, action="append", default=[])
    options = parser.parse_args(arguments)

    threading.stack_size(8 << 20)
    engine = WasmEngine(
        options.wasm,
        memory_bytes=options.memory_bytes,
        cache_folders=options.cache,
        announce=lambda folder: _say(f"compiling {folder}"),
    )
    rpc = Rpc(engine)
    rpc.call(_RESET, 107, field(2, int(not options.no_ftrace_raw)))
    server = _Server(options.http_port, rpc)
    _say(f"listening on 127.0.0.1:{server.server_port}")
    server.serve_forever()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
