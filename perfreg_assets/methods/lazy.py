"""Modules that are slow to import and not needed by everybody who imports this package."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module and imports it when something of it is first asked for.

    Kernels (numba: 0.2 s, with loading from the cache 0.5 s) and scipy (0.15 s) are wanted when runs are judged; pages,
    sensors and code servers import the same files without judging.
    """

    def __init__(self, name: str) -> None:
        """
        Args:
            name: absolute name of the module.
        """
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value
