"""Where the traces of registered runs lie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfreg_assets.model import handover
from perfreg_assets.objects import Objects
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.runs import RunRow


@contextmanager
def trace_of(row: RunRow, settings: Settings, folder: Path | None = None) -> Iterator[Path]:
    """The run's trace, which may not be there: in `folder`, by default in the registered run's; where it is not in
    there, it is fetched from the exchange, if there is one.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE.
    """
    assert row.trace_file is not None
    own = (folder or settings.runs_dir / row.run_id) / row.trace_file
    if folder is not None or not settings.exchange or own.exists():
        yield own
        return
    with handover.fetched_trace(Objects(settings.exchange), row) as fetched:
        yield fetched / row.trace_file
