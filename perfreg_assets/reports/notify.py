"""New regressions to a webhook (Slack-compatible JSON): once each, retried only while it surely was not delivered.

Each is noted before anything of it goes out, and no longer when it surely was not delivered, so in the pauses between
attempts nothing is. When the answer is lost (a timeout after the message went out, a process that was killed) it counts
as told: twice would be worse than a look into the channel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports.in_flight import InFlight
from perfreg_assets.reports.links import run_page
from perfreg_assets.reports.wording import axis_label

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
    """What its version is found to be, all its runs together, in one sentence."""
    is_version_anomalous: bool = True
    """Its version's verdict leads then; else the run does, which is why there is a message."""
    page: str = ""
    """Of the report, where it is not the run's own."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of each regression, by notification key."""

    sent: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    uncertain: tuple[tuple[str, str], ...] = ()

    def and_then(self, later: Outcome) -> Outcome:
        """Both."""
        return Outcome(self.sent + later.sent, self.refused + later.refused, self.uncertain + later.uncertain)


def build_message(regression: Regression, *, reports_url: str, image_url: str | None = None) -> dict[str, Any]:
    """Slack's JSON: a plain `text` (also the notification on a phone) and blocks with the link.

    Names come from apps: `&`, `<` and `>` are escaped as Slack asks, so a name cannot mention people or forge a link.
    """
    link = f"{reports_url.rstrip('/')}/{regression.page or run_page(regression.run_id)}"
    worse = ", ".join(axis_label(axis) for axis in regression.axes)
    what = f"Performance regression ({_escape(worse)})" if worse else "Performance regression"
    title = f"{what}: {_escape(regression.app)} {_escape(regression.version_name)}"
    summary = regression.explanation
    if regression.version_verdict:
        own = f"This run: {summary}"
        of_version = regression.version_verdict
        summary = f"{of_version} {own}" if regression.is_version_anomalous else f"{own} {of_version}"
    summary = _escape(summary)[:HEADLINE_CHARACTERS]
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


def notify(
    regressions: Sequence[Regression],
    *,
    webhook_url: str,
    reports_url: str,
    attempts: int,
    timeout_s: float,
    in_flight: InFlight,
    record: Callable[[str, str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Posts each regression at most once, by whoever is `alone` with what is in flight.

    Args:
        record: (notification_key, run_id): that one was told, or may have been; committed before returning.

    Raises:
        Rejected: NOTIFICATION_REFUSED: nothing can be posted to this address.
    """
    # Slow to import, and most processes that load the assets notify nobody.
    from perfreg_assets.reports.webhook import post, refuse_unusable  # noqa: PLC0415

    refuse_unusable(webhook_url)
    sent: list[str] = []
    refused: list[tuple[str, str]] = []
    uncertain: list[tuple[str, str]] = []
    for regression in regressions:
        key, run_id = regression.notification_key, regression.run_id
        try:
            post(
                webhook_url,
                build_message(regression, reports_url=reports_url),
                attempts=attempts,
                timeout_s=timeout_s,
                goes_out=partial(in_flight.goes_out, key, run_id),
                was_not_taken=in_flight.is_settled,
                sleep=sleep,
            )
        except Rejected as error:
            if error.reason is Reason.NOTIFICATION_REFUSED:
                refused.append((key, str(error)))
                continue
            if error.reason is not Reason.NOTIFICATION_UNCERTAIN:
                raise
            uncertain.append((key, str(error)))
            record(key, run_id)
        else:
            try:
                record(key, run_id)
            except BaseException:
                in_flight.was_delivered()
                raise
            sent.append(key)
        in_flight.is_settled()
    return Outcome(tuple(sent), tuple(refused), tuple(uncertain))


def settle(in_flight: InFlight, record: Callable[[str, str], None]) -> Outcome:
    """What became of the notice of a process that ended before it could say so; it is not sent again.

    Raises:
        Rejected: NOTIFICATION_UNCERTAIN, see `InFlight.left`; as `record`.
    """
    left = in_flight.left()
    if left is None:
        return Outcome()
    record(left.notification_key, left.run_id)
    in_flight.is_settled()
    if left.is_delivered:
        return Outcome(sent=(left.notification_key,))
    problem = Rejected(Reason.NOTIFICATION_UNCERTAIN, f"who sent it at {left.since} ended before the answer")
    return Outcome(uncertain=((left.notification_key, str(problem)),))
