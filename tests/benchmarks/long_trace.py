"""What a trace of gigabytes costs to reduce: `python tests/benchmarks/long_trace.py [GB …] [--per-second N]`.

A made-up recording of four cores in the compact form that devices write, 50,000 switches per second, with three
disturbances of 20 s, goes through `perfreg reduce` as a command of its own, warm. Printed by size: CPU seconds and peak
memory of the command as the kernel counts them, seconds on the clock, how much faster than real time by both, the bytes
that are left, which disturbances were kept, and kept seconds outside of them and their rims. The first 300 s are the
reference: below .3 GB a disturbance falls into it. Exit status 1: memory above 500 MB, a disturbance missing, or less
than 100 times real time by CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE), str(ROOT), str(ROOT / "tests" / "traces")) if path not in sys.path]

from long_traces import (  # noqa: E402  (the folder is put on the path above)
    BUNDLE_NS,
    DISTURBED,
    START_NS,
    USUAL,
    bundle,
    head,
    write_long_trace,
)  # fmt: skip

from perfreg_assets.traces.packets import framed  # noqa: E402

CORES, BUNDLE_S = 4, BUNDLE_NS // 10**9
BYTES_PER_SWITCH = 6.9
DISTURBED_S, RIM_S = 20, 2.5
TEMPLATES = 32
MEMORY_LIMIT_BYTES, LEAST_SPEED = 500_000_000, 100


def packets(seconds: int, per_second: int, disturbed: Sequence[int]) -> Iterator[bytes]:
    """Framed packets in the order of time: those of 32 bundles of either kind, each moved to its core and second."""
    rng = np.random.default_rng(0)
    count = per_second * BUNDLE_S // CORES
    made = {name: [bundle(rng, 0, 0, count, shares) for _ in range(TEMPLATES)] for name, shares in
            (("usual", USUAL), ("disturbed", DISTURBED))}  # fmt: skip
    firsts = {
        name: [one.ftrace_events.compact_sched.switch_timestamp[0] for one in some] for name, some in made.items()
    }
    yield from (framed(packet.SerializeToString()) for packet in head())
    for second in range(0, seconds, BUNDLE_S):
        kind = "disturbed" if any(begin <= second < begin + DISTURBED_S for begin in disturbed) else "usual"
        for core in range(CORES):
            chosen = int(rng.integers(TEMPLATES))
            packet = made[kind][chosen]
            packet.ftrace_events.cpu = core
            times = packet.ftrace_events.compact_sched.switch_timestamp
            times[0] = START_NS + second * 10**9 + firsts[kind][chosen]
            yield framed(packet.SerializeToString())


def write(path: Path, size_bytes: float, per_second: int) -> tuple[int, list[int]]:
    """(seconds of the recording, seconds at which something disturbs it)."""
    seconds = int(size_bytes / (BYTES_PER_SWITCH * per_second)) // BUNDLE_S * BUNDLE_S
    disturbed = [int(seconds * share) // BUNDLE_S * BUNDLE_S for share in (0.4, 0.6, 0.8)]
    with path.open("wb") as target:
        target.writelines(packets(seconds, per_second, disturbed))
    return seconds, disturbed


def reduce(trace: Path, out: Path) -> tuple[float, os.struct_rusage]:
    """(seconds on the clock, what the command used)."""
    environment = {
        **os.environ,
        "PERFREG_WAREHOUSE": str(out / "perfreg.duckdb"),
        "PERFREG_TRACE_MAX_BYTES": str(10 * trace.stat().st_size),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-W", "ignore", "-m", "perfreg_assets.cli", "reduce", str(trace), "--out", str(out)]
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read() if process.stderr is not None else ""
    _, status, usage = os.wait4(process.pid, 0)  # of this command alone, unlike getrusage
    clock_s = time.perf_counter() - begin
    if status:
        raise SystemExit(f"the command failed:\n{said}")
    return clock_s, usage


def measure(size_bytes: float, per_second: int) -> bool:
    """Prints a line; whether it keeps what the module promises."""
    with tempfile.TemporaryDirectory(prefix="perfreg-long-") as temporary:
        folder = Path(temporary)
        trace = folder / "long.perfetto-trace"
        seconds, disturbed = write(trace, size_bytes, per_second)
        clock_s, usage = reduce(trace, folder / "kept")
        document = json.loads(next((folder / "kept").rglob("perfreg.reduction.json")).read_text("utf-8"))
        size = trace.stat().st_size
    cpu_s, peak_bytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    spans = [((one["start_ns"] - START_NS) / 1e9, (one["end_ns"] - START_NS) / 1e9) for one in document["stretches"]]
    found = sum(any(low <= at and at + DISTURBED_S <= high for low, high in spans) for at in disturbed)
    wanted = [(at - RIM_S, at + DISTURBED_S + RIM_S) for at in disturbed]
    beside = sum(high - low - sum(max(0.0, min(high, b) - max(low, a)) for a, b in wanted) for low, high in spans)
    print(
        f"{size / 1e6:8.0f}{seconds:9}{cpu_s:8.1f}{peak_bytes / 1e6:10.0f}{clock_s:9.0f}{seconds / cpu_s:9.0f} x"
        f"{seconds / clock_s:8.0f} x{document['bytes_after'] / 1e6:9.1f}{found:9} of {len(disturbed)}{beside:9.1f}",
        flush=True,
    )
    return peak_bytes <= MEMORY_LIMIT_BYTES and found == len(disturbed) and seconds / cpu_s >= LEAST_SPEED


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Cost of reducing a long trace by its size.")
    parser.add_argument("gb", nargs="*", type=float, default=[0.5, 2.0], help="gigabytes; default .5 and 2")
    parser.add_argument("--per-second", type=int, default=50_000, metavar="N", help="switches per second; 50,000")
    options = parser.parse_args(arguments)
    print(f"{'MB':>8}{'s':>9}{'CPU-s':>8}{'peak MB':>10}{'clock s':>9}{'by CPU':>11}{'by clock':>10}"
          f"{'left MB':>9}{'disturbed':>14}{'beside s':>9}")  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="perfreg-warm-") as temporary:
        short = write_long_trace(Path(temporary) / "short.perfetto-trace", 600, (400, 420))
        reduce(short, Path(temporary) / "kept")  # compiles the kernels
    is_kept = [measure(size * 1e9, options.per_second) for size in options.gb]  # a line for each, whatever it says
    return int(not all(is_kept))


if __name__ == "__main__":
    sys.exit(main())
