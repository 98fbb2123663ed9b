"""What causes cost when a trace is read: for every run its threads and slices, and for a flagged one a look at every
second. CPU seconds of this process and the engine together, as the wall's depend on who else is at work."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path

from cost import Meter
from measuring import Row, under

from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.settings import Settings
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.profile_choice import Profiles
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.slice_uses import slice_uses
from perfreg_assets.traces.thread_times import thread_times
from perfreg_assets.traces.window_details import read_details

DATA = Path(__file__).parents[1] / "data" / "android-traces"
OF_DEVICES = {
    "emulator_api31_39s_chrome": "com.android.chrome",
    "pixel6a_api32_startup_warm": "androidx.benchmark.integration.macrobenchmark.target",
}
MOST_S = 0.2
SECOND = 10**9


def rows(quick: bool = False) -> list[Row]:
    run = sorted(demo_runs_dir().iterdir())[0]
    document = json.loads((run / "run.json").read_text())
    traces = {f"bundled run of {run.name}": (run / document["trace"], document["app"])}
    if not quick:
        traces |= {name: (DATA / f"{name}.perfetto-trace.gz", app) for name, app in OF_DEVICES.items()}
    table = []
    for name, (path, app) in traces.items():
        threads, slices, look = _costs(path, app, 3 if quick else 5)
        table.append(under("causes", f"{name}: threads, for every run (CPU-s)", threads, MOST_S))
        table.append(under("causes", f"{name}: slices by screen, for every run (CPU-s)", slices, MOST_S))
        table.append(Row("causes", f"{name}: a look at all its seconds, of a flagged run (CPU-s)", look))
    return table


def _costs(path: Path, app: str, rounds: int) -> tuple[float, ...]:
    """Medians of CPU s of thread times, slice uses and details, of a trace that is loaded; each round loads it anew."""
    settings = Settings()
    taken: list[list[float]] = [[], [], []]
    with Engines(settings) as engines:
        for _ in range(rounds + 1):
            with open_trace(path, settings, engines) as session:
                contents = load_contents(session)
                first, last = contents.recorded_ns
                scope = Scope(session, contents, Grid.covering(first, last, 1.0), app, Profiles(), ())
                seconds = [(at, at + SECOND) for at in range(first, last, SECOND)]
                work: list[Callable[[], object]] = [
                    lambda scope=scope: thread_times(scope),
                    lambda scope=scope: slice_uses(scope, ()),
                    lambda session=session, seconds=seconds: read_details(session, app, seconds),
                ]
                for of, function in zip(taken, work, strict=True):
                    meter = Meter()
                    function()
                    of.append(meter.lap().cpu_s)
    return tuple(statistics.median(one[1:]) for one in taken)  # the first one fills caches
