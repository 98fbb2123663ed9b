"""Barycenters of the histories, each computed once: they are stored by the hash of what they average."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.barycenter import Barycenter, dba
from perfreg_assets.model import comparisons, inputs, readiness
from perfreg_assets.model.comparisons import Comparison
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import barycenters as table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.connection import Reader, Warehouse


@dataclass(frozen=True)
class Averaged:
    """What a step did: run_id → how many of its series have an average now; and how many were computed."""

    series_count: dict[str, int]
    new_count: int


def stored_average(
    one: Comparison, averages: Mapping[str, table.BarycenterRow], settings: Settings
) -> Barycenter | None:
    """The average that stands for the comparison's history; None where paths differ, then there is none.

    Args:
        averages: by id; that of the comparison among them.
    """
    if not one.has_barycenter:
        return None
    row = averages[inputs.barycenter_id(one, settings)]
    return Barycenter(row.values, row.inertia, row.iteration_count)


def averages_of(reader: Reader, courses: Iterable[Comparison], settings: Settings) -> dict[str, table.BarycenterRow]:
    """id → the average of each history that some comparisons have. What is not stored yet, after an update or a change
    of settings, is computed for this once."""
    of_ids = {inputs.barycenter_id(one, settings): one for one in courses if one.has_barycenter}
    found = table.find(reader, of_ids)
    missing = {key: one for key, one in of_ids.items() if key not in found}
    store = comparisons.SampleStore(reader, list(missing.values()))
    return found | {one.barycenter_id: one for one in _averaged(missing, store, settings)}


def average_due(warehouse: Warehouse, settings: Settings, keys: Iterable[str], watch: Stopwatch) -> Averaged:
    """Averages the histories that are due in some partitions; an identical history is never averaged twice."""
    with warehouse.reading() as reader:
        settings = settings_table.in_force(reader, settings)
        planned = readiness.ready(reader, settings, Stage.BARYCENTER, keys).planned
        if not planned.run_ids:
            return Averaged({}, 0)
        courses = [one for family in planned.by_path.values() for one in family if one.has_barycenter]
        ids = {(one.run_id, one.series): inputs.barycenter_id(one, settings) for one in courses}
        known = table.stored(reader, set(ids.values()))
        missing = {ids[one.run_id, one.series]: one for one in courses if ids[one.run_id, one.series] not in known}
        store = comparisons.SampleStore(reader, list(missing.values()))
    with watch.measure("model"):
        new = _averaged(missing, store, settings)
    rows = [
        table.RunBarycenterRow(run_id=run_id, series=series, barycenter_id=key) for (run_id, series), key in ids.items()
    ]
    with watch.measure("warehouse"), warehouse.writing() as writer:
        table.insert_missing(writer, new, {key: one.run_id for key, one in missing.items()})
        table.assign(writer, planned.run_ids, rows)
    readiness.done(writer, Stage.BARYCENTER)
    counts = {run_id: sum(one.has_barycenter for one in family) for run_id, family in planned.by_path.items()}
    return Averaged(counts, len(new))


def _averaged(
    missing: Mapping[str, Comparison], store: comparisons.SampleStore, settings: Settings
) -> list[table.BarycenterRow]:
    """The averages of some histories, by id, side by side."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda key: _average(key, store.values(missing[key]), settings), sorted(missing)))


def _average(key: str, series: list[np.ndarray], settings: Settings) -> table.BarycenterRow:
    begin = time.perf_counter()
    average = dba(series, max_iterations=settings.barycenter_iterations, backend=settings.barycenter_backend)
    return table.BarycenterRow(
        barycenter_id=key,
        values=average.values,
        inertia=average.inertia,
        iteration_count=average.iterations,
        backend=settings.barycenter_backend,
        seconds=time.perf_counter() - begin,
        code_version=code_version("methods"),
    )
