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


def test_options_from_run_config_and_command_line_leave_out_what_is_not_given():
    options = {"app": "com.rig.shop", "time_limit_s": None, "seeds": [3, 4], "repeats": 2}
    config = CollectionConfig.from_options(options)
    assert (config.time_limit_s, config.seeds, config.repeats) == (600.0, (3, 4), 2)
    assert [config.seed_of(repeat) for repeat in range(3)] == [3, 4, 3]
    for bad in ({"app": None}, {}, {"app": "com.rig.shop", "colour": "red"}):
        with pytest.raises(Rejected) as refusal:
            CollectionConfig.from_options(bad)
        assert refusal.value.reason is Reason.COLLECTION_CONFIG_INVALID


def test_the_strategy_is_the_explorers_name_unless_it_is_given():
    assert CollectionConfig(app="com.rig.shop").strategy_name == "monkey"
    assert CollectionConfig(app="com.rig.shop", strategy="taps").strategy_name == "taps"
