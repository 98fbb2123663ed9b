"""The protobuf wire format, as little of it as the trace processor's RPC envelope needs."""

from __future__ import annotations

from collections.abc import Iterator

LENGTH_DELIMITED = 2


def varint(value: int) -> bytes:
    """A non-negative integer in base 128, least significant group first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: int | str | bytes) -> bytes:
    """One field of a message: varint for integers and booleans, length-delimited otherwise."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(data)) + data


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """(number, value) of each field; only varint and length-delimited fields, which is all the envelope has."""
    position = 0

    def read() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = message[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while position < len(message):
        tag, value = read(), read()
        if tag & 7 == LENGTH_DELIMITED:
            yield tag >> 3, message[position : position + value]
            position += value
        else:
            yield tag >> 3, value
