"""Commands on disks that fill up, each place on a disk of its own: one sentence, nothing lost or half written, and the
same command goes on once there is room."""

from __future__ import annotations

import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from kills import BEFORE, COMMANDS, SESSIONS, log, marts
from small_disk import SmallDisk, small_disk
from starter import Starter, starter

DISK_MB = 256
PLACES: dict[str, tuple[str, dict[str, str]]] = {
    "warehouse": ("own", {"PERFREG_WAREHOUSE": "own/perfreg.duckdb", "PERFREG_HOME": "home"}),
    "values": ("own", {"PERFREG_DATA": "own/data"}),
    "home": ("home", {"PERFREG_HOME": "home"}),
    "registered runs": ("home/runs", {"PERFREG_HOME": "home"}),
    "pages": ("home/reports", {"PERFREG_HOME": "home"}),
    "Dagster's home": ("home/dagster", {"PERFREG_HOME": "home"}),
    "temporary folder": ("tmp", {"TMPDIR": "tmp"}),
    "everything": (".", {}),
}
"""What is on a disk of its own: the folder that is one, and the variables that say so."""
_FAILURES = ("Traceback", "unexpected ")
_PROGRESS = re.compile(r" \(\d+ s\)$")


@dataclass
class Filled:
    """What became of a command with one place full."""

    place: str
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Stage:
    """A command whose things in one place lie on a small disk."""

    def __init__(self, run: Starter, work: Path, name: str, place: str) -> None:
        self._run, self._work, self._name, self._place = run, work, name, place
        self._folder = work / "place"
        self._own, variables = PLACES[place]
        self._variables = {key: str(self._folder / value) for key, value in variables.items()}
        with self._disk() as disk:
            before = shutil.disk_usage(disk.folder).used
            assert self._command() == 0, log(work)
            self.needs_bytes = shutil.disk_usage(disk.folder).used - before
            self.expected = marts(self._warehouse, self._variables.get("PERFREG_DATA"))

    @property
    def _warehouse(self) -> Path:
        return Path(self._variables.get("PERFREG_WAREHOUSE", self._folder / "perfreg.duckdb")).parent

    @contextmanager
    def _disk(self) -> Iterator[SmallDisk]:
        """The small disk, with what was there before on it."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        with small_disk(self._folder / self._own, DISK_MB) as disk:
            for folder in self._variables.values():
                Path(folder).parent.mkdir(parents=True, exist_ok=True)
            (self._work / "log").unlink(missing_ok=True)
            arguments = ["ingest", *(str(one) for one in _sessions_before())]
            if COMMANDS[self._name].before:
                assert self._start(arguments) == 0, log(self._work)
            yield disk

    def _command(self) -> int:
        return self._start(list(COMMANDS[self._name].arguments))

    def _start(self, arguments: list[str]) -> int:
        # The log is elsewhere: on a full disk nobody could read what was said.
        return self._run.run(arguments, folder=self._folder, log_folder=self._work, variables=self._variables)

    def repeat(self, result: Filled, free_bytes: int) -> None:
        story = f"{self._name}, {self._place} with {free_bytes:,} bytes"
        with self._disk() as disk:
            (self._work / "log").unlink(missing_ok=True)
            disk.fill(free_bytes)
            status = self._command()
            told = log(self._work)
            if status == 0:
                result.outcomes["enough room"] += 1
            else:
                self._judge(result, status, told, story)
            disk.free()
            if (status := self._command()) != 0:
                result.faults.append(f"{story}: with room again it ended with {status}: {log(self._work)}")
                return
            found = marts(self._warehouse, self._variables.get("PERFREG_DATA"))
            different = [mart for mart in self.expected if found.get(mart) != self.expected[mart]]
            if different:
                result.faults.append(f"{story}: other marts: {', '.join(different)}")

    def _judge(self, result: Filled, status: int, told: str, story: str) -> None:
        lines = [line for line in told.splitlines() if line.startswith("perfreg: ") and not _PROGRESS.search(line)]
        if status != 1 or len(lines) != 1 or any(word in told for word in _FAILURES):
            result.faults.append(f"{story}: status {status}, told: {told}")
        elif "free some space" not in lines[0]:
            result.faults.append(f"{story}: says nothing of room: {lines[0]}")
        else:
            result.outcomes["told in one sentence"] += 1


def _sessions_before() -> list[Path]:
    return [SESSIONS / name for name in BEFORE]


def run(
    work: Path,
    *,
    seed: int,
    rounds: int,
    places: Sequence[str] = tuple(PLACES),
    names: Sequence[str] = ("first ingest",),
    tell: Callable[[str], object],
) -> list[Filled]:
    """So many fillings of each place, with anything between nothing and a little more than what is needed left.

    Raises:
        CannotMountError
    """
    chance = random.Random(seed)
    found = []
    with starter() as started:
        for place in places:
            result = Filled(place)
            for name in names:
                own = work / place.replace(" ", "-") / name.replace(" ", "-")
                own.mkdir(parents=True)
                stage = Stage(started, own, name, place)
                for number in range(rounds):
                    share = 0.0 if number == 0 else chance.uniform(0, 1.1)
                    stage.repeat(result, int(share * stage.needs_bytes))
                    told = ", ".join(f"{count} {what}" for what, count in result.outcomes.items())
                    tell(f"{place}, {name}: needs {stage.needs_bytes:,}; {told}, {len(result.faults)} faults")
                    for fault in result.faults[-1:]:
                        tell(fault)
            found.append(result)
    return found
