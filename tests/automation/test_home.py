"""Dagster's home: made once, brought up to date where nobody changed it."""

from __future__ import annotations

import hashlib

import pytest

from perfreg_assets import bundled
from perfreg_assets.automation import home
from perfreg_assets.settings import Settings


@pytest.fixture(autouse=True)
def same_environment(monkeypatch):
    monkeypatch.setenv("DAGSTER_HOME", "elsewhere")  # put back afterwards


def test_an_untouched_configuration_of_an_earlier_release_is_replaced_and_a_changed_one_kept(tmp_path, monkeypatch):
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb")
    configuration = home.prepare_home(settings) / "dagster.yaml"
    current = bundled.dagster_yaml().read_text()
    assert configuration.read_text() == current
    configuration.write_text("of an earlier release")
    home.prepare_home(settings)
    assert configuration.read_text() == "of an earlier release", "somebody's own"
    monkeypatch.setattr(home, "_EARLIER", {hashlib.sha256(b"of an earlier release").hexdigest()})
    home.prepare_home(settings)
    assert configuration.read_text() == current
