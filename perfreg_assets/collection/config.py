"""What to collect and how: plain values only, so that run config and command-line options map one to one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, get_type_hints

from pydantic import Field, ValidationError

from perfreg_assets import validation
from perfreg_assets.collection.perfetto_config import DEFAULT_SOURCES, check_sources
from perfreg_assets.reasons import Reason, Rejected

EXPLORERS = ("monkey", "droidbot", "fastbot2", "command")
ENDURANCE_WAYS = ("auto", "growing", "clones", "rounds")
_Positive = Annotated[float, Field(gt=0)]
_PositiveWhole = Annotated[int, Field(gt=0)]
_Seed = Annotated[int, Field(ge=0, lt=2**31)]
_SAFETY_S = 120.0
_LEAST_BYTES, _MOST_BYTES = 8 << 30, 1 << 62
_APP_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+")


@dataclass(frozen=True, kw_only=True)
class CollectionConfig:
    """One collection: the app, the device, the test configuration C = (D, S, T, I) and its bounds.

    Either `apk` (installed for the collection, uninstalled after it) or an app that is on the device already.

    Raises:
        Rejected: APP_ID_INVALID, DATA_SOURCE_UNKNOWN, COLLECTION_CONFIG_INVALID.
    """

    app: str
    """Android application id."""
    version_name: str | None = None
    """The version that is expected; another one on the device or in the APK is refused. None: whichever it is."""
    apk: str | None = None
    """Path of the APK on this computer."""
    serial: str | None = None
    """adb's name of the device; None: the only one attached."""

    strategy: str | None = None
    """S of the configuration; None: the explorer's name."""
    time_limit_s: _Positive = 600.0
    """T: the exploration ends then, or earlier when the explorer has seen all states."""
    action_interval_s: _Positive = 2.0
    """I between two actions; 2 s [thesis 4.1]."""
    explorer: str = "monkey"
    explorer_command: tuple[str, ...] = ()
    """Arguments of the explorer's program on this computer; {serial}, {app}, {apk}, {seconds}, {interval},
    {seed}, {output} (a folder on this computer), {device_output} (a folder on the device) and {path} (the JSONL
    file to write) are filled in."""
    explorer_options: Mapping[str, str] = field(default_factory=dict)
    """Options of the explorer by name; see `collection.explorers`."""
    explorer_silence_s: _Positive = 60.0
    """An explorer that does nothing for so long counts as hung; with long intervals, for two of them."""
    seeds: Annotated[tuple[_Seed, ...], Field(min_length=1)] = (0,)
    """Repeat i explores with seed i modulo their number: equal seeds give comparable paths."""
    repeats: _PositiveWhole = 3
    """Sessions per version in a batch: one exploratory session says little."""

    data_sources: tuple[str, ...] = DEFAULT_SOURCES
    atrace_categories: tuple[str, ...] = ()
    memory_poll_ms: _PositiveWhole = 1000
    buffer_kb: _PositiveWhole = 65536
    file_write_period_ms: _PositiveWhole = 2500
    max_bytes_per_minute: _Positive = 200e6
    """The session is stopped when the trace grows faster. 20 MB is usual [thesis 3.3]."""
    max_trace_bytes: _PositiveWhole | None = None
    """Perfetto ends where its file has so much, and the session with it. None: as much as `max_bytes_per_minute` allows
    for the whole session, and 8 GiB at least."""
    min_free_bytes: Annotated[int, Field(ge=0)] = 256 << 20
    """Free space wanted on device and computer before the start; twice the expected trace where that is more."""

    endurance_way: str = "auto"
    """How an endurance recording reaches this computer: growing (its file is read while it grows), clones (copies of
    the buffers), rounds (recordings that overlap); auto: the first that the device can do and has the space for."""
    endurance_period_s: _Positive = 10.0
    """So often the recording is read and judged; a round lasts six times as long."""
    endurance_lag_s: _Positive = 10.0
    """After so long an event is in the recording: all are asked for theirs every 5 s, the buffers are written every
    2.5 s."""
    endurance_backlog_bytes: _PositiveWhole = 256 << 20
    """When so much waits on the device, what is there is kept without being judged."""

    clear_data: bool = True
    keep_app: bool = False
    keep_screen_on: bool = True
    animations_off: bool = True
    airplane_mode: bool = False
    max_battery_celsius: _Positive | None = None
    """Wait before the start until the battery is cooler: throttling makes regressions that are not there."""
    cool_down_limit_s: _Positive = 900.0

    busy_wait_s: Annotated[float, Field(ge=0)] = 0.0
    """A device that another collection uses is waited for so long."""
    absent_wait_s: Annotated[float, Field(ge=0)] = 0.0
    """A device that is not attached is waited for so long."""
    connect_timeout_s: _Positive = 30.0
    reconnect_timeout_s: _Positive = 60.0
    """A device that goes away is waited for so long."""
    command_timeout_s: _Positive = 30.0
    launch_timeout_s: _Positive = 30.0
    launch_settle_s: _Positive = 2.0
    """The app has to live so long before the exploration begins, or it crashed at its start."""
    stop_timeout_s: _Positive = 60.0
    transfer_timeout_s: _Positive = 1800.0
    progress_interval_s: _Positive = 5.0

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self), include_extras=True).items():
            try:
                validation.check(kind, getattr(self, name))
            except ValidationError as error:
                self._require(name, False, f"expected {validation.problems(error)[0].expected}")
        check_app_id(self.app)
        check_sources(self.data_sources, self.atrace_categories)
        self._require("explorer", self.explorer in EXPLORERS, f"choose one of {', '.join(EXPLORERS)}")
        needs_command = self.explorer in ("command", "fastbot2")
        self._require(
            "explorer_command", bool(self.explorer_command) or not needs_command, f"{self.explorer} needs one"
        )
        ways = ", ".join(ENDURANCE_WAYS)
        self._require("endurance_way", self.endurance_way in ENDURANCE_WAYS, f"choose one of {ways}")
        self._require("strategy", self.strategy is None or bool(self.strategy.strip()), "it must not be empty")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"{name} = {getattr(self, name)!r}: {what}")

    @property
    def strategy_name(self) -> str:
        return self.strategy or self.explorer

    @property
    def records_frequencies(self) -> bool:
        """Whether the run can be estimated by the device's power profile, which is then kept with it."""
        return "cpufreq" in self.data_sources

    @property
    def hung_after_s(self) -> float:
        """Without a sign of the explorer."""
        return max(self.explorer_silence_s, 2 * self.action_interval_s)

    @property
    def recording_s(self) -> float:
        """Perfetto ends itself after so long, where nobody is left to stop it."""
        return self.launch_timeout_s + self.time_limit_s + self.reconnect_timeout_s + _SAFETY_S

    @property
    def recording_bytes(self) -> int:
        """Perfetto ends itself when it has written so much."""
        if self.max_trace_bytes is not None:
            return self.max_trace_bytes
        allowed = min(self.max_bytes_per_minute * self.recording_s / 60, float(_MOST_BYTES))
        return max(_LEAST_BYTES, round(allowed))

    def seed_of(self, repeat: int) -> int:
        return self.seeds[repeat % len(self.seeds)]

    def for_build(self, *, app: str, version_name: str, apk: str) -> CollectionConfig:
        """The same collection of another build."""
        return replace(self, app=app, version_name=version_name, apk=apk)


def check_app_id(app: str) -> None:
    """Refuses what cannot be an application id, before it is used as anything.

    Raises:
        Rejected: APP_ID_INVALID.
    """
    if len(app) > 255 or not _APP_ID.fullmatch(app):
        raise Rejected(Reason.APP_ID_INVALID, f"{app[:200]!r} is not an application id")
