"""Policies that hold for all assets alike, put on them by one mapping instead of one by one."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

OWNERS = ["team:performance"]
# `collections` by the collect jobs, `runs` by the inbox sensor, which knows the folders
_ROOTS = {dg.AssetKey("collections"), dg.AssetKey("runs")}

# Identity mapping along the chain, so `eager` asks for the one version whose run arrived: a second run of a version
# is judged as well, and no other version is touched. History is looked up in the warehouse by the asset itself.
CONDITION = dg.AutomationCondition.eager()

# Runs may be days apart; a week without any is worth a look.
FRESHNESS = dg.FreshnessPolicy.time_window(fail_window=timedelta(days=30), warn_window=timedelta(days=7))


def with_policies(spec: dg.AssetSpec) -> dg.AssetSpec:
    """Owner and stage for everything; automation for partitioned assets but the root; freshness where data arrive."""
    changes: dict[str, object] = {"owners": [*spec.owners, *OWNERS] if not spec.owners else spec.owners}
    if spec.partitions_def is not None and spec.key not in _ROOTS:
        changes["automation_condition"] = CONDITION
    if spec.key in _ROOTS:
        changes["freshness_policy"] = FRESHNESS
    changes["tags"] = {**spec.tags, "stage": spec.group_name or "other"}
    return spec.replace_attributes(**changes)  # type: ignore[arg-type]
