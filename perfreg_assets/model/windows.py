"""What is explained: stretches of series in which a run departs from its history."""

from __future__ import annotations

from dataclasses import dataclass

from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.causes import Suspicious


@dataclass(frozen=True)
class Window:
    """What is explained: part of a series, in seconds since its start and on the trace clock."""

    series: str
    start_s: float
    start_ns: int
    end_ns: int

    @property
    def end_s(self) -> float:
        return self.start_s + (self.end_ns - self.start_ns) / 1e9


def window_of(one: Suspicious, settings: Settings) -> Window:
    """What is explained: of a whole run, not its ends, where any two sessions differ most."""
    if one.window_index is not None:
        return Window(one.series, one.start_s, one.start_ns, one.end_ns)
    skip_start_s, skip_end_s = settings.discord_skip_start_s, settings.discord_skip_end_s
    if skip_start_s + skip_end_s >= (one.end_s - one.start_s) / 2:
        skip_start_s = skip_end_s = 0.0
    return Window(
        one.series, skip_start_s, one.start_ns + round(skip_start_s * 1e9), one.end_ns - round(skip_end_s * 1e9)
    )
