"""How often the ranking names the thread that a load was injected into: recorded runs with a known truth.

A folder of run folders with a `truth.json` beside them: run id → `{"label": "normal" or what was injected, "injected":
[{"kind": "cpu", …}]}`. Load is injected into the main thread of the app's process. Each history is drawn at random from
the normal runs; every run with injected load is ranked in the surest window that the localiser flags, not in those that
are true. It counts as an alarm there: the product looks for windows, and so for causes, in alarms only. Normal runs
left over are ranked in random windows: whatever is listed there of the app is wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.evaluation.cases import Progress
from perfreg_assets.methods.localisation import Localiser
from perfreg_assets.methods.samples import Sample
from perfreg_assets.methods.screens import screens_by_second
from perfreg_assets.methods.thread_times import RUNNING, SECOND_NS, entity_name
from perfreg_assets.methods.window_causes import Cause, Ranking, Recorded, rank_load
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.contents import TraceContents, load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.thread_times import thread_times

TRUTH = "truth.json"
NORMAL = "normal"
CLEAN_WINDOW_S = 10
LIMITS = (1, 3, 5)


@dataclass(frozen=True)
class Session:
    """A recorded run.

    Attributes:
        main_threads: (process, thread), as entities are named.
        load: (seconds,) CPU time of the app.
    """

    run_id: str
    label: str
    has_load: bool
    recorded: Recorded
    main_threads: frozenset[tuple[str, str]]
    load: np.ndarray

    @property
    def start_ns(self) -> int:
        return self.recorded.times.start_ns if self.recorded.times is not None else 0


def read_sessions(folder: Path, settings: Settings, progress: Progress | None = None) -> list[Session]:
    """All runs of a folder, by run id.

    Raises:
        Rejected: DATASET_UNREADABLE, DATASET_INVALID; TRACE_… and ENGINE_… of a trace.
    """
    try:
        truth = json.loads((folder / TRUTH).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Rejected(Reason.DATASET_UNREADABLE, f"{folder / TRUTH} ({error})") from error
    found = sorted(path.parent for path in folder.glob("*/run.json"))
    sessions = []
    for number, one in enumerate(found):
        if progress is not None:
            progress(number, len(found), one.name)
        run = json.loads((one / "run.json").read_text("utf-8-sig"))
        told = truth.get(run.get("run_id", one.name))
        if told is None:
            raise Rejected(Reason.DATASET_INVALID, f"{folder / TRUTH} does not know {run.get('run_id', one.name)}")
        sessions.append(_session(one, run, told, settings))
    return sessions


def _session(folder: Path, run: Mapping[str, Any], told: Mapping[str, Any], settings: Settings) -> Session:
    app, exploration = run["app"], run["exploration"]
    with open_trace(folder / run["trace"], settings) as session:
        contents = load_contents(session)
        grid = Grid.covering(exploration["start_ns"], exploration["end_ns"], 1.0)
        times = thread_times(Scope(session, contents, grid, app))
    steps = sorted((one["ts_ns"], one.get("screen") or one["state_hash"]) for one in run.get("path", ()))
    screens = screens_by_second(steps, None, times.start_ns, times.seconds.shape[1])
    return Session(
        run_id=run.get("run_id", folder.name),
        label=told["label"],
        has_load=any(one["kind"] == "cpu" for one in told["injected"]),
        recorded=Recorded(times, screens, {}),
        main_threads=_main_threads(contents, app),
        load=times.seconds[times.of_state(RUNNING) & times.is_app].sum(axis=0),
    )


def _main_threads(contents: TraceContents, app: str) -> frozenset[tuple[str, str]]:
    """Of the processes that are named as the app itself."""
    pids = {
        upid: pid
        for upid, pid, name in zip(
            *(contents.processes[column].tolist() for column in ("upid", "pid", "name")), strict=True
        )
        if name == app and pid is not None
    }
    names = zip(*(contents.threads[column].tolist() for column in ("upid", "tid", "name")), strict=True)
    return frozenset(
        (entity_name(app), entity_name(name)) for upid, tid, name in names if upid in pids and pids[upid] == tid
    )


@dataclass(frozen=True)
class Named:
    """Where the injected thread stands in the surest flagged window of one run beside one history.

    `of_app`, `of_all`: its rank among the app's threads and among all, from 1; None without a window.
    """

    label: str
    of_app: int | None
    of_all: int | None


@dataclass(frozen=True)
class Result:
    """`clean`: (run, largest z of what was listed of the app; None: nothing) of each random window of a normal run."""

    named: tuple[Named, ...]
    clean: tuple[tuple[str, float | None], ...]


def evaluate_sessions(
    sessions: Sequence[Session],
    *,
    history: int,
    repeats: int,
    seed: int,
    minimum: int,
    progress: Progress | None = None,
) -> Result:
    """Ranks every run that is not in a drawn history.

    Args:
        history: runs drawn. repeats: histories drawn. minimum: fewest runs that say what is usual.

    Raises:
        Rejected: DATASET_TOO_SMALL.
    """
    normal = [one for one in sessions if one.label == NORMAL]
    if len(normal) <= history:
        raise Rejected(Reason.DATASET_TOO_SMALL, f"{len(normal)} normal runs, a history of {history} needs more")
    named: list[Named] = []
    clean: list[tuple[str, float | None]] = []
    for repeat in range(repeats):
        if progress is not None:
            progress(repeat, repeats, "histories")
        generator = np.random.default_rng([seed, repeat])
        chosen = {normal[place].run_id for place in generator.choice(len(normal), size=history, replace=False)}
        known = [one for one in normal if one.run_id in chosen]
        named += _named(known, [one for one in sessions if one.has_load], minimum)
        for one in normal:
            if one.run_id not in chosen:
                begin = int(generator.integers(0, max(len(one.load) - CLEAN_WINDOW_S, 1)))
                ranking = _rank(one, known, begin, begin + CLEAN_WINDOW_S, minimum)
                clean.append((one.run_id, max((cause.z or 0.0 for cause in ranking.listed), default=None)))
    return Result(tuple(named), tuple(clean))


def _named(known: Sequence[Session], targets: Sequence[Session], minimum: int) -> Iterator[Named]:
    localiser = Localiser([Sample(one.load, None) for one in known], series=definition_of("cpu_app"), interval_s=1.0)
    for one in targets:
        windows = localiser.find(Sample(one.load, None), alarm=math.inf).windows  # known to carry load
        if not windows:
            yield Named(one.label, None, None)
            continue
        surest = max(windows, key=lambda window: window.confidence)
        ranking = _rank(one, known, surest.start, surest.end, minimum)
        threads = [cause for cause in (*ranking.causes, *ranking.also_grew) if cause.kind == "thread"]
        yield Named(
            one.label,
            _place(one, [cause for cause in threads if cause.scope == "app"]),
            _place(one, sorted(threads, key=lambda cause: (-(cause.z or 0.0), -(cause.growth or 0.0)))),
        )


def _rank(one: Session, known: Sequence[Session], start_s: int, end_s: int, minimum: int) -> Ranking:
    return rank_load(
        one.start_ns + start_s * SECOND_NS,
        one.start_ns + end_s * SECOND_NS,
        one.recorded,
        [other.recorded for other in known],
        is_of_app=True,
        is_busy_time=True,
        minimum=minimum,
    )


def _place(one: Session, causes: Sequence[Cause]) -> int:
    places = (place for place, cause in enumerate(causes, 1) if (cause.process, cause.thread or "") in one.main_threads)
    return next(places, len(causes) + 1)


def rows_of(result: Result) -> list[dict[str, Any]]:
    """A row per label, and one of all: how often the injected thread is among the first of the app, and of all."""
    rows = []
    for label in ("all", *sorted({one.label for one in result.named})):
        some = [one for one in result.named if label in ("all", one.label)]
        found = [one for one in some if one.of_app is not None]
        shares = {
            f"top_{limit}_{scope}": _share([getattr(one, f"of_{scope}") <= limit for one in found])
            for scope in ("app", "all")
            for limit in LIMITS
        }
        rows.append({"label": label, "cases": len(some), "with_windows": len(found), **shares})
    return rows


CURVE = (3.0, 3.5, 4.0, 5.0, 7.0)


def clean_of(result: Result) -> dict[str, Any]:
    """How often something of the app is listed in random windows of normal runs: by the lowest z, and in which runs."""
    count = len(result.clean)
    found = [z for _, z in result.clean if z is not None]
    return {
        "windows": count,
        "listed_ratio": len(found) / count if count else 0.0,
        "curve": [
            {"z_minimum": limit, "listed_ratio": sum(z >= limit for z in found) / count if count else 0.0}
            for limit in CURVE
        ],
        "by_run": {
            run_id: sum(name == run_id for name, z in result.clean if z is not None)
            for run_id in sorted({name for name, z in result.clean if z is not None})
        },
    }


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None
