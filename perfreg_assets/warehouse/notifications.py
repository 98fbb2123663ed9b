"""Which regressions were posted already, or perhaps, so that none is posted twice.

What is on its way meanwhile is noted beside the warehouse (`reports.in_flight`).
"""

from __future__ import annotations

from typing import Any

from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import now_utc

_PENDING = """
SELECT verdicts.run_id, verdicts.app, verdicts.version_name, verdicts.detector, verdicts.omega, verdicts.explanation,
       verdicts.run_id || '/' || verdicts.detector AS notification_key,
       coalesce(worse.axes, []) AS axes
FROM marts.run_verdicts AS verdicts
LEFT JOIN (
    SELECT given.run_no, list(given.axis ORDER BY given.excess_ratio DESC NULLS LAST, given.axis) AS axes
    FROM marts.axis_verdicts AS given
    WHERE given.is_current AND given.is_anomalous
    GROUP BY given.run_no
) AS worse ON worse.run_no = verdicts.run_no
JOIN marts.counted_runs AS counted ON counted.run_no = verdicts.run_no
WHERE verdicts.is_current AND verdicts.is_anomalous
  AND NOT EXISTS (SELECT 1 FROM core.notifications AS sent WHERE sent.run_id = verdicts.run_id)
  AND NOT EXISTS (SELECT 1 FROM core.reviews_in_force AS seen WHERE seen.run_no = verdicts.run_no)
ORDER BY verdicts.started_at, verdicts.run_id
"""


def pending(reader: Reader) -> list[dict[str, Any]]:
    """Runs that are anomalous by their current verdict, were not reviewed or excluded and have no notice yet, the
    oldest first.

    `axes`: the anomalous ones, the worst first.
    """
    return reader.dicts(_PENDING)


_PENDING_VERSIONS = """
WITH judged AS MATERIALIZED (
    SELECT * FROM marts.version_verdicts_at(marts.current_value('omega')::DOUBLE) WHERE is_current AND is_anomalous
)
SELECT verdicts.app, verdicts.version_name, verdicts.explanation, runs.run_id,
       'version/' || verdicts.app || '@' || verdicts.version_name || '/' || verdicts.detector AS notification_key,
       coalesce(worse.axes, []) AS axes
FROM judged AS verdicts
JOIN (
    SELECT known.app, known.version_name, arg_max(known.run_id, known.started_at) AS run_id
    FROM marts.counted_runs AS known GROUP BY known.app, known.version_name
) AS runs ON runs.app = verdicts.app AND runs.version_name = verdicts.version_name
LEFT JOIN (
    SELECT given.app, given.version_name,
           list(given.axis ORDER BY given.excess_ratio DESC NULLS LAST, given.axis) AS axes
    FROM judged AS given
    WHERE given.axis <> 'all'
    GROUP BY given.app, given.version_name
) AS worse ON worse.app = verdicts.app AND worse.version_name = verdicts.version_name
WHERE verdicts.axis = 'all' AND verdicts.anomalous_count = 0
  AND NOT EXISTS (
      SELECT 1 FROM core.runs AS told
      WHERE told.app = verdicts.app AND told.version_name = verdicts.version_name
        AND (told.run_id IN (SELECT sent.run_id FROM core.notifications AS sent)
             OR told.run_id IN (SELECT seen.run_id FROM core.reviews_in_force AS seen))
  )
ORDER BY verdicts.app, verdicts.version_name
"""


def pending_versions(reader: Reader) -> list[dict[str, Any]]:
    """Versions that are anomalous although none of their runs is by itself, of which nobody was told or said anything.

    `run_id`: the latest run, that the notice is kept with; `axes`: the anomalous ones, the worst first.
    """
    return reader.dicts(_PENDING_VERSIONS)


_PENDING_BENCHMARKS = """
SELECT runs.benchmark_run_id, runs.app, runs.device, runs.variant, runs.runner, runs.version_name,
       runs.benchmark_run_id || '/' || any_value(verdicts.detector) AS notification_key,
       list(verdicts.result_name || ': ' || verdicts.explanation
            ORDER BY verdicts.excess_ratio DESC, verdicts.result_name) AS slower
FROM marts.benchmark_verdicts AS verdicts
JOIN core.benchmark_runs AS runs ON runs.benchmark_run_id = verdicts.benchmark_run_id
WHERE verdicts.is_anomalous
  AND NOT EXISTS (SELECT 1 FROM core.notifications AS sent WHERE sent.run_id = runs.benchmark_run_id)
  AND NOT EXISTS (
      SELECT 1 FROM core.benchmark_reviews_in_force AS seen WHERE seen.benchmark_run_id = runs.benchmark_run_id
  )
GROUP BY runs.benchmark_run_id, runs.app, runs.device, runs.variant, runs.runner, runs.version_name, runs.started_at
ORDER BY runs.started_at, runs.benchmark_run_id
"""


def pending_benchmarks(reader: Reader) -> list[dict[str, Any]]:
    """Files of benchmarks with anomalous results that were not reviewed and have no notice yet, oldest first.

    `slower`: each of those results with its verdict in words, the farthest first.
    """
    return reader.dicts(_PENDING_BENCHMARKS)


def record(writer: Writer, notification_key: str, run_id: str) -> None:
    """A notice that was told, or may have been, and is not posted again."""
    writer.execute(
        "INSERT INTO core.notifications (notification_key, run_id, sent_at) VALUES (?, ?, ?) "
        "ON CONFLICT (notification_key) DO NOTHING",
        [notification_key, run_id, now_utc()],
    )
