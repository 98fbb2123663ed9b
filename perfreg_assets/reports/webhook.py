"""A message to a webhook: tried again only while it surely was not delivered."""

from __future__ import annotations

import io
import json
import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from perfreg_assets.reasons import Reason, Rejected

if TYPE_CHECKING:
    from urllib3.connection import HTTPConnection

LOG = logging.getLogger(__name__)

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


class _Body(io.BytesIO):
    """A message that tells when it goes out: a receiver that was not reached, or has only its headers, has nothing."""

    def __init__(self, content: bytes, goes_out: Callable[[], None]) -> None:
        super().__init__(content)
        self._goes_out = goes_out
        self.is_out = False
        self.problem: OSError | None = None
        """Of `goes_out`: on its way up it is taken for one of the network."""

    def read(self, size: int | None = -1, /) -> bytes:
        if not self.is_out:
            try:
                self._goes_out()
            except OSError as error:
                self.problem = error
                raise
            self.is_out = True
        return super().read(size)


class _InTime(HTTPAdapter):
    """Waits for an answer's status and headers as long as the timeout says, however many pieces they come in: of
    itself it waits so long for each byte of them.

    Attributes:
        is_late: an answer was cut off so. A status that was there by then counts, like one with all its headers.
    """

    is_late = False

    def __init__(self, timeout_s: float) -> None:
        super().__init__()
        self._timeout_s = timeout_s

    def get_connection_with_tls_context(self, *args: Any, **named: Any) -> Any:
        pool = super().get_connection_with_tls_context(*args, **named)
        pool.ConnectionCls = _cut_off_late(pool.ConnectionCls, self)
        return pool

    def cut_off(self, connection: HTTPConnection) -> None:
        self.is_late = True
        with suppress(OSError):  # it is over meanwhile
            connection.sock.shutdown(socket.SHUT_RDWR)

    def watch(self, connection: HTTPConnection) -> threading.Timer:
        watcher = threading.Timer(self._timeout_s, self.cut_off, [connection])
        watcher.daemon = True
        watcher.start()
        return watcher


def _cut_off_late(kind: Any, adapter: _InTime) -> Any:
    """The pool's class of connections, whose answers the adapter watches."""

    class Connection(kind):  # type: ignore[misc]
        def getresponse(self) -> Any:
            watcher = adapter.watch(self)
            try:
                return super().getresponse()
            finally:
                watcher.cancel()

    return Connection


def refuse_unusable(url: str) -> None:
    """Raises Rejected (NOTIFICATION_REFUSED): nothing can be posted to this address, whoever listens."""
    try:
        scheme = urlsplit(url).scheme
        requests.Request("POST", url).prepare()
    except (requests.exceptions.RequestException, ValueError) as error:
        raise Rejected(Reason.NOTIFICATION_REFUSED, f"webhook_url is no address ({_name(error)})") from error
    if scheme not in ("http", "https"):
        raise Rejected(Reason.NOTIFICATION_REFUSED, "webhook_url begins with neither http:// nor https://")


def post(
    url: str,
    message: dict[str, Any],
    *,
    attempts: int,
    timeout_s: float,
    goes_out: Callable[[], None] = lambda: None,
    was_not_taken: Callable[[], None] = lambda: None,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Posts a message; the number of attempts it took.

    Tried again: no connection, 429 and 5xx (the answer says it was not taken), waiting 1, 2, 4 … s or as long as
    `Retry-After` says. Not tried again: other statuses, and a lost answer. What an answer says beside its status is not
    read, so nobody is kept waiting by one that is slow or large.

    Args:
        goes_out: called in each attempt that reaches the receiver, before it gets anything of the message; where it
            raises, nothing goes out.
        was_not_taken: called after each such attempt whose answer says that it was not taken.

    Raises:
        Rejected: NOTIFICATION_REFUSED (surely not delivered), NOTIFICATION_UNCERTAIN (perhaps delivered).
    """
    refuse_unusable(url)
    where = _place(url)
    content = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    problem = ""
    for attempt in range(1, attempts + 1):
        wait = min(FIRST_PAUSE_S * 2 ** (attempt - 1), LONGEST_PAUSE_S)
        body, in_time = _Body(content, goes_out), _InTime(timeout_s)
        try:
            with requests.Session() as session:
                for scheme in ("http://", "https://"):
                    session.mount(scheme, in_time)
                answer = session.post(
                    url,
                    data=body,
                    headers={"Content-Type": "application/json"},
                    timeout=timeout_s,
                    allow_redirects=False,
                    stream=True,
                )
        except requests.exceptions.RequestException as error:
            if body.problem is not None:
                raise body.problem from None
            if body.is_out:
                is_late = in_time.is_late or isinstance(error, requests.exceptions.Timeout)
                lost = f"did not answer within {timeout_s:g} s" if is_late else "closed the connection unanswered"
                raise Rejected(Reason.NOTIFICATION_UNCERTAIN, f"{where} {lost}") from error
            if not isinstance(error, requests.exceptions.ConnectionError):
                raise Rejected(Reason.NOTIFICATION_REFUSED, f"{where} ({_name(error)})") from error
            problem = "no connection" if type(error) is requests.exceptions.ConnectionError else _name(error)
        else:
            answer.close()
            if 200 <= answer.status_code < 300:
                return attempt
            was_not_taken()
            problem = f"status {answer.status_code}"
            if answer.status_code != 429 and answer.status_code < 500:
                break
            wait = _retry_after(answer, wait)
        LOG.warning("webhook %s: %s (attempt %d of %d)", where, problem, attempt, attempts)
        if attempt < attempts:
            sleep(wait)
    raise Rejected(Reason.NOTIFICATION_REFUSED, f"{where} ({problem})")


def _retry_after(answer: requests.Response, otherwise: float) -> float:
    try:
        return min(max(float(answer.headers.get("Retry-After", otherwise)), 0.0), LONGEST_PAUSE_S)
    except ValueError:  # a date: rare, and our own pause does as well
        return otherwise


def _place(url: str) -> str:
    """The webhook without its path: that holds the secret."""
    return f"{urlsplit(url).scheme}://{urlsplit(url).hostname}"


def _name(error: Exception) -> str:
    return type(error).__name__
