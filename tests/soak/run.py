"""What the project withstands, in figures: `python tests/soak/run.py` prints them as a table.

Four parts, each with a seed that it tells: commands killed at random moments and at named points, disks that fill up,
broken input, and hours of use in minutes under `perfreg ui`. Exit status 1 when anything did not come out as it
should. CI runs a short form (tests/soak/test_short.py).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import collects
import compressed
import full_disks
import hostile
import kills
import serves
from small_disk import CannotMountError

Row = tuple[str, str, list[str]]
COLLECT_SHARE, SERVE_SHARE = 0.15, 0.05
"""Of the kills; the rest falls on commands that write the warehouse."""


def main() -> int:
    given = _arguments()
    faults = 0
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        for what, told, found in _rows(Path(folder), given):
            sys.stdout.write(f"{what:<28} {len(found)} faults  {told}\n")
            sys.stdout.writelines(f"    {fault}\n" for fault in found)
            sys.stdout.flush()
            faults += len(found)
    sys.stdout.write(f"seed {given.seed}: {faults} faults\n")
    return int(faults > 0)


def _rows(work: Path, given: argparse.Namespace) -> Iterator[Row]:
    for kind in hostile.run(work / "hostile", cases=given.cases, seed=given.seed) if given.cases else ():
        yield f"broken {kind.kind}", f"{kind.count} cases: {_counted(kind.outcomes)}", kind.faults
    if given.kills:
        yield from _killed(work / "kills", given.kills, given.seed)
    if given.fillings:
        try:
            for filled in full_disks.run(work / "disks", rounds=given.fillings, seed=given.seed, tell=_tell):
                yield f"full: {filled.place}", _counted(filled.outcomes), filled.faults
        except CannotMountError as error:
            yield "full disks", f"not tried: {error}", []
    if given.soak_s:
        soaked = compressed.run(work / "soak", seconds=given.soak_s, seed=given.seed, tell=_tell)
        told = (
            f"{soaked.kills} kills, {soaked.points.total()} at {len(soaked.points)} named points "
            f"({soaked.workers.total()} of them run workers, at {len(soaked.workers)}), {soaked.reads} readings beside "
            f"them; {_counted(soaked.events)}; settled within {soaked.settled_s:.0f} s"
        )
        yield "perfreg ui", told, soaked.faults


def _killed(work: Path, count: int, seed: int) -> Iterator[Row]:
    rows = kills.run(work / "commands", kills=count, seed=seed, tell=_tell)
    try:
        rows.append(collects.run(work / "collect", kills=round(COLLECT_SHARE * count), seed=seed, tell=_tell))
    except collects.Unavailable as error:
        yield "killed collect", f"not tried: {error}", []
    rows.append(serves.run(work / "serve", kills=round(SERVE_SHARE * count), seed=seed, tell=_tell))
    for row in rows:
        named = f", at {len(row.points)} named points among them" if row.points else ""
        told = f"{row.kills} kills{named}; {row.rounds} reruns, {row.reads} readings"
        yield f"killed {row.command}", told, row.faults


def _counted(outcomes: Counter[str]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=250, help="broken inputs of each kind (default 250)")
    parser.add_argument("--kills", type=int, default=200, help="kills of commands, at least (default 200)")
    parser.add_argument("--fillings", type=int, default=4, help="of each place's disk (default 4)")
    parser.add_argument("--soak-s", type=float, default=1200.0, help="seconds under perfreg ui (default 1200)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
