"""The trace processor's HTTP interface, from the client's side: requests out, the raw messages of the replies back.

Native and WebAssembly engines speak the same. The `perfetto` package's client is not used: it imports pandas (0.3 s),
drops the errors that are met at the end of a trace, and converts every cell to a Python object.
"""

from __future__ import annotations

import http.client
import socket

from perfreg_assets.traces.rpc_envelope import field, fields

# Numbers of fields, protos/perfetto/trace_processor/trace_processor.proto
_QUERY_ARGS_SQL = 1
_STATUS_VERSION = 2
_APPEND_ERROR = 2
_FINALIZE_ERROR = 1
_SHORTEST_S = 1e-3  # 0 would mean not to wait at all


class RpcClient:
    """One connection to one engine; for one thread.

    Every method raises `OSError` (`TimeoutError` among them), `http.client.HTTPException` or `ValueError` when the
    connection or an answer is broken.
    """

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address)

    def version(self, timeout_s: float) -> str:
        """The engine's own version, for people."""
        return _text(self._call("GET", "/status", None, timeout_s), _STATUS_VERSION)

    def parse(self, chunk: bytes, timeout_s: float) -> str:
        """Feeds a piece of the trace; "" or the engine's error."""
        return _text(self._call("POST", "/parse", chunk, timeout_s), _APPEND_ERROR)

    def notify_end(self, timeout_s: float) -> str:
        """The trace has been fed; "" or the engine's error."""
        return _text(self._call("GET", "/notify_eof", None, timeout_s), _FINALIZE_ERROR)

    def query(self, sql: str, timeout_s: float) -> bytes:
        """A message of type QueryResult, see `columns`."""
        return self._call("POST", "/query", field(_QUERY_ARGS_SQL, sql), timeout_s)

    def _call(self, method: str, path: str, body: bytes | None, timeout_s: float) -> bytes:
        self._connection.timeout = max(timeout_s, _SHORTEST_S)  # of a connection that is made now
        if isinstance(self._connection.sock, socket.socket):  # of the one that is there
            self._connection.sock.settimeout(self._connection.timeout)
        self._connection.request(method, path, body)
        with self._connection.getresponse() as response:
            return response.read()

    def close(self) -> None:
        self._connection.close()


def _text(message: bytes, number: int) -> str:
    """The last text of that number in a message; "" if there is none."""
    texts = [value for found, value in fields(memoryview(message)) if found == number and not isinstance(value, int)]
    return str(texts[-1], "utf-8", "replace") if texts else ""
