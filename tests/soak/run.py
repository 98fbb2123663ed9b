"""What the project withstands, in figures: `python tests/soak/run.py` prints them as a table.

Three parts, each with a seed that it tells: commands killed at random moments, broken input, and hours of use in
minutes under `perfreg ui`. Exit status 1 when anything did not come out as it should. CI runs a short form of the
second (tests/soak/test_short.py).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import compressed
import hostile
import kills


def main() -> int:
    given = _arguments()
    rows: list[tuple[str, str, list[str]]] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        work = Path(folder)
        for kind in hostile.run(work / "hostile", cases=given.cases, seed=given.seed) if given.cases else ():
            told = ", ".join(f"{count} {outcome}" for outcome, count in kind.outcomes.most_common())
            rows.append((f"broken {kind.kind}", f"{kind.count} cases: {told}", kind.faults))
        if given.kills:
            for command in kills.run(work / "kills", kills=given.kills, seed=given.seed, tell=_tell):
                told = (
                    f"{command.kills} kills, {len(command.points)} named points among them, "
                    f"{command.rounds} reruns, {command.reads} readings beside them"
                )
                rows.append((f"killed {command.command}", told, command.faults))
        if given.soak_s:
            soaked = compressed.run(work / "soak", seconds=given.soak_s, seed=given.seed, tell=_tell)
            told = ", ".join(f"{count} {event}" for event, count in soaked.events.most_common())
            rows.append(("perfreg ui", f"{told}; settled {soaked.settled_s:.0f} s after the last", soaked.faults))
    for what, told, faults in rows:
        sys.stdout.write(f"{what:<28} {len(faults)} faults  {told}\n")
        sys.stdout.writelines(f"    {fault}\n" for fault in faults)
    faults = sum(len(found) for _, _, found in rows)
    sys.stdout.write(f"seed {given.seed}: {faults} faults\n")
    return int(faults > 0)


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=250, help="broken inputs of each kind (default 250)")
    parser.add_argument("--kills", type=int, default=240, help="kills of commands, at least (default 240)")
    parser.add_argument("--soak-s", type=float, default=1200.0, help="seconds under perfreg ui (default 1200)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
