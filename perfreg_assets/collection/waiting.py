"""Waiting for a device: until it is free before a session, and until it is back where it went away in one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from perfreg_assets.collection.adb_server import PASSING_REASONS
from perfreg_assets.collection.clock import ClockSample
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.device import Device
from perfreg_assets.collection.progress import Stages
from perfreg_assets.reasons import Reason, Rejected

_POLL_S = 5.0
_TELL_S = 60.0
_RETRIES = 3

_T = TypeVar("_T")


def when_free(call: Callable[[], _T], config: CollectionConfig, stages: Stages) -> _T:
    """Makes a call that is refused while the device is in use or not attached, until the waiting is over. Where it
    was waited for, the session begins when that ended.

    Raises:
        Rejected: what the call was refused with, last.
    """
    began, told = time.monotonic(), -_TELL_S
    limits = {
        Reason.DEVICE_BUSY: config.busy_wait_s,
        Reason.DEVICE_NOT_FOUND: config.absent_wait_s,
        Reason.NO_DEVICE: config.absent_wait_s,
    }
    while True:
        try:
            done = call()
        except Rejected as refusal:
            waited = time.monotonic() - began
            left = limits.get(refusal.reason, 0.0) - waited
            if left <= 0:
                raise
            if waited - told >= _TELL_S:
                told = waited
                stages.tell(f"{refusal.detail}; waiting for {left:.0f} s at most")
            time.sleep(min(_POLL_S, left))
            continue
        if told >= 0:
            stages.begin_again()
        return done


class Patience:
    """With a device that may go away in a session: the recording goes on without us.

    Attributes:
        is_at_end: it was waited for in vain, and need not be once more.
    """

    def __init__(self, stages: Stages, reconnect_timeout_s: float) -> None:
        self.is_at_end = False
        self._stages, self._reconnect_timeout_s = stages, reconnect_timeout_s
        self._first_clock: ClockSample | None = None

    def runs_since(self, clock: ClockSample) -> None:
        """The device's clock when the recording began: one that is behind it later was restarted."""
        self._first_clock = clock

    def with_device(self, device: Device, call: Callable[[], _T]) -> _T:
        """Makes a repeatable call; waits for the device where it went away, and refuses one that was restarted.

        Raises:
            Rejected: DEVICE_LOST, DEVICE_REBOOTED, DEVICE_UNAUTHORIZED, and what the call is refused with.
        """
        for _ in range(_RETRIES):
            try:
                return call()
            except Rejected as refusal:
                if refusal.reason not in PASSING_REASONS:
                    raise
                self._stages.tell(f"{refusal}; waiting for the device")
                self._await_return(device, refusal)
        return call()

    def _await_return(self, device: Device, refusal: Rejected) -> None:
        try:
            device.wait_ready(self._reconnect_timeout_s)
            now = device.clock_sample(attempts=1)
        except Rejected as still:
            if still.reason is Reason.DEVICE_UNAUTHORIZED:
                raise
            self.is_at_end = True
            waited = f"not back after {self._reconnect_timeout_s:g} s"
            raise Rejected(Reason.DEVICE_LOST, f"{refusal.detail}; {waited} ({still.detail})") from still
        first = self._first_clock
        if first is not None and now.device_boot_s < first.device_boot_s:
            raise Rejected(Reason.DEVICE_REBOOTED, f"{device.serial} was restarted while {self._stages.now}")
