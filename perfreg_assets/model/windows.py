"""What is explained: stretches of series in which a run departs from its history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from perfreg_assets.catalogue import definition_of
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

    @property
    def is_of_time(self) -> bool:
        """Whether what took time explains it; else it is explained by what takes memory."""
        return definition_of(self.series).kind != "memory"


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


def united(windows: Iterable[Window]) -> list[Window]:
    """Windows of time in order, those that overlap as one, whatever series they are of: no second is in two.

    What threads and stacks took does not depend on the series; the first one stands for all.
    """
    found: list[Window] = []
    for one in sorted((one for one in windows if one.is_of_time), key=lambda one: (one.start_ns, one.end_ns)):
        if found and one.start_ns < found[-1].end_ns:
            found[-1] = replace(found[-1], end_ns=max(found[-1].end_ns, one.end_ns))
        else:
            found.append(one)
    return found
