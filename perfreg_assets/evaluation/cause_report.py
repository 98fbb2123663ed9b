"""`--protocol causes`: how often the ranking names what was injected, with the figures that others print beside it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from rich.table import Table

from perfreg_assets.evaluation import causes, recorded_causes, span_causes
from perfreg_assets.evaluation.cases import Progress
from perfreg_assets.settings import Settings
from perfreg_assets.terminal import console_on

CLEAN_BAR = 0.03
PRINTED = (
    "Zhou and Li (2015) print 5 causes found by hand at ranks 1, 4, 8, 12 and 23 of 591 methods, and 43 % of the first "
    "30 as true; of those that they name 11 are among the first 30, which is 37 %.",
    "Nezha (2023) prints .867 / .978 / .978 (top 1 / 3 / 5) on its faults, from logs, metrics and spans together; "
    "spans alone show what takes longer.",
)


def evaluate(
    dataset: Path, *, settings: Settings, history: int, repeats: int, seed: int, progress: Progress | None = None
) -> dict[str, Any]:
    """Of a folder of recorded runs with their truth, or of a file of spans (`…_spans.parquet`).

    Returns:
        JSON types only: dataset, protocol, repeats, history, seed, seconds, rows, and of recorded runs `clean` (random
        windows of normal runs, and the share of them in which anything of the app was listed, by lowest z) and
        `simulated` (trees of call logs).

    Raises:
        Rejected: the data set is not usable.
    """
    begin = time.perf_counter()
    told: dict[str, Any] = {"dataset": dataset.stem, "protocol": "causes", "repeats": repeats, "history": history}
    told["seed"] = seed
    if dataset.is_dir():
        sessions = recorded_causes.read_sessions(dataset, settings, progress)
        found = recorded_causes.evaluate_sessions(
            sessions,
            history=history,
            repeats=repeats,
            seed=seed,
            minimum=settings.history_minimum,
            progress=progress,
        )
        told["rows"] = recorded_causes.rows_of(found)
        told["clean"] = recorded_causes.clean_of(found)
        told["simulated"] = [
            {"way": one.way, "kind": one.kind.name, "cases": one.cases, "top_1": one.top_1, "top_5": one.top_5}
            for one in causes.evaluate_causes(seed=seed, progress=progress)
        ]
    else:
        told["rows"] = span_causes.rows_of(span_causes.evaluate_spans(dataset))
    told["localisation"] = []
    told["seconds"] = round(time.perf_counter() - begin, 3)
    return told


def print_report(result: Mapping[str, Any], file: IO[str] | None = None) -> None:
    """The tables for a terminal."""
    console = console_on(file, 132 if file else None)
    is_recorded = "clean" in result
    title = "Injected thread at rank, in the surest flagged window" if is_recorded else "Service with the fault at rank"
    console.print(_table(title, result["rows"]))
    if is_recorded:
        clean = result["clean"]
        curve = ", ".join(f"z ≥ {one['z_minimum']:g}: {100 * one['listed_ratio']:.1f} %" for one in clean["curve"])
        console.print(
            f"normal runs, {clean['windows']} random windows of {recorded_causes.CLEAN_WINDOW_S} s: something of the "
            f"app listed in {100 * clean['listed_ratio']:.1f} % (at most {100 * CLEAN_BAR:.0f} % wanted); {curve}"
        )
        console.print(f"in {len(clean['by_run'])} of the runs: {', '.join(clean['by_run']) or 'none'}")
        console.print(_table("Simulated call trees", result["simulated"]))
    for sentence in PRINTED:
        console.print(sentence)


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in rows[0] if rows else ():
        table.add_column(name.replace("_", " "))
    for row in rows:
        table.add_row(
            *("–" if one is None else f"{one:.2f}" if isinstance(one, float) else str(one) for one in row.values())
        )
    return table
