"""On which screens the app's threads ran, and which share of what the app took there was theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from perfreg_assets.methods.thread_times import REST, RUNNING
from perfreg_assets.methods.window_causes import Recorded
from perfreg_assets.warehouse import recorded, runs, thread_times
from perfreg_assets.warehouse.connection import Reader

_BLOCK_RUNS = 32  # of which all threads by second are in memory at once


def thread_impact(reader: Reader, app: str | None, version_name: str | None) -> list[dict[str, Any]]:
    """Threads on the screens of a version's runs, over its runs together; default: the newest version of each app.

    Returns:
        rows with `app`, `version_name`, `method` (the thread, with `#` for numbers), `service` (the screen, empty where
        the path does not tell), `self_share` (of what the app's threads ran there; mean over the runs in which the app
        ran there, 0 for one in which this thread did not), `self_ms` (of all runs) and `run_ids` of the runs that it
        ran in; threads that are not told apart are in the shares alone.
    """
    found = []
    for (one_app, version), run_ids in runs.of_newest_versions(
        reader, thread_times.THREAD_TIMES.name, app, version_name
    ).items():
        found += [{"app": one_app, "version_name": version, **row} for row in _rows(_loaded(reader, run_ids))]
    return found


def _loaded(reader: Reader, run_ids: Sequence[str]) -> Iterable[tuple[str, Recorded]]:
    rest = iter(run_ids)
    while block := list(islice(rest, _BLOCK_RUNS)):
        yield from recorded.load(reader, block).items()


def _rows(loaded: Iterable[tuple[str, Recorded]]) -> list[dict[str, Any]]:
    shown: dict[str, int] = defaultdict(int)
    shares: dict[tuple[str, str], float] = defaultdict(float)
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    ids: dict[tuple[str, str], list[str]] = defaultdict(list)
    for run_id, run in loaded:
        for screen, threads in _by_screen(run).items():
            of_app = sum(threads.values())
            shown[screen] += of_app > 0
            for thread, took in threads.items():
                if thread != REST and took > 0:
                    shares[screen, thread] += took / of_app
                    seconds[screen, thread] += took
                    ids[screen, thread].append(run_id)
    return [
        {
            "method": thread,
            "service": screen,
            "self_share": shares[screen, thread] / shown[screen],
            "children_share": 0.0,
            "calls": None,
            "self_ms": 1000 * seconds[screen, thread],
            "children_ms": 0.0,
            "mean_ms": None,
            "max_ms": None,
            "run_ids": sorted(ids[screen, thread]),
        }
        for screen, thread in sorted(shares)
    ]


def _by_screen(run: Recorded) -> Mapping[str, Mapping[str, float]]:
    """Screen → thread → core seconds that it ran there, of the app's threads."""
    if run.times is None:
        return {}
    times, found = run.times, dict[str, dict[str, float]]()
    wanted = np.flatnonzero(times.is_app & times.of_state(RUNNING))
    for screen in np.unique(run.screens):
        took = times.seconds[np.ix_(wanted, run.screens == screen)].sum(axis=1)
        threads = found.setdefault(str(screen), {})
        for entity, own in zip(wanted.tolist(), took.tolist(), strict=True):
            threads[times.thread[entity]] = threads.get(times.thread[entity], 0.0) + own
    return found
