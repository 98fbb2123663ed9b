"""All that freshness is judged by, as one number per run: equal numbers, equal rows, whatever they say.

Set-based, so that a look at every run costs a few scans of small columns. The numbers are DuckDB's own `hash`: they are
compared with earlier ones of the same release of DuckDB and kept nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt

from perfreg_assets.warehouse.connection import Reader

Numbers = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Fingerprints:
    """Runs that are not quarantined, by app and start (n,).

    Attributes:
        numbers: hash of all rows about the run itself, and of the series and metrics of its history's runs.
        as_candidates: hash of what the run is to the histories of later runs.
        is_first_of_app: whether no earlier run of its app is there.
    """

    run_ids: list[str]
    partition_keys: list[str]
    numbers: Numbers
    as_candidates: Numbers
    is_first_of_app: npt.NDArray[np.bool_]


def release() -> str:
    """Whose numbers can be compared with each other."""
    return f"duckdb {duckdb.__version__}"


# hash() of a row is folded by XOR: rows have keys, so none can cancel another. values_hash and path_hash stand for
# samples and paths, which are not read; where an old row lacks path_hash nothing has rewritten it since.
_SQL = """
WITH
series AS (
    SELECT run_id, bit_xor(hash(series, interval_s, values_hash, is_missing, reason)) AS mark
    FROM core.time_series WHERE series IN (SELECT unnest($judged::VARCHAR[])) GROUP BY run_id
),
metrics AS (
    SELECT subject_id AS run_id, bit_xor(hash(metric, unit, worse, "value", reason, provenance::VARCHAR)) AS mark
    FROM core.measurements WHERE subject_kind = 'run' GROUP BY subject_id
),
contents AS (
    SELECT runs.run_id, hash(runs.path_hash, runs.content_hash, series.mark, metrics.mark) AS mark
    FROM core.runs AS runs LEFT JOIN series USING (run_id) LEFT JOIN metrics USING (run_id)
),
members AS (
    SELECT members.run_id, bit_xor(hash(members.history_rank, members.history_run_id, contents.mark)) AS mark
    FROM core.history_candidates AS members LEFT JOIN contents ON contents.run_id = members.history_run_id
    WHERE members.history_rank IS NOT NULL GROUP BY members.run_id
),
averages AS (
    SELECT given.run_id, bit_xor(hash(given.series, given.barycenter_id)) AS mark
    FROM core.run_barycenters AS given
    WHERE given.barycenter_id IN (SELECT stored.barycenter_id FROM core.barycenters AS stored) GROUP BY given.run_id
),
measured AS (
    SELECT run_id, bit_xor(hash(detector, input_hash, parameters_hash)) AS mark
    FROM core.distances WHERE is_latest AND series = '*' GROUP BY run_id
),
judged AS (
    SELECT latest.run_id, bit_xor(hash(latest.series, latest.distance_id, given.state, given.is_anomalous)) AS mark,
        bool_or(given.is_anomalous) FILTER (latest.series = '*') AS is_anomalous
    FROM core.distances AS latest
    LEFT JOIN (SELECT * FROM core.verdicts WHERE omega = $omega) AS given USING (distance_id)
    WHERE latest.is_latest AND latest.detector = $detector GROUP BY latest.run_id
),
windows AS (
    SELECT run_id, bit_xor(hash(series, input_hash)) AS mark FROM core.profiles GROUP BY run_id
),
reviewed AS (
    SELECT run_id, arg_max(status, reviewed_at) AS status FROM core.reviews GROUP BY run_id
)
SELECT
    runs.run_id,
    runs.partition_key,
    hash(
        runs.run_id, runs.app, runs.partition_key, runs.trace_sha256,
        traces.trace_sha256, traces.code_version, traces.parameters_hash, traces.is_trace_gone,
        traces.is_complete, traces.reason, contents.mark,
        sets.state, sets.explanation, sets.history_size, sets.input_hash, members.mark,
        averages.mark, measured.mark, judged.mark, windows.mark
    ) AS number,
    hash(
        runs.run_id, runs.version_name, runs.config_hash, list_sort(traces.load_sources), epoch_us(runs.started_at),
        runs.path_hash, runs.content_hash, runs.functional_problem_count > 0, traces.is_complete, reviewed.status,
        runs.is_excluded, CASE WHEN $with_verdicts THEN judged.is_anomalous END
    ) AS candidate,
    lag(runs.app) OVER (ORDER BY runs.app, runs.started_at, runs.run_id) IS DISTINCT FROM runs.app AS is_first
FROM core.runs AS runs
LEFT JOIN core.traces AS traces USING (run_id)
LEFT JOIN contents USING (run_id)
LEFT JOIN core.history_sets AS sets USING (run_id)
LEFT JOIN members USING (run_id)
LEFT JOIN averages USING (run_id)
LEFT JOIN measured USING (run_id)
LEFT JOIN judged USING (run_id)
LEFT JOIN windows USING (run_id)
LEFT JOIN reviewed USING (run_id)
WHERE NOT runs.is_quarantined
ORDER BY runs.app, runs.started_at, runs.run_id
"""


def of_runs(
    reader: Reader, *, judged_series: Sequence[str], detector: str, omega: float, with_verdicts: bool
) -> Fingerprints:
    """The numbers of all runs.

    Args:
        detector, omega: those in force.
        with_verdicts: whether the current verdict decides who may be in a history.
    """
    parameters = {
        "judged": list(judged_series),
        "detector": detector,
        "omega": omega,
        "with_verdicts": with_verdicts,
    }
    found = reader.arrow(_SQL, parameters)
    return Fingerprints(
        found.column("run_id").to_pylist(),
        found.column("partition_key").to_pylist(),
        found.column("number").to_numpy(),
        found.column("candidate").to_numpy(),
        found.column("is_first").to_numpy(),
    )
