"""Keeps out of a command's process what two libraries load in case somebody needs it, and nothing here does.

* pyarrow looks for pandas when it is first given a list or asked for an array, to know a Series or a NaT: a quarter of
  a second of CPU and 36 MB, a twentieth of taking one run in.
* numba loads scipy's linear algebra with its functions of arrays, to know whether `np.dot` has a BLAS: as much again.
  No kernel multiplies matrices.

What they did not find they do not look for again, so this is for commands alone: in Dagster's processes others' code
runs, too, which may pass data frames to pyarrow or matrices to numba.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

_NUMBA_ARRAYS = "numba.np.arraymath"


def let_pyarrow_do() -> None:
    """From now on pyarrow, once it is imported, does without pandas; whoever else imports pandas finds it."""
    if "pyarrow" not in sys.modules:
        sys.meta_path.insert(0, _Awaiting("pyarrow", _load_pyarrow))


def let_numba_do() -> None:
    """From now on numba, once it is imported, does without scipy.linalg; whoever else imports that finds it."""
    if _NUMBA_ARRAYS not in sys.modules:
        sys.meta_path.insert(0, _Awaiting(_NUMBA_ARRAYS, _load_numba_arrays))


def _load_pyarrow(module: ModuleType, loader: Loader) -> None:
    loader.exec_module(module)
    with _hidden("pandas"):
        module.array([None])  # both its parts look: the one for arrays, and the one for what is in them


def _load_numba_arrays(module: ModuleType, loader: Loader) -> None:
    with _hidden("scipy.linalg"):
        loader.exec_module(module)


class _Awaiting(MetaPathFinder):
    """Has one module loaded in a way of its own, once."""

    def __init__(self, name: str, load: Callable[[ModuleType, Loader], None]) -> None:
        self._name = name
        self._load = load

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        found = find_spec(fullname)
        if found is not None and found.loader is not None:
            found.loader = _Loading(found.loader, self._load)
        return found


class _Loading(Loader):
    def __init__(self, loader: Loader, load: Callable[[ModuleType, Loader], None]) -> None:
        self._loader = loader
        self._load = load

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader  # it has resources and sources, this one has none
        self._load(module, self._loader)


@contextmanager
def _hidden(name: str) -> Iterator[None]:
    """Within this thread a module that is not loaded yet is not there."""
    hiding = _Hiding(name)
    sys.meta_path.insert(0, hiding)
    try:
        yield
    finally:
        sys.meta_path.remove(hiding)


class _Hiding(MetaPathFinder):
    def __init__(self, name: str) -> None:
        self._name = name
        self._thread = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == self._name and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is left out here", name=fullname)
        return None
