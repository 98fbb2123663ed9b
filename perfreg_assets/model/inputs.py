"""What each result depends on, as a hash: a result is fresh exactly when it was made from the hash that holds now."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence

from perfreg_assets.detection import DetectorDefinition, localisation_of
from perfreg_assets.methods.omega_rule import is_far
from perfreg_assets.model.comparisons import Comparison
from perfreg_assets.model.past_scores import PastScores
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import states
from perfreg_assets.warehouse.connection import Reader

TRACE_PARAMETERS = ("interval_s", "duration_tolerance_ratio", "nominal_voltage_v", "power_profile")
HISTORY_PARAMETERS = (
    *("history_size", "history_minimum", "path_similarity_minimum"),
    *("history_same_version", "history_excludes_anomalous"),
)
MEASURING_PARAMETERS = (*HISTORY_PARAMETERS, "interval_s", "judged_series")
LOCALISATION_PARAMETERS = (
    *("discord_window_s", "discord_quantile_low", "discord_quantile_high"),
    *("discord_skip_start_s", "discord_skip_end_s"),
)
_SAME_BY_ANY = {"barycenter_backend", "matrix_profile_backend"}  # backends are equal to 1e-9 (tested)


def trace_parameters(settings: Settings) -> str:
    """Hash of the settings that what is read of a trace depends on."""
    return settings.hash_of(*TRACE_PARAMETERS)


def history_hashes(reader: Reader, app: str, settings: Settings, run_ids: Collection[str]) -> dict[str, str]:
    """run_id → hash of all that decides the run's history: the rules, the run, and every earlier run of the app.

    A run that arrives late, a review or an exclusion changes the hashes of all later runs and of no earlier one.

    Args:
        run_ids: the runs of the app that are asked for.
    """
    facts = states.history_facts(reader, app, with_verdicts=settings.history_excludes_anomalous)
    rules = f"{settings.hash_of(*HISTORY_PARAMETERS)}|{code_version('methods')}"
    earlier = hashlib.sha256(rules.encode())
    hashes, begin = {}, 0
    texts = [f"{run_id}|{own}|{as_candidate}\0" for run_id, own, as_candidate in facts]
    for place in [place for place, fact in enumerate(facts) if fact[0] in run_ids]:
        earlier.update(_bytes("".join(texts[begin:place])))
        begin = place
        run_id, own, _ = facts[place]
        mine = earlier.copy()
        mine.update(_bytes(f"{run_id}|{own}"))
        hashes[run_id] = mine.hexdigest()
    return hashes


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def barycenter_id(one: Comparison, settings: Settings) -> str:
    """The key under which a history's average is stored."""
    parts = sorted(str(row.values_hash) for row in one.history)
    return _digest([*parts, settings.barycenter_iterations, code_version("methods")])


def measuring_parameters(detector: DetectorDefinition, settings: Settings) -> str:
    """Hash of the settings that a detector's measurements depend on; stored as `parameters_hash`."""
    return settings.hash_of(*MEASURING_PARAMETERS, *(set(detector.parameters) - _SAME_BY_ANY))


def own_parameters(detector: DetectorDefinition, settings: Settings) -> tuple[str, ...]:
    """Hash of the settings that are the detector's alone; () where it has none. What the others decide is told by what
    is compared."""
    own = set(detector.parameters) - _SAME_BY_ANY
    return (settings.hash_of(*own),) if own else ()


def measurement_hash(
    one: Comparison, detector: DetectorDefinition, family: Sequence[Comparison], own: tuple[str, ...]
) -> str:
    """Of one series' measurement: what is compared, the detector, and how many series are judged with it.

    Args:
        own: as `own_parameters` has them.
    """
    series_count = sum(other.is_scored for other in family)
    return _digest([detector.name, one.content_hash, series_count, code_version("methods"), *own])


def run_hash(
    detector: DetectorDefinition, family: Sequence[Comparison], settings: Settings, past: PastScores | None
) -> str:
    """Of the measurements of a whole run by one detector.

    Args:
        past: where the detector has an empirical null: scores of earlier runs.
    """
    parameters, own = measuring_parameters(detector, settings), own_parameters(detector, settings)
    judged = [one.series for one in family if one.has_course]
    known = past.hash_of(family[0].run_id, judged) if past is not None and judged else ""
    parts = [known] if known else []
    return _digest([parameters, *(measurement_hash(one, detector, family, own) for one in family), *parts])


def localisation_parameters(settings: Settings) -> str:
    """Hash of the way of localising in force and its settings."""
    mode = localisation_of(settings.localisation, settings.detector)
    return _digest([mode, settings.hash_of(*LOCALISATION_PARAMETERS)])[:16]


def windows_hash(one: Comparison, score: float, settings: Settings) -> str:
    """Of the windows of one series, whose verdict is an alarm with that score."""
    parts = [one.content_hash, is_far(score), localisation_parameters(settings), code_version("methods")]
    return _digest(parts)


def causes_hashes(marks: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """run_id → hash of all that its causes are found from, of runs with an anomalous series: what its windows
    were found from, what the run and its history did, and the rules.

    Args:
        marks: see `states.explained_from`.
    """
    rules = settings.hash_of("history_minimum")
    return {run_id: _digest([mark, rules, code_version("methods")]) for run_id, mark in sorted(marks.items())}


def _digest(parts: Iterable[object]) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()
