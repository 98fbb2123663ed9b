"""What is stored about runs, by hashes alone: what freshness is judged by. Small rows, whatever the series hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfreg_assets.run import POWER_PROFILE
from perfreg_assets.warehouse import run_conditions
from perfreg_assets.warehouse.asked_once import last_of
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.key_conditions import one_of
from perfreg_assets.warehouse.verdicts import verdicts_of_app


@dataclass(frozen=True)
class Registered:
    """A run that is not quarantined, and by what its trace was read; the latter None where it was not.

    `lacks_thread_times`: its trace is whole and was read, but never asked for thread times. `lacks_slices`: nor for
    slices, or they were put on the screens of another path. `lacks_energies`: nor for energies. `has_old_profile`:
    other power profiles are offered for its device now. `has_other_file`: its folder has another power profile than
    when its trace was read. `cannot_be_read_again`: its file is gone, or was reduced.
    """

    run_id: str
    partition_key: str
    app: str
    trace_sha256: str | None
    read_sha256: str | None
    read_code_version: str | None
    read_parameters_hash: str | None
    cannot_be_read_again: bool
    lacks_thread_times: bool
    lacks_slices: bool
    lacks_energies: bool
    has_old_profile: bool
    has_other_file: bool


def registered(reader: Reader, keys: Iterable[str] | None = None) -> list[Registered]:
    """The runs of some partitions (default: all), oldest first."""
    of_keys, bound = ("true", []) if keys is None else one_of(list(keys), "runs.partition_key")
    found = reader.rows(
        "SELECT runs.run_id, runs.partition_key, runs.app, runs.trace_sha256, traces.trace_sha256, "
        "traces.code_version, traces.parameters_hash, "
        "coalesce(traces.is_trace_gone, false) OR traces.reduced_sha256 IS NOT NULL, "
        "coalesce(traces.is_complete, false) AND times.run_id IS NULL, "
        "coalesce(traces.is_complete, false) "
        "AND (uses.run_id IS NULL OR uses.path_hash IS DISTINCT FROM runs.path_hash), "
        "coalesce(traces.is_complete, false) AND costs.run_id IS NULL, coalesce(costs.is_outdated, false), "
        "coalesce(traces.is_complete, false) AND costs.own_profile_sha256 IS DISTINCT FROM brought.sha256 "
        "FROM core.runs AS runs LEFT JOIN core.traces AS traces USING (run_no) "
        "LEFT JOIN core.thread_times AS times USING (run_no) "
        "LEFT JOIN core.slice_uses AS uses USING (run_no) "
        "LEFT JOIN core.energy_runs AS costs USING (run_no) "
        f"LEFT JOIN (FROM core.attachments WHERE file_name = '{POWER_PROFILE}') AS brought USING (run_no) "
        f"WHERE NOT runs.is_quarantined AND {of_keys} "
        "ORDER BY runs.started_at, runs.run_id",
        bound,
    )
    return [Registered(*row) for row in found]


def partitions_of(reader: Reader, run_ids: Iterable[str]) -> dict[str, str]:
    """run_id → partition key, of those runs that are registered and not quarantined."""
    found = reader.rows(
        f"SELECT run_id, partition_key FROM core.runs WHERE NOT is_quarantined AND {run_conditions.of(reader, run_ids)}"
    )
    return dict(found)


def partitions(reader: Reader) -> list[str]:
    """The partitions that have runs or results of benchmarks, in the order in which their versions first ran."""
    found = reader.rows(
        "SELECT partition_key FROM ("
        "SELECT partition_key, started_at FROM core.runs WHERE NOT is_quarantined "
        "UNION ALL SELECT partition_key, started_at FROM core.benchmark_runs"
        ") WHERE partition_key IS NOT NULL GROUP BY partition_key ORDER BY min(started_at), partition_key"
    )
    return [key for (key,) in found]


def partitions_of_runs(reader: Reader, *, refused: bool) -> set[str]:
    """The partitions that have runs, or that refused folders say they are of."""
    found = reader.rows(
        "SELECT DISTINCT partition_key FROM core.runs WHERE is_quarantined = ? AND partition_key IS NOT NULL", [refused]
    )
    return {key for (key,) in found}


def latest_partition(reader: Reader) -> str | None:
    """The partition of the run that started last; None where there is no run."""
    key: str | None = reader.value(
        "SELECT partition_key FROM core.runs WHERE NOT is_quarantined ORDER BY started_at DESC, run_id DESC LIMIT 1"
    )
    return key


_FACTS = """
SELECT
    runs.run_id,
    concat_ws(
        '|', runs.version_name, runs.config_hash, list_sort(traces.load_sources)::VARCHAR,
        epoch_us(runs.started_at)::VARCHAR, coalesce(runs.path_hash, ''), 'in ' || runs.scenario
    ) AS own,
    concat_ws(
        '|', coalesce((runs.functional_problem_count > 0)::VARCHAR, '?'),
        coalesce(traces.is_complete, false)::VARCHAR, coalesce(reviews.status, '-'), runs.is_excluded::VARCHAR,
        {verdict}
    ) AS as_candidate
