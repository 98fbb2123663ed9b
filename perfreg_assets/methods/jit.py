"""Where compiled kernels are cached, for which processor they are compiled, and who is told that it takes a moment.

`configure()` runs on import of `perfreg_assets.methods`, that is before numba reads its own variables:

* NUMBA_CPU_NAME / NUMBA_CPU_FEATURES: numba keys its cache by processor name and features, so an image built on one
  host would compile again on the next. x86-64-v3 (AVX2, FMA) where the machine has it keeps full speed and is
  the same name on nearly every x86 machine; older ones get "generic"; other architectures are left alone.
* NUMBA_CACHE_DIR: as set by the user; else PERFREG_HOME/cache/numba; else XDG_CACHE_HOME/perfreg/numba; else
  ~/.cache/perfreg/numba. Site-packages is never written to. If the folder cannot be written, a private
  temporary folder is used until this process ends, and a warning says so: the next one compiles again.

The environment is read here and not in `settings`, because numba must be configured before any setting is known.
"""

from __future__ import annotations

import atexit
import errno
import os
import platform
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PORTABLE_CPU = "x86-64-v3"
PORTABLE_FEATURES = "+avx,+avx2,+fma"
# LLVM may use any of these under the name x86-64-v3; by LLVM's names and by those of /proc/cpuinfo
_NEEDED_FEATURES = {
    **{"avx": "avx", "avx2": "avx2", "fma": "fma", "bmi": "bmi1", "bmi2": "bmi2"},
    **{"f16c": "f16c", "lzcnt": "abm", "movbe": "movbe"},
}
_CPUINFO = Path("/proc/cpuinfo")


def configure(environment: MutableMapping[str, str] | None = None) -> None:
    """Sets numba's processor name and cache folder unless the user has set them.

    Works after numba was imported by somebody else as well: its live configuration is changed then, which holds
    for every kernel declared from now on.
    """
    environment = os.environ if environment is None else environment
    if not environment.get("NUMBA_CPU_NAME") and not environment.get("NUMBA_CPU_FEATURES"):
        environment.update(portable_cpu(platform.machine()))
    environment["NUMBA_CACHE_DIR"] = str(_usable_cache_dir(wanted_cache_dir(environment)))
    if environment is os.environ and "numba" in sys.modules:
        config: Any = import_module("numba.core.config")
        config.CACHE_DIR = environment["NUMBA_CACHE_DIR"]
        config.CPU_NAME = environment.get("NUMBA_CPU_NAME", config.CPU_NAME)
        config.CPU_FEATURES = environment.get("NUMBA_CPU_FEATURES", config.CPU_FEATURES)


