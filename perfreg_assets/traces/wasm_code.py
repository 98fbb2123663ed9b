"""The compiled WebAssembly engine, from the cache on disk.

Compiling takes 6 to 8 CPU seconds (`wasm_compiling`), mapping the compiled form 1 ms. It is kept in
`<home>/cache/engine` if a home folder is set, and in `$XDG_CACHE_HOME/perfreg/engine` (default `~/.cache`);
site-packages is never written to.

Compiled code is machine code that will be run: a cached file is used only if its contents have the SHA-256 that its
name states, and wasmtime itself refuses code made by another version or for another processor. Reading and hashing
module and code costs 40 ms at every start, so files that were found in order are mapped unread as long as they look the
same (`wasm_known`).
"""

from __future__ import annotations

import platform
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import wasmtime

from perfreg_assets.traces.wasm_known import deserialized, identity, known


def load_module(
    engine: wasmtime.Engine, wasm: Path, flags: str, folders: Sequence[Path], announce: Callable[[str], None]
) -> wasmtime.Module:
    """The compiled module, from the cache or freshly compiled (and then cached wherever a folder can be written).

    Args:
        flags: everything in the engine's configuration that changes the code, as text; part of the cache key.
        announce: is told, before a compilation begins, where its result will be kept ("" = nowhere).
    """
    source = source_identity(wasm, flags)
    for code in known(source, folders):
        if module := deserialized(engine, code):
            return module
    from perfreg_assets.traces.wasm_compiling import verified_module  # noqa: PLC0415  (slow, and rarely needed)

    return verified_module(engine, wasm, source, flags, folders, announce)


def source_identity(wasm: Path, flags: str) -> str:
    """What the compiled code is made from, by the looks of the file."""
    return f"{identity(wasm)} {wasmtime_release()} {platform.machine()} {zlib.crc32(flags.encode()):08x}"


def wasmtime_release() -> str:
    """The version of the wasmtime wheel, by the name of its folder of metadata: asking for it costs 5 ms."""
    site = Path(wasmtime.__file__).parents[1]
    names = sorted(path.name for path in site.glob("wasmtime-*.dist-info"))
    return names[-1].removesuffix(".dist-info") if names else "wasmtime"
