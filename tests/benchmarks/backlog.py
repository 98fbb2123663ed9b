"""A backlog: N recorded runs taken in at once, and how much sooner two workers have read them than one.

`python tests/benchmarks/backlog.py [N] [--workers K] [--cores-each C] [--times T] [--keep DIR]`

The bundled runs under new ids, ten to a version, each later than the one before. First one `perfreg ingest` of all of
them; then the same folders through an exchange, read by one worker and by K at a time, `perfreg worker` as processes
of their own, and committed by one `perfreg commit`. Prints runs per minute, CPU seconds and bytes per run. A worker
reads on all cores it has: the speed-up says something only with `--cores-each`, which gives each worker idle cores of
its own, as on a machine of its own. `--times 25`: each run is its recorded one 25 times in a row, half an hour in place
of 70 s.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE), str(ROOT)) if path not in sys.path]

from cost import Meter  # noqa: E402  (the folder is put on the path above)
from longer_runs import longer_document, write_longer_trace  # noqa: E402
from made_up_runs import LAST_START, write_another_run  # noqa: E402

from perfreg_assets.bundled import demo_runs_dir  # noqa: E402

RUNS_PER_VERSION = 10


@dataclass(frozen=True)
class Spent:
    """What a stage took: seconds on the clock, CPU seconds of all its processes."""

    stage: str
    wall_s: float
    cpu_s: float


def make_folders(target: Path, count: int, times: int = 1) -> list[Path]:
    """`count` run folders; the traces in them tell what the bundled ones tell, `times` times in a row."""
    bundled = sorted(demo_runs_dir().iterdir())
    made = []
    for number in range(count):
        source = bundled[number % len(bundled)]
        document = json.loads((source / "run.json").read_text("utf-8"))
        version = number // RUNS_PER_VERSION
        document |= {
            "run_id": f"{document['run_id']}-{number:06d}",
            "version_name": f"2.{version}",
            "version_code": 2_000_000 + version,
            "started_at": (LAST_START + timedelta(minutes=2 * number)).isoformat().replace("+00:00", "Z"),
        }
        made.append(_write(target / document["run_id"], document, source, times))
    return made


def _write(folder: Path, document: dict[str, Any], source: Path, times: int) -> Path:
    if times == 1:
        return write_another_run(folder, document, source)
    with tempfile.TemporaryDirectory(dir=folder.parent.parent) as longer:
        trace = document["trace"]
        repeat_ns = write_longer_trace(source / trace, Path(longer) / trace, times)
        return write_another_run(folder, longer_document(document, times, repeat_ns), Path(longer))


def held_bytes(folder: Path) -> int:
    """Of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def spend(stage: str, home: Path, *commands: Sequence[str], exchange: Path | None = None, cores_each: int = 0) -> Spent:
    """Runs these perfreg commands side by side on the warehouse in `home`; each on so many cores of its own, or all."""
    environment = {
        **os.environ,
        "PERFREG_WAREHOUSE": str(home / "perfreg.duckdb"),
        "PERFREG_HOME": str(home / ".perfreg"),
        "PYTHONPATH": str(ROOT),
        **({"PERFREG_EXCHANGE": str(exchange)} if exchange is not None else {}),
    }
    print(f"{stage} ...", end=" ", file=sys.stderr, flush=True)
    meter, begin = Meter(), time.perf_counter()
    running = [
        subprocess.Popen(
            [*_on_cores(number, cores_each), sys.executable, "-W", "ignore", "-m", "perfreg_assets.cli", *command],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, command in enumerate(commands)
    ]
    said = [one.communicate()[1] for one in running]
    spent = Spent(stage, time.perf_counter() - begin, meter.lap().cpu_s)
    print(f"{spent.wall_s:.0f} s", file=sys.stderr)
    for one, text in zip(running, said, strict=True):
        if one.returncode not in (0, 3):  # 3: a run is anomalous
            raise SystemExit(f"{stage} failed with exit status {one.returncode}: {text[-2000:]}")
    return spent


def _on_cores(number: int, each: int) -> list[str]:
    """What runs a command on cores of its own: the first, second, … `each` of those that there are."""
    cores = sorted(os.sched_getaffinity(0))[number * each : (number + 1) * each]
    return ["taskset", "--cpu-list", ",".join(map(str, cores))] if each else []


def read_by(workers: int, folders: Sequence[Path], folder: Path, cores_each: int) -> tuple[Spent, Spent]:
    """(what reading took, what committing took) of folders that lie in an exchange of their own."""
    exchange, home = folder / f"exchange-{workers}", folder / f"home-{workers}"
    home.mkdir()
    for given in folders:
        shutil.copytree(given, exchange / "inbox" / given.name)
    shares = [("worker", "--share", f"{number + 1}/{workers}") for number in range(workers)]
    reading = spend(f"read by {workers}", home, *shares, exchange=exchange, cores_each=cores_each)
    return reading, spend(f"committed, of {workers}", home, ("commit",), exchange=exchange)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Runs per minute of a backlog, and the speed-up of workers.")
    parser.add_argument("n", nargs="?", type=int, default=1000, metavar="N", help="runs; default 1000")
    parser.add_argument("--workers", type=int, default=2, metavar="K", help="beside one; default 2")
    parser.add_argument("--cores-each", type=int, default=0, metavar="C", help="cores of each worker; default: all")
    parser.add_argument("--times", type=int, default=1, metavar="T", help="play each recording so often; default 1")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave everything there")
    options = parser.parse_args(arguments)
    if options.workers * options.cores_each > len(os.sched_getaffinity(0)):
        parser.error(f"there are {len(os.sched_getaffinity(0))} cores for {options.workers} workers")
    with tempfile.TemporaryDirectory(prefix="perfreg-backlog-") as temporary:
        folder = (options.keep or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        folders = make_folders(folder / "given", options.n, options.times)
        alone = folder / "home"
        alone.mkdir()
        spend("warm-up", alone, ("ingest", str(folders[0])))  # compiles kernels, once per home
        found = [spend("ingest", alone, ("ingest", str(folder / "given")))]
        given, data = (held_bytes(folder / place) for place in ("given", "home/perfreg.data"))
        for workers in (1, options.workers):
            found += read_by(workers, folders, folder, options.cores_each)
    print(f"{'':24}{'wall s':>10}{'runs/min':>10}{'CPU-s/run':>11}")
    for one in found:
        rate, cpu = 60 * options.n / one.wall_s, one.cpu_s / options.n
        print(f"{one.stage:24}{one.wall_s:10.0f}{rate:10.0f}{cpu:11.2f}")
    kilobytes = {"run folder": given, "series, paths and the like": data}
    print("\n" + ", ".join(f"{what} {size / options.n / 1000:.0f} kB a run" for what, size in kilobytes.items()))
    print(f"{options.workers} workers read {found[1].wall_s / found[3].wall_s:.2f} × as fast as one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
