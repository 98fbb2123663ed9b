"""An S3 server of our own, in place of an object store."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def object_store(address: str = "127.0.0.1") -> Iterator[int]:
    """An S3 server of our own that listens on an address; its port."""
    # Only tests that ask for it pay for the import.
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line per request
    server = ThreadedMotoServer(address, 0, verbose=False)
    server.start()
    try:
        yield server.get_host_and_port()[1]
    finally:
        server.stop()
