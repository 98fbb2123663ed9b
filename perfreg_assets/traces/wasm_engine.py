"""Perfetto's trace processor as WebAssembly under wasmtime: RPC bytes in, RPC bytes out.

emscripten made the module for a browser's worker; this file stands in for the JavaScript that surrounds it there.
The engine sees no files, no environment and no network.

Of the two builds the narrow one (32-bit addresses) is a third faster: the 4 GiB that it can address are reserved with
guard pages behind them, so its code needs no bounds checks. The wide one checks every access; wasmtime's mitigation
against speculative reads past those checks (Spectre v1) costs a quarter of its time and stays on, for traces are not
trusted, and the engine's process holds what its owner can read.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import wasmtime

from perfreg_assets.traces.wasm_code import load_module
from perfreg_assets.traces.wasm_files import WIDE_MODULE

_REQUEST_BYTES = 32 << 20
_STACK_BYTES = 8 << 20  # like a native thread's
_PAGE_BYTES = 64 << 10
_WIDE_BYTES = 16 << 30  # what this build of memory64 can address
_NARROW_BYTES = (4 << 30) - _PAGE_BYTES
_ENOSYS, _ENOMEM = 52, 48  # WASI's numbers, which emscripten's libc uses
_LOG_LINES = 100


class EngineCrashError(Exception):
    """The engine trapped or aborted. Nothing in it can be used any more."""


class EngineMemoryError(EngineCrashError):
    """The engine asked for more memory than it is allowed."""


def _configuration(is_wide: bool) -> tuple[wasmtime.Config, str]:
    """wasmtime's configuration and its text form (part of the key of the compiled code)."""
    values: dict[str, Any] = {
        "wasm_memory64": is_wide,
        "max_wasm_stack": 2 << 20,  # default 512 KiB; above 2 MiB wasmtime aborts the process
    }
    if is_wide:
        # Address space for growing in place: otherwise passing 4 GiB copies the whole memory. A fixed reservation
        # of 16 GiB instead makes the code 60 % slower (measured).
        values |= {"memory_reservation": 0, "memory_reservation_for_growth": _WIDE_BYTES}
    config = wasmtime.Config()
    for name, value in values.items():
        setattr(config, name, value)
    if sys.platform == "darwin":  # traps would be handled by a thread, which a forked engine does not have; not tested
        import_module("wasmtime._bindings").wasmtime_config_macos_use_mach_ports_set(config.ptr(), False)
    return config, repr(values)


