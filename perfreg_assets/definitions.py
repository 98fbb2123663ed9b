"""What Dagster loads: the project, with the resources of its environment."""

from __future__ import annotations

from perfreg_assets import garbage
from perfreg_assets.assembly import build_defs

defs = build_defs()
garbage.pass_over_what_is_loaded()
