"""The report server, in a thread of the test."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from perfreg_assets.reports.serve import make_server, open_socket
from perfreg_assets.settings import Settings


@contextmanager
def served(settings: Settings, **options: Any) -> Iterator[int]:
    """The port, while it listens; `options` as of `make_server`."""
    with open_socket(0) as listener:
        server = make_server(settings, listener, **options)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.02)
            yield int(listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(20)
