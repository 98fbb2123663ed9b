"""Localisation: profiles of anomalous series and the suspicious windows found in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, delete_runs, insert, now_utc, to_arrow


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """A row of core.profiles; `profile` (n - window + 1,), NaN where start and end of the session are left out."""

    run_id: str
    series: str
    localisation: str
    window_s: float
    profile: np.ndarray
    threshold_low: float | None
    threshold_high: float | None
    parameters_hash: str
    code_version: str = __version__
    computed_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True, kw_only=True)
class DiscordRow:
    """A row of core.discords; seconds since the start of the series and ns on the trace clock."""

    run_id: str
    series: str
    window_index: int
    start_s: float
    end_s: float
    peak_s: float
    start_ns: int
    end_ns: int
    confidence: float
    profile_value: float
    screens: tuple[str, ...]


PROFILES = Table("core.profiles", ProfileRow, ("run_id",))
DISCORDS = Table("core.discords", DiscordRow, ("run_id",))


def replace_runs(
    writer: Writer, run_ids: Iterable[str], profiles: Sequence[ProfileRow], discords: Sequence[DiscordRow]
) -> int:
    """Makes these the only profiles and windows of `run_ids` (runs without any lose theirs); the number of windows."""
    ids = list(run_ids)
    delete_runs(writer, PROFILES.name, ids)
    delete_runs(writer, DISCORDS.name, ids)
    if profiles:
        insert(writer, PROFILES, to_arrow(profiles, ProfileRow))
    return insert(writer, DISCORDS, to_arrow(discords, DiscordRow)) if discords else 0


def partitions_without(reader: Reader) -> list[str]:
    """Partition keys with a currently anomalous series that nothing was localised in, in order of their first run."""
    found = reader.rows(
        "SELECT runs.partition_key FROM marts.verdicts AS verdicts JOIN core.runs AS runs USING (run_id) "
        "WHERE verdicts.is_current AND verdicts.is_anomalous AND verdicts.series <> '*' AND NOT EXISTS ("
        "SELECT 1 FROM core.profiles AS found WHERE found.run_id = verdicts.run_id AND found.series = verdicts.series) "
        "GROUP BY runs.partition_key ORDER BY min(runs.started_at), runs.partition_key"
    )
    return [key for (key,) in found]
