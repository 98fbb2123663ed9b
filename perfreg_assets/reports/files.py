"""Files of the site: replaced by an atomic rename, so that a reader never sees half of one."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Puts `text` at `path`."""
    _put(path, text.encode("utf-8", "replace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Puts `content` at `path` unless it is there."""
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return
    _put(path, content)


def digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _put(path: Path, content: bytes) -> None:
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=f".{os.getpid()}.part")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        _publish(Path(part), path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _publish(part: Path, target: Path) -> None:
    part.chmod(0o644)  # temporary files are private; a site may be put behind a web server
    os.replace(part, target)
