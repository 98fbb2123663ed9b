"""An HTTP/1.1 server on 127.0.0.1 for one program of the same machine, as little of it as `http.client` needs.

The standard library's `http.server` takes 20 ms to import and a third of a millisecond per request, which is more than
most queries take.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple

_LINE_BYTES = 8192
_HEADERS_MAX = 100
_LOOPBACK = ("127.0.0.1", "localhost")
_STACK_BYTES = 8 << 20

Piece = bytes | memoryview
Answer = Callable[[str, bytes], Sequence[Piece] | None]
"""(path, body) → the body of the reply in pieces, or None for a path that is not known."""


class _Request(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes


class _BadRequestError(Exception):
    """What came is not HTTP as this server reads it."""


def listen(port: int = 0) -> tuple[socket.socket, int]:
    """A listening socket on 127.0.0.1, and its port (0: the system chooses one)."""
    listener = socket.create_server(("127.0.0.1", port))
    return listener, listener.getsockname()[1]


def serve(listener: socket.socket, answer: Answer) -> None:
    """Answers every connection in a thread of its own; does not return."""
    threading.stack_size(_STACK_BYTES)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_converse, args=(connection, answer), daemon=True).start()


def _converse(connection: socket.socket, answer: Answer) -> None:
    with connection, connection.makefile("rb") as stream:
        try:
            while request := _read(stream):
                reply = answer(request.path, request.body) if not _is_from_a_browser(request.headers) else None
                if reply is not None:
                    _send(connection, "200 OK", reply)
                else:
                    is_foreign = _is_from_a_browser(request.headers)
                    _send(connection, "403 Forbidden" if is_foreign else "404 Not Found", [])
        except _BadRequestError:
            _send(connection, "400 Bad Request", [])
        except ConnectionError:
            return  # the client is gone


def _read(stream: BinaryIO) -> _Request | None:
    """The next request; None at the connection's end.

    Raises:
        _BadRequestError: it cannot be read.
    """
    first = stream.readline(_LINE_BYTES)
    if not first:
        return None
    parts = first.decode("latin-1").split()
    if len(parts) != 3 or parts[0] not in ("GET", "POST") or not first.endswith(b"\n"):
        raise _BadRequestError
    headers: dict[str, str] = {}
    for _ in range(_HEADERS_MAX):
        line = stream.readline(_LINE_BYTES)
        if line in (b"\r\n", b"\n"):
            break
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not line.endswith(b"\n"):
            raise _BadRequestError
        headers[name.strip().lower()] = value.strip()
    else:
        raise _BadRequestError
    length = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not length.isascii() or not length.isdigit():
        raise _BadRequestError
    body = stream.read(int(length))
    if len(body) != int(length):
        return None
    return _Request(parts[1], headers, body)


def _is_from_a_browser(headers: dict[str, str]) -> bool:
    """No web page may drive the engine: browsers send one of these, or another host name (DNS rebinding)."""
    host = headers.get("host", "").rpartition(":")[0]
    return "origin" in headers or "sec-fetch-site" in headers or host not in _LOOPBACK


def _send(connection: socket.socket, status: str, pieces: Sequence[Piece]) -> None:
    length = sum(map(len, pieces))
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {length}\r\n\r\n".encode()
    if length < 1 << 16:
        connection.sendall(b"".join([head, *pieces]))
        return
    connection.sendall(head)
    for piece in pieces:
        connection.sendall(piece)
