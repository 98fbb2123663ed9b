"""Runs by what was judged of them."""

from __future__ import annotations

from perfreg_assets.warehouse.connection import Reader


def normal(reader: Reader, app: str, *, limit: int) -> list[str]:
    """The latest runs of an app that are taken for normal, latest first: judged so at the setting in force, or called a
    false alarm by a review; none that a review confirmed or that was excluded."""
    found = reader.rows(
        "SELECT runs.run_id FROM marts.runs AS runs LEFT JOIN core.reviews_in_force AS reviewed USING (run_no) "
        "WHERE runs.app = ? AND runs.state = 'complete' AND NOT runs.is_excluded "
        "AND coalesce(reviewed.status, '') <> 'confirmed' "
        "AND (runs.run_verdict IN ('normal', 'improved') OR reviewed.status = 'rejected' "
        "AND runs.run_verdict = 'anomalous') "
        "ORDER BY runs.started_at DESC, runs.run_id DESC LIMIT ?",
        [app, limit],
    )
    return [run_id for (run_id,) in found]
