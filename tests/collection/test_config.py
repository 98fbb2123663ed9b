"""What a collection refuses before it touches a device."""

import re

import pytest

from perfreg_assets.collection.collect import Collection
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings


def refused(**options):
    with pytest.raises(Rejected) as refusal:
        CollectionConfig(**{"app": "com.rig.shop", **options})
    return refusal.value


@pytest.mark.parametrize(
    "options",
    [
        {"explorer": "robot"},
        {"explorer": "command"},
        {"explorer": "fastbot2"},
        {"time_limit_s": 0},
        {"time_limit_s": -1},
        {"time_limit_s": float("nan")},
        {"time_limit_s": float("inf")},
        {"action_interval_s": 0},
        {"repeats": 0},
        {"seeds": ()},
        {"seeds": (-1,)},
        {"seeds": (2**31,)},
        {"strategy": "  "},
        {"max_bytes_per_minute": 0},
        {"max_battery_celsius": -5.0},
        {"min_free_bytes": -1},
    ],
)
def test_an_option_that_is_not_usable_is_named(options):
    refusal = refused(**options)
    assert refusal.reason is Reason.COLLECTION_CONFIG_INVALID
    name = "explorer_command" if options.get("explorer") in ("command", "fastbot2") else next(iter(options))
    assert refusal.detail.startswith(f"{name} = ")


def test_an_unknown_source_is_refused():
    assert refused(data_sources=("sched", "everything")).reason is Reason.DATA_SOURCE_UNKNOWN


@pytest.mark.parametrize(
    "options",
    [
        {"app": None},
        {"time_limit_s": "60"},
        {"time_limit_s": True},
        {"buffer_kb": 1.5},
        {"buffer_kb": None},
        {"clear_data": "no"},
        {"seeds": 3},
        {"seeds": ("a",)},
        {"data_sources": "sched"},
        {"data_sources": ["sched"]},
        {"explorer_command": (1,)},
        {"explorer_options": {"state": 1}},
        {"explorer_options": "state=text"},
        {"version_name": 15},
    ],
)
def test_a_value_of_the_wrong_type_is_refused_and_not_tried(options):
    refusal = refused(**options)
    assert refusal.reason is Reason.COLLECTION_CONFIG_INVALID
    assert refusal.detail.startswith(f"{next(iter(options))} = ")


def test_a_whole_number_is_a_number_and_repeats_take_their_seeds_in_turn():
    config = CollectionConfig(app="com.rig.shop", time_limit_s=60, seeds=(3, 4))
    assert config.time_limit_s == 60
    assert [config.seed_of(repeat) for repeat in range(3)] == [3, 4, 3]


def test_the_strategy_is_the_explorers_name_unless_it_is_given():
    assert CollectionConfig(app="com.rig.shop").strategy_name == "monkey"
    assert CollectionConfig(app="com.rig.shop", strategy="taps").strategy_name == "taps"


def recorded_at_most(tmp_path, **options):
    """Bytes after which perfetto ends the recording of a collection, and the session with it."""
    config = CollectionConfig(app="com.rig.shop", **options)
    one = Collection(config, Settings(home=tmp_path), tmp_path, progress=lambda _: None, attempt=0, repeat=0)
    (told,) = re.findall(r"^max_file_size_bytes: (\d+)$", one._perfetto_config(is_plain=False), flags=re.MULTILINE)
    return int(told)


@pytest.mark.parametrize("hours", [1, 6, 24])
def test_a_recording_of_hours_that_grows_no_faster_than_it_may_is_not_ended_by_its_size(hours, tmp_path):
    assert recorded_at_most(tmp_path, time_limit_s=hours * 3600.0, max_bytes_per_minute=200e6) > hours * 60 * 200e6


def test_whoever_bounds_a_recordings_size_is_heeded_and_no_rate_is_more_than_perfetto_can_read(tmp_path):
    assert recorded_at_most(tmp_path, time_limit_s=86400.0, max_trace_bytes=12345) == 12345
    assert recorded_at_most(tmp_path, max_bytes_per_minute=1e30) < 2**63
    assert recorded_at_most(tmp_path, max_bytes_per_minute=1e6) >= 8 << 30
