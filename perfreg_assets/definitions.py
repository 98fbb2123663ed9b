"""What Dagster loads: the project, with the resources of its environment."""

from __future__ import annotations

from perfreg_assets import garbage

garbage.look_rarely()

from perfreg_assets.assembly import build_defs  # noqa: E402  (while the libraries are loaded, too)

defs = build_defs()
