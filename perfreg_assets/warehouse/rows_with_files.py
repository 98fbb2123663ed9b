"""A row per run that names the file of the data folder with the run's entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from perfreg_assets.warehouse import joining, values
from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.rows import Table, insert, to_arrow, with_column
from perfreg_assets.warehouse.value_files import Kind


def insert_with_files(writer: Writer, table: Table[Any], rows: Sequence[Any], kind: Kind, entries: pa.Table) -> int:
    """Stores entries of runs and inserts the runs' rows, each with `values_file`: None for a run without an entry.

    Args:
        entries: of all runs together, with the columns of the kind; `run_id` says whose each is.
    """
    run_ids = entries.column("run_id").to_pylist()
    places = values.places_of(writer, sorted(set(run_ids))) if run_ids else {}
    file_of = dict(zip(run_ids, values.store(writer, kind, entries, places).to_pylist(), strict=True))
    named = pa.array([file_of.get(row.run_id) for row in rows], pa.string())
    count = insert(writer, table, with_column(to_arrow(rows, table.row), "values_file", named))
    joining.join_crowded(writer, kind)
    return count
