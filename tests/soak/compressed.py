"""Hours of use in minutes: `perfreg ui` is fed and killed at random, and tells the same in the end as one quiet ingest.

Run folders arrive in its inbox: good ones, late ones (earlier sessions after later ones), the same again, the same
trace under another run id, broken ones, some dated in the future. Meanwhile ω changes, runs are reviewed, the disk is
full for a while, the clock jumps, somebody reads all the time, and processes are killed: workers, the code server, the
daemon, the web server, everything at once; whoever comes to a named point first, there, and most of these are armed for
run workers, at the points that such came to before and where fewest died yet.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "automation"))
sys.path.insert(0, str(Path(__file__).parent))

import points
from kills import SESSIONS, marts, reader
from rehearsal import descendants, free_port, kill
from shifted_clock import ShiftedClock
from small_disk import CannotMountError, SmallDisk, small_disk
from starter import Starter, starter

from perfreg_assets.assets.outstanding import outstanding
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

ROOT = Path(__file__).parents[2]
GOOD = (
    "notes-000",
    "notes-001",
    "notes-003",
    "notes-010",
    "notes-019",
    "notes-018",
    "notes-026",
    "notes-020",
    "notes-021",
)
SETTLING_S = 1200.0
PAUSE_S = 7.0
"""Between two events, on average."""
DISK_MB = 2048
FULL_S = (5.0, 25.0)
JUMPS_S = (-86_400, -5_000, -30, 30, 5_000, 86_400)
REVIEWED = ("notes-000", "notes-018")
POINTS = [
    name
    for name in points.NAMES
    if not name.startswith(("backup", "restore", "debt", "recording", "run folder", "session's row"))
]
"""Those that `perfreg ui` may come to."""
WORKERS_SHARE = 0.75
"""Of the armed points: only a run worker dies there."""
PATIENCE_S = 90.0
"""So long a point waits for a run worker to come before another one is armed: on a busy machine few are under way."""


@dataclass
class Soaked:
    """What happened, and what did not come out as it should."""

    events: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    reads: int = 0
    faults: list[str] = field(default_factory=list)
    settled_s: float = 0.0
    workers: Counter[str] = field(default_factory=Counter)
    """Of `points`, those at which a run worker died."""

    @property
    def kills(self) -> int:
        return sum(count for event, count in self.events.items() if event.startswith("kill")) + self.points.total()


class _Ui:
    """`perfreg ui`, started again where it was killed."""

    def __init__(self, folder: Path, log: Path, **variables: str) -> None:
        self._folder, self._log, self._process = folder, log, None
        path = f"{Path(__file__).with_name('site')}{os.pathsep}{ROOT}"
        self._environment = {**os.environ, "PERFREG_INBOX_SETTLE_S": "1", "PYTHONPATH": path, **variables}
        self._port = free_port()
        self.keep_up()

    def keep_up(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        command = [sys.executable, "-m", "perfreg_assets.cli", "ui", "--port", str(self._port)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env=self._environment,
            )  # fmt: skip

    def kill_something(self, chance: random.Random) -> str | None:
        """What was killed."""
        assert self._process is not None
        below = descendants(self._process.pid)
        if not below:
            return None
        if chance.random() < 0.2:
            for pid in [self._process.pid, *below]:
                kill(pid)
            self._process.wait()
            return "kill of everything"
        pid = chance.choice(below)
        what = _name(pid)
        kill(pid)
        return f"kill of {what}"

    def stop(self) -> None:
        assert self._process is not None
        below = descendants(self._process.pid)
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pid in below:
            kill(pid)


def _name(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", errors="replace").replace("\0", " ")
    except OSError:
        return "a process that ended"
    return points.kind_of(words)


def _folders(work: Path, chance: random.Random) -> list[tuple[str, Path]]:
    """(kind, folder) in the order in which they arrive: what is the same as another one comes after it."""
    made = work / "folders"
    found: list[tuple[str, Path]] = []
    order = list(GOOD)
    chance.shuffle(order)
    for number, name in enumerate(order):
        found.append(("good", _copy(SESSIONS / name, made / f"{number:02}-{name}")))
        if chance.random() < 0.4:
            found.append(("known", _copy(SESSIONS / name, made / f"{number:02}-{name}-again")))
        if chance.random() < 0.4:
            folder = _copy(SESSIONS / name, made / f"{number:02}-{name}-renamed")
            found.append(("duplicate", _changed(folder, run_id=f"{name}-renamed")))
        if chance.random() < 0.4:
            folder = _copy(SESSIONS / name, made / f"{number:02}-{name}-bad")
            found.append(("bad", _changed(folder, run_id=f"{name}-bad", started_at="yesterday")))
    return found


def _copy(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target


def _changed(folder: Path, **values: str) -> Path:
    document = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps({**document, **values}))
    return folder


def _arrive(folder: Path, inbox: Path, chance: random.Random) -> None:
    inbox.mkdir(parents=True, exist_ok=True)
    hidden = inbox / f".{folder.name}"
    shutil.copytree(folder, hidden)
    if chance.random() < 0.15:  # another machine's clock
        ahead = time.time() + 86_400
        for path in hidden.iterdir():
            os.utime(path, (ahead, ahead))
    hidden.rename(inbox / folder.name)


def _reference(run: Starter, work: Path, folders: list[tuple[str, Path]]) -> Path:
    place = work / "reference"
    place.mkdir(parents=True)
    for kind in ("good", "known", "duplicate", "bad"):  # what is the same as another one comes after it
        given = [str(folder) for one, folder in folders if one == kind]
        if given:
            run.run(["ingest", *given], folder=place)
    _last_words(run, place)
    return place


def _last_words(run: Starter, place: Path, **given: Path) -> None:
    """What people said last, in both warehouses."""
    for words in (*(("review", one, "--status", "rejected") for one in REVIEWED), ("settings", "set", "omega", "0.75")):
        status = run.run(list(words), folder=place, **given)
        assert status == 0, f"{' '.join(words)}: status {status}"


def _is_settled(settings: Settings, expected: int) -> bool:
    warehouse = Warehouse(settings.warehouse, lock_timeout_s=30)
    if not warehouse.published.exists() or warehouse.has_unpublished:
        return False
    with warehouse.reading() as open_one:
        if open_one.value("SELECT count(*) FROM marts.runs") < expected:
            return False
        return not outstanding(open_one, settings).keys


@contextmanager
def _place(work: Path) -> Iterator[tuple[Path, SmallDisk | None]]:
    """Where everything happens: a disk of its own where one can be had."""
    folder = work / "place"
    try:
        with small_disk(folder, DISK_MB) as disk:
            yield folder, disk
    except CannotMountError:
        yield folder, None


class _Soak:
    """One place and what happens to it."""

    def __init__(
        self, place: Path, disk: SmallDisk | None, work: Path, started: Starter, chance: random.Random, result: Soaked
    ) -> None:
        self._disk, self._log, self._started, self._chance, self._result = disk, work, started, chance, result
        self.place, self.settings = place, Settings(warehouse=place / "perfreg.duckdb")
        self._points, self._armed, self._armed_until, self._full_until = work / "points", "", 0.0, 0.0
        self._points.mkdir()
        points.note_workers(self._points)
        self._clock = ShiftedClock(self._points)
        variables = {points.VARIABLE: str(self._points), **self._clock.variables}
        self.ui = _Ui(place, work / "ui.log", **variables)

    # ---- what happens ----
    def feed(self, waiting: list[tuple[str, Path]], seconds: float, tell: Callable[[str], object]) -> None:
        """All of it, however little time that leaves."""
        until, every = time.monotonic() + seconds, seconds / len(waiting)
        next_folder = time.monotonic()
        while waiting or time.monotonic() < until:
            self.ui.keep_up()
            if waiting and not self._is_full and time.monotonic() >= min(next_folder, until):
                kind, folder = waiting.pop(0)
                _arrive(folder, self.settings.inbox_dir, self._chance)
                next_folder += self._chance.uniform(0, 1.6 * every)
                event = f"{kind} folder"
            else:
                event = self._something()
            self._result.events[event] += 1
            tell(event)
            self._look_after()
            time.sleep(self._chance.uniform(0, 2 * PAUSE_S) if time.monotonic() < until else 0)
        self.end()

    def end(self) -> None:
        """Room, the right time, and nobody dies any more."""
        self._full_until = 0.0
        self._clock.jump(0)
        self._look_after()
        if self._armed and points.disarm(self._points):
            self._result.points[self._armed] += 1
        self._armed = ""

    def settle(self, runs: int) -> None:
        begin = time.monotonic()
        while not _is_settled(self.settings, runs):
            if time.monotonic() > begin + SETTLING_S:
                self._result.faults.append(f"not settled after {SETTLING_S:g} s")
                return
            self.ui.keep_up()
            time.sleep(1)
        self._result.settled_s = max(self._result.settled_s, time.monotonic() - begin)

    def _something(self) -> str:
        happenings = [self._kill] * 2 + [self._arm] * 4 + [self._omega, self._review]
        happenings += [self._jump] if self._clock.can_jump else []
        happenings += [self._fill] if self._disk is not None else []
        return self._chance.choice(happenings)()

    def _look_after(self) -> None:
        if self._armed and not (self._points / "armed").exists():
            self._result.points[self._armed] += 1
            self._armed = ""
        if self._disk is not None and time.monotonic() > self._full_until:
            self._full_until = 0.0
            self._disk.free()

    @property
    def worker_deaths(self) -> Counter[str]:
        """Named point → run workers that died there."""
        died = points.deaths(self._points)
        return Counter({name: count for (name, kind), count in died.items() if kind == points.WORKER})

    @property
    def _is_full(self) -> bool:
        return self._full_until > 0

    def _kill(self) -> str:
        return self.ui.kill_something(self._chance) or "nothing to kill"

    def _arm(self) -> str:
        if self._armed and time.monotonic() < self._armed_until:
            return "a worker is waited for"
        if self._armed and points.disarm(self._points):
            self._result.points[self._armed] += 1
        met = [name for name in points.met_by_workers(self._points) if name in POINTS]
        if not met or self._chance.random() > WORKERS_SHARE:
            self._armed = self._chance.choice(POINTS)
            points.arm(self._points, self._armed)
            return "named point"
        died = points.deaths(self._points)
        fewest = min(died[name, points.WORKER] for name in met)
        self._armed = self._chance.choice([name for name in met if died[name, points.WORKER] == fewest])
        points.arm(self._points, self._armed, self._chance.choice((1, 1, 1, 2, 3)), kind=points.WORKER)
        self._armed_until = time.monotonic() + PATIENCE_S
        return "named point for a worker"

    def _omega(self) -> str:
        return self._say("ω changed", "settings", "set", "omega", self._chance.choice(("0.5", "1", "0.75")))

    def _review(self) -> str:
        status = self._chance.choice(("confirmed", "rejected", "accepted"))
        return self._say("reviewed", "review", self._chance.choice(REVIEWED), "--status", status)

    def _jump(self) -> str:
        self._clock.jump(self._chance.choice(JUMPS_S) if self._chance.random() < 0.7 else 0)
        return "clock jump"

    def _fill(self) -> str:
        assert self._disk is not None
        self._disk.fill(self._chance.choice((0, 100_000, 1_000_000, 5_000_000)))
        self._full_until = time.monotonic() + self._chance.uniform(*FULL_S)
        return "disk full"

    def _say(self, event: str, *words: str) -> str:
        """A command beside, killed when it takes long; it is refused when the disk is full or the run not there yet."""
        if not self.settings.warehouse.exists():
            return f"{event}: too early"
        status = self._started.run(
            list(words), folder=self.place, log_folder=self._log, killed_after_s=self._chance.uniform(1, 12)
        )
        return f"kill: {event}" if status < 0 else event if status == 0 else f"{event}: refused"


def run(work: Path, *, seconds: float, seed: int, tell: Callable[[str], object]) -> Soaked:
    """Feeds and kills for so long, then waits until everything is settled and compares."""
    chance, result = random.Random(seed), Soaked()
    folders = _folders(work, chance)
    with starter() as started, _place(work) as (place, disk):
        expected = marts(_reference(started, work, folders))
        soak = _Soak(place, disk, work, started, chance, result)
        try:
            with_reader = reader(place)
            soak.feed(list(folders), seconds, tell)
            tell("settling")
            soak.settle(len(expected["runs"]))
            _last_words(started, place, log_folder=work)
            soak.settle(len(expected["runs"]))
        finally:
            soak.ui.stop()
            soak.end()
            result.workers = soak.worker_deaths
            (place / "stop").touch()  # the reader's end, whatever happened
        told = with_reader.communicate(timeout=60)[0].split()
        if with_reader.returncode:
            result.faults.append(f"reader: {' '.join(told)}")
        else:
            result.reads = int(told[-1])
        found = marts(place)
        result.faults += [f"another {mart}" for mart in expected if found.get(mart) != expected[mart]]
        if result.faults:
            shutil.copytree(place, f"{work}-kept", dirs_exist_ok=True)
            shutil.copy(work / "ui.log", f"{work}-kept/ui.log")
            tell(f"what was found is kept in {work}-kept")
    return result
