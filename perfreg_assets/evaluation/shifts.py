"""`--protocol shifts`: what becomes of the false-alarm level where normal runs are not what a textbook's noise is."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from rich.table import Table

from perfreg_assets import detection
from perfreg_assets.evaluation.cases import Progress
from perfreg_assets.evaluation.metrics import rate_interval
from perfreg_assets.evaluation.peers import PEERS
from perfreg_assets.evaluation.recalibrating import NULLS, recalibrate
from perfreg_assets.evaluation.shift_judging import JudgedRun, ScoredVersion, judge_runs, score_versions
from perfreg_assets.evaluation.shift_streams import FAMILIES, SHIFTS, Shift, stream
from perfreg_assets.methods.calibration import omega_of_level
from perfreg_assets.methods.detectors import make_detector
from perfreg_assets.methods.omega_rule import critical_omega, is_anomalous
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.terminal import console_on

LEVELS = (0.05, 0.10)
NOISES = (1.0, 2.0)
YARDSTICK = "default"
ENOUGH_PAST = 30
PASTS = {"all": (0, None), f"< {ENOUGH_PAST}": (0, ENOUGH_PAST), f">= {ENOUGH_PAST}": (ENOUGH_PAST, None)}
CURVE = (0, 4, 16, 30, 44)
"""Fewest earlier runs of each point of a curve; each ends where the next one begins."""
APPS_SHARE = 3
ALL_PEERS = "peers"


def evaluate(
    dataset: Path,
    *,
    settings: Settings,
    history: int,
    repeats: int,
    seed: int,
    detectors: Sequence[str] | None = None,
    shifts: Sequence[Shift] = SHIFTS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """False alarms and recall of whole runs per shift, by how many runs the app's past has.

    Args:
        dataset: a family of apps: developers (constants are chosen by it) or held-out.
        repeats: thirds of apps: 30 are ten apps per shift and noise.
        history: not looked at: each shift has its own.
        detectors: registered ones, ways of recalibrating (`recalibrating.NULLS`), `peers` for all of them; none:
            the yardstick.
        shifts: the rows of the table.

    Returns:
        JSON types only: dataset, protocol, repeats, seed, seconds and `rows`, each {shift, noise, detector, past,
        level, false_positive_rate, false_positive_interval, normal_runs, recall, recall_interval, anomalous_runs,
        default_recall}. The last one is what detector `default` finds with its threshold moved to the same measured
        rate of false alarms. `curve`: {shift, noise, detector, past_from, level, false_positive_rate, normal_runs}.

    Raises:
        Rejected: DATASET_INVALID, there is no such family.
        ValueError: a detector is not known.
    """
    begin = time.perf_counter()
    family = dataset.name
    if family not in FAMILIES:
        raise Rejected(Reason.DATASET_INVALID, f"{family}: protocol shifts takes {' or '.join(FAMILIES)}")
    asked = tuple(detectors or (YARDSTICK,))
    names = tuple(dict.fromkeys(one for name in asked for one in (PEERS if name == ALL_PEERS else (name,))))
    apps = max(1, round(repeats / APPS_SHARE))
    cells = [(shift, noise) for shift in shifts for noise in NOISES]
    rows: list[dict[str, Any]] = []
    curve: list[dict[str, Any]] = []
    for place, (shift, noise) in enumerate(cells):
        if progress:
            progress(place, len(cells), f"{shift.name}, noise {noise:g}")
        judged = _judged(family, shift, noise, seed, apps, names, settings)
        for name in names:
            told = {"shift": shift.name, "noise": noise, "detector": name}
            rows += _rows(judged[name], judged[YARDSTICK], told, seed)
            curve += _curve(judged[name], told)
    return {
        "dataset": family,
        "protocol": "shifts",
        "repeats": repeats,
        "seed": seed,
        "seconds": round(time.perf_counter() - begin, 3),
        "rows": rows,
        "curve": curve,
    }


def _judged(
    family: str, shift: Shift, noise: float, seed: int, apps: int, names: Sequence[str], settings: Settings
) -> dict[str, list[JudgedRun]]:
    """Detector → all runs of all apps, the yardstick's among them."""
    found: dict[str, list[JudgedRun]] = defaultdict(list)
    for app in range(apps):
        steps = list(stream(family, shift, noise=noise, seed=seed, number=app))
        scored: dict[str, list[ScoredVersion]] = {}
        for name in dict.fromkeys((YARDSTICK, *names)):
            if name in PEERS:
                versions, rule = score_versions(steps, PEERS[name]), PEERS[name].run_rule
            elif name in NULLS:
                versions = recalibrate(scored[YARDSTICK], NULLS[name])
                rule = detection.definition_of(YARDSTICK).run_rule
            else:
                versions = score_versions(steps, make_detector(name, vars(settings)))
                rule = detection.definition_of(name).run_rule
            scored[name] = versions
            found[name] += judge_runs(versions, app, rule)
    return found


