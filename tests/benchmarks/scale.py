"""What one more run costs, and what people open, in a warehouse of N runs.

`python tests/benchmarks/scale.py N [N …] [--json FILE] [--keep DIR] [--ingests K] [--rounds R] [--only STAGE]`

Builds N made-up runs (made_up_runs.py), ingests bundled runs under new ids on top, each the only one of a new version,
through the real job in one warm process, and prints stage × N. `--keep` leaves the warehouse in DIR/N and takes the one
that is there; every measurement then adds a few real runs to it. How things are measured: cost.py. Each stage but those
of the ingest runs in a process of its own; its figures leave out start and imports, its peak does not. A machine's
speed changes from minute to minute: each measurement is made of one N after the other, R times over, before the next
begins, and the medians of the R are told.

Stages: `total` is one further ingest (median of K), `step …` its Dagster steps with what Dagster does around them,
`engine` all child processes' part of it, `publish` that of copying the warehouse for readers; the peak of `total` is
without the engine's. `process` is `perfreg ingest` of one run as a command of its own, from start to exit, `plain
script` in turns with it what only reads the trace and stores its series, `empty assets` what Dagster takes for ten that
do nothing (medians of K). `--only update` measures that command after an update of perfreg, when everything is looked
at and all pages are due.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE), str(ROOT)) if path not in sys.path]

from cost import Cost  # noqa: E402  (the folder is put on the path above)
from scale_stages import UPDATE, Stages, measurements, middle  # noqa: E402


def run(*arguments: str) -> str:
    """Runs one of this folder's files in a process of its own; what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", str(HERE / arguments[0]), *arguments[1:]]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed with exit status {done.returncode}")
    return done.stdout


def measure_all(folders: dict[int, Path], names: Iterable[str], ingests: int, rounds: int) -> dict[int, Stages]:
    """N → its stages: each measurement in a process of its own, of the warehouses in turns."""
    found: dict[int, dict[str, list[Cost]]] = {n: {} for n in folders}
    for name, number, (n, folder) in product(names, range(1, rounds + 1), folders.items()):
        print(f"measuring {name}, {n:,} runs, {number} of {rounds} ...", end=" ", file=sys.stderr, flush=True)
        begin = time.perf_counter()
        printed = run("scale_stages.py", name, str(folder), str(ingests))
        for stage, cost in json.loads(printed.splitlines()[-1]).items():
            found[n].setdefault(stage, []).append(Cost(**cost))
        print(f"{time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return {n: {stage: middle(costs) for stage, costs in stages.items()} for n, stages in found.items()}


def as_table(table: dict[int, Stages]) -> str:
    """Stage × N: CPU seconds, megabytes written, peak megabytes."""
    stages = list(dict.fromkeys(stage for found in table.values() for stage in found))
    lines = [["stage", *(f"{n:,}: CPU-s   MB written   peak MB" for n in table)]]
    for stage in stages:
        cells = []
        for found in table.values():
            cost = found.get(stage)
            cells.append(
                ""
                if cost is None
                else f"{cost.cpu_s:.2f} {cost.bytes_written / 1e6:12.1f} {cost.peak_bytes / 1e6:9.0f}"
            )
        lines.append([stage, *cells])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Cost of one more run, and of what people open, by number of runs.")
    parser.add_argument("n", nargs="*", type=int, metavar="N", help="runs in the warehouse")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="leave the warehouses in DIR/N, take those that are there"
    )
    parser.add_argument("--ingests", type=int, default=3, metavar="K", help="measured ingests, after one that is not")
    parser.add_argument(
        "--rounds", type=int, default=1, metavar="R", help="how often each is measured, of each N in turn"
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="measurements whose name begins so; may be repeated"
    )
    options = parser.parse_args(arguments)
    if not options.n:
        parser.error("how many runs? For instance: scale.py 1000 10000")
    chosen = [
        name
        for name in measurements(options.ingests)
        if (name.startswith(tuple(options.only)) if options.only else name != UPDATE)
    ]
    if not chosen:
        parser.error(f"nothing is called so; there are {', '.join(measurements(options.ingests))}")
    with tempfile.TemporaryDirectory(prefix="perfreg-scale-") as temporary:
        folders = {n: (options.keep or Path(temporary)).absolute() / str(n) for n in options.n}
        for n, folder in folders.items():
            run("made_up_runs.py", str(folder), str(n))  # its memory is gone before anything is measured
        table = measure_all(folders, chosen, options.ingests, options.rounds)
    print(as_table(table))
    if options.json:
        rows = [
            {
                "n": n,
                "stage": stage,
                "cpu_s": round(cost.cpu_s, 4),
                "bytes_written": cost.bytes_written,
                "peak_bytes": cost.peak_bytes,
            }
            for n, stages in table.items()
            for stage, cost in stages.items()
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
