"""From cases to the rows of public format 2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from perfreg_assets import detection
from perfreg_assets.evaluation.cases import Case
from perfreg_assets.evaluation.metrics import Labelled, ranking_figures, verdict_figures
from perfreg_assets.methods.calibration import level_of_omega, omega_of_level
from perfreg_assets.methods.omega_rule import critical_omega, is_anomalous
from perfreg_assets.run import RUN_LEVEL

ALL = "all"
CORRECTIONS: dict[detection.RunRule, str] = {
    "sidak": "Šidák over the judged series of a run",
    "any": "none: any series",
}
LARGE = 1e9  # in place of an infinite score


def table_rows(
    cases: Sequence[Case], detector: str, *, omegas: Sequence[float], levels: Sequence[float], seed: int
) -> list[dict[str, Any]]:
    """Figures per knob (ω, or nominal level), series kind, anomaly kind and severity; run level as series '*'.

    Rows of one anomaly kind or severity hold its cases and all normal ones.
    """
    has_levels = detection.definition_of(detector).scale == "score"
    knobs: list[tuple[float | None, float | None, float]] = [
        (omega, level_of_omega(omega) if has_levels else None, omega) for omega in omegas
    ]
    if has_levels:
        knobs += [(None, level, omega_of_level(level)) for level in levels]
    series_cases = [case for case in cases if case.series != RUN_LEVEL]
    run_cases = [case for case in cases if case.series == RUN_LEVEL]
    groups = [
        *_groups(ALL, series_cases),
        *(
            group
            for series in sorted({case.series for case in series_cases})
            for group in _groups(series, [case for case in series_cases if case.series == series])
        ),
        *_groups(RUN_LEVEL, run_cases),
    ]
    correction = CORRECTIONS[detection.definition_of(detector).run_rule]
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for index, (series, kind, severity, some) in enumerate(groups):
        labelled = _labelled(some)
        # The ranking is the same at every knob.
        ranking = ranking_figures(labelled, seed=seed, with_interval=kind == severity == ALL)
        for knob, (omega, level, effective) in enumerate(knobs):
            alarm = np.array([is_anomalous(case.score, effective) for case in some], dtype=bool)
            found = verdict_figures(labelled, alarm, seed=seed)
            rows[knob, index] = {
                "detector": detector,
                "omega": omega,
                "level": level,
                "series": series,
                "anomaly_kind": kind,
                "severity": severity,
                "cases": len(some),
                **found,
                **ranking,
                "intervals": {**found["intervals"], **ranking.get("intervals", {})},
                **({"correction": correction} if series == RUN_LEVEL else {}),
            }
    return [rows[place] for place in sorted(rows)]


def _groups(series: str, cases: Sequence[Case]) -> list[tuple[str, str, str, list[Case]]]:
    groups = [(series, ALL, ALL, list(cases))]
    normal = [case for case in cases if not case.is_anomalous]
    positive = [case for case in cases if case.is_anomalous]
    kinds = _names(case.anomaly_kind for case in positive)
    groups += [(series, kind, ALL, normal + [case for case in positive if case.anomaly_kind == kind]) for kind in kinds]
    severities = _names(case.severity for case in positive)
    groups += [(series, ALL, one, normal + [case for case in positive if case.severity == one]) for one in severities]
    for kind in kinds if len(kinds) > 1 else []:
        mine = [case for case in positive if case.anomaly_kind == kind]
        groups += [
            (series, kind, one, normal + [case for case in mine if case.severity == one])
            for one in _names(case.severity for case in mine)
        ]
    return groups


def _names(values: Iterable[str | None]) -> list[str]:
    return sorted({value for value in values if value is not None})


def _labelled(cases: Sequence[Case]) -> Labelled:
    """The cases as arrays, ranked by the ω up to which each is an alarm."""
    codes: dict[tuple[str, str], int] = {}
    group = [codes.setdefault((case.app, case.run_id), len(codes)) for case in cases]
    return Labelled(
        group=np.array(group, dtype=np.int64),
        is_anomalous=np.array([case.is_anomalous for case in cases], dtype=bool),
        score=np.clip(np.array([critical_omega(case.score) for case in cases], dtype=np.float64), -LARGE, LARGE),
    )
