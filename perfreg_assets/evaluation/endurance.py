"""`--protocol endurance`: what reduction keeps and what it misses, on simulated streams and on recorded sessions.

Streams have two truths. The seed's (Emteu Tchagou et al. 2015): a window counts as anomalous where frames are late and
that between the mean delays Δs and Δe after a perturbation's begin and end; its begin, while the buffer still plays,
counts as normal. The whole perturbation: from its begin to its end; late windows behind it count neither way.

Of sessions, some normal ones are the reference and all others are judged, one behind the other; a second is injected
where truth.json says so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from perfreg_assets.evaluation.cases import Progress
from perfreg_assets.evaluation.endurance_stream import WINDOW_S, WINDOWS_PER_S, Stream, simulate
from perfreg_assets.evaluation.recorded_causes import NORMAL, TRUTH
from perfreg_assets.methods import reduction
from perfreg_assets.methods.app_load import limits_of
from perfreg_assets.methods.reduction import MODES, Judge, Mode, learn
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.terminal import console_on
from perfreg_assets.traces import event_types
from perfreg_assets.traces.event_types import EventType, Survey

STREAMS = "streams"
"""In place of a data set: simulated streams."""
KINDS = {"every 3 min": (2000, 180), "every 30 min": (3900, 1800), "every 60 min": (7500, 3600)}
"""Name → seconds of the stream, and of the period at whose end 20 s are perturbed."""
LENGTH_S = 20
_CLEAN_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_ALPHAS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)

Bools = NDArray[np.bool_]
_CLEAN = "(clean)"
_DEFAULT, _LOAD = "default", "load"


def evaluate(
    dataset: Path, *, settings: Settings, history: int, repeats: int, seed: int, progress: Progress | None = None
) -> dict[str, Any]:
    """Of simulated streams (`streams`), or of a folder of recorded runs with truth.json.

    Returns:
        JSON types only: dataset, protocol, repeats, history, seed, seconds, rows, curve (of streams precision and
        recall by share of the calibrated threshold, of sessions what is kept of injected and clean seconds by the same
        share, and the share of injected windows above the threshold that takes a share of the clean ones),
        localisation (empty).

    Raises:
        Rejected: the data set is not usable.
    """
    begin = time.perf_counter()
    told: dict[str, Any] = {"dataset": dataset.name, "protocol": "endurance", "repeats": repeats, "history": history}
    told["seed"] = seed
    if str(dataset) == STREAMS:
        told["rows"], told["curve"] = evaluate_streams(range(seed, seed + repeats), progress)
    else:
        told["rows"], told["curve"] = evaluate_sessions(dataset, settings, history, repeats, seed, progress)
    told["localisation"] = []
    told["seconds"] = round(time.perf_counter() - begin, 3)
    return told


@dataclass(frozen=True)
class Judged:
    """A stream judged in a mode.

    Attributes:
        flagged: (n,) anomalous, by the votes where the mode has them. is_kept: (n,) with the rim.
    """

    stream: Stream
    score: NDArray[np.float64]
    alpha: float
    theta: float
    kl: NDArray[np.float64]
    flagged: Bools
    is_kept: Bools


def judge_stream(stream: Stream, mode: Mode, *, rim_s: float = 1.0, gap_s: float = 2.0) -> Judged:
    """Learns from the stream's reference and judges the rest."""
    reference = learn(stream.reference, mode)
    found = Judge(reference, rim_windows=round(rim_s * WINDOWS_PER_S)).judge(stream.counts, scores_all=True)
    flagged = found.is_anomalous
    if mode.has_votes:
        above = reduction.excess_of(found.score, reference.alpha, found.is_silent)
        flagged = reduction.voted(flagged, above, found.is_silent)
    kept = kept_windows(flagged, WINDOW_S, rim_s, gap_s)
    return Judged(stream, found.score, reference.alpha, reference.theta, found.kl, flagged, kept)


