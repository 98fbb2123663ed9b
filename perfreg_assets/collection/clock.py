"""From the explorer's clocks to the trace's clock (BOOTTIME of the device), with a stated error.

Host and device are compared before and after the session. Times on clocks that nobody sets (the host's time since
boot) are interpolated between the two comparisons. Times on a wall clock are usable only when that clock was not
set in between.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from perfreg_assets.reasons import Reason, Rejected

JUMP_TOLERANCE_S = 0.5
"""A wall clock that moved by more than this against time since boot was set (slewing does 0.5 ms/s at most)."""


@dataclass(frozen=True)
class ClockSample:
    """The same moment on four clocks (s); `error_s` bounds how far they may be from the same moment."""

    host_boot_s: float
    host_wall_s: float
    device_boot_s: float
    device_wall_s: float
    error_s: float


def host_boot_s() -> float:
    """The host's clock that no one sets and that also runs while the computer sleeps (s)."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


def host_wall_s() -> float:
    return time.time()


@dataclass(frozen=True)
class TraceClock:
    """Maps host and device times of one session to trace nanoseconds.

    Raises:
        Rejected: DEVICE_REBOOTED, the device's time since boot started again.
    """

    start: ClockSample
    end: ClockSample

    def __post_init__(self) -> None:
        if self.end.device_boot_s < self.start.device_boot_s:
            raise Rejected(Reason.DEVICE_REBOOTED, "the device's time since boot went backwards")

    @property
    def error_s(self) -> float:
        """Bound on the error of any mapped time: that of the comparisons plus what the clocks drifted apart."""
        return max(self.start.error_s, self.end.error_s) + abs(self.drift_s)

    @property
    def drift_s(self) -> float:
        """How far host and device moved apart in the session (s)."""
        return _offset(self.end) - _offset(self.start)

    @property
    def device_jump_s(self) -> float:
        """How far the device's wall clock was set in the session (s)."""
        return (self.end.device_wall_s - self.end.device_boot_s) - (self.start.device_wall_s - self.start.device_boot_s)

    @property
    def host_jump_s(self) -> float:
        return (self.end.host_wall_s - self.end.host_boot_s) - (self.start.host_wall_s - self.start.host_boot_s)

    def from_host_boot(self, moment_s: float) -> int:
        """Trace time (ns) of a moment on the host's clock since boot."""
        span = self.end.host_boot_s - self.start.host_boot_s
        share = (moment_s - self.start.host_boot_s) / span if span > 0 else 0.0
        offset = _offset(self.start) + min(1.0, max(0.0, share)) * self.drift_s
        return round((moment_s + offset) * 1e9)

    def from_host_wall(self, moment_s: float) -> int:
        """Trace time (ns) of a moment on the host's wall clock.

        Raises:
            Rejected: CLOCK_JUMPED.
        """
        self._refuse_jump("this computer", self.host_jump_s)
        return self.from_host_boot(moment_s - self.start.host_wall_s + self.start.host_boot_s)

    def from_device_wall(self, moment_s: float) -> int:
        """Trace time (ns) of a moment on the device's wall clock.

        Raises:
            Rejected: CLOCK_JUMPED.
        """
        self._refuse_jump("the device", self.device_jump_s)
        return round((moment_s - self.start.device_wall_s + self.start.device_boot_s) * 1e9)

    @staticmethod
    def _refuse_jump(whose: str, jump_s: float) -> None:
        if abs(jump_s) > JUMP_TOLERANCE_S:
            raise Rejected(Reason.CLOCK_JUMPED, f"the clock of {whose} was set by {jump_s:+.1f} s")

    def describe(self) -> dict[str, float]:
        """For run.json: how times were mapped and how well."""
        return {
            "error_s": round(self.error_s, 4),
            "drift_s": round(self.drift_s, 4),
            "device_clock_set_by_s": round(self.device_jump_s, 3),
            "host_clock_set_by_s": round(self.host_jump_s, 3),
        }


def _offset(sample: ClockSample) -> float:
    return sample.device_boot_s - sample.host_boot_s
