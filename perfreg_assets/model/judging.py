"""Verdicts at one ω: one SQL pass over what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse import verdicts as table
from perfreg_assets.warehouse.connection import Warehouse


@dataclass(frozen=True)
class Judged:
    """What a step did: at which ω, by which detector, which runs (by partition)."""

    omega: float
    detector: str
    run_ids: dict[str, list[str]]


def judge(
    warehouse: Warehouse, keys: Iterable[str], watch: Stopwatch, *, omega: float | None, detector: str | None
) -> Judged:
    """Gives the verdicts of all runs of some partitions, at the ω and by the detector in force unless others are given.

    Raises:
        SettingError: no ω can have this value.
        ValueError: there is no such detector.
    """
    with watch.measure("warehouse"), warehouse.writing() as writer:
        current = settings_table.current(writer)
        omega = float(current["omega"]) if omega is None else omega
        detector = detector or current["detector"]
        run_ids = run_table.ids_of_partitions(writer, keys)
        table.evaluate(writer, omega, detector, [run_id for ids in run_ids.values() for run_id in ids])
    return Judged(omega, detector, run_ids)
