"""Keeps out of a command's process what libraries load in case somebody needs it, and nothing here does.

* pyarrow looks for pandas when it is first given a list or asked for an array, to know a Series or a NaT: a quarter of
  a second of CPU and 36 MB, a twentieth of taking one run in.
* numba loads scipy's linear algebra with its functions of arrays, to know whether `np.dot` has a BLAS: as much again.
  No kernel multiplies matrices. (From scipy 1.18 on its special functions load it anyway.) And numba makes a parser of
  C to know what cffi tells of functions; none is called.
* scipy's special functions copy all names of numpy, one of which is numpy's translator of Fortran, with what that
  loads: nearly half of what `scipy.special` takes.
* mako, by which alembic would write migrations, looks for pygments to colour the source of a failed template;
  structlog, of Dagster's daemon, for what rich colours tracebacks with.

What they did not find they do not look for again, so this is for commands alone: in Dagster's processes others' code
runs, too, which may pass data frames to pyarrow or matrices to numba.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_DO_WITHOUT = {
    "numba.np.arraymath": "scipy.linalg",
    "numba.core.typing.cffi_utils": "cffi",
    "mako.exceptions": "pygments",
    "structlog.dev": "rich.traceback",
    "structlog.tracebacks": "rich.pretty",
}
"""Module → what it imports if it is there."""

_COPIES_OF_NUMPY = ("scipy._lib.array_api_compat.numpy", "scipy._external.array_api_compat.numpy")
"""Scipy's, by its release: the latter from 1.18 on."""

_Way = Callable[[ModuleType, Loader], None]
"""Loads a module by the loader that it would have."""


def let_libraries_do() -> None:
    """From now on libraries do without, once they are imported; whoever else imports what was left out finds it."""
    ways: dict[str, _Way] = {"pyarrow": _load_pyarrow, **dict.fromkeys(_COPIES_OF_NUMPY, _load_scipy_numpy)}
    ways |= {name: _without(left_out) for name, left_out in _DO_WITHOUT.items()}
    sys.meta_path.insert(0, _Awaiting({name: way for name, way in ways.items() if name not in sys.modules}))


def _load_pyarrow(module: ModuleType, loader: Loader) -> None:
    loader.exec_module(module)
    if "pandas" in sys.modules:  # whose import may have led here, and is not done
        return
    with _hidden("pandas"):
        module.array([None])  # both its parts look: the one for arrays, and the one for what is in them


def _without(name: str) -> _Way:
    """Loads a module that gets on where `name` is not there."""

    def load(module: ModuleType, loader: Loader) -> None:
        with _hidden(name):
            loader.exec_module(module)

    return load


def _load_scipy_numpy(module: ModuleType, loader: Loader) -> None:
    from perfreg_assets.methods.lazy import LazyModule  # not for who judges nothing

    numpy: Any = import_module("numpy")
    if "f2py" in vars(numpy):
        loader.exec_module(module)
        return
    numpy.f2py = LazyModule("numpy.f2py")  # numpy has no such attribute and imports the module for whoever asks
    try:
        loader.exec_module(module)
    finally:
        del numpy.f2py


class _Awaiting(MetaPathFinder):
    """Has modules loaded in ways of their own, each once."""

    def __init__(self, ways: dict[str, _Way]) -> None:
        self._ways = ways

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        way = self._ways.pop(fullname, None)
        if way is None:
            return None
        found = find_spec(fullname)
        if found is not None and found.loader is not None:
            found.loader = _Loading(found.loader, way)
        return found


class _Loading(Loader):
    def __init__(self, loader: Loader, load: _Way) -> None:
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
