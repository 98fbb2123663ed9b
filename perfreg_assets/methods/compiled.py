"""Whether the kernels are compiled for this machine, asked without loading any of them."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_MARKERS_MAX = 20  # environments that share a cache folder


def ensure_compiled(write: Callable[[str], None] | None = None) -> None:
    """Compiles the kernels where they are not in the cache yet, and says so; otherwise loads nothing.

    A file in the cache folder tells that kernels of these sources were compiled by this numba for this processor, so
    that work without a kernel (a first run, which has no history) costs no 0.5 s of loading them.

    Args:
        write: see `jit.compilation_notice`.
    """
    cache = Path(os.environ["NUMBA_CACHE_DIR"])  # set by `jit.configure`
    marker = cache / f"compiled-{_fingerprint()}"
    if marker.exists():
        return
    import_module("perfreg_assets.methods.warmup").warm_up(write)
    try:
        old = sorted(cache.glob("compiled-*"), key=lambda path: path.stat().st_mtime_ns)
        for path in old[: max(0, len(old) + 1 - _MARKERS_MAX)]:
            path.unlink(missing_ok=True)
        marker.touch()
    except OSError:
        return  # a cache that cannot be written: kernels are looked for again next time


def _fingerprint() -> str:
    """Of everything that numba keys its cache by: sources by path, size and time, versions, processor."""
    digest = hashlib.sha256()
    for path in sorted(_FOLDER.glob("*.py")):
        at = path.stat()
        digest.update(f"{path} {at.st_size} {at.st_mtime_ns}\n".encode())
    facts = [version("numba"), version("llvmlite"), version("numpy"), platform.python_version(), platform.machine()]
    facts += [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]
    digest.update(" ".join(facts).encode())
    return digest.hexdigest()[:16]
