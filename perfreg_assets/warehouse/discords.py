"""Localisation: profiles of anomalous series and the suspicious windows found in them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.warehouse import causes, joining, run_conditions, value_files
from perfreg_assets.warehouse import values as large
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import OF_RUN, Table, delete_runs, insert, load, now_utc, to_arrow, with_column


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """A row of core.profiles; `profile` (n - window + 1,), NaN where start and end of the session are left out.

    Attributes:
        failure: why nothing could be computed; the profile is empty then. None: it was computed.
        examined_start_s, examined_end_s: the stretch in which windows were looked for; None with a failure.
        values_file: is filled in when it is stored.
    """

    run_id: str
    series: str
    localisation: str
    window_s: float
    profile: np.ndarray
    threshold_low: float | None
    threshold_high: float | None
    parameters_hash: str
    input_hash: str | None = None
    failure: str | None = None
    examined_start_s: float | None = None
    examined_end_s: float | None = None
    code_version: str = __version__
    computed_at: datetime = field(default_factory=now_utc)
    values_file: str | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class DiscordRow:
    """A row of core.discords; seconds since the start of the series and ns on the trace clock.

    Raises:
        ValueError: it is no window; told here, where the run is known, and not by the table for a whole batch.
    """

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

    def __post_init__(self) -> None:
        if not 0 <= self.confidence <= 1:
            raise ValueError(f"window {self.window_index} has confidence {self.confidence!r}, which is not in 0 to 1")
        if not (self.start_s <= self.peak_s <= self.end_s and self.start_ns <= self.end_ns):
            stretch = f"{self.start_s:g} to {self.end_s:g} s"
            raise ValueError(f"window {self.window_index} from {stretch} has its peak at {self.peak_s:g} s")


PROFILES = Table(
    "core.profiles",
    ProfileRow,
    ("run_id",),
    keys=("run_id", "series"),
    outside="profile",
    numbers=OF_RUN,
    fetch=partial(large.arrays_of, value_files.PROFILES),
)
DISCORDS = Table("core.discords", DiscordRow, ("run_id",), keys=("run_id", "series", "window_index"), numbers=OF_RUN)


def replace_runs(
    writer: Writer, run_ids: Iterable[str], profiles: Sequence[ProfileRow], discords: Sequence[DiscordRow]
) -> int:
    """Makes these the only profiles and windows of `run_ids` (runs without any lose theirs); the number of windows.

    What was found to be their causes goes with the windows before.
    """
    ids = list(run_ids)
    causes.forget(writer, ids)
    delete_runs(writer, PROFILES.name, ids)
    delete_runs(writer, DISCORDS.name, ids)
    if profiles:
        staged = to_arrow(profiles, ProfileRow)
        files = large.store(writer, value_files.PROFILES, staged, large.places_of(writer, ids))
        insert(writer, PROFILES, with_column(staged, "values_file", files))
        joining.join_crowded(writer, value_files.PROFILES)
    return insert(writer, DISCORDS, to_arrow(discords, DiscordRow)) if discords else 0


def computed(reader: Reader, run_ids: Iterable[str]) -> list[ProfileRow]:
    """The profiles of some runs that could be computed.

    Not from marts.profiles, which looks for the files of all apps and months.

    Raises:
        Rejected: DATA_MISSING.
    """
    return load(reader, PROFILES, f"failure IS NULL AND {run_conditions.of(reader, run_ids)}")


_SERIES = """
SELECT judged.run_id, count(*), count(*) FILTER (found.failure IS NOT NULL)
FROM marts.verdicts AS judged
JOIN core.profiles AS found ON found.run_no = judged.run_no AND found.series = judged.series
WHERE judged.is_current AND judged.is_anomalous AND {of}
GROUP BY judged.run_id
"""
_WINDOWS = "SELECT run_id, count(*), sum(duration_s) FROM marts.discords WHERE {of} GROUP BY run_id"


def figures(reader: Reader, run_ids: Mapping[str, Collection[str]]) -> dict[str, dict[str, float]]:
    """Of each group of runs: anomalous series (by the verdicts in force) that were localised, their windows and the
    seconds in them.

    Args:
        run_ids: group → its runs.
    """
    everyone = [run_id for ids in run_ids.values() for run_id in ids]
    of_judged, of_windows = (run_conditions.of(reader, everyone, column) for column in ("judged.run_no", "run_no"))
    series_of = {run_id: counts for run_id, *counts in reader.rows(_SERIES.format(of=of_judged))}
    windows_of = {run_id: told for run_id, *told in reader.rows(_WINDOWS.format(of=of_windows))}
    found: dict[str, dict[str, float]] = {}
    for group, ids in run_ids.items():
        series = [series_of[run_id] for run_id in ids if run_id in series_of]
        windows = [windows_of[run_id] for run_id in ids if run_id in windows_of]
        found[group] = {
            "anomalous_series": sum(localised for localised, _ in series),
            "not_computed": sum(failed for _, failed in series),
            "discords": sum(count for count, _ in windows),
            "suspicious_seconds": round(sum(seconds for _, seconds in windows), 3),
        }
    return found
