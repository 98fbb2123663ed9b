"""The SQL marts as assets, so that lineage goes on to what data teams query. They are views: nothing to materialise."""

from functools import cache
from pathlib import Path

import dagster as dg

from perfreg_assets import bundled

# Which asset's rows a mart shows; a mart that is built on other marts only gets its place from those.
_SHOWS = {
    "runs": ("runs", "traces"),
    "run_paths": ("runs",),
    "time_series": ("time_series",),
    "series_arrays": ("time_series",),
    "history_sets": ("history_sets",),
    "history_candidates": ("history_sets",),
    "history_states": ("history_sets",),
    "barycenters": ("barycenters",),
    "distances": ("distances",),
    "verdicts": ("verdicts",),
    "verdicts_at": ("distances",),
    "run_verdicts": ("verdicts",),
    "profiles": ("discords",),
    "discords": ("discords",),
    "collections": ("collections",),
}


@cache
def mart_specs() -> list[dg.AssetSpec]:
    """One spec per file of sql/marts, described by the file's first line, depending on what it names in `depends:`."""
    files = sorted((bundled.sql_dir() / "marts").glob("*.sql"))
    names = {path.stem for path in files}
    return [_spec(path, names) for path in files]


def _spec(path: Path, names: set[str]) -> dg.AssetSpec:
    header = [line.removeprefix("--").strip() for line in path.read_text("utf-8").splitlines() if line.startswith("--")]
    named = next((line.removeprefix("depends:") for line in header if line.startswith("depends:")), "")
    upstream = [dg.AssetKey(["marts", name.strip()]) for name in named.split(",") if name.strip() in names]
    upstream += [dg.AssetKey(asset) for asset in _SHOWS.get(path.stem, ())]
    return dg.AssetSpec(
        dg.AssetKey(["marts", path.stem]),
        deps=upstream,
        group_name="marts",
        kinds={"duckdb", "sql"},
        description=header[0] if header else None,
        metadata={"dagster/table_name": f"marts.{path.stem}", "sql": f"sql/marts/{path.name}"},
    )
