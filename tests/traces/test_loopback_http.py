"""The small HTTP server against the standard library's client and against what is no HTTP."""

from __future__ import annotations

import http.client
import socket
import threading

import pytest

from perfreg_assets.traces.loopback_http import listen, serve


@pytest.fixture(scope="module")
def port():
    listener, port = listen()
    answers = {
        "/small": lambda body: [b"got ", bytes(body)],
        "/large": lambda body: [b"x" * (1 << 20), memoryview(b"y" * (1 << 20))],
        "/empty": lambda body: [],
    }
    threading.Thread(
        target=serve,
        args=(listener, lambda path, body: answers[path](body) if path in answers else None),
        daemon=True,
    ).start()
    return port


def test_one_connection_serves_many_requests(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for body in (b"", b"hello", b"z" * (3 << 20)):
        connection.request("POST", "/small", body)
        reply = connection.getresponse()
        assert (reply.status, reply.read()) == (200, b"got " + body)
    connection.request("GET", "/large")
    assert connection.getresponse().read() == b"x" * (1 << 20) + b"y" * (1 << 20)
    connection.request("GET", "/empty")
    assert connection.getresponse().read() == b""
    connection.request("GET", "/other")
    unknown = connection.getresponse()
    assert (unknown.status, unknown.read()) == (404, b"")
    connection.request("GET", "/small", headers={"Origin": "https://example.org"})
    assert connection.getresponse().status == 403
    connection.close()


def test_several_connections_at_once_do_not_wait_for_each_other(port):
    silent = socket.create_connection(("127.0.0.1", port))
    silent.sendall(b"POST /small HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: 5\r\n\r\nhe")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/small")
    assert connection.getresponse().read() == b"got "
    connection.close()
    silent.sendall(b"llo")
    assert silent.recv(4096).endswith(b"got hello")
    silent.close()


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"PUT /small HTTP/1.1\r\n\r\n",
        b"GET /small HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /small HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /small HTTP/1.1\r\nContent-Length: 1e9\r\n\r\n",
        b"GET /small HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n",
        b"GET /small HTTP/1.1\r\n" + b"X-Many: 1\r\n" * 200 + b"\r\n",
        "GET /small HTTP/1.1\r\nContent-Length: ²\r\n\r\n".encode("latin-1"),
    ],
)
def test_what_cannot_be_read_is_refused_and_the_connection_ended(port, request_bytes):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        raw.sendall(request_bytes)
        reply = b""
        try:
            while piece := raw.recv(4096):
                reply += piece
        except ConnectionResetError:
            pass  # what it had not read yet makes the system reset the connection; the answer may be lost with it
    assert reply == b"" or reply.startswith(b"HTTP/1.1 400 ")


def test_a_client_that_leaves_early_disturbs_nobody(port):
    for _ in range(3):
        raw = socket.create_connection(("127.0.0.1", port))
        raw.sendall(b"GET /large HTTP/1.1\r\nHost: localhost:1\r\n\r\n")
        raw.close()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/small")
    assert connection.getresponse().read() == b"got "
    connection.close()
