"""Is this installation sound? Kernels against the libraries they stand for, the trace engine, places, the warehouse."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perfreg_assets.methods.self_check import check_kernels
from perfreg_assets.model.finding import FAILED, OK, Finding, guarded
from perfreg_assets.model.places_health import examine_places
from perfreg_assets.model.warehouse_health import examine_warehouse
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engine import start_engine
from perfreg_assets.traces.memory_budget import allowed_bytes


def examine(settings: Settings, *, progress: Callable[[str], None]) -> Iterator[Finding]:
    """A finding per check, of everything but Dagster and devices."""
    progress("kernels against tslearn and stumpy")
    for one in check_kernels():
        told = f"largest difference {one.largest_difference:.2g}, allowed {one.tolerance:.2g}"
        advice = "" if one.is_ok else "report it, with the machine's processor and the versions of numba and numpy"
        yield Finding(f"kernel {one.name}", OK if one.is_ok else FAILED, told, advice)
    progress("trace engine")
    yield guarded("trace engine", lambda: _engine(settings))
    progress("places")
    yield from examine_places(settings)
    progress("warehouse")
    yield from examine_warehouse(settings)


def _engine(settings: Settings) -> Finding:
    session = start_engine(settings)
    try:
        told = f"{session.kind}, {session.version}, up to {allowed_bytes(settings) / 2**30:,.1f} GiB of memory"
        return Finding("trace engine", OK, told)
    finally:
        session.close()
