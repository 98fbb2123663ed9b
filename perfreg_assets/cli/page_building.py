"""Pages are brought up to date before they are shown; where that takes longer than people wait, beside it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from perfreg_assets import terminal

PATIENCE_S = 5.0
"""After an ingest there is nothing to write; after an update of perfreg every page is, a tenth of a second each."""


def bring_up_to_date(build: Callable[[], object], *, has_pages: bool, patience_s: float = PATIENCE_S) -> None:
    """Runs `build`; returns when it has ended or, where there are pages to show meanwhile, after a few seconds: it then
    goes on beside whoever called, as long as the process lives, and says how it ended.

    Raises:
        Exception: what `build` raised while it was waited for.
    """
    ended: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def run() -> None:
        try:
            build()
        except Exception as error:  # noqa: BLE001  (raised where it is waited for, told where it is not)
            ended.put(error)
        else:
            ended.put(None)

    threading.Thread(target=run, name="pages", daemon=True).start()
    try:
        failure = ended.get(timeout=patience_s)
    except queue.Empty:
        if has_pages:
            terminal.note("the pages are being brought up to date; until then some show what was known before")
            threading.Thread(target=lambda: _tell(ended.get()), name="pages told", daemon=True).start()
            return
        terminal.note("all pages are being written, for the first time; they are shown when they are there")
        failure = ended.get()
    if failure is not None:
        raise failure


def _tell(failure: Exception | None) -> None:
    terminal.note("the pages are up to date" if failure is None else f"the pages are not up to date: {failure}")
