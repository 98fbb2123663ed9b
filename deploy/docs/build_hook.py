"""Hatchling's hook: whoever installs from a checkout or makes a wheel has the documentation as a site, offline.

mkdocs-material is needed for this one step only, in pip's build environment, and never by what is installed. The hook
asks for it itself: as a requirement beside hatchling it would lengthen pip's first silent step, this way it is a step
that pip names of its own ("Installing backend dependencies").
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SITE = "perfreg_assets/_bundled/docs"


class DocsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the site into the package's folder."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the site is built with, as the extra `docs` of pyproject.toml states it."""
        return list(self.metadata.core.optional_dependencies["docs"])

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        config = root / "deploy" / "docs" / "mkdocs.yml"
        if find_spec("material") is None:  # without build isolation, from an environment that has no mkdocs-material
            self.app.display_warning(
                "mkdocs-material is not installed: /docs of `perfreg serve` will say how to build it"
            )
            return
        from mkdocs.commands.build import build  # noqa: PLC0415 - only where it is there
        from mkdocs.config import load_config  # noqa: PLC0415

        build(load_config(str(config)))
        if version != "editable":
            build_data["force_include"][str(root / SITE)] = SITE
