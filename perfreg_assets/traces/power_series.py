"""What cores draw, from the states that a trace tells: mW per interval, and charges by component, thread and step.

Everything is made of the same times (`power_times`), so app + others + wake-ups are the total, and the series times
the interval are the charges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.power_profile import layout
from perfreg_assets.methods.power_states import SCOPES, StateTimes, levels
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.power_times import CoreStates, core_states, times_of
from perfreg_assets.traces.profile_choice import Chosen
from perfreg_assets.traces.scope import Scope

APP, TOTAL, CLUSTER = "power_cpu_app", "power_cpu_total", "power_cpu_cluster_<n>"


@dataclass(frozen=True)
class Drawn:
    """What the cores of a trace drew, or would if a profile were known.

    Attributes:
        device: code name by the trace; empty where it does not tell.
        bins, steps: of each segment of `times`, the interval of the grid and the step of the path that it is of.
        ma: (states, parts) by the profile; None without one, then `missing` says why.
    """

    device: str
    cores: CoreStates
    first_cores: tuple[int, ...]
    times: StateTimes
    bins: np.ndarray
    steps: np.ndarray
    chosen: Chosen | None
    ma: Floats | None
    missing: Rejected | None

    def charges(self) -> Floats:
        """mA·s (segments, states, scopes, parts).

        Raises:
            Rejected: PROFILE_…, where there is no profile.
        """
        if self.ma is None:
            assert self.missing is not None
            raise self.missing
        found: Floats = self.times.seconds() * self.ma[None, :, None, :]
        return found


def drawn(scope: Scope) -> Drawn | str:
    """What the cores drew, or which source the trace lacks.

    Raises:
        Rejected: ENGINE_…
    """
    known = core_states(scope)
    if isinstance(known, str):
        return known
    if not scope.grid.count:
        return "the run is shorter than an interval"
    device = scope.contents.code_name
    chosen, missing = None, None
    try:
        chosen = scope.profiles.choose(device, known)
    except Rejected as rejected:
        missing = rejected
    first_cores = (
        layout(chosen.profile, known.cores, known.seen_clusters)
        if chosen
        else scope.profiles.clusters_of(device, known)
    )
    assert first_cores is not None  # a profile that contradicts the trace is not chosen
    borders, bins, steps = _segments(scope)
    times = times_of(scope, known, first_cores, borders)
    ma = levels(chosen.profile, times.states) if chosen else None
    return Drawn(device, known, first_cores, times, bins, steps, chosen, ma, missing)


def _segments(scope: Scope) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Borders of intervals and of steps together (n + 1,); of each segment its interval and its step, -1 none (n,)."""
    grid = scope.grid
    until = np.array([ts for ts, _ in scope.screens if ts > grid.start_ns], np.int64)
    borders = np.unique(np.concatenate([grid.borders, until[until < grid.end_ns]]))
    begin = borders[:-1]
    ends = np.array([ts for ts, _ in scope.screens], np.int64)
    steps = np.searchsorted(ends, begin, side="right")
    steps[steps == len(ends)] = -1
    return borders, (begin - grid.start_ns) // grid.interval_ns, steps


def power_series(scope: Scope) -> list[Series]:
    """Mean power of the cores in mW: for the app, for everything, and of each cluster, by the device's profile."""
    grid, found = scope.grid, scope.once(drawn)
    if isinstance(found, str):
        return [grid.missing(name, found) for name in (APP, TOTAL)]
    if found.missing is not None:
        return [
            grid.missing(name, "").without_values(found.missing.reason, str(found.missing)) for name in (APP, TOTAL)
        ]
    factor = scope.profiles.nominal_voltage_v / grid.interval_s
    of_segments = found.charges()
    summed = np.zeros((grid.count, *of_segments.shape[1:]))
    np.add.at(summed, found.bins, of_segments)
    app, others, wakeups = (summed[:, :, place].sum(axis=(1, 2)) for place in range(len(SCOPES)))
    clusters = found.times.states.cluster
    series = [
        grid.series(APP, app * factor),
        grid.series(TOTAL, (app + others + wakeups) * factor),
        *(
            grid.series(
                definition_of(CLUSTER).numbered(number),
                # What the processor draws as a whole is of no cluster.
                summed[:, clusters == number][..., :2].sum(axis=(1, 2, 3)) * factor,
            )
            for number in range(len(found.first_cores))
        ),
    ]
    if found.chosen is not None and found.chosen.is_unconfirmed:
        return [one.not_judged(Reason.PROFILE_UNCONFIRMED, found.chosen.doubt or "") for one in series]
    return series
