"""The protobuf wire format against protobuf itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket

from perfreg_assets.traces.rpc_envelope import field, fields, varint


@given(st.integers(0, 2**64 - 1), st.binary(max_size=400))
def test_fields_are_written_as_protobuf_reads_them(timestamp, content):
    message = TracePacket.FromString(field(8, timestamp) + field(50, content))
    assert message.timestamp == timestamp
    assert message.compressed_packets == content


@given(st.lists(st.tuples(st.integers(1, 1000), st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=200)))))
def test_fields_come_back_in_order(values):
    message = b"".join(field(number, value) for number, value in values)
    read = [
        (number, bytes(value) if isinstance(value, memoryview) else value)
        for number, value in fields(memoryview(message))
    ]
    assert read == values


def test_varints_at_their_borders():
    assert [varint(value) for value in (0, 127, 128, 300)] == [b"\x00", b"\x7f", b"\x80\x01", b"\xac\x02"]