def _rows(
    judged: Sequence[JudgedRun], yardstick: Sequence[JudgedRun], told: dict[str, Any], seed: int
) -> list[dict[str, Any]]:
    rows = []
    for past, (least, most) in PASTS.items():
        chosen = [place for place, one in enumerate(judged) if least <= one.past and (most is None or one.past < most)]
        normal = [place for place in chosen if not judged[place].is_anomalous]
        worse = [place for place in chosen if judged[place].is_anomalous]
        for level in LEVELS:
            omega = omega_of_level(level)
            false, right = (
                np.array([is_anomalous(judged[place].score, omega) for place in places]) for places in (normal, worse)
            )
            apps = [np.array([judged[place].app for place in places]) for places in (normal, worse)]
            rows.append(
                {
                    **told,
                    "past": past,
                    "level": level,
                    "false_positive_rate": float(false.mean()),
                    "false_positive_interval": rate_interval(apps[0], false, seed=seed),
                    "normal_runs": len(normal),
                    "recall": float(right.mean()),
                    "recall_interval": rate_interval(apps[1], right, seed=seed),
                    "anomalous_runs": len(worse),
                    "default_recall": recall_at(
                        [critical_omega(yardstick[place].score) for place in normal],
                        [critical_omega(yardstick[place].score) for place in worse],
                        float(false.mean()),
                    ),
                }
            )
    return rows


def _curve(judged: Sequence[JudgedRun], told: dict[str, Any]) -> list[dict[str, Any]]:
    """How the false alarms change while the app's past grows."""
    points = []
    for least, most in zip(CURVE, (*CURVE[1:], np.inf), strict=True):
        normal = [one.score for one in judged if not one.is_anomalous and least <= one.past < most]
        for level in LEVELS:
            alarms = [is_anomalous(score, omega_of_level(level)) for score in normal]
            rate = float(np.mean(alarms))
            told_here = {"past_from": least, "level": level, "false_positive_rate": rate, "normal_runs": len(normal)}
            points.append({**told, **told_here})
    return points


def recall_at(normal: Sequence[float], anomalous: Sequence[float], rate: float) -> float:
    """What is found with the threshold moved to where at most this share of the normal runs is above it.

    Args:
        normal, anomalous: how anomalous the runs look; any scale, larger is more.
    """
    allowed = int(rate * len(normal) + 1e-9)
    limit = sorted(normal, reverse=True)[allowed] if allowed < len(normal) else -np.inf
    return float((np.array(anomalous) > limit).mean())


def print_report(told: dict[str, Any], file: IO[str] | None = None) -> None:
    """A table per detector: false alarms (with 95 % intervals over apps) and recall of whole runs."""
    console = console_on(file, 132 if file else None)
    console.print(
        f"family {told['dataset']}, protocol {told['protocol']}, {told['repeats']} repeats, seed {told['seed']}, "
        f"{told['seconds']:.1f} s"
    )
    for detector in dict.fromkeys(row["detector"] for row in told["rows"]):
        table = Table(title=f"{detector}: false alarms and recall of runs", title_justify="left")
        for name in ("shift", "noise", "earlier runs"):
            table.add_column(name)
        for level in LEVELS:
            table.add_column(f"false alarms at {level:g}", justify="right")
        for level in LEVELS:
            table.add_column(f"recall at {level:g}", justify="right")
        table.add_column(f"{YARDSTICK}'s recall at as many", justify="right")
        cells: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in told["rows"]:
            if row["detector"] == detector:
                cells[row["shift"], row["noise"], row["past"]].append(row)
        for (shift, noise, past), rows in cells.items():
            table.add_row(
                *(shift, f"{noise:g}", past),
                *(_with_interval(row["false_positive_rate"], row["false_positive_interval"]) for row in rows),
                *(_with_interval(row["recall"], row["recall_interval"]) for row in rows),
                " / ".join(f"{row['default_recall']:.2f}" for row in rows),
            )
        console.print(table)
        console.print(_drawn_curve([point for point in told["curve"] if point["detector"] == detector], detector))


def _drawn_curve(points: Sequence[dict[str, Any]], detector: str) -> Table:
    levels = " / ".join(f"{level:g}" for level in LEVELS)
    table = Table(title=f"{detector}: false alarms at {levels} by earlier runs", title_justify="left")
    for name in ("shift", "noise", *(f"from {least}" for least in CURVE)):
        table.add_column(name, justify="left" if name in {"shift", "noise"} else "right")
    cells: dict[tuple[str, float], dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        rate = f"{point['false_positive_rate']:.3f}"
        cells[point["shift"], point["noise"]][point["past_from"]].append(rate)
    for (shift, noise), by_past in cells.items():
        table.add_row(shift, f"{noise:g}", *(" / ".join(by_past[least]) for least in CURVE))
    return table


def _with_interval(value: float, interval: Sequence[float]) -> str:
    return f"{value:.3f} ({interval[0]:.2f}–{interval[1]:.2f})"
