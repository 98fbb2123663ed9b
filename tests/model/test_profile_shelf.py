"""Which power profiles traces are read with, here and by workers."""

from pathlib import Path

import pytest

from perfreg_assets.methods.power_profile import PowerProfile
from perfreg_assets.model import handover
from perfreg_assets.model.profile_shelf import Shelf, installed, known_profiles, load
from perfreg_assets.objects import Objects
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.power_profile import read_profile
from perfreg_assets.traces.profile_choice import SETTING, WAREHOUSE, Offered
from perfreg_assets.warehouse import power_profiles
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.runs import RunRow

CURVE = Path(__file__).parents[1] / "data" / "measured-curves" / "freqbench__gs101.csv"


@pytest.fixture
def warehouse(tmp_path):
    """With a measured curve added for a device that the installation has a profile of."""
    made = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=10.0)
    profile, content = read_profile(CURVE, nominal_voltage_v=3.85)
    with made.writing() as writer:
        stored = power_profiles.described(
            profile, name="curve.csv", device="oriole", origin=power_profiles.ADDED, content=content
        )
        power_profiles.add(writer, stored)
    return made


def for_run(shelf, settings, extra=None):
    run = RunRow(run_id="r", folder_name="r", content_hash="h", extra=extra)
    return shelf.for_run(run, Path("nowhere"), settings)


def test_what_was_added_goes_before_what_the_installation_brings(warehouse):
    with warehouse.reading() as reader:
        offered = for_run(load(reader, Settings()), Settings()).of_devices
    assert (offered["oriole"].name, offered["oriole"].origin) == ("curve.csv", WAREHOUSE)
    assert offered["cheetah"] == installed()["cheetah"]


@pytest.mark.parametrize(
    ("name", "found"),
    [("oriole", "curve.csv"), ("curve.csv", "curve.csv"), ("cheetah", "cheetah.xml"), ("raven", None)],
)
def test_a_setting_names_one_for_every_run(warehouse, name, found):
    settings = Settings(power_profile=name)
    with warehouse.reading() as reader:
        given = for_run(load(reader, settings), settings)
    assert given.forced_name == name
    assert (given.forced.name if given.forced else None) == found
    assert given.forced is None or given.forced.origin == SETTING


def test_run_json_may_tell_frequencies_and_nonsense_counts_as_not_said():
    nonsense = {"x": [1], "4": "many", "6": [None], "7": [10**400], "8": [True], "9": [-300000], "9" * 5000: [300000]}
    told = {"cpu_frequencies_khz": {"0": [300000, 600000], **nonsense}}
    assert for_run(Shelf(), Settings(), told).frequencies_khz == {0: [300000.0, 600000.0]}
    assert for_run(Shelf(), Settings(), {"cpu_frequencies_khz": 5}).frequencies_khz == {}


def test_workers_are_told_settings_and_profiles(tmp_path, warehouse):
    objects = Objects((tmp_path / "exchange").as_uri())
    settings = Settings(power_profile="cheetah", nominal_voltage_v=4.0)
    with warehouse.reading() as reader:
        shelf = load(reader, settings)
    assert not handover.has_parameters(objects, settings, shelf)
    handover.publish_parameters(objects, settings, shelf)
    assert handover.has_parameters(objects, settings, shelf)
    assert not handover.has_parameters(objects, settings, Shelf())
    heard, their_shelf = handover.with_parameters(objects, Settings())
    assert (heard.power_profile, heard.nominal_voltage_v) == ("cheetah", 4.0)
    assert their_shelf == shelf
    assert isinstance(their_shelf.added["oriole"], Offered)


def test_parameters_that_say_nothing_of_profiles_are_refused(tmp_path):
    objects = Objects((tmp_path / "exchange").as_uri())
    objects.write(handover.PARAMETERS, b'{"interval_s": 1.0}')
    with pytest.raises(Rejected) as caught:
        handover.with_parameters(objects, Settings())
    assert caught.value.reason is Reason.PARAMETERS_UNREADABLE
    assert "parameters.json (it has no " in caught.value.detail


def test_every_profile_that_is_known_is_listed_once(warehouse):
    with warehouse.reading() as reader:
        found = known_profiles(reader, Settings())
    assert len({one.profile.profile_id for one in found}) == len(found) == len(installed()) + 1
    assert all(isinstance(one.profile, PowerProfile) for one in found)
    (added,) = (one for one in found if one.name == "curve.csv")
    assert (added.origin, added.run_count, added.same_as) == ("added", 0, None)
