"""The marts that show an asset's rows, as leaves of the lineage: what data teams query. Views, nothing to materialise.

Marts made of other marts, and helper macros, are left out: thirty more nodes would hide the chain that made them.
"""

from functools import cache

import dagster as dg

from perfreg_assets import bundled
from perfreg_assets.assets import presentation

_SHOWN = {
    "runs": ("runs", "traces"),
    "time_series": ("time_series",),
    "measurements": ("time_series",),
    "energies": ("energies",),
    "energy_by_version": ("energies",),
    "energy_by_screen": ("energies",),
    "power_profiles": ("energies",),
    "energy_accuracy": ("energies", "time_series"),
    "thread_times": ("thread_times",),
    "change_impact": ("thread_times",),
    "history_sets": ("history_sets",),
    "barycenters": ("barycenters",),
    "distances": ("distances",),
    "verdicts": ("verdicts",),
    "axis_verdicts": ("verdicts",),
    "version_verdicts": ("verdicts",),
    "discords": ("discords",),
    "causes": ("causes",),
    "causes_by_version": ("causes",),
    "benchmark_results": ("benchmark_results",),
    "benchmark_verdicts": ("benchmark_verdicts",),
    "trace_windows": ("trace_windows",),
    "reductions": ("reduced_traces",),
    "collections": ("collections",),
    "evaluations": ("evaluation",),
}


@cache
def mart_specs() -> list[dg.AssetSpec]:
    """One spec per shown mart, described by the first line of its file."""
    return [_spec(name, assets) for name, assets in _SHOWN.items()]


def _spec(name: str, assets: tuple[str, ...]) -> dg.AssetSpec:
    text = (bundled.sql_dir() / "marts" / f"{name}.sql").read_text("utf-8")
    return dg.AssetSpec(
        dg.AssetKey(["marts", name]),
        deps=list(assets),
        group_name="marts",
        kinds={"duckdb", "sql"},
        description=text.splitlines()[0].removeprefix("--").strip(),
        metadata={**presentation.of_mart(name), "sql": f"sql/marts/{name}.sql"},
    )
