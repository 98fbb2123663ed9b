"""The notice that is on its way: noted beside the warehouse as soon as something of it may have gone out, and until
it is known what became of it.

In the warehouse is only what was told, or may have been. That a message surely was not delivered is then said by taking
a file away, which waits for nobody's lock, and holds however the process ends afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.unwritable import refused_where_unwritable
from perfreg_assets.warehouse.lock import file_lock
from perfreg_assets.warehouse.rows import now_utc
from perfreg_assets.whole_files import write_whole


@dataclass(frozen=True, slots=True)
class Notice:
    """Of which the process that sent it has not said what became of it.

    Attributes:
        since: when it went out (UTC, ISO 8601).
        is_delivered: the receiver took it, and the warehouse does not say so yet.
    """

    notification_key: str
    run_id: str
    since: str
    is_delivered: bool = False


class InFlight:
    """The note of a warehouse, of one notice at most: who posts holds `alone` all the time."""

    def __init__(self, warehouse: Path) -> None:
        self._path = warehouse.with_name(f"{warehouse.name}.notice")
        self._lock = warehouse.with_name(f"{warehouse.name}.notice.lock")

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether nobody else posts: what is noted within is then of a process that ended.

        Raises:
            Rejected: FOLDER_UNWRITABLE.
        """
        lock = file_lock(self._lock, timeout_s=0.0, what="a notice", done="posted")
        try:
            lock.__enter__()
        except Rejected as error:
            if error.reason is not Reason.WAREHOUSE_LOCKED:
                raise
            yield False
            return
        try:
            yield True
        finally:
            lock.__exit__(None, None, None)

    def goes_out(self, notification_key: str, run_id: str) -> None:
        """Durable when it returns.

        Raises:
            Rejected: FOLDER_UNWRITABLE.
            OSError: it cannot be noted, and must not go out then.
        """
        self._note(Notice(notification_key, run_id, now_utc().isoformat(timespec="seconds")))

    def was_delivered(self) -> None:
        """Raises OSError: it cannot be noted; it stays one that may have been."""
        noted = self.left()
        if noted is not None:
            self._note(Notice(noted.notification_key, noted.run_id, noted.since, is_delivered=True))

    def is_settled(self) -> None:
        """It surely was not delivered, or the warehouse says that it was or may have been."""
        self._path.unlink(missing_ok=True)

    def left(self) -> Notice | None:
        """What is noted; None: nothing is on its way.

        Raises:
            Rejected: NOTIFICATION_UNCERTAIN: what is there is no note.
        """
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return Notice(**json.loads(content))
        except (ValueError, TypeError) as error:
            detail = f"{self._path} does not say which notice was on its way; look into the channel, then delete it"
            raise Rejected(Reason.NOTIFICATION_UNCERTAIN, detail) from error

    def _note(self, notice: Notice) -> None:
        with refused_where_unwritable(self._path.parent):
            write_whole(self._path, json.dumps(asdict(notice)).encode(), is_durable=True)
