"""References that long traces are judged by: the windows of correct runs, under a name."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfreg_assets import __version__
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import now_utc


@dataclass(frozen=True, kw_only=True)
class ReferenceRow:
    """A row of core.trace_references.

    Attributes:
        app, device, config_hash: of the runs that it is made of; None of bare traces.
        event_types: [what, process, thread] of the columns of `counts` but the last, which is all others.
        counts: (windows, types + 1) unsigned.
        seen_types: all types that occurred, as `event_types`; None of a reference of before they were written down.
        build_fingerprints: of the Android builds of its traces; None of a reference of before they were written down.
        core_seconds_maximum, rise_bytes_maximum: what the app uses at most, see `methods.app_load`; None: not known.
    """

    reference_name: str
    app: str | None
    device: str | None
    config_hash: str | None
    window_s: float
    event_types: list[list[str]]
    counts: NDArray[np.unsignedinteger[Any]]
    trace_sha256s: tuple[str, ...]
    core_seconds_maximum: float | None = None
    rise_bytes_maximum: float | None = None
    build_fingerprints: tuple[str, ...] | None = None
    seen_types: list[list[str]] | None = None
    code_version: str = __version__
    created_at: datetime = field(default_factory=now_utc)

    @property
    def is_cut(self) -> bool:
        """Whether an earlier release counted it, which stopped at 65,535 events of a type in a window."""
        return self.counts.dtype == np.uint16 and bool((self.counts == _NARROW_MAX).any())


_NARROW_MAX = np.iinfo(np.uint16).max
_COLUMNS = (
    "reference_name, app, device, config_hash, window_s, window_count, trace_sha256s, core_seconds_maximum, "
    "rise_bytes_maximum, build_fingerprints, code_version, created_at"
)


def add(writer: Writer, row: ReferenceRow) -> bool:
    """Stores a reference, also in place of one that `is_cut`; False if there is another one of that name already."""
    before = find(writer, row.reference_name)
    if before is not None and not before.is_cut:
        return False
    writer.execute("DELETE FROM core.trace_references WHERE reference_name = ?", [row.reference_name])
    # A narrow one with the highest count is of an earlier release, which did not count any further.
    width = 2 if int(row.counts.max(initial=0)) < _NARROW_MAX else 4 if row.counts.itemsize <= 4 else 8
    packed = zlib.compress(np.ascontiguousarray(row.counts, f"<u{width}").tobytes(), 6)
    writer.execute(
        f"INSERT INTO core.trace_references ({_COLUMNS}, event_types, window_counts, seen_types) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            *(row.reference_name, row.app, row.device, row.config_hash, row.window_s, len(row.counts)),
            *(list(row.trace_sha256s), row.core_seconds_maximum, row.rise_bytes_maximum),
            None if row.build_fingerprints is None else list(row.build_fingerprints),
            *(row.code_version, row.created_at, json.dumps(row.event_types), packed),
            None if row.seen_types is None else zlib.compress(json.dumps(row.seen_types).encode(), 6),
        ],
    )
    return True


def listing(reader: Reader, name: str | None = None) -> list[dict[str, Any]]:
    """All references, or the one of a name, without their windows."""
    return reader.dicts(
        f"SELECT {_COLUMNS} FROM core.trace_references WHERE ? IS NULL OR reference_name = ? ORDER BY reference_name",
        [name, name],
    )


def find(reader: Reader, name: str) -> ReferenceRow | None:
    """The reference of a name, with its windows."""
    rows = reader.dicts(
        f"SELECT {_COLUMNS}, event_types::VARCHAR AS event_types, window_counts, seen_types FROM core.trace_references "
        "WHERE reference_name = ?",
        [name],
    )
    if not rows:
        return None
    (found,) = rows
    types = json.loads(found.pop("event_types"))
    packed, shape = zlib.decompress(found.pop("window_counts")), (found.pop("window_count"), len(types) + 1)
    counts = np.frombuffer(packed, f"<u{len(packed) // max(1, shape[0] * shape[1])}").reshape(shape)
    found["trace_sha256s"] = tuple(found["trace_sha256s"])
    seen = found["seen_types"]
    found["seen_types"] = None if seen is None else json.loads(zlib.decompress(seen))
    builds = found["build_fingerprints"]
    found["build_fingerprints"] = None if builds is None else tuple(builds)
    return ReferenceRow(event_types=types, counts=counts, **found)
