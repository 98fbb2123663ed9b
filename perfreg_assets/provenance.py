"""Which code made a figure: the version and a hash of what computes it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Literal

from perfreg_assets import __version__, bundled


@cache
def code_version(part: Literal["methods", "traces"]) -> str:
    """`<version>+<12 hex digits>`: the digits are a SHA-256 over the part's code (and, for traces, its SQL).

    Pages, automation and the command line are left out: changing them changes no figure.
    """
    files = sorted((Path(__file__).resolve().parent / part).rglob("*.py"))
    if part == "traces":
        files += sorted((bundled.sql_dir() / "perfetto").rglob("*.sql"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{__version__}+{digest.hexdigest()[:12]}"


@cache
def deciding_code() -> str:
    """SHA-256 over the code that says whether a result still holds, and over the SQL that it reads by.

    Methods and trace code have versions of their own; pages, automation and the command line decide nothing here.
    """
    package = Path(__file__).resolve().parent
    files = [*package.glob("*.py"), *(package / "model").rglob("*.py"), *(package / "warehouse").rglob("*.py")]
    files += (bundled.sql_dir() / "marts").rglob("*.sql")
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
