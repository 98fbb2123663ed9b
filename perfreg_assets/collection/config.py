"""What to collect and how: plain values only, so that run config and command-line options map one to one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args, get_origin, get_type_hints

from perfreg_assets.collection.perfetto_config import DEFAULT_SOURCES, check_sources
from perfreg_assets.reasons import Reason, Rejected

EXPLORERS = ("monkey", "droidbot", "fastbot2", "command")
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
    time_limit_s: float = 600.0
    """T: the exploration ends then, or earlier when the explorer has seen all states."""
    action_interval_s: float = 2.0
    """I between two actions; 2 s [thesis 4.1]."""
    explorer: str = "monkey"
    explorer_command: tuple[str, ...] = ()
    """Arguments of the explorer's program on this computer; {serial}, {app}, {apk}, {seconds}, {interval},
    {seed}, {output} (a folder on this computer), {device_output} (a folder on the device) and {path} (the JSONL
    file to write) are filled in."""
    explorer_options: Mapping[str, str] = field(default_factory=dict)
    """Options of the explorer by name; see `collection.explorers`."""
    explorer_silence_s: float = 60.0
    """An explorer that does nothing for so long counts as hung."""
    seeds: tuple[int, ...] = (0,)
    """Repeat i explores with seed i modulo their number: equal seeds give comparable paths."""
    repeats: int = 3
    """Sessions per version in a batch: one exploratory session says little."""

    data_sources: tuple[str, ...] = DEFAULT_SOURCES
    atrace_categories: tuple[str, ...] = ()
    memory_poll_ms: int = 1000
    buffer_kb: int = 65536
    file_write_period_ms: int = 2500
    max_bytes_per_minute: float = 200e6
    """The session is stopped when the trace grows faster. 20 MB is usual [thesis 3.3]."""
    max_trace_bytes: int = 8 << 30
    min_free_bytes: int = 256 << 20
    """Free space wanted on device and computer before the start; twice the expected trace where that is more."""

    clear_data: bool = True
    keep_app: bool = False
    keep_screen_on: bool = True
    animations_off: bool = True
    airplane_mode: bool = False
    max_battery_celsius: float | None = None
    """Wait before the start until the battery is cooler: throttling makes regressions that are not there."""
    cool_down_limit_s: float = 900.0

    connect_timeout_s: float = 30.0
    reconnect_timeout_s: float = 60.0
    """A device that goes away is waited for so long."""
    command_timeout_s: float = 30.0
    launch_timeout_s: float = 30.0
    launch_settle_s: float = 2.0
    """The app has to live so long before the exploration begins, or it crashed at its start."""
    stop_timeout_s: float = 60.0
    transfer_timeout_s: float = 1800.0
    progress_interval_s: float = 5.0

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            self._check(name, _is_a(getattr(self, name), kind), f"it must be {_KINDS.get(kind, 'of another type')}")
        check_app_id(self.app)
        check_sources(self.data_sources, self.atrace_categories)
        self._check("explorer", self.explorer in EXPLORERS, f"choose one of {', '.join(EXPLORERS)}")
        needs_command = self.explorer in ("command", "fastbot2")
        self._check("explorer_command", bool(self.explorer_command) or not needs_command, f"{self.explorer} needs one")
        for name in _POSITIVE:
            value = getattr(self, name)
            self._check(name, value is None or (math.isfinite(value) and value > 0), "it must be above 0")
        self._check("min_free_bytes", self.min_free_bytes >= 0, "it must not be negative")
        self._check("seeds", len(self.seeds) > 0, "give at least one")
        for seed in self.seeds:
            self._check("seeds", 0 <= seed < 2**31, "a seed is a whole number from 0 to 2147483647")
        self._check("strategy", self.strategy is None or bool(self.strategy.strip()), "it must not be empty")

    def _check(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"{name} = {getattr(self, name)!r}: {what}")

    @property
    def strategy_name(self) -> str:
        return self.strategy or self.explorer

    def seed_of(self, repeat: int) -> int:
        return self.seeds[repeat % len(self.seeds)]

    def for_build(self, *, app: str, version_name: str, apk: str) -> CollectionConfig:
        """The same collection of another build."""
        return replace(self, app=app, version_name=version_name, apk=apk)


_POSITIVE = (
    *("time_limit_s", "action_interval_s", "explorer_silence_s", "repeats", "memory_poll_ms", "buffer_kb"),
    *("file_write_period_ms", "max_bytes_per_minute", "max_trace_bytes", "max_battery_celsius", "cool_down_limit_s"),
    *(
        "connect_timeout_s",
        "reconnect_timeout_s",
        "command_timeout_s",
        "launch_timeout_s",
        "launch_settle_s",
        "stop_timeout_s",
    ),
    *("transfer_timeout_s", "progress_interval_s"),
)


_KINDS: dict[Any, str] = {
    str: "text",
    str | None: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    float | None: "a number",
    tuple[str, ...]: "a list of texts",
    tuple[int, ...]: "a list of whole numbers",
    Mapping[str, str]: "names with texts",
}


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value from run config or a command line has a field's type; whole numbers are numbers, too."""
    options = get_args(kind)
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_is_a(item, options[0]) for item in value)
    if get_origin(kind) is Mapping:
        return isinstance(value, Mapping) and all(_is_a(item, str) for pair in value.items() for item in pair)
    if options:
        return any(_is_a(value, option) for option in options)
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, kind)


def check_app_id(app: str) -> None:
    """Refuses what cannot be an application id, before it is used as anything.

    Raises:
        Rejected: APP_ID_INVALID.
    """
    if len(app) > 255 or not _APP_ID.fullmatch(app):
        raise Rejected(Reason.APP_ID_INVALID, f"{app[:200]!r} is not an application id")
