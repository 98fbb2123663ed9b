"""The one partition dimension of the assets: app versions. Keys are made by `perfreg_assets.partitions`."""

import dagster as dg

APP_VERSIONS = "app_versions"
app_versions = dg.DynamicPartitionsDefinition(name=APP_VERSIONS)
