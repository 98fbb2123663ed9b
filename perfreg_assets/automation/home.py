"""Dagster's home: where its instance keeps runs and events. Imports nothing of Dagster but to create it."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from perfreg_assets import bundled
from perfreg_assets.automation.home_storage import make_whole
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.unwritable import refused_where_unwritable
from perfreg_assets.warehouse import states
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.whole_files import write_whole

_EARLIER = {
    "8b78ab21c88dc206fa038c4febbd857bd8cf66d55eff9450815e9680f016bd58",
    "84ad087da8f6ee2759759abc93f27e231449977262db37926c178f1e759bc5f3",
    "1dd8baa7f9fd74fde6efd0c9c9c41dd9ab149cd8f98081f5473f08092ccc60c5",
    "0ae1e69fb8d1a7132c1c609f02ede8fcc4bae8e923000095bd77c53b8c8730b2",
    "9b9e8fcb7a3aeb4aeb21e23262f7f1beb98a2b47fb84ff743891ad0b0c3afd70",
}
"""SHA-256 of the dagster.yaml of earlier releases, and of states between them."""

_ROOM_BYTES = 8 << 20
"""Dagster's records of a run, its log and the pages; traces are linked where the disk is the same."""


def prepare_home(settings: Settings) -> Path:
    """Makes Dagster's home with its configuration, if there is none, and points this process to it.

    A configuration that somebody changed stays as it is.

    Raises:
        Rejected: WAREHOUSE_LOCKED: another process has been creating the home for `lock_timeout_s`;
            WAREHOUSE_DISK_FULL: there is no room for what it will hold; FOLDER_UNWRITABLE.
    """
    home = settings.dagster_home
    with refused_where_unwritable(home):
        home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home).free
    if free < _ROOM_BYTES:
        detail = f"the home {settings.home_dir} needs {_ROOM_BYTES / 1e6:.0f} MB, {free / 1e6:.1f} MB are free"
        raise Rejected(Reason.WAREHOUSE_DISK_FULL, detail)
    with refused_where_unwritable(settings.inbox_dir):
        settings.inbox_dir.mkdir(parents=True, exist_ok=True)
    configuration = home / "dagster.yaml"
    with refused_where_unwritable(home):
        if not configuration.exists() or _is_of_earlier_release(configuration):
            write_whole(configuration, bundled.dagster_yaml().read_bytes(), is_durable=True)
        is_new = bool(make_whole(home, timeout_s=settings.lock_timeout_s))
    os.environ["DAGSTER_HOME"] = str(home)
    if is_new and settings.published_warehouse.exists():
        _name_versions(settings, home)
    return home


def _name_versions(settings: Settings, home: Path) -> None:
    """A home that was lost knows no version of the warehouse any more: "all partitions" would be those that come."""
    from dagster import DagsterInstance  # noqa: PLC0415  (once in the life of a home)

    with Warehouse.of(settings).reading() as reader:
        keys = states.partitions(reader)
    if keys:
        with DagsterInstance.from_config(str(home)) as instance:
            instance.add_dynamic_partitions(DIMENSION, keys)


def _is_of_earlier_release(configuration: Path) -> bool:
    return hashlib.sha256(configuration.read_bytes()).hexdigest() in _EARLIER
