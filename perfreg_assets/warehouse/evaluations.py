"""Measurements of quality on labelled data sets, whole as `perfreg evaluate` writes them."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from perfreg_assets import __version__
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import now_utc


def add(writer: Writer, result: dict[str, Any]) -> str:
    """Stores one result (public format 2); the same result again stands there once, as measured now. Its key.

    Raises:
        KeyError: the result lacks `dataset` or `protocol`.
    """
    text = json.dumps(result, sort_keys=True, ensure_ascii=False, allow_nan=False)
    evaluation_id = hashlib.sha256(text.encode()).hexdigest()[:16]
    writer.execute(
        "INSERT INTO core.evaluations (evaluation_id, dataset, protocol, result, code_version, evaluated_at) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (evaluation_id) "
        "DO UPDATE SET code_version = excluded.code_version, evaluated_at = excluded.evaluated_at",
        [evaluation_id, str(result["dataset"]), str(result["protocol"]), text, __version__, now_utc()],
    )
    return evaluation_id


_ON_LABELLED_DATA = "protocol <> 'power'"


def latest(reader: Reader) -> dict[str, Any] | None:
    """The result measured last on a labelled data set; None when there is none."""
    text = reader.value(
        f"SELECT result::VARCHAR FROM core.evaluations WHERE {_ON_LABELLED_DATA} ORDER BY evaluated_at DESC LIMIT 1"
    )
    return None if text is None else json.loads(text)


def latest_at(reader: Reader) -> datetime | None:
    """When that was."""
    at: datetime | None = reader.value(f"SELECT max(evaluated_at) FROM core.evaluations WHERE {_ON_LABELLED_DATA}")
    return at
