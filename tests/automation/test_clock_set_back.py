"""After the clock was set back sensors tick, and what failed is asked for again, at once."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._config import process_config
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, InstigatorType, SensorInstigatorData
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
