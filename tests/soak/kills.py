"""Commands killed at random moments, run again to the end: nothing is lost, nothing is torn, the marts are the same."""

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

from starter import Starter, starter
from synthetic import snapshot

from perfreg_assets.warehouse.connection import Warehouse

ROOT = Path(__file__).parents[2]
SESSIONS = ROOT / "tests" / "data" / "sessions"
BEFORE = ("notes-000", "notes-001", "notes-003")
COMMANDS: dict[str, list[str]] = {
    "ingest": ["ingest", str(SESSIONS / "notes-010"), str(SESSIONS / "notes-026")],
    "reevaluate": ["reevaluate", "--omega", "0.25", "--make-current"],
    "settings": ["settings", "set", "history_minimum", "3"],
    "exclude": ["exclude", "notes-000", "--reason", "not of this series"],
    "tidy": ["tidy"],
    "backup": ["backup", "kept.tar"],
}

READ = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from perfreg_assets.warehouse.connection import Warehouse
warehouse, last, reads = Warehouse(Path(sys.argv[2]), lock_timeout_s=1), 0, 0
print("ready", flush=True)
while not Path(sys.argv[2]).with_name("stop").exists():
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
    faults: list[str] = field(default_factory=list)


def marts(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    with Warehouse(folder / "perfreg.duckdb", lock_timeout_s=30).reading() as reader:
        return snapshot(reader)


def prepared(run: Starter, folder: Path, names: Sequence[str]) -> Path:
    """A project of a few runs, to be copied into the place where everything happens."""
    folder.mkdir(parents=True)
    assert run.run(["ingest", *(str(SESSIONS / name) for name in names)], folder=folder) == 0, log(folder)
    return folder


def log(folder: Path) -> str:
    return (folder / "log").read_text("utf-8", errors="replace")[-2000:]


def copied(base: Path, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(base, place)
    (place / "log").unlink(missing_ok=True)


class Round:
    """One command in one place: how long it takes, and what the marts are after it."""

    def __init__(self, run: Starter, base: Path, place: Path, name: str) -> None:
        self._run, self._base, self._place, self.name = run, base, place, name
        copied(base, place)
        begin = time.monotonic()
        assert run.run(COMMANDS[name], folder=place) == 0, log(place)
        self.seconds = time.monotonic() - begin
        self.expected = marts(place)

    def repeat(self, result: Killed, chance: random.Random, kills: int) -> None:
        """Kills the command some times, each time where the one before left it, and lets it run to its end then."""
        copied(self._base, self._place)
        with_reader = _reader(self._place)
        for _ in range(kills):
            after_s = chance.uniform(0, self.seconds)
            result.kills += self._run.run(COMMANDS[self.name], folder=self._place, killed_after_s=after_s) < 0
        status = self._run.run(COMMANDS[self.name], folder=self._place)
        (self._place / "stop").touch()
        told = with_reader.communicate(timeout=60)[0].split()
        result.rounds += 1
        if with_reader.returncode:
            result.faults.append(f"{self.name}: reader: {' '.join(told)}")
        else:
            result.reads += int(told[-1])
        if status != 0:
            result.faults.append(f"{self.name}: the rerun ended with {status}: {log(self._place)}")
            return
        found = marts(self._place)
        different = [mart for mart in self.expected if found.get(mart) != self.expected[mart]]
        if different:
            result.faults.append(f"{self.name}: other marts: {', '.join(different)}")


def _reader(place: Path) -> subprocess.Popen[str]:
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
    seconds: float = float("inf"),
    rounds_most: int | None = None,
    names: Sequence[str] = tuple(COMMANDS),
    before: Sequence[str] = BEFORE,
    kills_per_round: int = 4,
    tell: Callable[[str], object],
) -> list[Killed]:
    """Rounds of some commands in turn until the time is up, or so many of each."""
    chance = random.Random(seed)
    with starter() as started:
        base = prepared(started, work / "base", before)
        rounds = [(Round(started, base, work / "place", name), Killed(name)) for name in names]
        until = time.monotonic() + seconds
        while time.monotonic() < until and (rounds_most is None or rounds[0][1].rounds < rounds_most):
            for one, result in rounds:
                if time.monotonic() < until:
                    one.repeat(result, chance, kills_per_round)
                    tell(f"{one.name}: {result.kills} kills, {len(result.faults)} faults")
    return [result for _, result in rounds]
