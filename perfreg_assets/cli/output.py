"""Standard output that cannot be written, on a full disk say: told in one line and a status, in place of a traceback.

An error of a write does not name its file. So standard output itself says that an error is its own: whoever catches
errors of files below would otherwise take it for one of the warehouse's, or of a folder's.
"""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from perfreg_assets import terminal


class OutputError(OSError):
    """Standard output took no more; `errno` and `strerror` say why."""


class _Output(io.TextIOWrapper):
    def write(self, text: str, /) -> int:
        with _as_its_own():
            return super().write(text)

    def flush(self) -> None:
        with _as_its_own():
            super().flush()


@contextmanager
def _as_its_own() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def watch() -> None:
    """From now on errors of standard output are `OutputError`, for a process that is one command."""
    given = sys.stdout
    if not isinstance(given, io.TextIOWrapper):  # there is none, or somebody put their own in its place
        return
    sys.stdout = _Output(
        given.buffer,
        encoding=given.encoding,
        errors=given.errors,
        line_buffering=given.line_buffering,
        write_through=given.write_through,
    )


def tell(lost: OutputError) -> None:
    """Nothing where the reader has left, as `head` does when it has seen enough."""
    if lost.errno != errno.EPIPE:
        terminal.fail(
            f"standard output cannot be written ({lost.strerror}): what it holds is not whole; "
            "free some space or let it go elsewhere, and run the same command again"
        )
