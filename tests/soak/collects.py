"""`perfreg collect` killed at random moments and at named points, on the stand-in device of the tests: the next one
cleans up by itself, nothing is left on the device, and every run folder in the inbox is whole."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "device"))
sys.path.insert(0, str(Path(__file__).parent))

import points
import standin
import standin_fixtures
from kills import Killed, log
from starter import Starter, starter

from perfreg_assets.collection.run_folder import read_run_folder
from perfreg_assets.collection.sweep import remaining
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

APP = "com.rig.notes"
OPTIONS = {
    **{"min_free_bytes": 0, "file_write_period_ms": 300, "explorer_silence_s": 2.5, "progress_interval_s": 0.5},
    **{"connect_timeout_s": 5.0, "reconnect_timeout_s": 2.0, "stop_timeout_s": 2.0, "launch_settle_s": 0.1},
}
Unavailable = standin.Unavailable


class Collects:
    """A project that collects from one device."""

    def __init__(self, run: Starter, device: standin.StandIn, work: Path, variables: dict[str, str]) -> None:
        self._run, self._device, self._place, self._points = run, device, work / "place", work / "points"
        self._place.mkdir(parents=True)
        self._points.mkdir()
        self._variables = {**variables, points.VARIABLE: str(self._points)}
        options = [text for name, value in OPTIONS.items() for text in ("--option", f"{name}={value}")]
        self._arguments = ["collect", "--app", APP, "--device", device.serial, "--time-limit", "2"]
        self._arguments += ["--action-interval", "0.3", *options]
        self._settings = Settings(warehouse=self._place / "perfreg.duckdb")
        begin = time.monotonic()
        with points.counting(self._points) as met:
            assert self._command() == 0, log(self._place)
        self._seconds, self._met = time.monotonic() - begin, met

    def repeat(self, result: Killed, chance: random.Random) -> None:
        """One kill, and the next collection."""
        before = self._folders()
        if chance.random() < 0.6:
            name = chance.choice(sorted(self._met))
            nth = chance.randint(1, self._met[name])
            points.arm(self._points, name, nth)
            status = self._command()
            is_killed, story = points.disarm(self._points) and status < 0, f"at {name!r} ({nth})"
            result.points |= {name} if is_killed else set()
        else:
            after_s = chance.uniform(0, self._seconds)
            is_killed, story = self._command(killed_after_s=after_s) < 0, f"after {after_s:.1f} s"
        result.kills += is_killed
        result.rounds += 1
        status = self._command()
        if status != 0:
            result.faults.append(f"collect, killed {story}: the next ended with {status}: {log(self._place)}")
        result.faults += [f"collect, killed {story}: {fault}" for fault in self._wrong(before)]

    def _wrong(self, before: set[str]) -> list[str]:
        left = [item for item in self._device.leftovers() if not item.startswith(f"{APP}.json")]
        found = [f"left on the device: {', '.join(left)}"] if left else []
        found += [f"still owed: {owed}" for owed in remaining(self._settings)]
        now = self._folders()
        if len(now - before) not in (1, 2) or before - now:
            found.append(f"{len(now - before)} new run folders, {len(before - now)} are gone")
        for name in now - before:
            run = read_run_folder(self._settings.inbox_dir / name, self._settings)
            if run.trace_sha256 != run.trace.sha256:
                found.append(f"{name} is not whole")
        # The row comes after the folder: of one that was killed in between the next collection stores it.
        with Warehouse.of(self._settings).reading() as reader:
            told = {run_id for (run_id,) in reader.rows("SELECT run_id FROM marts.collections")}
        if now - told:
            found.append(f"not in the warehouse: {', '.join(now - told)}")
        return found

    def _folders(self) -> set[str]:
        inbox = self._settings.inbox_dir
        return {path.name for path in inbox.iterdir() if not path.name.startswith(".")} if inbox.is_dir() else set()

    def _command(self, killed_after_s: float | None = None) -> int:
        return self._run.run(
            self._arguments, folder=self._place, variables=self._variables, killed_after_s=killed_after_s
        )


def run(work: Path, *, seed: int, kills: int, tell: Callable[[str], object]) -> Killed:
    """So many kills.

    Raises:
        Unavailable: there is no stand-in device on this machine.
    """
    chance, result = random.Random(seed), Killed("collect")
    work.mkdir(parents=True)
    standin.fetch_adbd(standin.cache_dir())
    with standin.private_adb_server(work / "adb") as variables, standin.in_environment(variables):
        device = standin.StandIn(work / "device", standin_fixtures.TRACE)
        try:
            device.reset()
            standin_fixtures.attach(device.serial)
            device.install(APP, "1.4.0", 140)
            with starter() as started:
                collects = Collects(started, device, work, variables)
                while result.kills < kills:
                    collects.repeat(result, chance)
                    tell(f"collect: {result.kills} kills, {len(result.faults)} faults")
                    for fault in result.faults[-1:]:
                        tell(fault)
        finally:
            device.close()
    return result
