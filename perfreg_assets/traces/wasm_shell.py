"""`trace_processor_shell -D` on the WebAssembly engine: a stand-in with the native program's command line.

Loopback only. Prints `compiling FOLDER` if the engine must be compiled first, and `listening on ADDRESS` when it is
ready; nothing else. For tests, and for other programs that want to start a trace processor; our own engines start
faster (`wasm_prefork`).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from perfreg_assets.traces.loopback_http import listen, serve
from perfreg_assets.traces.wasm_engine import WasmEngine
from perfreg_assets.traces.wasm_rpc import Rpc


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="wasm_shell", allow_abbrev=False)
    parser.add_argument("wasm", type=Path)
    parser.add_argument("-D", "--httpd", action="store_true", help="as trace_processor_shell; always on")
    parser.add_argument("--http-port", type=int, default=0)
    parser.add_argument("--no-ftrace-raw", action="store_true")
    parser.add_argument("--memory-bytes", type=int, required=True)
    parser.add_argument("--cache", type=Path, action="append", default=[])
    options = parser.parse_args(arguments)

    engine = WasmEngine(
        options.wasm,
        memory_bytes=options.memory_bytes,
        cache_folders=options.cache,
        announce=lambda folder: _say(f"compiling {folder}"),
    )
    rpc = Rpc(engine)
    rpc.reset(with_raw_ftrace=not options.no_ftrace_raw)
    listener, port = listen(options.http_port)
    _say(f"listening on 127.0.0.1:{port}")
    serve(listener, rpc.answer)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