def portable_cpu(machine: str, features: dict[str, bool] | None = None) -> dict[str, str]:
    """The numba variables that make compiled code usable on the next machine of the same architecture.

    Args:
        machine: as `platform.machine()`.
        features: LLVM's feature names of this machine; when None, by Linux, or else asked from LLVM (which takes 30 ms
            to load, in every process that imports this package).
    """
    if machine.lower() not in {"x86_64", "amd64"}:
        return {}
    if features is None:
        features = _features_by_linux() or dict(import_module("llvmlite.binding").get_host_cpu_features())
    if all(features.get(name) for name in _NEEDED_FEATURES):
        return {"NUMBA_CPU_NAME": PORTABLE_CPU, "NUMBA_CPU_FEATURES": PORTABLE_FEATURES}
    return {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


def _features_by_linux() -> dict[str, bool]:
    """The needed features that the first core has; empty where the system does not tell."""
    try:
        with _CPUINFO.open("rb") as info:
            flags = next((line.split() for line in info if line.startswith(b"flags")), [])
    except OSError:
        return {}
    present = {flag.decode("ascii", "replace") for flag in flags}
    return {name: linux in present for name, linux in _NEEDED_FEATURES.items()} if present else {}


def cache_dir() -> Path:
    """Where this process keeps what it compiled, as `configure` found it; nobody else can write there."""
    return Path(os.environ["NUMBA_CACHE_DIR"])


def wanted_cache_dir(environment: MutableMapping[str, str]) -> Path:
    """The cache folder by the rules above, not yet created or checked."""
    if own := environment.get("NUMBA_CACHE_DIR"):
        return Path(own).absolute()
    if home := environment.get("PERFREG_HOME"):
        return Path(home).absolute() / "cache" / "numba"
    base = environment.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path is invalid and ignored.
    root = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~")) / ".cache"
    return root / "perfreg" / "numba"


def _usable_cache_dir(wanted: Path) -> Path:
    try:
        if not wanted.is_absolute():  # a user without a home folder, as in many containers
            raise FileNotFoundError(errno.ENOENT, "there is no home folder")
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError as error:
        # Private and fresh: numba's cache files are pickles; a shared folder of known name would let others run code.
        fallback = Path(tempfile.mkdtemp(prefix="perfreg-numba-"))
        atexit.register(shutil.rmtree, fallback, ignore_errors=True)
        warnings.warn(
            f"compiled kernels cannot be cached in {wanted} ({error.strerror or error}); using {fallback}, so every "
            "new process compiles again (10 to 60 s). Set NUMBA_CACHE_DIR or PERFREG_HOME to a writable folder.",
            RuntimeWarning,
            stacklevel=3,
        )
        return fallback


@contextmanager
def compilation_notice(write: Callable[[str], None] | None = None) -> Iterator[None]:
    """Says that kernels are being compiled, once, and only if any really is (a warm cache stays silent).

    Args:
        write: receives whole lines (a log); default: stderr, where a terminal gets one line that counts up.
    """
    event: Any = import_module("numba.core.event")
    notice = _CompilationNotice(write)
    hooks = {
        "on_start": lambda self, told: notice.started(told.data["dispatcher"].py_func.__name__),
        "on_end": lambda self, told: notice.ended(),
    }
    listener = type("Listener", (event.Listener,), hooks)()
    event.register("numba:compile", listener)  # sent for real compilations only, not for loads from the disk cache
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
        notice.close()


class _CompilationNotice:
    """Counts compilations (they nest: a kernel compiles what it calls) and words the lines."""

    def __init__(self, write: Callable[[str], None] | None) -> None:
        self._write = write
        # A progress bar replaces sys.stderr: it needs whole lines, a line that counts up would break it.
        self._is_terminal = write is None and sys.stderr.isatty() and sys.stderr is sys.__stderr__
        self._lock = threading.Lock()
        self._depth = 0
        self._done = 0
        self._seconds = 0.0
        self._started_at = 0.0
        self._is_announced = False

    def started(self, name: str) -> None:
        with self._lock:
            if not self._is_announced:
                self._is_announced = True
                folder = os.environ.get("NUMBA_CACHE_DIR") or "no folder"
                self._line(f"perfreg: compiling the numerical kernels, needed once (cached in {folder}) ...")
            if self._depth == 0:
                self._started_at = time.perf_counter()
            self._depth += 1
            if self._is_terminal:
                sys.stderr.write(f"\r\x1b[Kperfreg: compiled {self._done}, now {name}")
                sys.stderr.flush()

    def ended(self) -> None:
        with self._lock:
            self._depth -= 1
            self._done += 1
            if self._depth == 0:
                self._seconds += time.perf_counter() - self._started_at

    def close(self) -> None:
        if self._is_announced:
            if self._is_terminal:
                sys.stderr.write("\r\x1b[K")
            functions = "function" if self._done == 1 else "functions"
            self._line(f"perfreg: compiled {self._done} {functions} in {self._seconds:.1f} s")

    def _line(self, text: str) -> None:
        if self._write is not None:
            self._write(text)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


@cache
def load_stumpy() -> ModuleType:
    """stumpy with its compiled functions cached on disk: 28 to 63 s in a fresh process otherwise.

    `stumpy.cache.save()` would write into site-packages; numba's own `enable_caching` on the same functions honours
    NUMBA_CACHE_DIR. Imported here only, so that nobody pays for it who does not choose that backend.
    """
    stumpy = import_module("stumpy")
    compiled = import_module("stumpy.cache").get_njit_funcs()
    for module_name, function_name in compiled:
        function = getattr(import_module(f"stumpy.{module_name}"), function_name)
        if hasattr(function, "enable_caching"):  # a plain function under NUMBA_DISABLE_JIT
            function.enable_caching()
    return stumpy
