"""What a device's power rails measured: mW per interval from counters of energy, interpolated at the borders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.traces.grid import Grid, Series
from perfreg_assets.traces.scope import Scope

CPU_RAIL, RAIL = "power_rail_cpu", "power_rail_<name>"
_SCHEMA = {"ts": "int64", "name": "string", "microjoules": "float64"}
_NO_RAILS = "the trace has no power rails (android.power with collect_power_rails)"
_LEAST_COVERED = 0.5
_PREFIX = re.compile(r"^power\.(rails\.)?")


@dataclass(frozen=True)
class Rail:
    """A rail's samples (n,) in order of time: moment in ns, and energy taken so far in µJ."""

    ts: np.ndarray
    microjoules: Floats

    def energy_mj(self, borders: np.ndarray) -> tuple[Floats, Floats]:
        """(mJ taken, share of the time that is covered) of each interval (n,) between borders (n + 1,) in ns.

        NaN where the counter fell within the interval (the rail was off, or started anew), or nothing covers it.
        """
        inside = np.clip(borders, self.ts[0], self.ts[-1])
        at = np.interp(inside, self.ts, self.microjoules)
        covered = np.diff(inside) / np.diff(borders)
        energy = np.diff(at) / 1e3
        for place in np.flatnonzero(np.diff(self.microjoules) < 0).tolist():
            touched = (borders[1:] > self.ts[place]) & (borders[:-1] < self.ts[place + 1])
            energy[touched] = np.nan
        energy[covered <= 0] = np.nan
        return energy, covered


def rail_name(track: str) -> str:
    """A rail's name within a series' name: `power.rails.cpu.big` is `cpu_big`."""
    plain = _PREFIX.sub("", track.lower()).removesuffix("_uws")
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")


def is_of_cpu(name: str) -> bool:
    """Whether a rail feeds the cores."""
    return "cpu" in name


def rails_of(scope: Scope) -> Mapping[str, Rail] | str:
    """Name → rail of those with two samples at least, or why there are none; of two tracks of one name the first.

    Raises:
        Rejected: ENGINE_…
    """
    table = scope.rows("power_rails", _SCHEMA)
    if isinstance(table, str) or not len(table):
        return table if isinstance(table, str) else _NO_RAILS
    found: dict[str, Rail] = {}
    for track, rows in table.groups("name"):
        name, ts = rail_name(track), rows["ts"]
        # Two data sources may sample at one moment; interpolation wants each moment once.
        is_last = np.append(np.diff(ts) > 0, True)
        if name and name != "cpu" and name not in found and is_last.sum() > 1:
            found[name] = Rail(ts[is_last], rows["microjoules"][is_last])
    return found or "its power rails have one sample each"


def rail_series(scope: Scope) -> list[Series]:
    """Mean power of each rail in mW, and of those that feed the cores together. An interval that is covered by half at
    least has the mean over what is covered; else, and where the counter fell, it has no value."""
    grid, rails = scope.grid, scope.once(rails_of)
    if isinstance(rails, str):
        return [grid.missing(CPU_RAIL, rails)]
    watts = {name: mean_mw(rail, grid) for name, rail in rails.items()}
    of_cpu = [values for name, values in watts.items() if is_of_cpu(name)]
    pattern = definition_of(RAIL)
    out = [grid.series(pattern.named(name), values) for name, values in watts.items()]
    whole = (
        [grid.series(CPU_RAIL, np.sum(of_cpu, axis=0))]
        if of_cpu
        else [grid.missing(CPU_RAIL, "none of the trace's power rails feeds the cores")]
    )
    return [*whole, *out]


def partly_covered_ns(scope: Scope) -> tuple[int, ...]:
    """Begin, on the trace's clock, of each interval whose measured power of the cores is the mean over a part of it:
    no measure of an estimate over the whole of it.

    Raises:
        Rejected: ENGINE_…
    """
    rails, borders = scope.once(rails_of), scope.grid.borders
    of_cpu = [] if isinstance(rails, str) else [rail for name, rail in rails.items() if is_of_cpu(name)]
    if not of_cpu:
        return ()
    covered = np.min([rail.energy_mj(borders)[1] for rail in of_cpu], axis=0)
    return tuple(borders[:-1][(covered >= _LEAST_COVERED) & (covered < 1)].tolist())


def whole_mj(rail: Rail, grid: Grid) -> float | None:
    """What a rail took over the grid, in mJ; None where it was not measured all along: its counter fell, or more than
    an interval lacks at the ends, or half of a single one.

    Where it begins or ends within an interval that has a mean, that holds for the whole interval, as in the series: in
    a run of a second or two the rest is a good part of the energy.
    """
    energy, covered = rail.energy_mj(grid.borders)
    if not grid.count or covered.sum() < max(grid.count - 1, _LEAST_COVERED):
        return None
    taken = np.where(covered >= _LEAST_COVERED, energy / np.where(covered > 0, covered, 1.0), energy)
    whole = float(taken[covered > 0].sum())
    return whole if np.isfinite(whole) else None


def mean_mw(rail: Rail, grid: Grid) -> Floats:
    """(count,) mean power over each interval of the grid; NaN where it is not known."""
    energy, covered = rail.energy_mj(grid.borders)
    known = covered >= _LEAST_COVERED
    return np.where(known, energy / np.where(known, covered, 1.0) / grid.interval_s, np.nan)
