"""From cases to the rows of public format 2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from perfreg_assets.evaluation.cases import RUN_LEVEL, Case
from perfreg_assets.evaluation.metrics import Judged, figures
from perfreg_assets.methods.calibration import level_of_omega, omega_of_level
from perfreg_assets.methods.samples import Score

ALL = "all"
CALIBRATED = "default"  # the detector whose ω has a nominal level
CORRECTIONS = {"default": "Bonferroni over the series of a run", "iqr": "none: any series"}
LARGE = 1e9  # in place of an infinite score


def table_rows(
    cases: Sequence[Case], detector: str, *, omegas: Sequence[float], levels: Sequence[float], seed: int
) -> list[dict[str, Any]]:
    """Figures per knob (ω, or nominal level), series kind, anomaly kind and severity; run level as series '*'.

    Rows of one anomaly kind or severity hold its cases and all normal ones.
    """
    knobs: list[tuple[float | None, float | None, float]] = [
        (omega, level_of_omega(omega) if detector == CALIBRATED else None, omega) for omega in omegas
    ]
    if detector == CALIBRATED:
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
    return [
        _row(detector, knob, series, kind, severity, some, seed)
        for knob in knobs
        for series, kind, severity, some in groups
    ]


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


def _row(
    detector: str,
    knob: tuple[float | None, float | None, float],
    series: str,
    kind: str,
    severity: str,
    cases: Sequence[Case],
    seed: int,
) -> dict[str, Any]:
    omega, level, effective = knob
    is_total = kind == ALL and severity == ALL
    row: dict[str, Any] = {
        "detector": detector,
        "omega": omega,
        "level": level,
        "series": series,
        "anomaly_kind": kind,
        "severity": severity,
        "cases": len(cases),
        **figures(judged(cases, effective), seed=seed, with_ranking=is_total),
    }
    if series == RUN_LEVEL:
        row["correction"] = CORRECTIONS.get(detector, "")
    return row


def judged(cases: Sequence[Case], omega: float) -> Judged:
    """The cases as arrays, with their verdicts at ω."""
    codes: dict[tuple[str, str], int] = {}
    group = [codes.setdefault((case.app, case.run_id), len(codes)) for case in cases]
    return Judged(
        group=np.array(group, dtype=np.int64),
        is_anomalous=np.array([case.is_anomalous for case in cases], dtype=bool),
        alarm=np.array([case.score.is_anomalous(omega) for case in cases], dtype=bool),
        score=np.array([ranking(case.score) for case in cases], dtype=np.float64),
    )


def ranking(score: Score) -> float:
    """The ω up to which the case is an alarm: the order in which cases become alarms as ω falls."""
    if score.is_recheck_passed is False:
        return -LARGE
    spread, excess = score.q3 - score.q1, score.distance - score.q3
    if spread > 0:
        return float(np.clip(excess / spread, -LARGE, LARGE))
    return LARGE if excess > 0 else -LARGE


def false_alarm_rate(cases: Sequence[Case], omega: float) -> float | None:
    normal = [case for case in cases if not case.is_anomalous]
    return sum(case.score.is_anomalous(omega) for case in normal) / len(normal) if normal else None
