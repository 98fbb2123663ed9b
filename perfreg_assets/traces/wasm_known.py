"""Which files of compiled code were found in order before.

A file `….known` beside the code names them by device, inode, size and the times of the last change of the contents
(mtime) and of anything (ctime, which no program can set). The check is against damage: whoever may write into the cache
could always put other code there under its right name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import wasmtime

from perfreg_assets.whole_files import write_whole

_LINES = 20  # environments that share a cache folder


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


def known(source: str, folders: Iterable[Path]) -> Iterator[Path]:
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
        kept = [line for line in lines if not line.startswith(f"{source} ")][1 - _LINES :]
        write_whole(note, "\n".join([*kept, f"{source} {looks}", ""]).encode("ascii"), is_durable=False)
    except (OSError, ValueError):
        pass  # a folder that cannot be written: hashed again at the next start
