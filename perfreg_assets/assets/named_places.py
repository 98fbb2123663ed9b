"""From where Dagster runs take folders: the inbox, places that the user named in a setting, and what a command is
given while it runs.

The folders of a run's configuration come from whoever can launch runs; nothing else on this machine is theirs to have
read and copied.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

_given: ContextVar[frozenset[Path]] = ContextVar("given", default=frozenset())


@contextmanager
def given_by_a_command(folders: Iterable[str]) -> Iterator[None]:
    """Within: a command of the user's, in this process, takes in these folders."""
    token = _given.set(frozenset(map(_absolute, folders)))
    try:
        yield
    finally:
        _given.reset(token)


def require_named(folders: Sequence[str], settings: Settings) -> None:
    """Refuses all of them where one lies elsewhere: nothing was taken in then.

    Raises:
        Rejected: FOLDER_ELSEWHERE, naming the first.
    """
    places = [_absolute(place) for place in (settings.inbox_dir, *map(Path, settings.run_places))]
    for folder in map(_absolute, folders):
        if folder not in _given.get() and not any(place in folder.parents for place in places):
            raise Rejected(Reason.FOLDER_ELSEWHERE, f"{folder} is not in {', '.join(map(str, places))}")


def _absolute(place: Path | str) -> Path:
    """Without `..`; links stay what they are: who may put one into the inbox may put a folder there."""
    return Path(os.path.abspath(place))
