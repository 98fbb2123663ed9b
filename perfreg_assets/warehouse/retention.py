"""Which registered traces nobody needs any more."""

from __future__ import annotations

from perfreg_assets.warehouse.connection import Reader

_NOT_NEEDED = """
WITH plain AS (
    SELECT runs.run_id, runs.run_no, runs.app, runs.config_hash, runs.scenario, runs.started_at, runs.registered_at,
        runs.has_trace,
        runs.state = 'complete' AND runs.run_verdict = 'normal' AND runs.review_status IS NULL
            AND NOT runs.is_excluded AND runs.functional_problem_count = 0 AS is_normal
    FROM marts.runs AS runs
    WHERE runs.state <> 'quarantined'
)
SELECT plain.run_id
FROM plain
WHERE plain.has_trace AND coalesce(plain.is_normal, false) AND plain.registered_at < now() - to_seconds($1)
    -- What an unusual run is explained by: causes compare its slices, stacks and threads with those of its history.
    AND plain.run_id NOT IN (
        SELECT sets.history_run_id
        FROM marts.history_sets AS sets
        JOIN plain AS explained ON explained.run_no = sets.run_no
        WHERE NOT coalesce(explained.is_normal, false)
    )
    -- What the next run will be explained by. Those that a clock which was ahead dated in the future are in no history
    -- of a run of now, and count by themselves.
    AND plain.run_id NOT IN (
        SELECT latest.run_id FROM plain AS latest
        QUALIFY row_number() OVER (
            PARTITION BY latest.app, latest.config_hash, latest.scenario, latest.started_at > now()
            ORDER BY latest.started_at DESC, latest.run_id
        ) <= $2
    )
ORDER BY plain.registered_at, plain.run_id
"""


def not_needed(reader: Reader, *, days: float, latest: int) -> list[str]:
    """Ids of runs with a trace that nothing is explained by: normal, reviewed by nobody, registered so many days ago,
    in no history of a run that is not so, and not among the latest of their app, configuration and scenario."""
    return [run_id for (run_id,) in reader.rows(_NOT_NEEDED, [days * 86_400.0, latest])]
