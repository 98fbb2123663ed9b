"""Call logs: the scanner finds what `re` finds, and what does not fit is counted by name or refused."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfreg_assets.methods.line_fields import MAX_LINE_BYTES, NO_TIME
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces import call_log
from perfreg_assets.traces.call_log import read_call_log
from perfreg_assets.traces.call_log_template import DEFAULT_TEMPLATE, Template, parse_template

SMALL = Path(__file__).parents[1] / "data" / "call-logs" / "calllog_small.txt.gz"
TIME = "2014-11-03 10:15:23.123"


def line(label="1", elapsed="5.5", method="com.x.A - run", tx="000001", service="WS0", time=TIME, tail=" more"):
    return f"{time} [t-1] INFO PERF tx={tx} svc={service} {label} {method} elapsed={elapsed}ms{tail}\n".encode()


def read(tmp_path, data: bytes, template: str = DEFAULT_TEMPLATE, **options):
    path = tmp_path / "log.txt"
    path.write_bytes(data)
    return read_call_log(path, parse_template(template), **options)


def slow(template: Template) -> Template:
    """The same template, matched by `re` line by line."""
    return dataclasses.replace(template, layout=None)


def same(one: call_log.CallLog, other: call_log.CallLog) -> None:
    assert one.counts == other.counts
    assert (one.first_unfit, one.first_refused, one.byte_count) == (
        other.first_unfit,
        other.first_refused,
        other.byte_count,
    )
    for field in dataclasses.fields(one.calls):
        a, b = getattr(one.calls, field.name), getattr(other.calls, field.name)
        if field.name == "elapsed_ms":
            np.testing.assert_allclose(a, b, rtol=1e-14)  # beyond 15 digits the scanner may round once more
        elif isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
        else:
            assert a == b


def test_a_call_is_read_to_the_last_field(tmp_path):
    log = read(tmp_path, line("1.12.3", "0.25"))
    calls = log.calls
    assert (calls.transactions, calls.services, calls.labels, calls.methods) == (
        ("000001",),
        ("WS0",),
        ("1.12.3",),
        ("com.x.A - run",),
    )
    assert calls.elapsed_ms.tolist() == [0.25]
    moment = datetime(2014, 11, 3, 10, 15, 23, 123000, tzinfo=UTC)
    assert calls.time_ms.tolist() == [round(moment.timestamp() * 1000)]


def test_the_recorded_log_is_read_the_same_by_re_by_one_thread_and_from_plain_text(tmp_path):
    template = parse_template()
    found = read_call_log(SMALL, template)
    assert (found.counts.line_count, found.counts.call_count, found.counts.unfit_count) == (49993, 47675, 2318)
    assert "DEBUG tx=000000 cache lookup" in found.first_unfit[1]
    same(found, read_call_log(SMALL, slow(template)))
    same(found, read_call_log(SMALL, template, threads=1))
    plain = tmp_path / "plain.txt"
    plain.write_bytes(gzip.decompress(SMALL.read_bytes()))
    same(found, read_call_log(plain, template))


def test_blocks_are_cut_at_line_ends_wherever_they_fall(tmp_path, monkeypatch):
    path = tmp_path / "log.txt"
    path.write_bytes(
        b"".join(line(f"1.{i}", f"{i}.5", tx=f"{i % 7:06d}", tail="x" * (i * 37 % 900)) for i in range(1, 400))
    )
    template = parse_template()
    whole = read_call_log(path, template)
    for pieces in (64, 1000, 4097):
        monkeypatch.setattr(call_log, "unpacked_chunks", _in_pieces(pieces))
        monkeypatch.setattr(call_log, "BLOCK_BYTES", pieces)
        same(read_call_log(path, template), whole)


def _in_pieces(size):
    def chunks(path, max_bytes, on_raw=None):
        data = path.read_bytes()
        yield from (data[i : i + size] for i in range(0, len(data), size))

    return chunks


part = st.one_of(
    st.sampled_from(
        ["1", "1.2", "1.2.3", "1..2", ".1", "1.a", "0123456789", "1.", "", " ", "5,5", "5.5", "5e3", "5e", "5e999"]
    ),
    st.sampled_from(
        ["-1", "nan", "1.5.5", "00.250", "1234567.890123", ".5", ".", "9" * 30, "\x00", "ö", "a b", "PERF tx="]
    ),
    st.text("0123456789.,e-+ tx=svcPERF\r\x80", max_size=12),
)
written = st.builds(
    lambda tx, service, label, method, elapsed, time, end: (
        f"{time}PERF tx={tx} svc={service} {label} {method} elapsed={elapsed}ms{end}"
    ),
    part, part, part, part, part,
    st.sampled_from([f"{TIME} ", "[2024-02-29T23:59:59] ", "2023-02-29 00:00:00 ", "2014-13-01 00:00:00,5 ", " ", ""]),
    st.sampled_from(["\n", "\r\n", " tail\n", ""]),
)  # fmt: skip
noise = st.text("PERF tx=1 svc=elapsed ms.\n\r", max_size=60)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(written, noise), min_size=1, max_size=12), st.booleans())
def test_the_scanner_finds_what_re_finds(tmp_path, texts, is_latin):
    path = tmp_path / "log.txt"
    sure = line("1", "1", tail="\n") if len(texts) % 2 else b""
    path.write_bytes(sure + "".join(texts).encode("latin-1" if is_latin else "utf-8", "replace"))
    for text in (DEFAULT_TEMPLATE, "{time}PERF tx={transaction} svc={service} {label} {method} elapsed={elapsed_s}"):
        template = parse_template(text)
        assert outcome(path, template) == outcome(path, slow(template))


def outcome(path, template):
    try:
        log = read_call_log(path, template)
    except Rejected as error:
        return str(error)
    calls = log.calls
    rows = zip(calls.transaction, calls.service, calls.label, calls.method, calls.time_ms, strict=True)
    numbers = [float(f"{value:.12g}") for value in calls.elapsed_ms]
    names = (calls.transactions, calls.services, calls.labels, calls.methods)
    return log.counts, log.first_unfit, log.first_refused, numbers, names, [tuple(map(int, row)) for row in rows]


def test_many_names_are_kept_apart(tmp_path):
    """More than the tables begin with: they grow while a block is being read."""
    data = b"".join(
        line(f"1.{i}", "1", method=f"m{i}" + "x" * (i % 90), tx=f"t{i}", service=f"s{i}") for i in range(3000)
    )
    log = read(tmp_path, data)
    for names in (log.calls.transactions, log.calls.services, log.calls.labels, log.calls.methods):
        assert len(names) == 3000
    same(log, read_call_log(tmp_path / "log.txt", slow(parse_template())))


@pytest.mark.parametrize(
    ("elapsed", "label", "method", "reason"),
    [
        ("12,5", "1", "m", Reason.CALL_LOG_DECIMAL_COMMA),
        ("12.5.1", "1", "m", Reason.CALL_LOG_NUMBER_INVALID),
        ("-3", "1", "m", Reason.CALL_LOG_NUMBER_INVALID),
        ("NaN", "1", "m", Reason.CALL_LOG_NUMBER_INVALID),
        ("", "1", "m", Reason.CALL_LOG_NUMBER_INVALID),
        ("1,234.5", "1", "m", Reason.CALL_LOG_NUMBER_INVALID),
        ("1", "1.", "m", Reason.CALL_LOG_LABEL_INVALID),
        ("1", "one", "m", Reason.CALL_LOG_LABEL_INVALID),
        ("1", "1", "", Reason.CALL_LOG_NAME_EMPTY),
    ],
)
def test_a_call_that_cannot_be_used_is_counted_by_name(tmp_path, elapsed, label, method, reason):
    bad = line(label, elapsed, method)
    log = read(tmp_path, line() + bad + bad)
    assert log.counts.refused == {reason.code: 2}
    assert log.counts.call_count == 1
    assert log.first_refused == (2, bad.decode().rstrip("\n"))
    with pytest.raises(Rejected) as caught:
        read(tmp_path, b"noise\n" + bad)
    assert caught.value.reason is reason
    assert "line 2" in str(caught.value)


def test_a_template_that_does_not_fit_is_shown_the_first_line(tmp_path):
    with pytest.raises(Rejected, match=r"line 1 'nothing\\x00 here' does not fit '") as caught:
        read(tmp_path, b"nothing\x00 here\r\nnor here\n")
    assert caught.value.reason is Reason.CALL_LOG_TEMPLATE_UNFIT


@pytest.mark.parametrize("cut", ["PERF tx=000001 svc=WS0 1.1 m elap", "noise"])
def test_a_last_line_that_is_cut_short_is_left_out_and_counted(tmp_path, cut):
    log = read(tmp_path, line() + cut.encode())
    assert (log.counts.call_count, log.counts.unfit_count, log.counts.cut_last_line_count) == (1, 0, 1)
    assert log.counts.line_count == 2


def test_a_last_line_without_line_end_counts_where_it_must_be_whole(tmp_path):
    data = line() + line("1.1").rstrip(b"\n")
    assert read(tmp_path, data).counts.call_count == 2
    open_ended = "{_}tx={transaction} svc={service} {label} {method} elapsed={elapsed_ms}"
    data = b"tx=1 svc=a 1 m elapsed=12\ntx=1 svc=a 1.1 m elapsed=1234"
    log = read(tmp_path, data, open_ended)
    assert (log.counts.call_count, log.counts.cut_last_line_count) == (1, 1)
    same(log, read_call_log(tmp_path / "log.txt", slow(parse_template(open_ended))))


def test_cr_lf_is_a_line_end(tmp_path):
    log = read(tmp_path, line(tail="\r") + line("1.1", tail="\r"))
    assert (log.counts.call_count, log.counts.crlf_count) == (2, 2)
    assert log.calls.elapsed_ms.tolist() == [5.5, 5.5]


def test_of_a_line_of_a_megabyte_the_beginning_is_looked_at(tmp_path):
    data = line(tail="x" * (1 << 20)) + b"y" * (5 << 20) + b"\n" + line("1.1")
    log = read(tmp_path, data)
    assert (log.counts.line_count, log.counts.call_count, log.counts.long_count) == (3, 2, 2)
    assert log.byte_count == len(data)
    hidden = b"z" * MAX_LINE_BYTES + line("1.2")
    assert read(tmp_path, data + hidden).counts.call_count == 2


def test_names_that_are_not_utf8_are_counted_and_shown_escaped(tmp_path):
    log = read(tmp_path, line() + line("1.1", method="caf\u00e9").decode().encode("latin-1"))
    assert log.counts.not_utf8_count == 1
    assert "caf\\xe9" in log.calls.methods


def test_without_a_time_there_is_none(tmp_path):
    log = read(tmp_path, line(time="yesterday"))
    assert log.calls.time_ms.tolist() == [NO_TIME]
    assert log.counts.no_time_count == 1


def test_files_that_are_no_log_are_refused_by_name(tmp_path):
    def refused(path):
        with pytest.raises(Rejected) as caught:
            read_call_log(path, parse_template())
        return caught.value.reason

    cut = tmp_path / "cut.gz"
    cut.write_bytes(SMALL.read_bytes()[:50_000])
    empty = tmp_path / "empty.txt"
    empty.touch()
    assert refused(tmp_path / "absent.txt") is Reason.CALL_LOG_MISSING
    assert refused(tmp_path) is Reason.CALL_LOG_MISSING
    assert refused(cut) is Reason.CALL_LOG_GZIP_DAMAGED
    assert refused(empty) is Reason.CALL_LOG_EMPTY
    with pytest.raises(Rejected) as caught:
        read_call_log(SMALL, parse_template(), max_bytes=1000)
    assert caught.value.reason is Reason.CALL_LOG_TOO_LARGE


def test_the_file_is_hashed_on_request(tmp_path):
    assert read(tmp_path, line()).sha256 is None
    assert read(tmp_path, line(), with_sha256=True).sha256 == hashlib.sha256(line()).hexdigest()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{transaction} {label} {method}", "elapsed_ms"),
        ("{transaction} {label} {elapsed_ms}", "method"),
        ("{transaction} {lable} {method} {elapsed_ms}", "{lable} is no field"),
        ("{transaction}{label} {method} {elapsed_ms}", "side by side"),
        ("{transaction} {label} {method} {method} {elapsed_ms}", "method stands twice"),
        ("{transaction} {label} {method} {elapsed_ms} {elapsed_s}", "same time twice"),
        ("", "no {transaction}"),
        ("(?P<label>", "mistake"),
        ("(?P<tx>a)", "tx is no field"),
    ],
)
def test_a_template_that_cannot_be_used_says_why(text, word):
    with pytest.raises(Rejected) as caught:
        parse_template(text)
    assert caught.value.reason is Reason.CALL_LOG_TEMPLATE_INVALID
    assert word in str(caught.value)


def test_other_units_a_time_field_and_no_service(tmp_path):
    log = read(
        tmp_path, b"id=7|1.1|Foo.bar|0.25|2020-02-29T01:02:03,5|\n",
        "id={transaction}|{label}|{method}|{elapsed_s}|{time}|",
    )  # fmt: skip
    assert log.calls.elapsed_ms.tolist() == [250.0]
    assert log.calls.services == ("",)
    moment = datetime(2020, 2, 29, 1, 2, 3, 500000, tzinfo=UTC)
    assert log.calls.time_ms.tolist() == [round(moment.timestamp() * 1000)]


def test_a_regular_expression_says_what_literals_cannot(tmp_path):
    data = b"PERF 1.1 A.b (took 12 us) <7>\nPERF 1 A (took 0.5 us) <7>\nnoise\n"
    log = read(
        tmp_path, data,
        r"^PERF (?P<label>[\d.]+) (?P<method>\S+) \(took (?P<elapsed_us>[\d.]+) us\) <(?P<transaction>\d+)>",
    )  # fmt: skip
    assert sorted(log.calls.elapsed_ms.tolist()) == [0.0005, 0.012]
    assert (log.counts.call_count, log.counts.unfit_count) == (2, 1)
