"""Keeps pandas out of processes that have no use for it.

pyarrow imports pandas when it is first given a Python list, to know a Series from it: a quarter of a second of CPU and
35 MB, a twentieth of taking one run in. Nothing of this package gives or takes pandas' objects. Who does, beside this
package in one process, finds both as they are: pyarrow is told of pandas as soon as somebody imports that.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa

_NAME = "pandas"


def let_pyarrow_go_without() -> None:
    """Has pyarrow look for pandas now, and not find it; nothing happens where somebody imported pandas before."""
    if _NAME in sys.modules or any(isinstance(finder, _Awaiting) for finder in sys.meta_path):
        return
    awaiting = _Awaiting()
    sys.meta_path.insert(0, awaiting)
    pa.array([], pa.null())  # of nothing: the first allocation reserves a gigabyte of addresses, which may be limited
    awaiting.hidden_from = None


class _Awaiting(MetaPathFinder):
    """Meets the first import of pandas."""

    def __init__(self) -> None:
        self.hidden_from: int | None = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _NAME:
            return None
        if self.hidden_from == threading.get_ident():
            raise ModuleNotFoundError(f"{_NAME} is not wanted here", name=_NAME)
        others = (finder for finder in [*sys.meta_path] if finder is not self)
        found = next((spec for finder in others if (spec := finder.find_spec(fullname, path, target))), None)
        if found is not None and found.loader is not None:
            found.loader = _Telling(found.loader, self)
        return found


class _Telling(Loader):
    """Loads pandas as its own loader does, and has pyarrow look again."""

    def __init__(self, loader: Loader, awaiting: MetaPathFinder) -> None:
        self._loader, self._awaiting = loader, awaiting

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader  # it has resources and sources, this one has none
        self._loader.exec_module(module)
        sys.meta_path.remove(self._awaiting)
        pa.array([], pa.null()).to_pandas()
