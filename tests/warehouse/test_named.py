"""Names that are not there are told with those that are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perfreg_assets.reasons import Rejected
from perfreg_assets.warehouse import runs
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.named import require_selection
from tests.warehouse.registered import register

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_latest_versions_are_those_of_the_order_of_versions(warehouse: Warehouse) -> None:
    """An old build that was measured last is not the latest version; nor is one of which nothing was taken in."""
    with warehouse.writing() as writer:
        for day, code in enumerate((300, 400, 500, 600, 200)):
            register(writer, f"run-{code}", version_name=f"v{code}")
            (run,) = runs.find(writer, [f"run-{code}"]).values()
            runs.upsert(writer, [replace(run, version_code=code, started_at=BEGIN + timedelta(days=day))])
        refused = replace(run, run_id="bad", version_name="v900", is_quarantined=True, reason_code="x", reason="x")
        runs.upsert(writer, [refused])
        with pytest.raises(Rejected, match="the latest are v600, v500, v400"):
            require_selection(writer, "app", "nothing like it")
        with pytest.raises(Rejected, match="the latest are v200, v600, v500"):  # codes of two apps have no order
            require_selection(writer, None, "nothing like it")
