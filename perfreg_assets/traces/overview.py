"""What a trace holds, whatever app it is to be read for: device, time, processes; and what an app could be judged by.

For people who have a trace and nothing else. One start of the engine; no run, no warehouse.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from perfreg_assets.settings import Settings
from perfreg_assets.traces.app_candidates import ProcessUse, process_uses
from perfreg_assets.traces.build_fingerprint import FINGERPRINT
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import TraceSession, once_more, open_trace
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.gate import FileFacts, TraceHealth, check_file, check_trace
from perfreg_assets.traces.grid import Grid, Series
from perfreg_assets.traces.profile_choice import Profiles
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.series import series_of
from perfreg_assets.traces.statements import statement

_REALTIME = 1  # as BuiltinClock numbers it
_NO_APP = "\0"  # no process is named so
_CLOCK_UNSET = datetime(2008, 9, 23, tzinfo=UTC)  # before the first Android device: nobody had set the clock


@dataclass(frozen=True)
class DeviceTold:
    """What the trace says of where it was recorded; None where it does not.

    Attributes:
        name: the build's device name (`bluejay`), else the machine of a system that is no Android.
        release, sdk: of Android.
    """

    name: str | None
    release: str | None
    sdk: int | None

    @property
    def description(self) -> str | None:
        """As run.json has it: `bluejay / Android 13`."""
        if self.name is None:
            return None
        return f"{self.name} / Android {self.release}" if self.release else self.name


@dataclass(frozen=True)
class Overview:
    """Attributes:
    started_at: by the device's clock; None where the trace does not tell, or nobody had set it.
    recorded_ns: (start, end) of what series are made of, on the trace's clock.
    processes: likely apps first, each by CPU time.
    health, series: for `app`; None and empty where no app was asked for. Where the likeliest one was and there is
        none, what the trace holds and lacks for any.
    """

    path: Path
    facts: FileFacts
    device: DeviceTold
    started_at: datetime | None
    recorded_ns: tuple[int, int]
    process_count: int
    processes: tuple[ProcessUse, ...]
    app: str | None
    health: TraceHealth | None
    series: tuple[Series, ...]

    @property
    def duration_s(self) -> float:
        return (self.recorded_ns[1] - self.recorded_ns[0]) / 1e9

    @property
    def candidates(self) -> list[ProcessUse]:
        """Processes that may be the app, the likeliest first."""
        return [one for one in self.processes if one.is_app_like]


def look_over(
    path: Path,
    settings: Settings,
    app: str | None = None,
    *,
    with_series: bool = False,
    engines: Engines | None = None,
    profiles: Profiles | None = None,
) -> Overview:
    """Reads the trace.

    Args:
        app: application id; None: the likeliest candidate, if `with_series`, else none.
        with_series: the series of the app too.
        engines: of the batch that the trace belongs to.
        profiles: power profiles to choose from; without, what the cores drew is not known.

    Raises:
        Rejected: TRACE_… for what is wrong with the file, ENGINE_…
    """
    facts = check_file(path, settings=settings)
    return once_more(lambda: _opened(facts, settings, app, engines, profiles or Profiles(), with_series=with_series))


def _opened(
    facts: FileFacts,
    settings: Settings,
    app: str | None,
    engines: Engines | None,
    profiles: Profiles,
    *,
    with_series: bool,
) -> Overview:
    with open_trace(facts.path, settings, engines) as session:
        contents = load_contents(session)
        processes = process_uses(contents)
        if app is None and with_series:
            app = next((one.name for one in processes if one.is_app_like), None)
        health, series = None, list[Series]()
        recorded = contents.recorded_ns
        if app is not None or with_series:
            name = _NO_APP if app is None else app
            health = check_trace(
                session, facts, app=name, exploration=None, time_limit_s=0.0, settings=settings, contents=contents
            )
            if app is not None and with_series and health.app_processes:
                grid = Grid.covering(*recorded, settings.interval_s)
                scope = Scope(session, contents, grid, app, profiles)
                series = series_of(scope, health.losses)
        return Overview(
            path=facts.path,
            facts=facts,
            device=_device(session),
            started_at=_started_at(session, recorded[0]),
            recorded_ns=recorded,
            process_count=len(contents.processes),
            processes=processes,
            app=app,
            health=health,
            series=tuple(series),
        )


def _device(session: TraceSession) -> DeviceTold:
    rows = session.query(statement("device_facts"), {"name": "string", "told": "string"})
    told = dict(zip(rows["name"], rows["told"], strict=True))
    found = FINGERPRINT.match(str(told.get("android_build_fingerprint") or ""))
    text = str(told.get("android_sdk_version") or "")
    sdk = int(text) if text.isdecimal() else None
    if found is not None:
        return DeviceTold(found["device"], found["release"], sdk)
    if sdk is not None or "android" in str(told.get("system_release") or ""):  # whose build could not be read
        return DeviceTold(None, None, sdk)
    machine = " ".join(str(told[name]) for name in ("system_name", "system_machine") if told.get(name))
    return DeviceTold(machine or None, None, None)


def _started_at(session: TraceSession, start_ns: int) -> datetime | None:
    """What the device's clock showed when the recording began, to the microsecond."""
    rows = session.query(statement("clock_snapshots", clock_id=_REALTIME), {"trace_ns": "int64", "clock_ns": "int64"})
    if not len(rows):
        return None
    epoch_ns = int(rows["clock_ns"][0]) + start_ns - int(rows["trace_ns"][0])
    found = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=epoch_ns // 1000)
    return found if found > _CLOCK_UNSET else None
