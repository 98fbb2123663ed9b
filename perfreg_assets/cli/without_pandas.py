"""Keeps pandas out of a command's process.

pyarrow looks for pandas when it is first given a list or asked for an array, to know a Series or a NaT: a quarter of a
second of CPU and 36 MB, a twentieth of taking one run in, and nothing here gives or takes pandas' objects. What it did
not find it does not look for again, so this is for commands alone: in Dagster's processes others' code runs, too, which
may pass data frames to pyarrow.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def let_pyarrow_do() -> None:
    """From now on pyarrow, once it is imported, does without pandas; whoever else imports pandas finds it."""
    if "pyarrow" not in sys.modules:
        sys.meta_path.insert(0, _AwaitingPyarrow())


class _AwaitingPyarrow(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "pyarrow":
            return None
        sys.meta_path.remove(self)
        found = find_spec(fullname)
        if found is not None and found.loader is not None:
            found.loader = _LookingAtOnce(found.loader)
        return found


class _LookingAtOnce(Loader):
    """Loads pyarrow as its own loader does, and has it look for pandas where it finds none."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader  # it has resources and sources, this one has none
        self._loader.exec_module(module)
        hiding = _HidingPandas()
        sys.meta_path.insert(0, hiding)
        try:
            module.array([None])  # both its parts look: the one for arrays, and the one for what is in them
        finally:
            sys.meta_path.remove(hiding)


class _HidingPandas(MetaPathFinder):
    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("pyarrow does without pandas here", name=fullname)
        return None
