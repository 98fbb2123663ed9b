"""Which regressions were posted already, so that none is posted twice.

A notice is claimed in its own transaction before it is sent and released when sending failed for good: a process
that is killed in between has sent it at most once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import now_utc

_PENDING = """
SELECT verdicts.run_id, verdicts.app, verdicts.version_name, verdicts.detector, verdicts.omega, verdicts.explanation,
       verdicts.run_id || '/' || verdicts.detector AS notification_key,
       coalesce(worse.axes, []) AS axes
FROM marts.run_verdicts AS verdicts
LEFT JOIN (
    SELECT given.run_id, list(given.axis ORDER BY given.excess_ratio DESC NULLS LAST, given.axis) AS axes
    FROM marts.axis_verdicts AS given
    WHERE given.is_current AND given.is_anomalous
    GROUP BY given.run_id
) AS worse ON worse.run_id = verdicts.run_id
WHERE verdicts.is_current AND verdicts.is_anomalous
  AND NOT EXISTS (SELECT 1 FROM core.notifications AS sent WHERE sent.run_id = verdicts.run_id)
  AND NOT EXISTS (SELECT 1 FROM core.reviews AS seen WHERE seen.run_id = verdicts.run_id)
ORDER BY verdicts.started_at, verdicts.run_id
"""


def pending(reader: Reader) -> list[dict[str, Any]]:
    """Runs that are anomalous by their current verdict, were not reviewed and have no notice yet, oldest first.

    `axes`: the anomalous ones, the worst first.
    """
    return reader.dicts(_PENDING)


def claim(writer: Writer, notices: Iterable[tuple[str, str]]) -> list[str]:
    """Claims (notification_key, run_id) pairs for sending; the keys that nobody had claimed before."""
    claimed = []
    for key, run_id in notices:
        is_new = writer.execute(
            "INSERT INTO core.notifications (notification_key, run_id, sent_at) VALUES (?, ?, ?) "
            "ON CONFLICT (notification_key) DO NOTHING",
            [key, run_id, now_utc()],
        )
        if is_new:
            claimed.append(key)
    return claimed


def release(writer: Writer, keys: Iterable[str]) -> None:
    """Takes claims back, after sending failed for good; they will be tried again."""
    writer.execute(
        "DELETE FROM core.notifications WHERE notification_key IN (SELECT unnest(?::VARCHAR[]))", [list(keys)]
    )
