"""Compiles the WebAssembly engine, and reads compiled code that nobody has looked at yet. See `wasm_code`."""

from __future__ import annotations

import fcntl
import hashlib
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import wasmtime

from perfreg_assets.traces.wasm_known import deserialized, identity, remember
from perfreg_assets.whole_files import write_whole


def verified_module(
    engine: wasmtime.Engine,
    wasm: Path,
    source: str,
    flags: str,
    folders: Sequence[Path],
    announce: Callable[[str], None],
) -> wasmtime.Module:
    """As `wasm_code.load_module`, which this is called by; everything that is taken from the cache is hashed.

    Args:
        source: `wasm_code.source_identity` of the module.
    """
    content = wasm.read_bytes()
    key = "-".join(
        [
            hashlib.sha256(content).hexdigest()[:16],
            f"wasmtime{version('wasmtime')}",
            platform.machine(),
            hashlib.sha256(flags.encode()).hexdigest()[:8],
        ]
    )
    if module := _cached(engine, key, source, folders):
        return module
    writable = [folder for folder in folders if _is_writable(folder)]
    with _one_at_a_time(writable, key):
        if module := _cached(engine, key, source, folders):  # compiled by another process while we waited
            return module
        announce(str(writable[0]) if writable else "")
        module = wasmtime.Module(engine, content)
        code = bytes(module.serialize())
        for folder in writable:
            _store(folder, key, code)
        return module


def _cached(engine: wasmtime.Engine, key: str, source: str, folders: Sequence[Path]) -> wasmtime.Module | None:
    for folder in folders:
        for path in folder.glob(f"{key}.*.cwasm"):
            try:
                looks = identity(path)  # before it is read: what is written to it meanwhile is not taken as read
                is_whole = path.name == _name(key, path.read_bytes())
            except OSError as error:
                sys.stderr.write(f"compiled engine {path} cannot be read: {error}\n")
                continue
            if is_whole and (module := deserialized(engine, path)):
                remember(source, path, looks)
                return module
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
    try:
        write_whole(folder / _name(key, code), code, is_durable=True, mode=0o600)  # it is run as it lies there
    except OSError as error:
        sys.stderr.write(f"compiled engine could not be kept in {folder}: {error}\n")


@contextmanager
def _one_at_a_time(writable: Sequence[Path], key: str) -> Iterator[None]:
    """Several first starts at once compile once: the others wait for the lock and then find the result."""
    if not writable:
        yield
        return
    with (writable[-1] / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
