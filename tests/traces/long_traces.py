"""Long traces of a regular program with a disturbance, in the compact form that devices write."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods import packet_scanner
from perfreg_assets.traces.packets import Block, framed
from perfreg_assets.traces.rpc_envelope import field

START_NS = 1_000_000_000_000
BUNDLE_NS = 2_000_000_000
THREADS = ("decoder", "sink", "audio", *(f"worker-{i}" for i in range(6)), "hog")
USUAL = np.array([30, 20, 10, 3, 3, 3, 3, 3, 3, 0]) / 78
DISTURBED = np.array([30, 20, 10, 3, 3, 3, 3, 3, 3, 78]) / 156


def head() -> list[proto.TracePacket]:
    """Clocks, and the threads of a process."""
    clocks = proto.TracePacket()
    for clock_id in range(1, 7):
        clocks.clock_snapshot.clocks.add(clock_id=clock_id, timestamp=START_NS)
    tree = proto.TracePacket(timestamp=START_NS)
    tree.process_tree.processes.add(pid=100, ppid=1).cmdline.append("com.rig.media")
    for number, name in enumerate(THREADS):
        tree.process_tree.threads.add(tid=100 + number, tgid=100, name=name)
    return [clocks, tree]


def bundle(rng: np.random.Generator, core: int, start_ns: int, count: int, shares: np.ndarray) -> proto.TracePacket:
    """Switches of a core within two seconds."""
    packet = proto.TracePacket()
    packet.ftrace_events.cpu = core
    table = packet.ftrace_events.compact_sched
    table.intern_table.extend(THREADS)
    times = np.sort(rng.integers(0, BUNDLE_NS, count))
    chosen = rng.choice(len(THREADS), count, p=shares)
    table.switch_timestamp.extend([start_ns + int(times[0]), *np.diff(times).tolist()])
    table.switch_prev_state.extend([1] * count)
    table.switch_next_pid.extend((100 + chosen).tolist())
    table.switch_next_prio.extend([120] * count)
    table.switch_next_comm_index.extend(chosen.tolist())
    return packet


def write_long_trace(
    path: Path, seconds: int, disturbed: tuple[int, int], *, per_bundle: int = 300, silent: range = range(0)
) -> Path:
    """Two cores; `disturbed` and `silent` in seconds since the start: the latter without any event."""
    rng = np.random.default_rng(0)
    packets = head()
    for second in range(0, seconds, 2):
        if second in silent:
            continue
        shares = DISTURBED if disturbed[0] <= second < disturbed[1] else USUAL
        for core in range(2):
            packets.append(bundle(rng, core, START_NS + second * 1_000_000_000, per_bundle, shares))
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in packets))
    return path


def packet_of(block: Block, number: int) -> bytes:
    """A packet with its tag and length, as it stands in the trace."""
    row = block.rows[number]
    return block.data[row[packet_scanner.OFFSET] : row[packet_scanner.END]].tobytes()


def compressed(packets: list[proto.TracePacket]) -> bytes:
    """A packet of compressed packets."""
    inside = b"".join(framed(packet.SerializeToString()) for packet in packets)
    return framed(field(50, zlib.compress(inside)))
