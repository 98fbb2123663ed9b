"""Policies that hold for all assets alike, put on them by one mapping instead of one by one."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

OWNERS = ["team:performance"]
# Where data arrive: `collections` by the collect jobs, `runs` by the inbox sensor, which knows the folders
_ROOTS = {dg.AssetKey("collections"), dg.AssetKey("runs")}  # benchmarks are taken in when somebody has some

# Runs may be days apart; a week without any is worth a look.
FRESHNESS = dg.FreshnessPolicy.time_window(fail_window=timedelta(days=30), warn_window=timedelta(days=7))


def with_policies(spec: dg.AssetSpec) -> dg.AssetSpec:
    """Owner and stage for everything; freshness where data arrive.

    What is computed from them is asked for by the sensor `upkeep`, by its inputs: an automation condition goes by
    events, and a run that arrives between two steps of another Dagster run would count as handled.
    """
    changes: dict[str, object] = {"owners": [*spec.owners, *OWNERS] if not spec.owners else spec.owners}
    if spec.key in _ROOTS:
        changes["freshness_policy"] = FRESHNESS
    changes["tags"] = {**spec.tags, "stage": spec.group_name or "other"}
    return spec.replace_attributes(**changes)  # type: ignore[arg-type]
