"""Where a server of ours listens, on this machine alone."""

from __future__ import annotations

import socket

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports.guard import LOOPBACK


def open_socket(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1; port 0 picks a free one.

    Raises:
        Rejected: PORT_UNAVAILABLE.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise Rejected(Reason.PORT_UNAVAILABLE, f"port {port} ({error.strerror})") from error
    return listener
