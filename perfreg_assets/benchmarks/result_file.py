"""From a file of results to what was measured, whichever of the known tools wrote it."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

from perfreg_assets.benchmarks import google_benchmark, jetpack, jmh, pyperf
from perfreg_assets.benchmarks.results import Gathering, ResultFile
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.storable_text import require_shallow, require_storable, storable

FILE_BYTES_MAX = 256 << 20
"""Unpacked. The largest of public results are some MB."""

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""What may spell half of a surrogate pair: other files need not be written again to see."""

_TOOLS = (jetpack, jmh, google_benchmark, pyperf)


def read_result_file(path: Path) -> ResultFile:
    """Reads one file; results that are none stand beside those that are.

    Raises:
        Rejected: BENCHMARK_FILE_UNREADABLE, BENCHMARK_FORMAT_UNKNOWN.
    """
    raw = _bytes(path)
    try:
        # Of what Windows' shell redirects programs to: with a mark before it, in UTF-16 perhaps.
        is_utf16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = raw.decode("utf-16" if is_utf16 else "utf-8-sig")
        content: Any = json.loads(text)
        require_shallow(content, Reason.BENCHMARK_FILE_UNREADABLE, str(path))
        if _HALF.search(text):
            require_storable(content, Reason.BENCHMARK_FILE_UNREADABLE, str(path))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise Rejected(Reason.BENCHMARK_FILE_UNREADABLE, f"{path} ({first})") from error
    tool: Any = next((one for one in _TOOLS if one.is_it(content)), None)
    if tool is None:
        raise Rejected(Reason.BENCHMARK_FORMAT_UNKNOWN, str(path))
    found = Gathering()
    try:
        tool.read(content, found)
        told = {
            name: getattr(tool, function)(content)
            for name, function in (
                ("device", "device_of"),
                ("started_at", "started_at"),
                ("environment", "environment_of"),
            )
            if hasattr(tool, function)
        }
    except Rejected as rejected:
        raise Rejected(rejected.reason, f"{path}: {rejected.detail}") from rejected
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
        detail = f"{path}: it looks like {tool.TOOL}, but {type(error).__name__}: {error}"
        raise Rejected(Reason.BENCHMARK_FORMAT_UNKNOWN, detail) from error
    return ResultFile(
        tool=tool.TOOL,
        source=storable(path.name),
        sha256=hashlib.sha256(raw).hexdigest(),
        results=found.results,
        invalid=found.invalid,
        **told,
    )


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            raw = stream.read(FILE_BYTES_MAX + 1)
        if raw[:2] == b"\x1f\x8b":
            with gzip.open(path, "rb") as stream:
                raw = stream.read(FILE_BYTES_MAX + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise Rejected(Reason.BENCHMARK_FILE_UNREADABLE, f"{path} ({error})") from error
    if len(raw) > FILE_BYTES_MAX:
        detail = f"{path} has more than {FILE_BYTES_MAX >> 20} MiB"
        raise Rejected(Reason.BENCHMARK_FILE_UNREADABLE, detail)
    return raw
