"""What Dagster loads: the project, with the resources of its environment."""

from __future__ import annotations

from perfreg_assets.assembly import build_defs

defs = build_defs()
