"""Commands killed at random moments and at named points, run again to the end: nothing is lost, nothing is torn, the
marts are the same."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
sys.path.insert(0, str(Path(__file__).parent))

import points
from starter import Starter, starter
from synthetic import snapshot

from perfreg_assets.warehouse.connection import Warehouse

ROOT = Path(__file__).parents[2]
SESSIONS = ROOT / "tests" / "data" / "sessions"
BEFORE = ("notes-000", "notes-001", "notes-003")
NOTHING: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """What is killed, and the runs that are in the warehouse before it."""

    arguments: tuple[str, ...]
    before: tuple[str, ...] = BEFORE


def _sessions(*names: str) -> list[str]:
    return [str(SESSIONS / name) for name in names]


COMMANDS: dict[str, Command] = {
    "first ingest": Command(("ingest", *_sessions("notes-000", "notes-001")), NOTHING),
    "ingest": Command(("ingest", *_sessions("notes-010", "notes-026"))),
    "reevaluate": Command(("reevaluate", "--omega", "0.25", "--make-current")),
    "settings": Command(("settings", "set", "history_minimum", "3")),
    "exclude": Command(("exclude", "notes-000", "--reason", "not of this series")),
    "review": Command(("review", "notes-003", "--status", "rejected")),
    "tidy": Command(("tidy",)),
    "backup": Command(("backup", "made.tar")),
    "restore": Command(("restore", "kept.tar", "--replace")),
}

READ = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from perfreg_assets.warehouse.connection import Warehouse
warehouse, last, reads = Warehouse(Path(sys.argv[2]), lock_timeout_s=1), 0, 0
print("ready", flush=True)
while not Path(sys.argv[2]).with_name("stop").exists():
    if warehouse.published.exists() or last:
        with warehouse.reading() as reader:
            runs = reader.value("SELECT count(*) FROM marts.runs")
            torn = reader.value(
                "SELECT count(*) FROM marts.verdicts AS v ANTI JOIN marts.runs AS r USING (run_id)"
            )
        if runs < last or torn:
            print(f"torn: {runs} runs after {last}, {torn} verdicts of no run", flush=True)
            sys.exit(1)
        last, reads = runs, reads + 1
    time.sleep(0.2)
print(reads, flush=True)
"""


@dataclass
class Killed:
    """What became of one command."""

    command: str
    kills: int = 0
    rounds: int = 0
    reads: int = 0
    points: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)


def marts(folder: Path, data: str | None = None) -> dict[str, list[tuple[object, ...]]]:
    with Warehouse(folder / "perfreg.duckdb", lock_timeout_s=30, data=data).reading() as open_one:
        return snapshot(open_one)


def prepared(run: Starter, folder: Path, names: Sequence[str]) -> Path:
    """A project of a few runs with a backup of it, to be copied into the place where everything happens."""
    folder.mkdir(parents=True)
    if names:
        assert run.run(["ingest", *_sessions(*names)], folder=folder) == 0, log(folder)
        assert run.run(["backup", "kept.tar"], folder=folder) == 0, log(folder)
    return folder


def log(folder: Path) -> str:
    return (folder / "log").read_text("utf-8", errors="replace")[-2000:]


def copied(base: Path, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(base, place)
    (place / "log").unlink(missing_ok=True)


class Round:
    """One command in one place: how long it takes, which points it comes to, and what the marts are after it."""

    def __init__(self, run: Starter, base: Path, work: Path, name: str) -> None:
        self._run, self._base, self.name = run, base, name
        self._place, self._points = work / "place", work / "points"
        self._points.mkdir(exist_ok=True)
        copied(base, self._place)
        begin = time.monotonic()
        with points.counting(self._points) as met:
            assert self._command() == 0, log(self._place)
        self.seconds = time.monotonic() - begin
        self.expected = marts(self._place)
        self._met, self._ahead = met, sorted(met)

    def repeat(self, result: Killed, chance: random.Random, kills: int) -> None:
        """Kills the command some times, each time where the one before left it, and lets it run to its end then."""
        copied(self._base, self._place)
        with_reader = reader(self._place)
        where = []
        for number in range(kills):
            named = self._ahead and number % 2 == 0
            where.append(self._killed_at(result, chance) if named else self._killed_after(result, chance))
        status = self._command()
        (self._place / "stop").touch()
        told = with_reader.communicate(timeout=60)[0].split()
        result.rounds += 1
        story = f"{self.name}, killed {', '.join(where)}"
        if with_reader.returncode:
            result.faults.append(f"{story}: reader: {' '.join(told)}")
        else:
            result.reads += int(told[-1])
        if status != 0:
            result.faults.append(f"{story}: the rerun ended with {status}: {log(self._place)}")
            return
        found = marts(self._place)
        different = [mart for mart in self.expected if found.get(mart) != self.expected[mart]]
        if different:
            result.faults.append(f"{story}: other marts: {', '.join(different)}")

    def _killed_at(self, result: Killed, chance: random.Random) -> str:
        """At the next of the points that it was not killed at yet, or at any; those behind it are not met again."""
        name = self._ahead.pop(0)
        if not self._ahead:
            self._ahead = sorted(self._met)
        nth = chance.randint(1, self._met[name])
        points.arm(self._points, name, nth)
        status = self._command()
        if points.disarm(self._points) and status < 0:
            result.kills += 1
            result.points.add(name)
            return f"at {name!r} ({nth})"
        return f"not at {name!r} ({nth})"

    def _killed_after(self, result: Killed, chance: random.Random) -> str:
        after_s = chance.uniform(0, self.seconds)
        is_killed = self._command(killed_after_s=after_s) < 0
        result.kills += is_killed
        return f"{'after' if is_killed else 'not after'} {after_s:.2f} s"

    def _command(self, killed_after_s: float | None = None) -> int:
        return self._run.run(
            list(COMMANDS[self.name].arguments), folder=self._place, killed_after_s=killed_after_s,
            variables={points.VARIABLE: str(self._points)},
        )  # fmt: skip


def reader(place: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", READ, str(ROOT), str(place / "perfreg.duckdb")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def run(
    work: Path,
    *,
    seed: int,
    kills: int,
    names: Sequence[str] = tuple(COMMANDS),
    kills_per_round: int = 4,
    tell: Callable[[str], object],
) -> list[Killed]:
    """Rounds of some commands in turn until there were so many kills."""
    chance = random.Random(seed)
    with starter() as started:
        bases = {
            before: prepared(started, work / f"base-{len(before)}", before)
            for before in {COMMANDS[name].before for name in names}
        }
        rounds = [(Round(started, bases[COMMANDS[name].before], work, name), Killed(name)) for name in names]
        while sum(result.kills for _, result in rounds) < kills:
            for one, result in rounds:
                one.repeat(result, chance, kills_per_round)
                tell(f"{one.name}: {result.kills} kills, {len(result.faults)} faults")
                for fault in result.faults[-1:]:
                    tell(fault)
    return [result for _, result in rounds]
