"""A message to a webhook: tried again only while it surely was not delivered."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import MaxRetryError, NameResolutionError, NewConnectionError

from perfreg_assets.reasons import Reason, Rejected

LOG = logging.getLogger(__name__)

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


def post(
    url: str,
    message: dict[str, Any],
    *,
    attempts: int,
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Posts a message; the number of attempts it took.

    Tried again: no connection, 429 and 5xx (the answer says it was not taken), waiting 1, 2, 4 … s or as long as
    `Retry-After` says. Not tried again: other statuses, and a lost answer.

    Raises:
        Rejected: NOTIFICATION_REFUSED (surely not delivered), NOTIFICATION_UNCERTAIN (perhaps delivered).
    """
    where = _place(url)
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    problem = ""
    for attempt in range(1, attempts + 1):
        wait = min(FIRST_PAUSE_S * 2 ** (attempt - 1), LONGEST_PAUSE_S)
        try:
            answer = requests.post(
                url, data=body, headers={"Content-Type": "application/json"}, timeout=timeout_s, allow_redirects=False
            )
        except requests.exceptions.ConnectTimeout as error:
            problem = _name(error)
        except requests.exceptions.Timeout as error:
            raise Rejected(Reason.NOTIFICATION_UNCERTAIN, f"{where} did not answer within {timeout_s:g} s") from error
        except requests.exceptions.ConnectionError as error:
            if not _never_connected(error):
                raise Rejected(Reason.NOTIFICATION_UNCERTAIN, f"{where} closed the connection unanswered") from error
            problem = "no connection"
        except requests.exceptions.RequestException as error:
            raise Rejected(Reason.NOTIFICATION_REFUSED, f"{where} ({_name(error)})") from error
        else:
            if 200 <= answer.status_code < 300:
                return attempt
            problem = f"status {answer.status_code}"
            if answer.status_code != 429 and answer.status_code < 500:
                break
            wait = _retry_after(answer, wait)
        LOG.warning("webhook %s: %s (attempt %d of %d)", where, problem, attempt, attempts)
        if attempt < attempts:
            sleep(wait)
    raise Rejected(Reason.NOTIFICATION_REFUSED, f"{where} ({problem})")


def _never_connected(error: requests.exceptions.ConnectionError) -> bool:
    """Whether the request cannot have reached the other side: no connection was ever made."""
    cause = error.args[0] if error.args else None
    reason = cause.reason if isinstance(cause, MaxRetryError) else cause
    return isinstance(reason, (NewConnectionError, NameResolutionError))


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
