"""Settings: defaults, environment, ranges."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfreg_assets import catalogue
from perfreg_assets.settings import SettingError, Settings


def test_every_parameter_has_unit_and_source_and_an_allowed_default():
    rows = Settings.describe()
    assert len(rows) > 20
    assert all(row["unit"] and row["source"] for row in rows)
    Settings()  # would raise on a default outside its own range


def test_the_environment_sets_values_and_an_explicit_argument_wins():
    environment = {"PERFREG_OMEGA": "0.5", "PERFREG_HISTORY_SIZE": "8", "PERFREG_JUDGED_SERIES": "rss_app, cpu_app"}
    settings = Settings.from_environment(environment, history_size=9)
    assert (settings.omega, settings.history_size, settings.judged_series) == (0.5, 9, ("rss_app", "cpu_app"))


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PERFREG_OMEGA", "much"),
        ("PERFREG_OMEGA", "nan"),
        ("PERFREG_OMEGA", "-1"),
        ("PERFREG_HISTORY_SIZE", "1.5"),
        ("PERFREG_ALLOW_ENGINE_DOWNLOAD", "perhaps"),
        ("PERFREG_DETECTOR", "oracle"),
    ],
)
def test_a_value_outside_its_range_names_the_setting(variable, text):
    with pytest.raises(SettingError, match=variable.removeprefix("PERFREG_").lower() + "|" + variable):
        Settings.from_environment({variable: text})


def test_what_is_judged_by_default_is_what_the_catalogue_says():
    assert Settings().judged_series == catalogue.judged_by_default() == ("cpu_app", "cpu_total", "rss_app")
    assert Settings(judged_series=("cpu_core_3", "frames_app")).judged_series == ("cpu_core_3", "frames_app")


@pytest.mark.parametrize(("name", "near"), [("cpu_ap", "cpu_app"), ("qqq", "rss_app"), ("cpu_core_x", "cpu_core_<n>")])
def test_a_judged_series_that_does_not_exist_is_refused_with_the_nearest_names(name, near):
    with pytest.raises(SettingError, match=f"judged_series = '{name}': there is no such series.*{near}"):
        Settings(judged_series=("cpu_app", name))


def test_a_history_cannot_need_more_runs_than_it_may_hold():
    with pytest.raises(SettingError, match="history_minimum"):
        Settings(history_size=3, history_minimum=4)


def test_the_published_file_stands_beside_the_warehouse():
    assert Settings(warehouse=Path("x/perfreg.duckdb")).published_warehouse == Path("x/perfreg.read.duckdb")
