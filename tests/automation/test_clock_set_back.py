"""After the clock was set back sensors and schedules tick, and what failed is asked for again, at once."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._config import process_config
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    ScheduleInstigatorData,
    SensorInstigatorData,
    TickData,
    TickStatus,
)
from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._daemon.sensor import is_under_min_interval
from dagster._utils.test.schedule_storage import TestScheduleStorage as Examples

from perfreg_assets.automation import asking, sensors, unfinished
from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.schedule_storage import ScheduleStorage
from perfreg_assets.settings import Settings

EVERY_FIVE_SECONDS = SimpleNamespace(min_interval_seconds=5)


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb")


@pytest.fixture
def instance(settings, monkeypatch):
    """The project's own home, as `perfreg ui` makes it."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    home = prepare_home(settings)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        yield instance


def stored(instance, ticked_at):
    """The state of a sensor with its last tick then, as the daemon reads it."""
    origin = Examples.fake_repo_target().get_instigator_origin("run_folders")
    data = SensorInstigatorData(
        last_tick_timestamp=ticked_at, last_tick_start_timestamp=ticked_at, cursor="as far as this", min_interval=5
    )
    instance.add_instigator_state(
        InstigatorState(origin, InstigatorType.SENSOR, InstigatorStatus.DECLARED_IN_CODE, data)
    )
    (found,) = instance.all_instigator_state(instigator_type=InstigatorType.SENSOR)
    assert instance.get_instigator_state(origin.get_id(), found.selector_id) == found
    assert found.instigator_data.cursor == "as far as this"
    return found


def test_a_tick_in_the_future_does_not_stop_a_sensor_until_then(instance):
    state = stored(instance, time.time() + 3600)
    assert not is_under_min_interval(state, EVERY_FIVE_SECONDS)


def test_ticks_of_now_and_before_count_as_ever(instance):
    state = stored(instance, time.time())
    assert is_under_min_interval(state, EVERY_FIVE_SECONDS)


NIGHTLY = "17 3 * * *"
DAY_S = 86_400.0


def scheduled(instance, *, begun_at, looked_at, ticked_at):
    """(its state, its latest tick) as the daemon reads them of a schedule that it began, looked at and ticked then."""
    origin = Examples.fake_repo_target().get_instigator_origin("nightly_tidying")
    data = ScheduleInstigatorData(NIGHTLY, start_timestamp=begun_at, last_iteration_timestamp=looked_at)
    instance.add_instigator_state(
        InstigatorState(origin, InstigatorType.SCHEDULE, InstigatorStatus.DECLARED_IN_CODE, data)
    )
    (state,) = instance.all_instigator_state(instigator_type=InstigatorType.SCHEDULE)
    for at in ticked_at:
        instance.create_tick(
            TickData(
                origin.get_id(), "nightly_tidying", InstigatorType.SCHEDULE, TickStatus.SUCCESS, at,
                run_ids=[], selector_id=state.selector_id,
            )
        )  # fmt: skip
    return state.instigator_data, instance.get_ticks(origin.get_id(), state.selector_id, limit=1)


def test_a_schedule_goes_on_after_the_latest_tick_that_is_not_in_the_future(instance):
    """Dagster looks for the next night after the latest of the three: nothing was tidied until the clock came there."""
    now = time.time()
    data, [tick] = scheduled(
        instance, begun_at=now - 9 * DAY_S, looked_at=now + 5 * DAY_S, ticked_at=[now - DAY_S, now + 4 * DAY_S]
    )
    assert data.last_iteration_timestamp is None
    assert data.start_timestamp == now - 9 * DAY_S
    assert tick.timestamp == now - DAY_S


def test_a_schedule_that_was_begun_in_the_future_goes_on(instance):
    now = time.time()
    data, ticks = scheduled(instance, begun_at=now + DAY_S, looked_at=now + 2 * DAY_S, ticked_at=[now + 1.5 * DAY_S])
    assert data.last_iteration_timestamp is None
    assert now <= data.start_timestamp <= time.time()
    assert ticks == []


def test_a_schedule_of_now_and_before_is_read_as_it_is(instance):
    now = time.time()
    data, [tick] = scheduled(instance, begun_at=now - DAY_S, looked_at=now, ticked_at=[now - 9.0, now])
    assert (data.start_timestamp, data.last_iteration_timestamp, tick.timestamp) == (now - DAY_S, now, now)


def test_its_file_is_that_of_dagsters_own_storage(instance, settings):
    stored(instance, 12.0)
    assert isinstance(instance.schedule_storage, ScheduleStorage)
    own = SqliteScheduleStorage.from_local(str(settings.dagster_home / "schedules"))
    (found,) = own.all_instigator_state()
    assert found.instigator_data.last_tick_timestamp == 12.0


def test_a_folder_may_be_named(tmp_path):
    given = process_config(ScheduleStorage.config_type(), {"base_dir": str(tmp_path / "there")})
    storage = ScheduleStorage.from_config_value(None, given.value)
    assert (tmp_path / "there" / "schedules.db").is_file()
    assert storage.all_instigator_state() == []


def test_what_was_asked_for_in_the_future_may_be_asked_for_again_now():
    """It failed, and the clock was set back by a day since: the pause before the next attempt is no day."""
    now = time.time()
    runs = [
        SimpleNamespace(
            dagster_run=SimpleNamespace(tags=asking.tags(["what is due"])),
            create_timestamp=datetime.fromtimestamp(at, UTC),
        )
        for at in (now - 40, now + 86_400)
    ]
    (asked,) = unfinished.earlier(runs).values()
    assert asked.count == 2  # it still waits longer for each attempt
    assert asked.again_at < now
    (only,) = unfinished.earlier(runs[1:]).values()
    assert only.again_at < now


@pytest.mark.parametrize(("in_s", "holds"), [(-1.0, False), (300.0, True), (86_400.0, False)])
def test_a_pause_that_ends_in_a_day_is_of_a_clock_that_was_ahead(monkeypatch, in_s, holds):
    monkeypatch.setattr(sensors, "is_left", lambda *_: False)
    monkeypatch.setattr(sensors, "witness", lambda _: "the same")
    assert sensors.Seen("the same", until=time.time() + in_s).holds(None, None, None) is holds
