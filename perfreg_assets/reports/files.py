"""Files of the site: replaced by an atomic rename, so that a reader never sees half of one."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Puts `text` at `path`."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=".", encoding="utf-8", errors="replace", delete=False
    ) as part:
        part.write(text)
    _publish(Path(part.name), path)


def copy(source: Path, target: Path) -> bool:
    """Puts a copy of `source` at `target` unless it is there; whether it was not."""
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return False
    with (
        tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as part,
        source.open("rb") as original,
    ):
        shutil.copyfileobj(original, part)
    _publish(Path(part.name), target)
    return True


def digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _publish(part: Path, target: Path) -> None:
    part.chmod(0o644)  # temporary files are private; a site may be put behind a web server
    os.replace(part, target)
