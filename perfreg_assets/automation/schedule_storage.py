"""Dagster's states of sensors and schedules in SQLite, read so that a clock that was set back stops none of them.

Dagster leaves a sensor alone until its interval has passed since its last tick, and looks for the next time of a
schedule after its latest one. After a clock that was ahead is set back that is when it comes to where it was: for so
long folders would lie in the inbox, nothing that is due be asked for, and no night be tidied in. A tick in the future
counts as none here; the next one is written with the right time. The file is that of Dagster's own storage.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._config import Field, StringSource
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorTick,
    InstigatorType,
    ScheduleInstigatorData,
    SensorInstigatorData,
    TickStatus,
)
from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._serdes import ConfigurableClassData

from perfreg_assets.automation.unfinished import FUTURE_S


class ScheduleStorage(SqliteScheduleStorage):
    """`schedule_storage` in dagster.yaml; without a `base_dir` its file is where Dagster's own would be."""

    @classmethod
    def config_type(cls) -> Mapping[str, Any]:
        return {"base_dir": Field(StringSource, is_required=False)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> ScheduleStorage:
        base_dir = config_value.get("base_dir")
        return cls("" if base_dir is None else _connection_of(base_dir), inst_data)

    def register_instance(self, instance: dg.DagsterInstance) -> None:
        if not self._conn_string:  # what the configuration is read with knows no folder, the instance does
            self._conn_string = _connection_of(str(Path(instance.root_directory) / "schedules"))
        super().register_instance(instance)

    def all_instigator_state(self, *given: Any, **named: Any) -> Sequence[InstigatorState]:
        return [_in_time(state) for state in super().all_instigator_state(*given, **named)]

    def get_instigator_state(self, origin_id: str, selector_id: str) -> InstigatorState | None:
        state = super().get_instigator_state(origin_id, selector_id)
        return None if state is None else _in_time(state)

    def get_ticks(
        self,
        origin_id: str,
        selector_id: str,
        before: float | None = None,
        after: float | None = None,
        limit: int | None = None,
        statuses: Sequence[TickStatus] | None = None,
    ) -> Sequence[InstigatorTick]:
        ticks = super().get_ticks(origin_id, selector_id, before, after, limit, statuses)
        if limit == 1 and ticks and _is_scheduled_later(ticks[0]):  # as the scheduler asks: which one was the latest?
            return super().get_ticks(origin_id, selector_id, time.time() + FUTURE_S, after, limit, statuses)
        return ticks


def _is_scheduled_later(tick: InstigatorTick) -> bool:
    return tick.instigator_type is InstigatorType.SCHEDULE and tick.timestamp > time.time() + FUTURE_S


def _connection_of(base_dir: str) -> str:
    """Of the file in that folder, which is made where it is missing."""
    return SqliteScheduleStorage.from_local(base_dir)._conn_string


def _in_time(state: InstigatorState) -> InstigatorState:
    data, now = state.instigator_data, time.time()
    if isinstance(data, SensorInstigatorData):
        latest = max(data.last_tick_timestamp or 0.0, data.last_tick_start_timestamp or 0.0)
        if latest > now + FUTURE_S:
            return state.with_data(data._replace(last_tick_timestamp=None, last_tick_start_timestamp=None))
    elif isinstance(data, ScheduleInstigatorData):
        begun_at = data.start_timestamp
        if max(data.last_iteration_timestamp or 0.0, begun_at or 0.0) > now + FUTURE_S:
            begun_at = None if begun_at is None else min(begun_at, now)
            return state.with_data(data._replace(last_iteration_timestamp=None, start_timestamp=begun_at))
    return state
