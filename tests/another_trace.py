"""Traces that tell what a recorded one tells, and are not the same trace: one packet more, that nothing reads."""

from __future__ import annotations

import gzip
from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto


def another_trace(source: Path, target: Path, name: str) -> None:
    """Writes the trace with a packet for tests that holds the name; packed, if it was packed.

    A gzip file is continued by a further member: nothing of it is packed again.
    """
    trace = proto.Trace()
    trace.packet.add().for_testing.str = name
    more = trace.SerializeToString()
    content = source.read_bytes()
    target.write_bytes(content + (gzip.compress(more, mtime=0) if content.startswith(b"\x1f\x8b") else more))
