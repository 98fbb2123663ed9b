"""Verdicts at an ω or by a detector that is not in force: told in Dagster beside the state in force, never as it.

Such a step materialises its partitions at the settings in force, as ever, and observes what would be. So the asset's
latest materialisation, its plots and what follows it stay those in force, and a backfill of it ends as one that
succeeded: Dagster calls a partition failed that a run targets and does not materialise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

TAG = "perfreg/what_if"
"""Tag of a Dagster run: what it was judged at, "omega 0.5"."""
_BUILT_IN = "dagster/"


def tell(context: dg.AssetExecutionContext, what_if: str, told: Mapping[str, Mapping[str, Any]]) -> None:
    """Observes what the verdicts of each partition would be, and tags the run.

    Args:
        told: partition → the metadata that a materialisation would have; names get a prefix, so that no plot mixes
            them.
    """
    for key, figures in told.items():
        prefixed = {f"what_if_{name}": value for name, value in figures.items() if not name.startswith(_BUILT_IN)}
        metadata = {"what_if": what_if, **prefixed}
        context.log_event(dg.AssetObservation(asset_key=context.asset_key, partition=key, metadata=metadata))
    context.instance.add_run_tags(context.run.run_id, {TAG: what_if})
    context.log.info("judged at %s besides: a what-if, which changes no state", what_if)
