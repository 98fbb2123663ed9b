"""Tables of what the code knows (detectors, series, reasons), so that SQL reads it from where Python does."""

from __future__ import annotations

import hashlib
from typing import Any

import duckdb

from perfreg_assets import catalogue, detection
from perfreg_assets.reasons import Reason

# Table -> its columns with their types, in the order of the rows below.
_COLUMNS = {
    "core.detectors": {
        "detector": "VARCHAR", "summary": "VARCHAR", "scale": "VARCHAR", "run_rule": "VARCHAR",
        "localisation": "VARCHAR", "way": "VARCHAR", "fallback": "VARCHAR",
    },
    "core.series_definitions": {
        "definition_name": "VARCHAR", "name_pattern": "VARCHAR", "unit": "VARCHAR", "kind": "VARCHAR",
        "axis": "VARCHAR", "worse": "VARCHAR", "label": "VARCHAR", "short_label": "VARCHAR", "description": "VARCHAR",
        "needed_sources": "VARCHAR[]", "is_judged": "BOOLEAN",
    },
    "core.reasons": {"reason_code": "VARCHAR", "sentence": "VARCHAR"},
}  # fmt: skip


NAME = "reference_tables"  # under which their hash is remembered, beside those of the marts' files


def sha256() -> str:
    """Of all that the tables should hold: the same for the same release and registered detectors."""
    return hashlib.sha256(repr(_facts()).encode()).hexdigest()


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables say what this release and its registered detectors say."""
    for name, rows in _facts().items():
        columns = _COLUMNS[name]
        taken = ", ".join(f"unnest(?::{kind}[])" for kind in columns.values())
        connection.execute(f"DELETE FROM {name}")
        connection.execute(
            f"INSERT INTO {name} ({', '.join(columns)}) SELECT {taken}",
            [list(values) for values in zip(*rows, strict=True)],
        )


def _facts() -> dict[str, list[tuple[Any, ...]]]:
    return {
        "core.detectors": [
            (one.name, one.summary, one.scale, one.run_rule, one.localisation, one.way, one.fallback)
            for one in detection.detectors().values()
        ],
        "core.series_definitions": [
            (
                *(one.name, one.pattern, one.unit, one.kind, one.axis, one.worse),
                *(one.label, one.short, one.description, list(one.sources)),
                one.is_judged or one.is_judged_where_recorded,
            )
            for one in catalogue.SERIES
        ],
        "core.reasons": [(reason.code, reason.sentence) for reason in Reason],
    }
