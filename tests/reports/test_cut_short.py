"""A file that changes while it is sent: the answer is as long as it said, or the server's log has a line of it."""

from __future__ import annotations

import http.client
import json
import time

import pytest

from perfreg_assets.settings import Settings
from tests.reports.served import served

SIZE = (64 << 20) + 1
"""Bytes: more than what lies between two sockets."""


def fetched(folder, *, becomes, **headers):
    """What is read of a registered trace that has another size from when its first bytes were sent."""
    settings = Settings(warehouse=folder / "perfreg.duckdb")
    trace = settings.runs_dir / "r-1" / "t.pftrace"
    trace.parent.mkdir(parents=True)
    (trace.parent / "run.json").write_text(json.dumps({"trace": trace.name}))
    with trace.open("wb") as file:
        file.truncate(SIZE)
    with served(settings) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/traces/r-1", headers=headers)
        answer = connection.getresponse()
        assert answer.status in (200, 206)
        time.sleep(0.2)  # by now the server waits for who reads
        with trace.open("r+b") as file:
            file.truncate(becomes)
        try:
            return answer.read()
        finally:
            connection.close()


@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=10-"}])
def test_a_trace_that_is_truncated_while_it_is_sent_is_a_line_in_the_log(tmp_path, capfd, headers):
    """It was a traceback of 50 lines, through other projects' code."""
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        fetched(tmp_path, becomes=1 << 20, **headers)
    (line,) = capfd.readouterr().err.splitlines()
    assert "/traces/r-1: the file changed while it was sent" in line


def test_of_a_trace_that_becomes_longer_what_was_promised_is_sent(tmp_path, capfd):
    """The last bytes of it were lost, with such a traceback."""
    assert len(fetched(tmp_path, becomes=2 * SIZE)) == SIZE
    assert capfd.readouterr().err == ""
