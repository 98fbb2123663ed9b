"""A call log of 627 MB, 1.6 million lines, from file to ranked causes: CPU seconds of all threads, and memory."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from measuring import Row

from perfreg_assets.traces.call_log_template import parse_template

LINES, QUICK_LINES = 1_589_765, 200_000
LINE_BYTES = 394
PROMISED_S = 10.0
PROMISED_MB_PER_S = 100.0
PROMISED_MEMORY = 1.5
SERVICES, VARIANTS, METHODS, TREE_SIZE = 6, 8, 591, 44
REFERENCE_LINES = 100_000


def write_log(path: Path, lines: int) -> int:
    """A log in the default template's form, one line in twenty a message of another kind; its bytes."""
    draw = np.random.default_rng(11)
    names = [f"com.x.dataaccess.util.AFC{chr(65 + i % 26)}Holdings{i} - executeSQL" for i in range(METHODS)]
    trees = []
    for service in range(SERVICES):
        for _ in range(VARIANTS):
            labels, children = ["1"], [0]
            for _ in range(max(2, int(draw.gamma(2.0, TREE_SIZE / 2)))):
                above = int(draw.integers(max(0, len(labels) - 12), len(labels)))
                children[above] += 1
                labels.append(f"{labels[above]}.{children[above]}")
                children.append(0)
            methods = draw.integers(0, METHODS, len(labels))
            trees.append((service, [f"{label} {names[m]}" for label, m in zip(labels, methods, strict=True)], labels))
    pad = "parameters " + "x" * 255
    written = transaction = 0
    with path.open("w", encoding="ascii") as file:
        while written < lines:
            service, calls, labels = trees[int(draw.integers(0, len(trees)))]
            second = transaction // 10
            clock = (
                f"2014-11-03 {10 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{transaction % 10}00"
            )
            head = f"{clock} [thread-{transaction % 40}] INFO "
            own = draw.lognormal(0, 1, len(labels))
            total = dict(zip(labels, own, strict=True))
            for label in reversed(labels[1:]):
                total[label.rpartition(".")[0]] += total[label]
            text = [
                f"{head}PERF tx={transaction:06d} svc=WS{service} {call} elapsed={total[label]:.4f}ms {pad}\n"
                for call, label in zip(calls, labels, strict=True)
            ]
            text[len(text) // 20 :: 20] = [
                f"{one}{head}DEBUG tx={transaction:06d} cache lookup\n" for one in text[len(text) // 20 :: 20]
            ]
            written += len(text) + len(text[len(text) // 20 :: 20])
            file.writelines(text)
            transaction += 1
    return path.stat().st_size


# In a process of its own: what it takes at most is the whole of it, less what the imports took.
_ANALYSE = """
import os, resource, sys, threading, time
from pathlib import Path
from perfreg_assets.methods.warmup import warm_up_call_logs
from perfreg_assets.model import call_logs
from perfreg_assets.traces.call_log_template import parse_template
def anonymous():
    return int(next(l for l in open("/proc/self/status") if l.startswith("RssAnon")).split()[1]) * 1024
warm_up_call_logs()
path, template = Path(sys.argv[1]), parse_template()
before, most, done = anonymous(), [0], []
def watch():
    while not done:
        most[0] = max(most[0], anonymous())
        time.sleep(0.005)
thread = threading.Thread(target=watch)
thread.start()
started = time.process_time()
found = call_logs.analyse(path, template)
taken = time.process_time() - started
done.append(1)
thread.join()
counts = found.counts
columns = counts.call_count * (4 * 4 + 8 + 8)
print(taken, most[0] - before, columns, counts.line_count)
"""


def rows(quick: bool) -> Iterable[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"
        size = write_log(path, QUICK_LINES if quick else LINES)
        told = subprocess.run(
            [sys.executable, "-c", _ANALYSE, str(path)],
            capture_output=True,
            text=True,
            check=True,
            env=dict(os.environ),
        )
        seconds, memory, columns, lines = (float(one) for one in told.stdout.split())
        speed = size / 1e6 / seconds
        case = f"{size / 1e6:.0f} MB, {lines:,.0f} lines: CPU of all threads"
        limit = PROMISED_S * size / (LINES * LINE_BYTES)
        reference = _reference(path)
        yield Row("call logs", case, seconds, "re, line by line", reference, f"under {limit:.2g} s", seconds < limit)
        yield Row(
            "call logs", f"{speed:.0f} MB per CPU second", seconds, target=f"over {PROMISED_MB_PER_S:g} MB/s",
            is_met=speed > PROMISED_MB_PER_S,
        )  # fmt: skip
        ratio = memory / columns
        yield Row(
            "call logs", f"memory: {memory / 1e6:.0f} MB for {columns / 1e6:.0f} MB of columns, {ratio:.2f} x", seconds,
            target=f"under {PROMISED_MEMORY:g} x", is_met=ratio < PROMISED_MEMORY,
        )  # fmt: skip


def _reference(path: Path) -> float:
    """CPU seconds that `re` takes for as many bytes, from its speed on the first lines."""
    pattern = parse_template().pattern
    with path.open("rb") as file:
        lines = [line for _, line in zip(range(REFERENCE_LINES), file, strict=False)]
    started = time.process_time()
    for line in lines:
        match = pattern.search(line)
        if match:
            match.groups()
    return (time.process_time() - started) * path.stat().st_size / sum(map(len, lines))
