"""`perfreg serve` killed while pages are fetched: it starts again by itself on the same port and shows the same."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "automation"))
sys.path.insert(0, str(Path(__file__).parent))

from kills import BEFORE, ROOT, Killed, marts, prepared
from rehearsal import descendants, free_port, kill
from starter import starter

PAGES = ("/", "/index.html", "/runs/notes-000.html", "/omega.html", "/lists/runs?limit=5")
START_S = 120.0


class _Server:
    def __init__(self, place: Path, port: int) -> None:
        self._port, log = port, (place / "serve.log").open("ab")
        command = [sys.executable, "-m", "perfreg_assets.cli", "serve", "--port", str(port)]
        with log:
            self._process = subprocess.Popen(
                command, cwd=place, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip

    def pages(self) -> dict[str, bytes]:
        return {page: self._page(page) for page in PAGES}

    def wait(self) -> None:
        deadline = time.monotonic() + START_S
        while True:
            try:
                self._page("/")
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.1)
            else:
                return

    def kill(self) -> bool:
        for pid in [self._process.pid, *descendants(self._process.pid)]:
            kill(pid)
        return self._process.wait() < 0

    def _page(self, page: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{page}", timeout=30) as answer:
            content: bytes = answer.read()
        return content


def run(work: Path, *, seed: int, kills: int, tell: Callable[[str], object]) -> Killed:
    """So many kills, at random moments before and after the first page is there."""
    chance, result, port = random.Random(seed), Killed("serve"), free_port()
    with starter() as started:
        place = prepared(started, work, BEFORE)
    expected = marts(place)
    server = _Server(place, port)
    server.wait()
    first = server.pages()
    while True:
        result.kills += server.kill()
        if result.kills >= kills:
            break
        server = _Server(place, port)
        if chance.random() < 0.4:
            time.sleep(chance.uniform(0, 3))  # while it starts
            continue
        try:
            server.wait()
            found = server.pages()
            result.reads += len(found)
            result.faults += [f"another {page}" for page in PAGES if found[page] != first[page]]
        except OSError as error:
            result.faults.append(f"it does not start again: {error}")
        tell(f"serve: {result.kills} kills, {len(result.faults)} faults")
    if marts(place) != expected:
        result.faults.append("other marts")
    result.rounds = result.reads // len(PAGES)
    return result
