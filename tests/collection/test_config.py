"""What a collection refuses before it touches a device."""

import pytest

from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.reasons import Reason, Rejected


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