FROM core.runs AS runs
LEFT JOIN core.traces AS traces USING (run_no)
LEFT JOIN core.reviews_in_force AS reviews USING (run_no)
LEFT JOIN ({verdicts}) AS verdicts USING (run_no)
WHERE runs.app = $app AND NOT runs.is_quarantined
ORDER BY runs.started_at, runs.run_id
"""


def history_facts(reader: Reader, app: str, *, with_verdicts: bool) -> list[tuple[str, str, str]]:
    """(run_id, what the run itself is, what else decides whether it may be in a history) of an app's runs, oldest
    first; equal texts for equal facts.

    Args:
        with_verdicts: whether the current verdict is one of them.
    """

    def load() -> list[tuple[str, str, str]]:
        verdict = "coalesce(verdicts.is_anomalous::VARCHAR, '?')" if with_verdicts else "''"
        facts = _FACTS.format(verdict=verdict, verdicts=verdicts_of_app(is_asked=with_verdicts))
        return [tuple(row) for row in reader.rows(facts, {"app": app})]

    return last_of(reader, history_facts, (app, with_verdicts), load)


def history_inputs(reader: Reader, run_ids: Iterable[str]) -> dict[str, str | None]:
    """run_id -> hash of what its history was selected from."""
    of_runs = run_conditions.of(reader, run_ids)
    return dict(reader.rows(f"SELECT run_id, input_hash FROM core.history_sets WHERE {of_runs}"))


def averaged(reader: Reader, run_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """run_id -> series -> id of the barycenter that stands for its history."""
    found: dict[str, dict[str, str]] = {}
    for run_id, series, barycenter_id in reader.rows(
        # Its average is there: the two are stored together, and none is deleted.
        f"SELECT run_id, series, barycenter_id FROM core.run_barycenters WHERE {run_conditions.of(reader, run_ids)}"
    ):
        found.setdefault(run_id, {})[series] = barycenter_id
    return found


def measured(reader: Reader, run_ids: Iterable[str]) -> dict[tuple[str, str], tuple[str | None, str]]:
    """(run_id, detector) -> (hash of its inputs, hash of the parameters) of the latest measurement of the whole run."""
    found = reader.rows(
        "SELECT run_id, detector, input_hash, parameters_hash FROM core.distances "
        f"WHERE is_latest AND series = '*' AND {run_conditions.of(reader, run_ids)}"
    )
    return {(run_id, detector): (input_hash, parameters) for run_id, detector, input_hash, parameters in found}


def without_verdict(reader: Reader, run_ids: Iterable[str], *, detector: str, omega: float) -> set[str]:
    """Runs with a latest measurement by the detector that has no verdict at ω yet."""
    of_runs = run_conditions.of(reader, run_ids, "measured.run_no")
    found = reader.rows(  # a join looks at these runs' verdicts, NOT IN at all there are
        "SELECT DISTINCT measured.run_id FROM core.distances AS measured "
        "LEFT JOIN core.verdicts AS given "
        "ON given.distance_id = measured.distance_id AND given.run_no = measured.run_no AND given.omega = ? "
        f"WHERE measured.is_latest AND measured.detector = ? AND {of_runs} AND given.distance_id IS NULL",
        [omega, detector],
    )
    return {run_id for (run_id,) in found}


def alarms(reader: Reader, run_ids: Iterable[str]) -> dict[tuple[str, str], float]:
    """(run_id, series) → distance of those that are anomalous by their current verdict."""
    found = reader.rows(
        "SELECT run_id, series, distance FROM marts.verdicts "
        f"WHERE is_current AND is_anomalous AND series <> '*' AND {run_conditions.of(reader, run_ids)}"
    )
    return {(run_id, series): distance for run_id, series, distance in found}


def localised(reader: Reader, run_ids: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """run_id -> series -> hash of what its windows were found from."""
    found: dict[str, dict[str, str | None]] = {}
    for run_id, series, input_hash in reader.rows(
        f"SELECT run_id, series, input_hash FROM core.profiles WHERE {run_conditions.of(reader, run_ids)}"
    ):
        found.setdefault(run_id, {})[series] = input_hash
    return found


def explained_from(reader: Reader, run_ids: Iterable[str]) -> dict[str, str]:
    """run_id -> mark of all that its causes are found from; of runs with an anomalous series."""
    of_runs = run_conditions.of(reader, run_ids)
    return dict(reader.rows(f"SELECT run_id, inputs_mark FROM marts.causes_from WHERE {of_runs}"))


def explained(reader: Reader, run_ids: Iterable[str]) -> dict[str, str]:
    """run_id -> hash of what its causes were found from."""
    of_runs = run_conditions.of(reader, run_ids)
    return dict(reader.rows(f"SELECT run_id, input_hash FROM core.cause_runs WHERE {of_runs}"))
