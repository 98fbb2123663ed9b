"""The partition dimension as Dagster knows it; its keys are made by `perfreg_assets.partitions`."""

import dagster as dg

from perfreg_assets.partitions import DIMENSION

app_versions = dg.DynamicPartitionsDefinition(name=DIMENSION)
