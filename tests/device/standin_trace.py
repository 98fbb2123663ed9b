"""Cuts a recorded Perfetto trace at packet borders and moves it to another time. Standard library only.

Runs inside the stand-in device (the `perfetto` shim) and in its tests. Only what carries a time is rewritten:
packet timestamps, ftrace events and compact switches, process trees and statistics, clock snapshots.
"""

import gzip

PACKET = 1
FTRACE_EVENTS, PROCESS_TREE, CLOCK_SNAPSHOT, TIMESTAMP, PROCESS_STATS = 1, 2, 6, 8, 9
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def read_varint(data, position):
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """(number, wire type, value) of a message; a value is an int or bytes."""
    position = 0
    while position < len(data):
        key, position = read_varint(data, position)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, position = read_varint(data, position)
        elif kind == BYTES:
            length, position = read_varint(data, position)
            value, position = data[position : position + length], position + length
        else:
            size = 8 if kind == FIXED64 else 4
            value, position = data[position : position + size], position + size
        yield number, kind, value


def field(number, kind, value):
    key = varint(number << 3 | kind)
    if kind == VARINT:
        return key + varint(value)
    if kind == BYTES:
        return key + varint(len(value)) + value
    return key + value


def rewrite(data, change):
    """The message with `change(number, kind, value)` in place of each value."""
    return b"".join(field(number, kind, change(number, kind, value)) for number, kind, value in fields(data))


def _shift_varint_field(wanted, delta):
    return lambda number, kind, value: value + delta if number == wanted and kind == VARINT else value


def _shift_first_of_packed(data, delta):
    first, position = read_varint(data, 0)
    return varint(first + delta) + data[position:]


def _shift_compact(number, kind, value, delta):
    return _shift_first_of_packed(value, delta) if number in (1, 7) and value else value


def _shift_bundle(number, kind, value, delta):
    if number == 2:  # FtraceEvent.timestamp
        return rewrite(value, _shift_varint_field(1, delta))
    if number == 4:  # CompactSched: switch_timestamp and waking_timestamp are deltas after an absolute first
        return rewrite(value, lambda n, k, v: _shift_compact(n, k, v, delta))
    return value


def _shift_packet_field(number, kind, value, delta):
    if number == TIMESTAMP:
        return value + delta
    if number == FTRACE_EVENTS:
        return rewrite(value, lambda n, k, v: _shift_bundle(n, k, v, delta))
    if number == PROCESS_TREE:
        return rewrite(value, _shift_varint_field(3, delta))
    if number == PROCESS_STATS:
        return rewrite(value, _shift_varint_field(2, delta))
    if number == CLOCK_SNAPSHOT:
        return rewrite(value, lambda n, k, v: rewrite(v, _shift_varint_field(2, delta)) if n == 1 else v)
    return value


def shifted(packet, delta):
    """The packet (without its framing) as if recorded `delta` ns later."""
    return rewrite(packet, lambda number, kind, value: _shift_packet_field(number, kind, value, delta))


def packet_time(packet):
    """Time of a packet (ns), that of its first event where it has none of its own; None: it has none at all."""
    for number, _, value in fields(packet):
        if number == TIMESTAMP:
            return value
        if number == FTRACE_EVENTS:
            for inner, _, bundle in fields(value):
                if inner == 4:
                    for part, _, packed in fields(bundle):
                        if part == 1 and packed:
                            return read_varint(packed, 0)[0]
                if inner == 2:
                    return next((v for n, _, v in fields(bundle) if n == 1), None)
    return None


def framed(packet):
    return field(PACKET, BYTES, packet)


def read_packets(path):
    """(time or None, packet) of every packet of a trace file, plain or gzip."""
    with open(path, "rb") as stream:
        data = stream.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return [(packet_time(packet), packet) for number, _, packet in fields(data) if number == PACKET]
