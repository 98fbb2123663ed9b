"""Templates compiled once for all processes: .15 CPU-s of every command that writes pages.

They are kept beside the compiled kernels (`methods.jit`), in a folder that belongs to the user: what lies there is run.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from perfreg_assets.methods import jit

_LOG = logging.getLogger(__name__)


class TemplateCache(jinja2.FileSystemBytecodeCache):
    """Jinja's own, which knows a template by its source, except that a folder that is full or gone costs time only."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        try:
            super().dump_bytecode(bucket)
        except OSError as error:
            _LOG.warning("compiled templates cannot be kept in %s (%s)", self.directory, error)


def template_cache(settings: Path) -> TemplateCache | None:
    """The cache of templates compiled with what a file of code sets; None where no folder can be had.

    Args:
        settings: the file that makes the environment: another content, another cache.
    """
    folder = jit.cache_dir() / "templates"
    try:
        folder.mkdir(exist_ok=True)
        of = hashlib.sha256(settings.read_bytes()).hexdigest()[:16]
    except OSError as error:
        _LOG.warning("compiled templates cannot be kept in %s (%s)", folder, error)
        return None
    return TemplateCache(str(folder), f"{of}-{jinja2.__version__}-%s.cache")
