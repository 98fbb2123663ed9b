"""Which code made a figure: the version and a hash of what computes it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from perfreg_assets import __version__, bundled

_COMPUTING = ("methods", "traces")


@cache
def code_version() -> str:
    """`<version>+<12 hex digits>`: the digits are a SHA-256 over the code and SQL that compute figures.

    Pages, automation and the command line are left out: changing them does not change a verdict.
    """
    package = Path(__file__).resolve().parent
    files = sorted(
        [path for folder in _COMPUTING for path in (package / folder).rglob("*.py")]
        + list((bundled.sql_dir() / "perfetto").rglob("*.sql")),
        key=lambda path: path.name,
    )
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{__version__}+{digest.hexdigest()[:12]}"
