"""Verdicts at one ω: one SQL pass over what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfreg_assets.model import readiness
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse import verdicts as table
from perfreg_assets.warehouse.connection import Warehouse


@dataclass(frozen=True)
class Judged:
    """What a step did: at which ω, by which detector, which runs (by partition); and what was in force then."""

    omega: float
    detector: str
    run_ids: dict[str, list[str]]
    omega_in_force: float
    detector_in_force: str

    @property
    def what_if(self) -> str | None:
        """How it differs from what is in force: "omega 0.5", "omega 2, detector iqr"; None where it does not."""
        differs = {
            f"omega {self.omega:.12g}": self.omega != self.omega_in_force,
            f"detector {self.detector}": self.detector != self.detector_in_force,
        }
        return ", ".join(name for name, is_other in differs.items() if is_other) or None


def judge(
    warehouse: Warehouse,
    keys: Iterable[str],
    watch: Stopwatch,
    *,
    omega: float | None = None,
    detector: str | None = None,
) -> Judged:
    """Gives the verdicts of all runs of some partitions, at the ω and by the detector in force unless others are given.

    Raises:
        SettingError: no ω can have this value; there is no such detector.
    """
    if detector is not None:
        detector = Settings.checked("detector", detector)
    with watch.measure("warehouse"), warehouse.writing() as writer:
        current = settings_table.current(writer)
        in_force = float(current["omega"]), current["detector"]
        omega, detector = in_force[0] if omega is None else omega, detector or in_force[1]
        run_ids = run_table.ids_of_partitions(writer, keys)
        table.evaluate(writer, omega, detector, [run_id for ids in run_ids.values() for run_id in ids])
    readiness.done(writer, Stage.VERDICT)
    return Judged(omega, detector, run_ids, *in_force)
