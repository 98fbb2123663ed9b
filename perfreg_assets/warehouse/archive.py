"""Which registered traces may be reduced in place, and that they were."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from perfreg_assets.warehouse import reductions, run_conditions
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.reductions import ReductionRow

REFERENCE_PREFIX = "archive:"
"""Of the names of references that are made for it, one per app and configuration."""

_NORMAL = """
SELECT runs.run_id
FROM marts.runs AS runs
JOIN core.traces AS traces USING (run_no)
WHERE runs.state = 'complete' AND runs.run_verdict = 'normal' AND runs.review_status IS NULL AND NOT runs.is_excluded
    AND runs.functional_problem_count = 0 AND runs.has_trace AND traces.reduced_sha256 IS NULL
    AND ($1 IS NULL OR runs.partition_key IN (SELECT unnest($1::VARCHAR[])))
    AND runs.registered_at < now() - to_seconds($2)
    -- Nothing was gained the last time.
    AND runs.run_id NOT IN (
        SELECT coalesce(tried.run_id, '') FROM core.reductions AS tried
        WHERE NOT coalesce(tried.is_in_place, false) AND starts_with(coalesce(tried.reference_name, ''), $3)
    )
ORDER BY runs.registered_at, runs.run_id
"""


def normal_runs(reader: Reader, *, days: float, keys: Iterable[str] | None = None) -> list[str]:
    """Ids of runs that are normal, that nobody reviewed, and that were registered so long ago, with whole traces."""
    chosen = None if keys is None else list(keys)
    return [run_id for (run_id,) in reader.rows(_NORMAL, [chosen, days * 86_400.0, REFERENCE_PREFIX])]


def reduced_runs(reader: Reader, run_ids: Iterable[str] | None = None) -> set[str]:
    """Those of some runs (default: all) whose trace was reduced in place."""
    chosen = "true" if run_ids is None else run_conditions.of(reader, run_ids)
    found = reader.rows(f"SELECT run_id FROM core.traces WHERE reduced_sha256 IS NOT NULL AND {chosen}")
    return {run_id for (run_id,) in found}


def gone_of(reader: Reader, run_ids: Iterable[str]) -> set[str]:
    """Those of some runs whose trace was noted as gone."""
    chosen = run_conditions.of(reader, run_ids)
    return {run_id for (run_id,) in reader.rows(f"SELECT run_id FROM core.traces WHERE is_trace_gone AND {chosen}")}


def note_reduced(writer: Writer, run_id: str, row: ReductionRow) -> None:
    """Says that a run's trace is a reduced one from now on: it is not read again."""
    reductions.store(writer, row)
    note_found_reduced(writer, {run_id: row.reduced_sha256})


def note_found_reduced(writer: Writer, found: Mapping[str, str]) -> None:
    """Says the same of runs whose reduction this warehouse does not know, as one of before it was restored.

    Args:
        found: run_id → SHA-256 of the reduced trace.
    """
    for run_id, sha256 in found.items():
        of_run = run_conditions.of(writer, [run_id])
        writer.execute(f"UPDATE core.traces SET reduced_sha256 = ? WHERE {of_run}", [sha256])


def note_whole(writer: Writer, run_ids: Collection[str]) -> None:
    """Says of runs whose files were taken in anew that their traces are whole ones; what was reduced is no more."""
    if not run_ids:
        return
    of_runs = run_conditions.of(writer, run_ids)
    writer.execute(f"UPDATE core.traces SET reduced_sha256 = NULL WHERE reduced_sha256 IS NOT NULL AND {of_runs}")
    reductions.forget_in_place(writer, run_ids)


def figures(reader: Reader, run_ids: Iterable[str]) -> dict[str, float]:
    """Of some runs: how many traces are reduced in place, their windows, and bytes before and after."""
    found = reader.rows(
        "SELECT count(*), coalesce(sum(window_count), 0)::BIGINT, coalesce(sum(bytes_before), 0)::BIGINT, "
        "coalesce(sum(bytes_after), 0)::BIGINT FROM core.reductions "
        "WHERE is_in_place AND run_id IN (SELECT unnest(?::VARCHAR[]))",
        [list(run_ids)],
    )
    return dict(zip(("reduced_traces", "windows", "bytes_before", "bytes_after"), found[0], strict=True))
