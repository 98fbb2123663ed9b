"""Settings: defaults, environment, types, ranges, choices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from perfreg_assets import catalogue, detection
from perfreg_assets.settings import SettingError, Settings


def test_every_parameter_has_unit_and_source_and_an_allowed_default():
    rows = Settings.describe()
    assert len(rows) > 20
    assert all(row["unit"] and row["source"] for row in rows)
    for row in rows:
        if row["default"] not in (None, ()):  # read from a text it is checked, as it is not where nothing is given
            text = ",".join(row["default"]) if isinstance(row["default"], tuple) else str(row["default"])
            assert getattr(Settings.from_environment({row["variable"]: text}), row["name"]) == row["default"]


def test_the_environment_sets_values_and_an_explicit_argument_wins():
    environment = {"PERFREG_OMEGA": "0.5", "PERFREG_HISTORY_SIZE": "8", "PERFREG_JUDGED_SERIES": "rss_app, cpu_app"}
    settings = Settings.from_environment(environment, history_size=9)
    assert (settings.omega, settings.history_size, settings.judged_series) == (0.5, 9, ("rss_app", "cpu_app"))


def test_what_a_variable_named_is_given_even_with_the_default_and_after_other_changes():
    settings = Settings.from_environment({"PERFREG_HISTORY_SIZE": "12"})
    assert settings == Settings()
    assert settings.with_values(omega=0.5).given == {"history_size", "omega"}
    assert Settings.parsed("judged_series", Settings().spelled("judged_series")) == Settings().judged_series


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PERFREG_OMEGA", "much"),
        ("PERFREG_OMEGA", "nan"),
        ("PERFREG_OMEGA", "1e999"),
        ("PERFREG_OMEGA", "-1"),
        ("PERFREG_HISTORY_SIZE", "1.5"),
        ("PERFREG_ALLOW_ENGINE_DOWNLOAD", "perhaps"),
        ("PERFREG_DETECTOR", "oracle"),
    ],
)
def test_a_value_outside_its_range_names_the_setting(variable, text):
    with pytest.raises(SettingError, match=variable.removeprefix("PERFREG_").lower() + "|" + variable):
        Settings.from_environment({variable: text})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"omega": "5"}, "a number"),
        ({"omega": True}, "a number"),
        ({"history_size": 7.5}, "a whole number"),
        ({"history_size": None}, "a value"),
        ({"warehouse": "perfreg.duckdb"}, "a path"),
        ({"allow_engine_download": 1}, "true or false"),
        ({"judged_series": "cpu_app"}, "a list"),
        ({"detector": 5}, "text"),
    ],
)
def test_a_value_of_another_type_is_refused_and_not_tried(values, expected):
    (name,) = values
    with pytest.raises(SettingError, match=f"^{name} = .*expected {expected}"):
        Settings(**values)


def test_a_whole_number_is_a_number_and_leaves_the_same_hash():
    assert Settings(interval_s=2) == Settings(interval_s=2.0)
    assert Settings(interval_s=2).hash_of("interval_s") == Settings(interval_s=2.0).hash_of("interval_s")


def test_detectors_are_those_that_are_registered_when_the_setting_is_checked():
    with pytest.raises(SettingError, match="allowed is default or iqr"):
        Settings(detector="twice")
    base = detection.definition_of("iqr")
    detection.register(detection.DetectorDefinition(**{**vars(base), "name": "twice"}))
    try:
        assert Settings(detector="twice").detector == "twice"
        allowed = next(row["allowed"] for row in Settings.describe() if row["name"] == "detector")
        assert allowed.endswith(" or twice")
    finally:
        detection.unregister("twice")


def test_judged_series_are_the_catalogues_and_an_unknown_one_is_named_with_the_nearest():
    assert Settings().judged_series == catalogue.judged_by_default()
    assert Settings(judged_series=("cpu_core_3",)).judged_series == ("cpu_core_3",)
    with pytest.raises(SettingError, match=r"judged_series = 'cpu_ap': .*nearest: cpu_app"):
        Settings(judged_series=("rss_app", "cpu_ap"))
    with pytest.raises(SettingError, match="cpu_core_x"):
        Settings.from_environment({"PERFREG_JUDGED_SERIES": "cpu_core_x"})


def test_a_history_cannot_need_more_runs_than_it_may_hold():
    with pytest.raises(SettingError, match="history_minimum"):
        Settings(history_size=3, history_minimum=4)


def test_the_published_file_stands_beside_the_warehouse():
    for name in ("perfreg.duckdb", "perfreg.db", "perfreg"):
        assert Settings(warehouse=Path("x") / name).published_warehouse == Path("x/perfreg.read.duckdb")


def test_settings_that_nobody_gave_cost_no_validation_library():
    code = (
        "import sys; from pathlib import Path; from perfreg_assets.settings import Settings; "
        "Settings.from_environment({'PERFREG_HOME': '/x'}, warehouse=Path('x')); sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_copy_that_readers_open_is_no_warehouse(tmp_path):
    with pytest.raises(SettingError, match=r"app\.read\.duckdb: this is the copy .* name .*app\.duckdb"):
        Settings(warehouse=tmp_path / "app.read.duckdb")
    with pytest.raises(SettingError, match="this is the copy"):
        Settings.from_environment({"PERFREG_WAREHOUSE": "perfreg.read.duckdb"})
    assert Settings(warehouse=tmp_path / "read.duckdb").published_warehouse.name == "read.read.duckdb"


def test_no_zero_is_negative(tmp_path):
    assert repr(Settings.checked("omega", -0.0)) == repr(Settings.parsed("omega", "-0.0")) == "0.0"
