"""How a reduced trace says of itself that it is one: by a first packet that the trace processor passes over."""

from __future__ import annotations

from pathlib import Path

from perfreg_assets.reasons import Rejected
from perfreg_assets.traces.packets import framed
from perfreg_assets.traces.rpc_envelope import field
from perfreg_assets.traces.trace_file import unpacked_chunks

MARK_FIELD = 700_004
"""Number of a field that TracePacket does not have."""
DOCUMENT = "perfreg.reduction.json"
"""Lies beside a reduced trace: windows, parameters, and the SHA-256 of the original."""

_ANY_BYTES = 1 << 62
_MARK = framed(field(MARK_FIELD, b"perfreg: reduced"))
HEAD_BYTES = len(_MARK)
"""So much of a trace's beginning tells."""


def mark() -> bytes:
    """The first packet of a reduced trace."""
    return _MARK


def is_reduced_file(path: Path) -> bool:
    """Whether a trace file, plain or gzip, is a reduced one; False where it cannot be read."""
    try:
        return is_reduced(next(unpacked_chunks(path, _ANY_BYTES), b"")[:HEAD_BYTES])
    except Rejected:
        return False


def is_reduced(head: bytes) -> bool:
    """Whether a trace that begins like that, unpacked, was reduced."""
    return head.startswith(_MARK)