def kept_windows(flagged: Bools, window_s: float, rim_s: float, gap_s: float) -> Bools:
    """(n,) Windows that are kept whole or in part."""
    width = round(window_s * 1e9)
    spans = [(number * width, (number + 1) * width) for number in np.flatnonzero(flagged).tolist()]
    within = (0, len(flagged) * width)
    kept = np.zeros(len(flagged), np.bool_)
    for start, end in reduction.kept_stretches(
        spans, rim_ns=round(rim_s * 1e9), gap_ns=round(gap_s * 1e9), within=within
    ):
        kept[start // width : -(-end // width)] = True
    return kept


def seed_truth(stream: Stream) -> Bools:
    """(n,) Late windows between the mean delays after begin and end of each perturbation."""
    edges = np.diff(np.concatenate([[0], stream.is_perturbed.astype(np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    late = np.flatnonzero(stream.late_count)
    firsts, lasts = [], []
    for start, end, following in zip(starts, ends, [*starts[1:], len(stream.counts)], strict=True):
        own = late[(late >= start) & (late < following)]
        if len(own):
            firsts.append(int(own[0]) - start)
            lasts.append(int(own[-1]) + 1 - end)
    truth = np.zeros(len(stream.counts), np.bool_)
    for start, end in zip(starts, ends, strict=True):
        if firsts:
            truth[start + round(np.mean(firsts)) : end + round(np.mean(lasts))] = True
    return truth & (stream.late_count > 0)


def whole_truth(stream: Stream) -> tuple[Bools, Bools]:
    """(n,) perturbed windows, and those that count: late ones behind a perturbation do not."""
    return stream.is_perturbed, stream.is_perturbed | (stream.late_count == 0)


def precision_recall(flagged: Bools, truth: Bools) -> tuple[float, float]:
    """Of windows (n,); 0 where nothing is flagged or true."""
    hits = int((flagged & truth).sum())
    return hits / max(1, int(flagged.sum())), hits / max(1, int(truth.sum()))


def row_of(name: str, judged: Sequence[Judged], mode: Mode) -> dict[str, Any]:
    """The figures of all streams of a kind together, in their volume and windows."""
    flagged = np.concatenate([one.flagged for one in judged])
    kept = np.concatenate([one.is_kept for one in judged])
    perturbed = np.concatenate([one.stream.is_perturbed for one in judged])
    counted = np.concatenate([whole_truth(one.stream)[1] for one in judged])
    volume = np.concatenate([one.stream.counts.sum(axis=1) for one in judged])
    by_seed = precision_recall(flagged, np.concatenate([seed_truth(one.stream) for one in judged]))
    whole = precision_recall(flagged[counted], perturbed[counted])
    share, kept_volume = volume[perturbed].sum() / volume.sum(), volume[kept].sum() / volume.sum()
    every, found = _found(judged)
    return {
        "stream": name,
        "mode": mode.name,
        "seed_precision": by_seed[0],
        "seed_recall": by_seed[1],
        "precision": whole[0],
        "recall": whole[1],
        "clean_kept": float((flagged & counted & ~perturbed).sum() / (counted & ~perturbed).sum()),
        "perturbations": every,
        "found": found,
        "anomalous_volume": float(share),
        "kept_volume": float(kept_volume),
        "wanted_volume": float(1.15 * share + 0.005),
        "reduction": float(1 / kept_volume) if kept_volume else None,
    }


def _found(judged: Sequence[Judged]) -> tuple[int, int]:
    every = found = 0
    for one in judged:
        edges = np.diff(np.concatenate([[0], one.stream.is_perturbed.astype(np.int8), [0]]))
        for start, end in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
            every += 1
            found += bool(one.flagged[start:end].any())
    return every, found


def evaluate_streams(
    seeds: Sequence[int], progress: Progress | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of each kind of stream and mode, and precision and recall over the threshold."""
    rows, curve = [], []
    for number, (name, (seconds, period_s)) in enumerate(KINDS.items()):
        judged: dict[str, list[Judged]] = {mode: [] for mode in MODES}
        for place, seed in enumerate(seeds):
            if progress is not None:
                progress(number * len(seeds) + place, len(KINDS) * len(seeds), f"{name}, seed {seed}")
            stream = simulate(seed, seconds=seconds, period_s=period_s, length_s=LENGTH_S)
            for mode in MODES.values():
                judged[mode.name].append(judge_stream(stream, mode))
        for mode in MODES.values():
            rows.append(row_of(name, judged[mode.name], mode))
            curve += [_point(name, mode, judged[mode.name], factor) for factor in _ALPHAS]
    return rows, curve


def _point(name: str, mode: Mode, judged: Sequence[Judged], factor: float) -> dict[str, Any]:
    """At the threshold times a factor, without votes and rim."""
    flagged = np.concatenate([(one.kl > one.theta) & (one.score >= factor * one.alpha) for one in judged])
    perturbed = np.concatenate([one.stream.is_perturbed for one in judged])
    counted = np.concatenate([whole_truth(one.stream)[1] for one in judged])
    by_seed = precision_recall(flagged, np.concatenate([seed_truth(one.stream) for one in judged]))
    whole = precision_recall(flagged[counted], perturbed[counted])
    told = {"stream": name, "mode": mode.name, "alpha_factor": factor, "precision": whole[0], "recall": whole[1]}
    return {**told, "seed_precision": by_seed[0], "seed_recall": by_seed[1]}


@dataclass(frozen=True)
class Session:
    """A recorded run: its trace, when it was explored, and when something was injected, on the trace's clock."""

    path: Path
    app: str
    label: str
    span: tuple[int, int]
    intervals: tuple[tuple[int, int], ...]
    survey: Survey
    totals: Mapping[EventType, int]


def read_sessions(folder: Path, settings: Settings, progress: Progress | None = None) -> list[Session]:
    """
    Raises:
        Rejected: DATASET_UNREADABLE, DATASET_INVALID; TRACE_… of a trace.
    """
    try:
        truth = json.loads((folder / TRUTH).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Rejected(Reason.DATASET_UNREADABLE, f"{folder / TRUTH} ({error})") from error
    sessions = []
    found = sorted(path.parent for path in folder.glob("*/run.json"))
    for number, one in enumerate(found):
        if progress is not None:
            progress(number, len(found), one.name)
        run = json.loads((one / "run.json").read_text("utf-8-sig"))
        told = truth.get(run.get("run_id", one.name))
        if told is None:
            raise Rejected(Reason.DATASET_INVALID, f"{folder / TRUTH} does not know {run.get('run_id', one.name)}")
        path, limit = one / run["trace"], settings.trace_max_bytes
        surveyed = event_types.survey(path, limit)
        exploration = run["exploration"]["start_ns"], run["exploration"]["end_ns"]
        intervals = tuple((part["t0_ns"], part["t1_ns"]) for part in told["intervals"])
        totals = event_types.type_totals(path, limit, surveyed, exploration[1] - surveyed.start_ns)
        sessions.append(Session(path, run["app"], told["label"], exploration, intervals, surveyed, totals))
    return sessions


def evaluate_sessions(
    folder: Path, settings: Settings, history: int, repeats: int, seed: int, progress: Progress | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of each label and mode, and of all: seconds injected and clean, and the share of each that is kept; and what
    any threshold would give.

    Raises:
        Rejected: as `read_sessions`; DATASET_TOO_SMALL.
    """
    sessions = read_sessions(folder, settings, progress)
    normal = [number for number, one in enumerate(sessions) if one.label == NORMAL]
    if len(normal) <= history:
        raise Rejected(Reason.DATASET_TOO_SMALL, f"{len(normal)} normal runs, {history} are the reference")
    rng = np.random.default_rng(seed)
    sums: dict[tuple[str, str, float], NDArray[np.float64]] = {}
    scores: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    for repeat in range(repeats):
        if progress is not None:
            progress(repeat, repeats, "references")
        chosen = set(rng.choice(normal, history, replace=False).tolist())
        for key, values in _judged_sessions(sessions, chosen, settings, scores).items():
            sums[key] = sums.get(key, np.zeros(4)) + values
    rows, by_threshold = [], []
    for (label, mode, factor), (injected, injected_kept, clean, clean_kept) in sorted(sums.items()):
        shares = {
            "injected_kept": injected_kept / injected if injected else None,
            "clean_kept": clean_kept / clean if clean else None,
        }
        if label == "all":
            by_threshold.append({"label": label, "mode": mode, "alpha_factor": factor, **shares})
        if factor != 1.0:
            continue
        rows.append(
            {
                "label": label,
                "mode": mode,
                "injected_s": round(injected / repeats, 1),
                "injected_kept": shares["injected_kept"],
                "clean_s": round(clean / repeats, 1),
                "clean_kept": shares["clean_kept"],
            }
        )
    return rows, [*by_threshold, *_session_curve(scores)]


def _session_curve(scores: Mapping[tuple[str, str], Sequence[NDArray[np.float64]]]) -> list[dict[str, Any]]:
    """Of each label and mode: the share of injected windows whose score is above that of all but a share of the clean
    windows of all runs, and the chance that an injected window's score is above a clean one's."""
    found = []
    for (label, mode), parts in sorted(scores.items()):
        if label == _CLEAN:
            continue
        clean, injected = np.sort(np.concatenate(scores[_CLEAN, mode])), np.concatenate(parts)
        places = np.searchsorted(clean, injected, "left") + np.searchsorted(clean, injected, "right")
        row = {"label": label, "mode": mode, "windows": len(injected), "auc": float(places.mean() / 2 / len(clean))}
        for share in _CLEAN_SHARES:
            row[f"at_{share:g}"] = float((injected > np.quantile(clean, 1 - share)).mean())
        found.append(row)
    return found


def _judged_sessions(
    sessions: Sequence[Session],
    chosen: set[int],
    settings: Settings,
    scores: dict[tuple[str, str], list[NDArray[np.float64]]],
) -> dict[tuple[str, str, float], NDArray[np.float64]]:
    """(label, mode, threshold in parts of the calibrated one) → seconds injected, of them kept, clean, of them
    kept. To `scores` is added, of each mode, those of injected windows by label and of clean ones."""
    width_s = settings.reduction_window_s
    totals: dict[EventType, int] = {}
    for number in chosen:
        for kind, count in sessions[number].totals.items():
            totals[kind] = totals.get(kind, 0) + count
    types = event_types.most_frequent(totals)
    limit = settings.trace_max_bytes
    whole = [
        event_types.count_events(one.path, limit, one.survey, types, round(width_s * 1e9), seen=totals)
        for one in sessions
    ]
    windows = [every.within(one.span) for one, every in zip(sessions, whole, strict=True)]
    reference = np.concatenate([windows[number].counts for number in sorted(chosen)]).astype(np.float64)
    limits = {
        app: limits_of(app, [whole[one].load(app, sessions[one].span) for one in sorted(chosen)])
        for app in sorted({sessions[number].app for number in chosen})
    }
    sums: dict[tuple[str, str, float], NDArray[np.float64]] = {}
    for mode in MODES.values():
        judge = Judge(learn(reference, mode), rim_windows=round(settings.reduction_rim_s / width_s))
        for number, (one, own) in enumerate(zip(sessions, windows, strict=True)):
            if number in chosen:
                continue
            judgement = judge.judge(own.counts.astype(np.float64), scores_all=True)
            alpha, theta = judge.reference.alpha, judge.reference.theta
            score = np.nan_to_num(judgement.score, nan=0.0)  # no event at all
            excess = own.load_excess(limits.get(one.app) if mode.has_load else None, one.span)
            is_foreign = reduction.foreign(own.strange, own.counts.sum(axis=1, dtype=np.int64))
            starts = own.starts_ns()
            injected = np.zeros(len(score), np.bool_)
            for begin, end in one.intervals:
                injected |= (starts < end) & (starts + own.window_ns > begin)
            told = {mode.name: score, **({_LOAD: excess} if mode.name == _DEFAULT else {})}
            for name, values in told.items():
                scores.setdefault((_CLEAN, name), []).append(values[~injected])
                for label in (one.label, "all") if injected.any() else ():
                    scores.setdefault((label, name), []).append(values[injected])
            for factor in _ALPHAS:
                found = judgement.is_anomalous
                if factor != 1.0:
                    found = (judgement.kl > theta) & (score >= factor * alpha) | judgement.is_silent
                above = reduction.excess_of(score, factor * alpha, judgement.is_silent)
                flagged = reduction.voted(found, above, judgement.is_silent) | is_foreign if mode.has_votes else found
                kept = kept_windows(
                    flagged | (excess > factor), width_s, settings.reduction_rim_s, settings.reduction_gap_s
                )
                parts = [injected.sum(), (injected & kept).sum(), (~injected).sum(), (~injected & kept).sum()]
                for label in (one.label, "all"):
                    key = label, mode.name, factor
                    sums[key] = sums.get(key, np.zeros(4)) + np.array(parts) * width_s
    return sums


def print_report(result: Mapping[str, Any], file: IO[str] | None = None) -> None:
    """The tables for a terminal."""
    console = console_on(file, 150 if file else None)
    console.print(_table("What is kept", result["rows"]))
    if result["curve"]:
        shares = [row for row in result["curve"] if "auc" in row]
        points = [row for row in result["curve"] if "auc" not in row]
        rim = "with" if shares else "without"
        console.print(_table(f"By threshold, in parts of the calibrated one, {rim} votes and rim", points))
        if shares:
            title = "Share of injected windows above the threshold that takes a share of the clean ones"
            console.print(_table(title, shares))


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in rows[0] if rows else ():
        table.add_column(name.replace("_", " "))
    for row in rows:
        table.add_row(
            *("–" if one is None else f"{one:.4g}" if isinstance(one, float) else str(one) for one in row.values())
        )
    return table
