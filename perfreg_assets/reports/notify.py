"""New regressions to a webhook (Slack-compatible JSON): once each, retried only while it surely was not delivered.

The claim is written before the message is sent and taken back when it surely was not delivered. When the answer
is lost (a timeout after the request went out) the claim stays: twice would be worse than a look into the channel.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import MaxRetryError, NameResolutionError, NewConnectionError

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports.links import run_page
from perfreg_assets.reports.wording import axis_label

LOG = logging.getLogger(__name__)

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
HEADLINE_CHARACTERS = 2900
"""Slack refuses a text block of more than 3,000 characters."""


@dataclass(frozen=True, slots=True)
class Regression:
    """A run whose current verdict is anomalous and of which nobody was told yet."""

    notification_key: str
    run_id: str
    app: str
    version_name: str
    explanation: str
    axes: tuple[str, ...] = ()
    """The axes that are anomalous, the worst first."""
    causes: tuple[str, ...] = ()
    """What grew, a line each: in several runs of the version first, then in this run."""
    version_verdict: str = ""
    """What its version is found to be, all its runs together, in one sentence; it leads."""
    page: str = ""
    """Of the report, where it is not the run's own."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of each regression, by notification key."""

    sent: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    uncertain: tuple[tuple[str, str], ...] = ()


def build_message(regression: Regression, *, reports_url: str, image_url: str | None = None) -> dict[str, Any]:
    """Slack's JSON: a plain `text` (also the notification on a phone) and blocks with the link.

    Names come from apps: `&`, `<` and `>` are escaped as Slack asks, so a name cannot mention people or forge a link.
    """
    link = f"{reports_url.rstrip('/')}/{regression.page or run_page(regression.run_id)}"
    worse = ", ".join(axis_label(axis) for axis in regression.axes)
    what = f"Performance regression ({_escape(worse)})" if worse else "Performance regression"
    title = f"{what}: {_escape(regression.app)} {_escape(regression.version_name)}"
    lead = f"{regression.version_verdict} This run: " if regression.version_verdict else ""
    summary = _escape(f"{lead}{regression.explanation}")[:HEADLINE_CHARACTERS]
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*{title}*"[:HEADLINE_CHARACTERS]}},
        {"type": "section", "text": {"type": "mrkdwn", "text": summary}},
        {
            "type": "context",
            "elements": [{"type": "mrkdwn", "text": f"Run {_escape(regression.run_id)} · <{link}|open the report>"}],
        },
    ]
    if image_url is not None:
        blocks.insert(
            2, {"type": "image", "image_url": image_url, "alt_text": f"Chart of run {regression.run_id}"[:2000]}
        )
    told = ""
    if regression.causes:
        grown = "\n".join(f"• {_escape(line)}" for line in regression.causes)
        blocks.insert(
            2, {"type": "section", "text": {"type": "mrkdwn", "text": f"What grew\n{grown}"[:HEADLINE_CHARACTERS]}}
        )
        told = f" What grew: {_escape('; '.join(regression.causes))}."[:HEADLINE_CHARACTERS]
    return {"text": f"{title}: {summary}{told} {link}", "blocks": blocks}


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("*", "∗").replace("`", "ˋ")


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


def notify(
    regressions: Sequence[Regression],
    *,
    webhook_url: str,
    reports_url: str,
    attempts: int,
    timeout_s: float,
    claim: Callable[[str, str], bool],
    release: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Posts each regression at most once.

    Args:
        claim: (notification_key, run_id) -> whether this call is the first to claim it; committed before returning.
        release: takes a claim back, so that the next call tries again.
    """
    sent: list[str] = []
    refused: list[tuple[str, str]] = []
    uncertain: list[tuple[str, str]] = []
    for regression in regressions:
        if not claim(regression.notification_key, regression.run_id):
            continue
        try:
            message = build_message(regression, reports_url=reports_url)
            post(webhook_url, message, attempts=attempts, timeout_s=timeout_s, sleep=sleep)
        except Rejected as error:
            if error.reason is Reason.NOTIFICATION_UNCERTAIN:
                uncertain.append((regression.notification_key, str(error)))
                continue
            release(regression.notification_key)
            refused.append((regression.notification_key, str(error)))
        else:
            sent.append(regression.notification_key)
    return Outcome(tuple(sent), tuple(refused), tuple(uncertain))


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
