"""Whether the memory that an ingest takes grows with the number of runs: `python tests/benchmarks/memory.py [N …]`.

N bundled runs under new ids, each a trace of its own, ten to a version, taken in by one `perfreg ingest` into a new
warehouse. While it runs the memory of all its processes is looked at ten times a second: the share of each in what is
resident (Pss of /proc/…/smaps_rollup: pages of several processes count once), trace engines apart from the rest.
The most of each is printed by N, with the largest single engine. Exit status 1: everything but the engines took more
than 2 GB, or together with them more than that and one engine per trace that is read at a time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE), str(ROOT)) if path not in sys.path]

from backlog import make_folders, spend  # noqa: E402  (the folder is put on the path above)
from cost import peak_bytes  # noqa: E402

LIMIT_BYTES = 2_000_000_000
ENGINE = b"wasm_prefork"
"""In the command line of every process of a trace engine; the processes forked for a trace keep it."""
EVERY_S = 0.1


@dataclass(frozen=True)
class Peaks:
    """Bytes.

    Attributes:
        rest: the most that all processes but the engines had together.
        main: the most that the process of the command had, as the kernel counts it (VmHWM).
        engines: the most that all engines had together. largest: that one of them had.
        together: the most of all.
    """

    rest: int = 0
    main: int = 0
    engines: int = 0
    largest: int = 0
    together: int = 0

    def with_sample(self, main: int, rest: Sequence[int], engines: Sequence[int]) -> Peaks:
        return Peaks(
            max(self.rest, sum(rest)), max(self.main, main), max(self.engines, sum(engines)),
            max(self.largest, *engines, 0), max(self.together, sum(rest) + sum(engines)),
        )  # fmt: skip


def family(process: int) -> list[int]:
    """A process and all below it; those that ended meanwhile are left out."""
    found = [process]
    for one in found:
        try:
            for task in (Path("/proc") / str(one) / "task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def share_bytes(process: int) -> int:
    """Its share in what is resident; 0 of one that has ended."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)


def is_engine(process: int) -> bool:
    try:
        return ENGINE in Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def measure(folder: Path, home: Path) -> tuple[Peaks, float]:
    """(peaks, seconds) of one `perfreg ingest` of all that lies in a folder."""
    environment = {
        **os.environ,
        "PERFREG_WAREHOUSE": str(home / "perfreg.duckdb"),
        "PERFREG_HOME": str(home / ".perfreg"),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-W", "ignore", "-m", "perfreg_assets.cli", "ingest", str(folder)]
    peaks, begin = Peaks(), time.perf_counter()
    with (home / "said.txt").open("w") as said:
        process = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
        while process.poll() is None:
            everyone = family(process.pid)
            engines = [one for one in everyone if is_engine(one)]
            shares = {one: share_bytes(one) for one in everyone}
            try:
                main = peak_bytes(process.pid)
            except OSError:  # it is ending: what it had is known from the sample before
                main = 0
            own = [shares[one] for one in everyone if one not in engines]
            peaks = peaks.with_sample(main, own, [shares[one] for one in engines])
            time.sleep(EVERY_S)
    if process.returncode not in (0, 3):  # 3: a run is anomalous
        raise SystemExit(f"the ingest failed with exit status {process.returncode}: {said.name}")
    return peaks, time.perf_counter() - begin


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Peak memory of an ingest by the number of runs.")
    parser.add_argument("n", nargs="*", type=int, default=[50, 300], metavar="N", help="runs; default 50 300")
    options = parser.parse_args(arguments)
    cores = len(os.sched_getaffinity(0))
    print(
        f"{'runs':>8}{'seconds':>10}{'all but engines':>18}{'the command':>14}{'engines':>10}{'largest':>10}{'all':>8}"
    )
    is_met = True
    for count in options.n:
        with tempfile.TemporaryDirectory(prefix="perfreg-memory-") as temporary:
            folder = Path(temporary)
            folders = make_folders(folder / "given", count)
            home = folder / "home"
            home.mkdir()
            spend("warm-up", folder / "home", ("ingest", str(folders[0])))  # compiles kernels and engine
            peaks, seconds = measure(folder / "given", home)
        cells = (peaks.rest, peaks.main, peaks.engines, peaks.largest, peaks.together)
        sizes = "".join(f"{size / 1e6:{width}.0f}" for size, width in zip(cells, (18, 14, 10, 10, 8), strict=True))
        print(f"{count:8}{seconds:10.0f}{sizes}   MB", flush=True)
        is_met &= peaks.rest <= LIMIT_BYTES and peaks.together <= LIMIT_BYTES + cores * peaks.largest
    told = "met" if is_met else "MISSED"
    print(f"all but engines at most {LIMIT_BYTES / 1e9:g} GB, {cores} traces read at a time: {told}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
