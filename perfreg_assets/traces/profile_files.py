"""Profiles that a tester leaves beside the trace: method traces of ART and what simpleperf recorded.

Known by their first bytes, as their names tell nothing: Android Studio calls all of them `.trace`.
"""

from __future__ import annotations

import zlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perfreg_assets.traces.trace_file import GZIP_MAGIC

ProfileKind = Literal["method_trace", "call_stacks"]

HEAD_BYTES = 512
"""So much of a file tells its kind, gzip or not."""
REPORT_MAGIC, PERF_MAGIC = b"SIMPLEPERF", b"PERFILE2"
TEXT_MAGICS = (b"meta_info:\n  trace_offcpu:", b"sample:\n  event_type:")
_KINDS: dict[bytes, ProfileKind] = {
    b"*version\n": "method_trace",  # Debug.startMethodTracing, am profile start
    b"SLOW": "method_trace",  # the same, streamed
    REPORT_MAGIC: "call_stacks",  # simpleperf report-sample --protobuf
    PERF_MAGIC: "call_stacks",  # perf.data of simpleperf record
    **dict.fromkeys(TEXT_MAGICS, "call_stacks"),  # simpleperf report-sample
}
_GZIP_WINDOW = 31


@dataclass(frozen=True)
class ProfileFile:
    """A profile in a run folder.

    Attributes:
        name: relative to the folder.
        place: where it lies, or is brought to; entered only to read it.
    """

    name: str
    place: AbstractContextManager[Path]
    kind: str
    sha256: str


def profile_kind(head: bytes) -> ProfileKind | None:
    """What a file with this begin (`HEAD_BYTES`, or all of it) is; None of anything else."""
    if head.startswith(GZIP_MAGIC):
        try:
            head = zlib.decompressobj(_GZIP_WINDOW).decompress(head, HEAD_BYTES)
        except zlib.error:
            return None
    return next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), None)
