"""Verdicts at an ω or by a detector that is not in force: told in Dagster beside the state in force, never as it.

Such a step observes its partitions and materialises none. So the asset's latest materialisation, its plots and what
follows it stay those of the settings in force, and steps after it in the same Dagster run are skipped: windows,
causes and pages are of the verdicts in force, which it does not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from perfreg_assets.warehouse.connection import Warehouse

TAG = "perfreg/what_if"
"""Tag of a Dagster run: what it was judged at, "omega 0.5"."""
_BUILT_IN = "dagster/"


def observe(context: dg.AssetExecutionContext, key: str, what_if: str, told: Mapping[str, Any]) -> None:
    """Tells what the verdicts of a partition would be.

    Args:
        told: the metadata that a materialisation would have; names get a prefix, so that no plot mixes them.
    """
    metadata = {f"what_if_{name}": value for name, value in told.items() if not name.startswith(_BUILT_IN)}
    metadata = {"what_if": what_if, **metadata}
    context.log_event(dg.AssetObservation(asset_key=context.asset_key, partition=key, metadata=metadata))


def end(context: dg.AssetExecutionContext, warehouse: Warehouse, what_if: str) -> None:
    """Tags the run, and lets people query what was stored: the last step, which publishes, is skipped."""
    context.instance.add_run_tags(context.run.run_id, {TAG: what_if})
    context.log.info("judged at %s: a what-if, which changes no state; the steps after it are skipped", what_if)
    warehouse.publish()
