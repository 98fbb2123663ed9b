"""What each series sums up to: a few numbers of its samples, stored with it, so that no query over all runs reads them.

The formulas are those of the macro core.level_of (migration 0003).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.rows import delete_runs

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = "core.series_levels"
_INSERT = f"""
INSERT INTO {_NAME} BY NAME
SELECT run_id, run_no, series, unit, level.*
FROM (
    SELECT run_id, run_no, series, unit, core.level_of("values", interval_s) AS level
    FROM staged_rows WHERE NOT is_missing
) AS stored
WHERE level.sample_count > 0
"""


def replace_runs(writer: Writer, staged: pa.Table) -> None:
    """Makes `staged`, numbered rows of core.time_series with their `values`, all that the levels of their runs are made
    of."""
    forget(writer, staged.column("run_id").to_pylist())
    writer.execute_with(staged, _INSERT)


def forget(writer: Writer, run_ids: Iterable[str]) -> None:
    """Deletes the levels of some runs."""
    delete_runs(writer, _NAME, run_ids)