class WasmEngine:
    """One trace processor. Not thread-safe; after an `EngineCrashError` only `close` may be called.

    A process that holds one may fork as long as it has no second thread: the child has an engine of its own.
    """

    def __init__(
        self, wasm: Path, *, memory_bytes: int, cache_folders: Sequence[Path], announce: Callable[[str], None]
    ) -> None:
        is_wide = wasm.name == WIDE_MODULE
        self._pointer = "Q" if is_wide else "I"
        self._mask = (1 << 64 if is_wide else 1 << 32) - 1
        self._address_limit = _WIDE_BYTES if is_wide else _NARROW_BYTES
        self._is_out_of_memory = False
        self._log: list[str] = []
        self._replies: list[bytes] = []
        self.limit_memory(memory_bytes)
        config, flags = _configuration(is_wide)
        engine = wasmtime.Engine(config)
        module = load_module(engine, wasm, flags, cache_folders, announce)
        self._store = store = wasmtime.Store(engine)
        imports = [
            wasmtime.Func(store, cast(wasmtime.FuncType, item.type), self._import(item)) for item in module.imports
        ]
        exports: Any = wasmtime.Instance(store, module, imports).exports(store)
        self._memory = exports["memory"]
        exports["emscripten_stack_init"](store)
        exports["__wasm_call_ctors"](store)
        # The build has a 64-KiB stack that overflows into static data without notice: move it to the heap.
        stack = exports["emscripten_builtin_memalign"](store, 16, _STACK_BYTES)
        exports["_emscripten_stack_restore"](store, stack + _STACK_BYTES)
        pointer = wasmtime.ValType.i64() if is_wide else wasmtime.ValType.i32()
        on_reply = wasmtime.Func(
            store,
            wasmtime.FuncType([pointer, wasmtime.ValType.i32()], []),
            lambda at, length: self._replies.append(self._read(at, length)),
        )
        slot = exports["__indirect_function_table"].grow(store, 1, on_reply)
        self._buffer = exports["trace_processor_rpc_init"](store, slot, _REQUEST_BYTES)
        self._on_request = exports["trace_processor_on_rpc_request"]

    def limit_memory(self, memory_bytes: int) -> None:
        """The engine is out of memory when it wants more than this, or more than it can address."""
        self._memory_limit = min(memory_bytes, self._address_limit)

    def rpc(self, request: bytes) -> list[bytes]:
        """Feeds bytes of a serialised TraceProcessorRpcStream; returns the pieces of the reply stream.

        Raises:
            EngineCrashError, EngineMemoryError: with the trap and the last lines the engine printed.
        """
        self._replies = []
        try:
            for at in range(0, len(request), _REQUEST_BYTES):
                piece = request[at : at + _REQUEST_BYTES]
                ctypes.memmove(self._address(self._buffer), piece, len(piece))
                self._on_request(self._store, len(piece))
        except (wasmtime.Trap, wasmtime.WasmtimeError, EngineCrashError) as error:
            trap = str(error).strip().splitlines()[-1].strip()
            printed = " ".join("".join(self._log[-20:]).split())[-300:]
            # A step that would wrap around the addresses libc refuses by itself: nothing was asked of this class then.
            is_out_of_memory = self._is_out_of_memory or f"(errno: {_ENOMEM}, " in printed
            kind = EngineMemoryError if is_out_of_memory else EngineCrashError
            raise kind(f"{trap} [{printed}]") from error
        return self._replies

    def close(self) -> None:
        self._store.close()  # its callbacks refer back to it, so it is never collected

    # ---- the module's memory -----------------------------------------------------------------------
    def _address(self, at: int) -> int:
        begin = ctypes.addressof(self._memory.data_ptr(self._store).contents)
        return begin + (at & self._mask)  # integers arrive signed

    def _read(self, at: int, length: int) -> bytes:
        return ctypes.string_at(self._address(at), length & 0xFFFFFFFF)

    def _text(self, at: int) -> str:
        return ctypes.string_at(self._address(at)).decode(errors="replace")

    def _poke(self, at: int, layout: str, *values: Any) -> None:
        data = struct.pack("<" + layout, *values)
        ctypes.memmove(self._address(at), data, len(data))

    # ---- what the module imports -------------------------------------------------------------------
    def _import(self, item: Any) -> Callable[..., Any]:
        method: Callable[..., Any] | None = getattr(self, "_js_" + item.name, None)
        if method is not None:
            return method
        error = _ENOSYS if item.module.startswith("wasi") else -_ENOSYS
        return (lambda *_: error) if item.type.results else (lambda *_: None)

    def _js_emscripten_get_now(self) -> float:
        return time.monotonic() * 1e3

    def _js_emscripten_date_now(self) -> float:
        return time.time() * 1e3

    def _js_clock_time_get(self, clock: int, _precision: int, out: int) -> int:
        self._poke(out, "Q", time.monotonic_ns() if clock else time.time_ns())
        return 0

    def _js__gmtime_js(self, seconds: int, out: int) -> None:
        t = time.gmtime(seconds)
        day_of_week = (t.tm_wday + 1) % 7  # C counts from Sunday
        self._poke(
            out,
            "9i",
            t.tm_sec,
            t.tm_min,
            t.tm_hour,
            t.tm_mday,
            t.tm_mon - 1,
            t.tm_year - 1900,
            day_of_week,
            t.tm_yday - 1,
            0,
        )

    _js__localtime_js = _js__gmtime_js  # the engine's time zone is UTC

    def _js__timegm_js(self, tm: int) -> int:
        second, minute, hour, day, month, year = struct.unpack("<6i", self._read(tm, 24))
        seconds: int = import_module("calendar").timegm((year + 1900, month + 1, day, hour, minute, second))
        return seconds

    def _js__tzset_js(self, timezone: int, daylight: int, standard: int, summer: int) -> None:
        self._poke(timezone, self._pointer, 0)
        self._poke(daylight, "I", 0)
        self._poke(standard, "4s", b"UTC")
        self._poke(summer, "4s", b"UTC")

    def _js_environ_sizes_get(self, count: int, size: int) -> int:
        self._poke(count, self._pointer, 0)
        self._poke(size, self._pointer, 0)
        return 0

    def _js_environ_get(self, _environ: int, _buffer: int) -> int:
        return 0

    def _js_fd_write(self, _descriptor: int, vectors: int, count: int, written: int) -> int:
        layout = f"<{2 * count}{self._pointer}"
        pairs = struct.unpack(layout, self._read(vectors, struct.calcsize(layout)))
        for at, length in zip(pairs[::2], pairs[1::2], strict=True):
            self._print(self._read(at, length).decode(errors="replace"))
        self._poke(written, self._pointer, sum(pairs[1::2]))
        return 0

    def _js_emscripten_err(self, text: int) -> None:
        self._print(self._text(text))

    def _print(self, text: str) -> None:
        self._log.append(text)
        del self._log[:-_LOG_LINES]

    def _js___assert_fail(self, condition: int, file: int, line: int, _function: int) -> None:
        raise EngineCrashError(f"assertion {self._text(condition)} failed at {self._text(file)}:{line}")

    def _js__abort_js(self) -> None:
        raise EngineCrashError("aborted")

    def _js_emscripten_get_heap_max(self) -> int:
        half = self._mask // 2  # integers go in signed, too
        return self._memory_limit if self._memory_limit <= half else self._memory_limit - self._mask - 1

    def _js_emscripten_resize_heap(self, wanted: int) -> int:
        wanted &= self._mask
        have = self._memory.data_len(self._store)
        target = min(max(wanted, have + min(have // 5, 96 << 20)), self._memory_limit)
        if wanted > target:
            self._is_out_of_memory = True
            return 0
        try:
            self._memory.grow(self._store, -(-(target - have) // _PAGE_BYTES))
        except wasmtime.WasmtimeError:
            self._is_out_of_memory = True
            return 0
        return 1
