"""The compiled WebAssembly engine, from the cache on disk.

Compiling takes 6 to 8 CPU seconds (`wasm_compiling`), mapping the compiled form 1 ms. It is kept in
`<home>/cache/engine` if a home folder is set, and in `$XDG_CACHE_HOME/perfreg/engine` (default `~/.cache`);
site-packages is never written to.

Compiled code is machine code that will be run: a cached file is used only if its contents have the SHA-256 that its
name states, and wasmtime itself refuses code made by another version or for another processor. Reading and hashing
module and code costs 40 ms at every start, so a file `….known` beside the code tells which files were found in order:
by device, inode, size and the times of the last change of the contents (mtime) and of anything (ctime, which no program
can set). As long as all of that is the same, the code is mapped unread; otherwise everything is read again. The check
is against damage: whoever may write into the cache could always put other code there under its right name.
"""

from __future__ import annotations

import platform
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import wasmtime

from perfreg_assets.whole_files import write_whole

_KNOWN_LINES = 20  # environments that share a cache folder


def load_module(
    engine: wasmtime.Engine, wasm: Path, flags: str, folders: Sequence[Path], announce: Callable[[str], None]
) -> wasmtime.Module:
    """The compiled module, from the cache or freshly compiled (and then cached wherever a folder can be written).

    Args:
        flags: everything in the engine's configuration that changes the code, as text; part of the cache key.
        announce: is told, before a compilation begins, where its result will be kept ("" = nowhere).
    """
    source = source_identity(wasm, flags)
    for code in _known(source, folders):
        if known := deserialized(engine, code):
            return known
    compiling = import_module("perfreg_assets.traces.wasm_compiling")  # not needed at most starts, and slow to import
    module: wasmtime.Module = compiling.verified_module(engine, wasm, source, flags, folders, announce)
    return module


def source_identity(wasm: Path, flags: str) -> str:
    """What the compiled code is made from, by the looks of the file."""
    return f"{identity(wasm)} {wasmtime_release()} {platform.machine()} {zlib.crc32(flags.encode()):08x}"


def wasmtime_release() -> str:
    """The version of the wasmtime wheel, by the name of its folder of metadata: asking for it costs 5 ms."""
    site = Path(wasmtime.__file__).parents[1]
    names = sorted(path.name for path in site.glob("wasmtime-*.dist-info"))
    return names[-1].removesuffix(".dist-info") if names else "wasmtime"


def identity(path: Path) -> str:
    """Device, inode, size, mtime and ctime: another file, or one that was written to, has another.

    Raises:
        OSError: it is not there.
    """
    at = path.stat()
    return f"{at.st_dev:x}-{at.st_ino:x}-{at.st_size:x}-{at.st_mtime_ns:x}-{at.st_ctime_ns:x}"


def deserialized(engine: wasmtime.Engine, code: Path) -> wasmtime.Module | None:
    """The module of compiled code, which is mapped; None if wasmtime refuses it."""
    try:
        return wasmtime.Module.deserialize_file(engine, str(code))
    except (OSError, wasmtime.WasmtimeError) as error:
        # Another processor behind the same home folder, or a file being removed: compiled again.
        sys.stderr.write(f"compiled engine {code} is not usable here: {error}\n")
        return None


def _known(source: str, folders: Iterable[Path]) -> Iterator[Path]:
    """Files of compiled code of that source that were found in order before and have not changed since."""
    for folder in folders:
        for note in folder.glob("*.known"):
            code = note.with_suffix(".cwasm")
            try:
                if f"{source} {identity(code)}" in note.read_text("ascii").splitlines():
                    yield code
            except (OSError, ValueError):
                continue  # the note or the code is gone, or the note is damaged: read and hashed then


def remember(source: str, code: Path, looks: str) -> None:
    """Notes that the compiled code, of that identity, was found in order; if its folder can be written."""
    note = code.with_suffix(".known")
    try:
        lines = note.read_text("ascii").splitlines() if note.exists() else []
        kept = [line for line in lines if not line.startswith(f"{source} ")][1 - _KNOWN_LINES :]
        write_whole(note, "\n".join([*kept, f"{source} {looks}", ""]).encode("ascii"), is_durable=False)
    except (OSError, ValueError):
        pass  # a folder that cannot be written: hashed again at the next start
