"""What the power series of a run cost beside those of the scheduler, of traces of three lengths. CPU seconds of this
process without the trace engine's, as the wall's depend on who else is at work."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from measuring import Row

from perfreg_assets.model.profile_shelf import installed
from perfreg_assets.settings import Settings
from perfreg_assets.traces.columns import Schema, Table
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import TraceSession, open_trace
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.power_series import power_series
from perfreg_assets.traces.profile_choice import Profiles
from perfreg_assets.traces.sched_series import sched_series
from perfreg_assets.traces.scope import Scope

DATA = Path(__file__).parents[1] / "data" / "android-traces"
TRACES = {
    "pixel7pro_60s_sched_rss_cpufreq_rails": "com.google.android.apps.nexuslauncher",
    "pixel6_api32_odpm_rails": "com.android.systemui",
    "pixel6a_api32_startup_warm": "androidx.benchmark.integration.macrobenchmark.target",
}
MOST = 2.0


def rows(quick: bool = False) -> list[Row]:
    table = []
    for name, app in TRACES.items():
        sched_s, power_s = _costs(DATA / f"{name}.perfetto-trace.gz", app, 5 if quick else 25)
        case = f"{name}: power series (CPU-s), {power_s / sched_s:.2f} x the scheduler's"
        table.append(
            Row("energy", case, power_s, "scheduler's series", sched_s, f"under {MOST:g} x", power_s < MOST * sched_s)
        )
    return table


def _costs(path: Path, app: str, rounds: int) -> tuple[float, float]:
    """Medians of CPU s of the scheduler's series without idle states, and of what power's, with them, cost more."""
    taken: list[list[float]] = [[], []]
    with open_trace(path, Settings()) as session:
        contents = load_contents(session)
        grid = Grid.covering(*contents.recorded_ns, 1.0)
        alone = cast(TraceSession, _WithoutIdleStates(session))
        for _ in range(rounds + 1):
            for of, asked, functions in (
                (taken[0], alone, (sched_series,)),
                (taken[1], session, (sched_series, power_series)),
            ):
                scope = Scope(asked, contents, grid, app, Profiles(of_devices=installed()))
                started = time.process_time()
                found = [function(scope) for function in functions]
                of.append(time.process_time() - started)
                assert all(one[0].values is not None for one in found), found
    sched_s, both_s = (statistics.median(one[1:]) for one in taken)  # the first one fills caches
    return sched_s, both_s - sched_s


@dataclass
class _WithoutIdleStates:
    """A trace whose cores' idle states are not asked for, as they are power's alone."""

    session: TraceSession

    def query(self, sql: str, schema: Schema) -> Table:
        return self.session.query(sql.replace("'cpufreq', 'cpuidle'", "'cpufreq'"), schema)
