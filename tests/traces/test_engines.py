"""Engines for a batch: a bad trace takes no other along, and 4 GiB of addresses are no limit."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import inspection, memory_budget
from perfreg_assets.traces.engine import TraceSession, open_trace, start_engine
from perfreg_assets.traces.engine_process import EngineProcess
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.memory_budget import MemoryBudget, allowed_bytes, expected_bytes, free_bytes
from perfreg_assets.traces.wasm_process import WasmPrefork, WasmProcess

COUNT = {"n": "int64"}
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1e15) SELECT count(*) AS n FROM c"
LARGE_TABLE = (
    "CREATE PERFETTO TABLE big AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1e6) "
    "SELECT x, hex(randomblob(50000)) AS y FROM c; SELECT count(*) AS n FROM big"
)
LITTLE_BYTES = 85 << 20  # an empty engine takes 79 MiB of its own memory
DEVICE_TRACES = sorted((Path(__file__).parents[1] / "data" / "android-traces").glob("*.perfetto-trace.gz"))


@pytest.fixture
def little_narrow_memory(monkeypatch):
    """Engines with 32-bit addresses run out of them early; whether each that was started was such a one."""
    started: list[bool] = []
    original = Engines.start

    def start(self: Engines, *, is_wide: bool) -> EngineProcess:
        process = original(self, is_wide=is_wide)
        started.append(process.is_narrow)
        if not process.is_narrow:
            return process
        assert isinstance(process, WasmProcess)
        process.close()
        return WasmProcess(process._prefork, process.choice, LITTLE_BYTES, is_narrow=True)

    monkeypatch.setattr(Engines, "start", start)
    return started


def inspect(path: Path, settings, engines=None, app="com.rig.notes"):
    return inspection.inspect_trace(
        path, app=app, exploration=None, time_limit_s=0.1, settings=settings, engines=engines
    )


def values(found: inspection.Inspection) -> dict[str, object]:
    """Everything but the seconds."""
    series = {
        one.name: one.missing_reason if one.values is None else (one.start_ns, one.values.tobytes())
        for one in found.series
    }
    health = found.health
    told = (health.reason, health.detail, health.stats, health.window_ns, health.data_sources, health.engine_version)
    return {"series": series, "health": told, "measurements": found.measurements}


# ---- addresses ---------------------------------------------------------------------------------------
def test_a_trace_that_4_gib_cannot_hold_is_read_by_the_wide_engine(session_folder, settings, little_narrow_memory):
    path = session_folder / "trace.perfetto-trace.gz"
    found = inspect(path, settings)
    assert little_narrow_memory == [True, False]
    assert found.health.is_complete
    assert sum(one.values is not None for one in found.series) >= 8
    little_narrow_memory.clear()
    with open_trace(path, settings) as session:
        assert session.query("SELECT count(*) AS n FROM sched_slice", COUNT)["n"][0] == 190_555
    assert little_narrow_memory == [True, False]


def test_memory_that_is_not_allowed_is_not_taken_by_the_wide_engine_either(
    session_folder, settings, little_narrow_memory
):
    found = inspect(session_folder / "trace.perfetto-trace.gz", settings.with_values(engine_memory_bytes=1 << 31))
    assert little_narrow_memory == [True]
    assert found.health.reason is Reason.ENGINE_MEMORY


def test_a_trace_known_to_be_large_is_given_to_the_wide_engine_at_once(
    session_folder, settings, little_narrow_memory, monkeypatch
):
    monkeypatch.setattr("perfreg_assets.traces.engines._NARROW_TRACE_BYTES", 1 << 20)
    assert inspect(session_folder / "trace.perfetto-trace.gz", settings).health.is_complete
    assert little_narrow_memory == [False]


@pytest.mark.parametrize("path", DEVICE_TRACES, ids=lambda path: path.name.partition(".")[0])
def test_both_builds_find_the_same_in_every_trace(path, settings, monkeypatch):
    app = "androidx.benchmark.integration.macrobenchmark.target"
    narrow = inspect(path, settings, app=app)
    monkeypatch.setattr(inspection, "wants_wide", lambda _: True)
    wide = inspect(path, settings, app=app)
    assert values(narrow) == values(wide)
    assert narrow.health.engine_version is not None


# ---- a batch -----------------------------------------------------------------------------------------
def test_what_happens_to_one_engine_does_not_happen_to_its_neighbours(settings, make_trace, tmp_path):
    path = make_trace().process(10, "app").schedule([(0, 10, 0, 5)]).write(tmp_path / "t.pftrace")
    hurried = settings.with_values(engine_timeout_s=3)
    outcomes = {}
    with Engines(settings) as engines:
        neighbours = [start_engine(settings, engines) for _ in range(2)]
        hanging, crashing = start_engine(hurried, engines), start_engine(settings, engines)
        small = start_engine(settings, Engines(settings.with_values(engine_memory_bytes=1 << 28)))
        sessions: list[TraceSession] = [*neighbours, hanging, crashing]
        assert len({session._process.group for session in sessions}) == 1
        neighbours[0].load([path.read_bytes()])

        def suffer(name, session, sql):
            with pytest.raises(Rejected) as rejected:
                session.query(sql, COUNT)
            outcomes[name] = rejected.value.reason

        threads = [
            threading.Thread(target=suffer, args=args)
            for args in (("hanging", hanging, ENDLESS), ("small", small, LARGE_TABLE), ("crashing", crashing, ENDLESS))
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        os.kill(crashing._process.pid, signal.SIGABRT)
        for thread in threads:
            thread.join(30)
        assert outcomes == {
            "hanging": Reason.ENGINE_TIMEOUT,
            "small": Reason.ENGINE_MEMORY,
            "crashing": Reason.ENGINE_CRASHED,
        }
        assert neighbours[0].query("SELECT count(*) AS n FROM sched_slice", COUNT)["n"].tolist() == [2]
        neighbours[1].load([path.read_bytes()])
        assert neighbours[1].query("SELECT count(*) AS n FROM sched_slice", COUNT)["n"].tolist() == [2]
        assert start_engine(settings, engines).query("SELECT 1 AS n", COUNT)["n"].tolist() == [1]
        small.close()


def test_an_engines_process_ends_with_its_session(settings):
    with Engines(settings) as engines:
        session = start_engine(settings, engines)
        pid = session._process.pid
        assert Path(f"/proc/{pid}").exists()
        session.close()
        assert not Path(f"/proc/{pid}").exists()  # ended and waited for: its memory is returned
        with start_engine(settings, engines) as again:
            assert again._process.group == session._process.group
            assert again.query("SELECT 1 AS n", COUNT)["n"].tolist() == [1]


def test_a_batch_goes_on_after_the_end_of_the_process_that_forks(settings):
    with Engines(settings) as engines:
        session = start_engine(settings, engines)
        os.kill(session._process.group, signal.SIGKILL)
        with pytest.raises(Rejected) as rejected:
            session.query(ENDLESS, COUNT)
        assert rejected.value.reason is Reason.ENGINE_KILLED
        session.close()
        with start_engine(settings, engines) as again:
            assert again.query("SELECT 1 AS n", COUNT)["n"].tolist() == [1]


def test_the_process_that_forks_may_end_while_it_is_asked(settings, monkeypatch):
    """It was there when it was looked at."""
    original = WasmPrefork.start
    ended = []

    def start(self, memory_bytes):
        if not ended:
            ended.append(self.process.pid)
            os.kill(self.process.pid, signal.SIGKILL)
        return original(self, memory_bytes)

    monkeypatch.setattr(WasmPrefork, "start", start)
    with Engines(settings) as engines, start_engine(settings, engines) as session:
        assert session._process.group not in ended
        assert session.query("SELECT 1 AS n", COUNT)["n"].tolist() == [1]


def test_what_an_engine_says_at_its_end_is_in_the_reason(settings):
    with start_engine(settings) as session:
        session._process._prefork.ask(f"end {session._process.pid}")
        with pytest.raises(Rejected) as rejected:
            session.query("SELECT 1 AS n", COUNT)
        assert rejected.value.reason is Reason.ENGINE_CRASHED
        assert "told before" in rejected.value.detail


def test_neither_order_nor_number_nor_company_changes_what_is_found(session_folder, settings):
    paths = [*DEVICE_TRACES[:3], session_folder / "trace.perfetto-trace.gz"]
    apps = [*["androidx.benchmark.integration.macrobenchmark.target"] * 3, "com.rig.notes"]
    alone = [values(inspect(path, settings, app=app)) for path, app in zip(paths, apps, strict=True)]
    with Engines(settings) as engines, ThreadPoolExecutor(4) as pool:
        look = partial(inspect, settings=settings, engines=engines)
        together = list(pool.map(lambda pair: values(look(pair[0], app=pair[1])), zip(paths, apps, strict=True)))
        reversed_one_by_one = [
            values(look(path, app=app)) for path, app in reversed(list(zip(paths, apps, strict=True)))
        ]
    assert together == alone
    assert reversed_one_by_one[::-1] == alone


def test_a_small_trace_is_read_and_unpacked_once(session_folder, settings, monkeypatch):
    path = session_folder / "trace.perfetto-trace.gz"
    read = []
    original = inspection.unpacked_chunks

    def reading(*args):
        read.append(args)
        return original(*args)

    monkeypatch.setattr(inspection, "unpacked_chunks", reading)
    once = values(inspect(path, settings))
    assert read == []
    monkeypatch.setattr(inspection, "_SMALL_BYTES", 1 << 20)  # it has 1.9 MB
    assert values(inspect(path, settings)) == once
    assert len(read) == 1


# ---- memory ------------------------------------------------------------------------------------------
def test_traces_wait_until_their_memory_is_free_and_in_order():
    budget, begun, running = MemoryBudget(100), [], []
    most = [0]
    lock = threading.Lock()

    def work(name, wanted):
        with budget.taking(wanted):
            with lock:
                begun.append(name)
                running.append(wanted)
                most[0] = max(most[0], sum(running))
            time.sleep(0.05)
            with lock:
                running.remove(wanted)

    threads = []
    for name, wanted in (("a", 60), ("b", 60), ("c", 30), ("d", 40)):
        threads.append(threading.Thread(target=work, args=(name, wanted)))
        threads[-1].start()
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert begun[:2] == ["a", "b"]  # c would fit beside a, but b asked first
    assert most[0] <= 100


def test_a_trace_that_is_larger_than_everything_is_read_alone():
    budget = MemoryBudget(100)
    with budget.taking(1000):
        pass
    with budget.taking(10):
        waiting = threading.Thread(target=lambda: budget.taking(1000).__enter__())
        waiting.start()
        waiting.join(0.1)
        assert waiting.is_alive()
    waiting.join(5)
    assert not waiting.is_alive()


def test_room_is_given_back_after_an_error():
    budget = MemoryBudget(100)
    for _ in range(3):
        with pytest.raises(ValueError, match="bad"), budget.taking(90):
            raise ValueError("bad")


def test_what_is_free_is_between_nothing_and_everything():
    everything = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < free_bytes() < everything
    assert expected_bytes(0) > 0
    assert np.isclose(expected_bytes(10**9) - expected_bytes(0), 4e9)


def test_a_system_without_room_for_one_more_engine_keeps_those_that_it_has(settings):
    with Engines(settings) as engines:
        session = start_engine(settings, engines)
        group = session._process.group
        limits = resource.prlimit(group, resource.RLIMIT_NOFILE)
        resource.prlimit(group, resource.RLIMIT_NOFILE, (8, limits[1]))  # its pipes and a few files more
        with pytest.raises(Rejected) as rejected:
            list(map(partial(start_engine, settings), [engines] * 8))
        assert rejected.value.reason is Reason.ENGINE_UNAVAILABLE
        assert "Too many open files" in rejected.value.detail
        assert session.query("SELECT 1 AS n", COUNT)["n"].tolist() == [1]
        resource.prlimit(group, resource.RLIMIT_NOFILE, limits)
        assert start_engine(settings, engines)._process.group == group


def test_an_engine_may_take_a_share_of_the_memory_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_budget, "_CGROUP", tmp_path)
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert allowed_bytes(Settings()) == min(int(0.8 * whole), 16 << 30)
    (tmp_path / "memory.max").write_text("max\n")
    assert allowed_bytes(Settings()) == min(int(0.8 * whole), 16 << 30)
    (tmp_path / "memory.max").write_text(f"{1 << 30}\n")  # a container's limit
    assert allowed_bytes(Settings()) == int(0.8 * (1 << 30))
    assert allowed_bytes(Settings(engine_memory_bytes=1 << 28)) == 1 << 28
