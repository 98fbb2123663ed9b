"""The protobuf wire format, as little of it as the trace processor's RPC needs."""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED_64, LENGTH_DELIMITED, _FIXED_32 = 0, 1, 2, 5


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
    """(number, value) of each field: integers as int, everything else as its bytes (fixed-width numbers too).

    Raises:
        ValueError: the message ends within a field, or has a field of a type that protobuf gave up.
    """
    position, end = 0, len(message)

    def read() -> int:
        nonlocal position
        value = shift = 0
        while position < end:
            byte = message[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise ValueError("a message that ends within a number")

    while position < end:
        tag = read()
        kind = tag & 7
        if kind == _VARINT:
            yield tag >> 3, read()
            continue
        if kind not in (_FIXED_64, LENGTH_DELIMITED, _FIXED_32):
            raise ValueError(f"a field of wire type {kind}")
        length = read() if kind == LENGTH_DELIMITED else 8 if kind == _FIXED_64 else 4
        if position + length > end:
            raise ValueError("a message that ends within a field")
        yield tag >> 3, message[position : position + length]
        position += length
