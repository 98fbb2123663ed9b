"""Dagster's home: where its instance keeps runs and events. Imports nothing of Dagster."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from perfreg_assets import bundled
from perfreg_assets.settings import Settings


def prepare_home(settings: Settings) -> Path:
    """Makes Dagster's home with its configuration, if there is none, and points this process to it."""
    home = settings.dagster_home
    home.mkdir(parents=True, exist_ok=True)
    settings.inbox_dir.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copyfile(bundled.dagster_yaml(), home / "dagster.yaml")
    os.environ["DAGSTER_HOME"] = str(home)
    return home
