"""What is committed to a warehouse, told without opening it: by what the file system says of its files, and of the
published copy by which state this process copied last.

Who judges a run reads the same state twice, before it is published and afterwards: what was asked of it
(`asked_once`, `stamps`) need not be asked of the copy again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perfreg_assets.file_stamps import Stamp, stamp


@dataclass(frozen=True)
class State:
    """Equal for the same, another after every write.

    Attributes:
        files: of the database and of its log, what the file system says; None of one that is not there.
    """

    path: str
    files: tuple[Stamp | None, ...]


_COPIED: dict[str, tuple[Stamp | None, State]] = {}


def of_database(path: Path) -> State:
    """To be asked for under the writers' lock: nobody writes meanwhile."""
    log = path.with_name(f"{path.name}.wal")
    return State(str(path), tuple(stamp(place) for place in (path, log)))


def note_copied(copy: Path, state: State) -> None:
    """From now on, until somebody puts another file in its place, this copy has that state. To be noted under the
    writers' lock."""
    _COPIED[str(copy)] = stamp(copy), state


def of_copy(copy: Path) -> State | None:
    """The state that the copy has; None where another process published it."""
    found, state = _COPIED.get(str(copy), (None, None))
    return state if found is not None and found == stamp(copy) else None
