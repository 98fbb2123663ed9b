"""Files of the site: replaced by an atomic rename, so that a reader never sees half of one."""

from __future__ import annotations

import hashlib
from pathlib import Path

from perfreg_assets.whole_files import write_whole


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
    write_whole(path, content, is_durable=False, mode=0o644)  # a site may be put behind a web server
