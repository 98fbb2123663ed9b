"""Synthetic traces of known content, the recorded ones, and a stand-in for a native engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import text_format
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from perfreg_assets.settings import Settings
from perfreg_assets.traces.rpc_envelope import field
from perfreg_assets.traces.wasm_files import find_wasm

DATA = Path(__file__).parents[1] / "data"
PACKAGE_ROOT = Path(__file__).parents[2]


Slice = tuple[int, int, int, int | None]
"""(core, thread id, start, end) in ns; end None = the recording stops while it runs."""


class TraceMaker:
    """Builds a trace packet by packet; times in ns of the trace clock."""

    def __init__(self) -> None:
        self._builder = TraceProtoBuilder()
        self._ftrace: dict[int, list[tuple[int, Callable]]] = {}
        self._raw = b""
        self._heap_dumps = 0
        self._symbols: dict[str, int] = {}
        self._names: dict[int, str] = {0: "swapper"}

    def process(
        self, pid: int, name: str | bytes, threads: dict[int, str] | None = None, *, ts: int | None = None
    ) -> TraceMaker:
        packet = self._builder.add_packet()
        if ts is not None:
            packet.timestamp = ts
        tree = packet.process_tree
        entry = tree.processes.add(pid=pid, ppid=1)
        entry.cmdline.append(name)
        self._names[pid] = "main"
        for tid, thread in (threads or {}).items():
            tree.threads.add(tid=tid, tgid=pid, name=thread)
            self._names[tid] = "thread"
        return self

    def schedule(self, slices: list[Slice]) -> TraceMaker:
        """Switches for the slices; a core is idle in between."""
        for cpu in sorted({each[0] for each in slices}):
            previous, until = 0, None
            for _, tid, start, end in sorted((each for each in slices if each[0] == cpu), key=lambda each: each[2]):
                if until is not None and until < start:
                    self._switch(cpu, until, previous, 0)
                    previous = 0
                self._switch(cpu, start, previous, tid)
                previous, until = tid, end
            if until is not None:
                self._switch(cpu, until, previous, 0)
        return self

    def _switch(self, cpu: int, ts: int, previous: int, following: int) -> None:
        def fill(event):
            switch = event.sched_switch
            switch.prev_pid, switch.next_pid = previous, following
            switch.prev_comm, switch.next_comm = self._names.get(previous, "x"), self._names.get(following, "x")
            switch.prev_prio = switch.next_prio = 120
            switch.prev_state = 1 if previous else 0

        self.event(cpu, ts, previous, fill)

    def frequency(self, cpu: int, ts: int, khz: int) -> TraceMaker:
        def fill(event):
            event.cpu_frequency.cpu_id, event.cpu_frequency.state = cpu, khz

        return self.event(0, ts, 0, fill)

    def event(self, cpu: int, ts: int, pid: int, fill: Callable) -> TraceMaker:
        self._ftrace.setdefault(cpu, []).append((ts, (pid, fill)))
        return self

    def told(self, ts: int, kind: str, *, cpu: int = 0, tid: int = 0, **fields: object) -> TraceMaker:
        """A kernel event by its name, such as cpu_idle, with its fields."""

        def fill(event):
            for name, value in fields.items():
                setattr(getattr(event, kind), name, value)

        return self.event(cpu, ts, tid, fill)

    def blocked(self, ts: int, tid: int, function: str, *, cpu: int = 0) -> TraceMaker:
        """What the kernel says of a thread that it wakes: in which of its functions it was blocked
        (sched_blocked_reason, symbols interned as traced does it)."""
        iid = self._symbols.setdefault(function, len(self._symbols) + 1)
        return self.told(ts, "sched_blocked_reason", cpu=cpu, pid=tid, caller=iid, io_wait=0)

    def clocks(self) -> TraceMaker:
        """All clocks are equal."""
        snapshot = self._builder.add_packet().clock_snapshot
        for clock_id in range(1, 7):
            snapshot.clocks.add(clock_id=clock_id, timestamp=1)
        return self

    def heap_dump(self, ts: int, pid: int, *, allocated: int, freed: int, overran: bool = False) -> TraceMaker:
        """What a process has allocated and freed since sampling began, as a dump of heapprofd says it."""
        packet = self._builder.add_packet()
        packet.timestamp, packet.trusted_packet_sequence_id = ts, 3
        dump = packet.profile_packet
        dump.index = self._heap_dumps
        packet.sequence_flags = 2 if self._heap_dumps else 3
        if not self._heap_dumps:
            names = packet.interned_data
            names.function_names.add(iid=1, str=b"malloc")
            names.mappings.add(iid=1)
            names.frames.add(iid=1, function_name_id=1, mapping_id=1)
            names.callstacks.add(iid=1).frame_ids.append(1)
        self._heap_dumps += 1
        process = dump.process_dumps.add(pid=pid, timestamp=ts, heap_name="libc.malloc", buffer_overran=overran)
        process.samples.add(
            callstack_id=1, self_allocated=allocated, self_freed=freed, alloc_count=allocated, free_count=freed
        )
        return self

    def section(self, ts: int, tid: int, name: str, duration_s: float) -> TraceMaker:
        """A slice of atrace: what android.os.Trace writes at its begin and end; `tid` is the process's main thread."""
        self.told(ts, "print", tid=tid, ip=0, buf=f"B|{tid}|{name}\n")
        return self.told(ts + round(duration_s * 10**9), "print", tid=tid, ip=0, buf=f"E|{tid}\n")

    def samples(self, moments: list[tuple[int, int, str]], *, period_ns: int) -> TraceMaker:
        """(time, thread id, function) as perf samples of a clock, each with a stack of that one function."""
        functions = list(dict.fromkeys(function for _, _, function in moments))
        for k, (ts, tid, function) in enumerate(moments):
            packet = self._builder.add_packet()
            packet.timestamp, packet.trusted_packet_sequence_id = ts, 5
            packet.sequence_flags = 2 if k else 3
            if not k:
                timebase = packet.trace_packet_defaults.perf_sample_defaults.timebase
                timebase.counter, timebase.period = 1, period_ns  # SW_CPU_CLOCK
                names = packet.interned_data
                names.mappings.add(iid=1)
                for iid, name in enumerate(functions, 1):
                    names.function_names.add(iid=iid, str=name.encode())
                    names.frames.add(iid=iid, function_name_id=iid, mapping_id=1)
                    names.callstacks.add(iid=iid).frame_ids.append(iid)
            sample = packet.perf_sample
            sample.cpu, sample.pid, sample.tid = 0, tid, tid
            sample.timebase_count = (k + 1) * period_ns
            sample.callstack_iid = functions.index(function) + 1
        return self

    def config(self, text: str) -> TraceMaker:
        """The configuration of the recording, in text format."""
        text_format.Parse(text, self._builder.add_packet().trace_config)
        return self

    def memory(self, ts: int, pid: int, **kilobytes: int) -> TraceMaker:
        """rss, rss_anon, rss_file, swap as a poll of /proc/<pid>/status gives them; pss_… of smaps_rollup."""
        packet = self._builder.add_packet()
        packet.timestamp = ts
        entry = packet.process_stats.processes.add(pid=pid)
        names = {"rss": "vm_rss_kb", "rss_anon": "rss_anon_kb", "rss_file": "rss_file_kb", "swap": "vm_swap_kb"}
        names |= {f"pss_{kind}": f"smr_pss_{kind}_kb" for kind in ("anon", "file", "shmem")}
        names["pss_swap"] = "smr_swap_pss_kb"
        for name, value in kilobytes.items():
            setattr(entry, names[name], value)
        return self

    def packages(self, **uids: int) -> TraceMaker:
        for name, uid in uids.items():
            self._builder.add_packet().packages_list.packages.add(name=name.replace("__", "."), uid=uid, version_code=1)
        return self

    def network_packet(self, ts: int, uid: int, length: int, *, sent: bool) -> TraceMaker:
        """The message is an extension that the Python package lacks, so it is written field by field."""
        event = field(1, 2 if sent else 1) + field(2, "wlan0") + field(3, length) + field(4, uid)
        self._raw += field(1, field(8, ts) + field(88, event) + field(10, 7))
        return self

    def lost_events(self, cpu: int, overrun: int) -> TraceMaker:
        """Kernel buffer statistics at begin and end; the difference in commit_overrun is events lost."""
        for phase, value in ((1, 0), (2, overrun)):
            stats = self._builder.add_packet().ftrace_stats
            stats.phase = phase
            stats.cpu_stats.add(cpu=cpu, commit_overrun=value, oldest_event_ts=0.0, now_ts=1.0)
        return self

    def packet(self):
        return self._builder.add_packet()

    def serialize(self) -> bytes:
        for cpu, events in sorted(self._ftrace.items()):
            packet = self._builder.add_packet()
            bundle = packet.ftrace_events
            bundle.cpu = cpu
            if self._symbols:
                packet.trusted_packet_sequence_id, packet.sequence_flags = 4, 3
                for function, iid in self._symbols.items():
                    packet.interned_data.kernel_symbols.add(iid=iid, str=function.encode())
            for ts, (pid, fill) in sorted(events, key=lambda each: each[0]):
                event = bundle.event.add(timestamp=ts, pid=pid)
                fill(event)
        self._ftrace.clear()
        return self._builder.serialize() + self._raw

    def write(self, path: Path) -> Path:
        path.write_bytes(self.serialize())
        return path


@pytest.fixture
def make_trace() -> Callable[[], TraceMaker]:
    return TraceMaker


@pytest.fixture(scope="session")
def settings() -> Settings:
    """The WebAssembly engine, whatever this machine has besides; its compiled form in the user's cache."""
    return Settings(trace_processor="wasm", engine_timeout_s=120)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return DATA


@pytest.fixture(scope="session")
def session_folder() -> Path:
    return DATA / "sessions" / "notes-000"


@pytest.fixture(scope="session")
def native_engine(tmp_path_factory) -> Path:
    """A program with the command line of `trace_processor_shell`: the WebAssembly engine behind a shell script."""
    folder = tmp_path_factory.mktemp("native")
    path = folder / "trace_processor_shell"
    boot = (
        f"import sys; sys.path.append('{PACKAGE_ROOT}'); "
        "from perfreg_assets.traces import wasm_shell; wasm_shell.main(sys.argv[1:])"
    )
    command = f'{sys.executable} -P -c "{boot}" {find_wasm()}'
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perfreg" / "engine"
    path.write_text(f'#!/bin/sh\nexec {command} --memory-bytes 17179869184 --cache {cache} "$@"\n')
    path.chmod(0o755)
    return path
