"""Hours of use in minutes: `perfreg ui` is fed and killed at random, and tells the same in the end as one quiet ingest.

Run folders arrive in its inbox: good ones, late ones (earlier sessions after later ones), the same again, the same
trace under another run id, broken ones, some dated in the future. Meanwhile ω changes, runs are reviewed, and processes
are killed: workers, the code server, the daemon, everything at once.
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
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "automation"))
sys.path.insert(0, str(Path(__file__).parent))

from kills import SESSIONS, marts
from rehearsal import descendants, free_port, kill
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
SETTLING_S = 600.0


@dataclass
class Soaked:
    """What happened, and what did not come out as it should."""

    events: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    settled_s: float = 0.0


class _Ui:
    """`perfreg ui`, started again where it was killed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, None
        self._port = free_port()
        self.keep_up()

    def keep_up(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        command = [sys.executable, "-m", "perfreg_assets.cli", "ui", "--port", str(self._port)]
        with (self._folder / "ui.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, "PERFREG_INBOX_SETTLE_S": "1", "PYTHONPATH": str(ROOT)},
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
    known = {"webserver": "web server", "_daemon": "daemon", "api grpc": "code server", "wasm": "engine"}
    return next((told for part, told in known.items() if part in words), "worker")


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
    return place


def _is_settled(settings: Settings, expected: int) -> bool:
    warehouse = Warehouse(settings.warehouse, lock_timeout_s=30)
    if not warehouse.published.exists() or warehouse.has_unpublished:
        return False
    with warehouse.reading() as reader:
        if reader.value("SELECT count(*) FROM marts.runs") < expected:
            return False
        return not outstanding(reader, settings).keys


def run(work: Path, *, seconds: float, seed: int, tell: Callable[[str], object]) -> Soaked:
    """Feeds and kills for so long, then waits until everything is settled and compares."""
    chance, result = random.Random(seed), Soaked()
    folders = _folders(work, chance)
    with starter() as started:
        expected = marts(_reference(started, work, folders))
        place = work / "place"
        place.mkdir()
        settings = Settings(warehouse=place / "perfreg.duckdb")
        ui = _Ui(place)
        try:
            _feed(ui, started, settings, list(folders), result, chance, seconds, tell)
            ui.keep_up()
            begin = time.monotonic()
            while not _is_settled(settings, len(expected["runs"])) and time.monotonic() < begin + SETTLING_S:
                ui.keep_up()
                time.sleep(1)
            result.settled_s = time.monotonic() - begin
        finally:
            ui.stop()
        if result.settled_s >= SETTLING_S:
            result.faults.append(f"not settled after {SETTLING_S:g} s")
        found = marts(place)
        result.faults += [f"another {mart}" for mart in expected if found.get(mart) != expected[mart]]
    return result


def _feed(
    ui: _Ui,
    started: Starter,
    settings: Settings,
    waiting: list[tuple[str, Path]],
    result: Soaked,
    chance: random.Random,
    seconds: float,
    tell: Callable[[str], object],
) -> None:
    """Feeds all of it, however little time that leaves."""
    until, every = time.monotonic() + seconds, seconds / (2.5 * len(waiting) + 1)
    place = settings.warehouse.parent
    while waiting or time.monotonic() < until:
        ui.keep_up()
        if waiting and (chance.random() < 0.5 or time.monotonic() >= until):
            kind, folder = waiting.pop(0)
            _arrive(folder, settings.inbox_dir, chance)
            event = f"{kind} folder"
        elif chance.random() < 0.6:
            event = ui.kill_something(chance) or "nothing to kill"
        else:
            omega = chance.choice(("0.5", "1", "0.75"))
            status = (
                started.run(["settings", "set", "omega", omega], folder=place) if settings.warehouse.exists() else 0
            )
            event = "ω changed" if status == 0 else f"ω: status {status}"
        result.events[event] += 1
        tell(event)
        time.sleep(chance.uniform(0, 2 * every) if time.monotonic() < until else 0)
    started.run(["settings", "set", "omega", "0.75"], folder=place)
