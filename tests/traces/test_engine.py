"""The engine: which one is chosen, its limits, and that nothing of it is left behind."""

from __future__ import annotations

import hashlib
import http.client
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import engine_choice
from perfreg_assets.traces.engine import open_trace, start_engine
from perfreg_assets.traces.engine_choice import choose_engine
from perfreg_assets.traces.engines import Engines

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1e15) SELECT count(*) AS n FROM c"
COUNT = {"n": "int64"}
PACKAGE_ROOT = Path(__file__).parents[2]


# ---- which engine ------------------------------------------------------------------------------------
@pytest.fixture
def bare_machine(monkeypatch, tmp_path):
    """A machine with nothing: no program on PATH, no cached prebuilt, no WebAssembly build."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(engine_choice, "find_wasm", lambda: None)
    return tmp_path


def program(path: Path, content: bytes = b"#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def put_prebuilt(monkeypatch, home: Path, content: bytes, stated: bytes) -> Path:
    sha256 = hashlib.sha256(stated).hexdigest()
    monkeypatch.setattr(
        engine_choice, "_manifest_entry", lambda: {"file_name": "trace_processor_shell", "sha256": sha256}
    )
    return program(home / f".local/share/perfetto/prebuilts/trace_processor_shell-{sha256[:16]}", content)


def test_engines_are_tried_in_the_documented_order(bare_machine, monkeypatch):
    explicit = program(bare_machine / "own")
    wasm = bare_machine / "trace_processor_memory64.wasm"
    downloaded = bare_machine / "downloaded"
    monkeypatch.setattr(engine_choice, "_download", lambda: downloaded)

    settings = Settings(allow_engine_download=True)
    assert choose_engine(settings) == engine_choice.EngineChoice("download", downloaded)
    monkeypatch.setattr(engine_choice, "find_wasm", lambda: wasm)
    assert choose_engine(settings) == engine_choice.EngineChoice("wasm", wasm)
    prebuilt = put_prebuilt(monkeypatch, bare_machine / "home", b"binary", stated=b"binary")
    assert choose_engine(settings) == engine_choice.EngineChoice("prebuilt", prebuilt)
    on_path = program(bare_machine / "bin" / "trace_processor_shell")
    assert choose_engine(settings) == engine_choice.EngineChoice("path", on_path)
    own = settings.with_values(trace_processor=str(explicit))
    assert choose_engine(own) == engine_choice.EngineChoice("explicit", explicit)
    assert choose_engine(settings.with_values(trace_processor="wasm")).kind == "wasm"


def test_the_environment_names_the_engine():
    settings = Settings.from_environment({"PERFREG_TRACE_PROCESSOR": sys.executable})
    assert choose_engine(settings) == engine_choice.EngineChoice("explicit", Path(sys.executable))


def test_a_cached_prebuilt_with_other_contents_than_its_name_states_is_not_run(bare_machine, monkeypatch, caplog):
    put_prebuilt(monkeypatch, bare_machine / "home", b"tampered", stated=b"binary")
    with pytest.raises(Rejected) as rejected:
        choose_engine(Settings())
    assert rejected.value.reason is Reason.ENGINE_UNAVAILABLE
    assert "not the official build" in caplog.text


def test_no_download_unless_allowed(bare_machine, monkeypatch):
    monkeypatch.setattr(engine_choice, "_download", lambda: pytest.fail("downloaded without being allowed to"))
    with pytest.raises(Rejected) as rejected:
        choose_engine(Settings())
    assert rejected.value.reason is Reason.ENGINE_UNAVAILABLE
    with pytest.raises(Rejected):
        choose_engine(Settings(allow_engine_download=True, trace_processor="wasm"))


def test_a_failed_download_is_a_reason_and_not_a_crash(bare_machine):
    # PATH is empty, so Perfetto's downloader finds no curl
    with pytest.raises(Rejected) as rejected:
        choose_engine(Settings(allow_engine_download=True))
    assert rejected.value.reason is Reason.ENGINE_UNAVAILABLE
    assert "download failed" in str(rejected.value)


def test_an_explicit_engine_that_is_not_there_is_refused_and_nothing_else_is_taken():
    with pytest.raises(Rejected) as rejected:
        choose_engine(Settings(trace_processor="/nonexistent/trace_processor_shell"))
    assert rejected.value.reason is Reason.ENGINE_UNAVAILABLE


def test_an_engine_that_insists_on_a_free_port_gets_one(tmp_path):
    server = (
        "import http.server, sys\n"
        "class Server(http.server.HTTPServer):\n"
        "    allow_reuse_address = False\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200)\n"
        "        self.send_header('Content-Length', '6')\n"
        "        self.end_headers()\n"
        "        self.wfile.write(b'\\x12\\x04v7.1')\n"  # StatusResult.human_readable_version
        "Server(('127.0.0.1', int(sys.argv[3])), Handler).serve_forever()\n"
    )
    engine = program(tmp_path / "engine", f"#!{sys.executable}\n{server}".encode())
    with start_engine(Settings(trace_processor=str(engine))) as session:
        assert session.version == "v7.1"


@pytest.mark.parametrize("body", ["exit 3", "echo listening on nothing; exit 0", "kill -9 $$"])
def test_an_engine_that_does_not_start_is_reported_with_its_exit(tmp_path, body):
    broken = program(tmp_path / "engine", f"#!/bin/sh\necho broken pipe dream >&2\n{body}\n".encode())
    with pytest.raises(Rejected) as rejected:
        start_engine(Settings(trace_processor=str(broken)))
    assert rejected.value.reason is Reason.ENGINE_UNAVAILABLE
    assert "broken pipe dream" in str(rejected.value)


def test_the_choice_is_logged_in_one_line(settings, caplog, monkeypatch):
    monkeypatch.setattr("perfreg_assets.traces.engine._announced", set())
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            start_engine(settings).close()
    lines = [record.message for record in caplog.records if record.message.startswith("trace engine")]
    assert len(lines) == 1
    assert "wasm" in lines[0]
    assert "Perfetto v52.0" in lines[0]


# ---- the WebAssembly engine and the stand-in for a native one give the same ---------------------------
def test_a_native_engine_is_driven_in_the_same_way(native_engine, session_folder, settings):
    native = settings.with_values(trace_processor=str(native_engine))
    sql = "SELECT count(*) AS n FROM sched_slice"
    with (
        open_trace(session_folder / "trace.perfetto-trace.gz", settings) as one,
        open_trace(session_folder / "trace.perfetto-trace.gz", native) as other,
    ):
        assert (one.kind, other.kind) == ("wasm", "explicit")
        assert one.version == other.version
        assert one.query(sql, COUNT)["n"][0] == other.query(sql, COUNT)["n"][0] == 190_555


def test_errors_met_at_the_end_of_a_trace_are_reported(session_folder, settings):
    # The stock client drops them: the trace then "loads", and the first query finds no tables.
    packed = (session_folder / "trace.perfetto-trace.gz").read_bytes()
    with start_engine(settings) as session, pytest.raises(Rejected) as rejected:
        session.load([packed[: len(packed) // 2]])
    assert rejected.value.reason is Reason.TRACE_CORRUPT
    assert "GZIP stream incomplete" in rejected.value.detail


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "https://ui.perfetto.dev"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example:1234"}, 403),
    ],
)
def test_no_page_in_a_browser_can_drive_the_engine(settings, headers, status):
    with start_engine(settings) as session:
        connection = http.client.HTTPConnection(session._process.address, timeout=10)
        connection.request("GET", "/status", headers=headers)
        assert connection.getresponse().status == status
        connection.request("GET", "/other", headers=headers)
        connection.close()


def test_the_engine_listens_on_loopback_only(settings):
    with start_engine(settings) as session:
        host, port = session._process.address.split(":")
        listening = [
            line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"
        ]
    assert host == "127.0.0.1"
    assert f"0100007F:{int(port):04X}" in listening
    assert f"00000000:{int(port):04X}" not in listening


def test_several_engines_at_once_do_not_meet(settings, make_trace, tmp_path):
    def run(count):
        maker = (
            make_trace().process(10, "com.rig.app").schedule([(0, 10, 10 * k + 1, 10 * k + 9) for k in range(count)])
        )
        with open_trace(maker.write(tmp_path / f"{count}.pftrace"), settings) as session:
            return session.query("SELECT count(*) AS n FROM sched_slice WHERE utid != 0", COUNT)["n"][0]

    counts = [3, 50, 7, 120, 1, 33]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, counts)) == counts


# ---- limits ------------------------------------------------------------------------------------------
def test_an_engine_that_works_too_long_is_ended_and_every_later_query_says_so(settings):
    with start_engine(settings.with_values(engine_timeout_s=1)) as session:
        begin = time.monotonic()
        with pytest.raises(Rejected) as rejected:
            session.query(ENDLESS, COUNT)
        assert rejected.value.reason is Reason.ENGINE_TIMEOUT
        assert time.monotonic() - begin < 4
        with pytest.raises(Rejected) as again:
            session.query("SELECT 1 AS n", COUNT)
        assert again.value.reason is Reason.ENGINE_TIMEOUT


def test_idle_time_is_not_working_time(settings):
    with start_engine(settings.with_values(engine_timeout_s=1)) as session:
        time.sleep(1.2)
        assert session.query("SELECT 1 AS n", COUNT)["n"].tolist() == [1]


LARGE_TABLE = (
    "CREATE PERFETTO TABLE big AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1e6) "
    "SELECT x, hex(randomblob(50000)) AS y FROM c; SELECT count(*) AS n FROM big"
)


@pytest.mark.parametrize("is_native", [False, True])
def test_an_engine_that_takes_too_much_memory_is_ended(settings, native_engine, is_native):
    limited = settings.with_values(engine_memory_bytes=1 << 28)
    if is_native:  # the watch on resident memory, as the stand-in has no limit of its own
        limited = limited.with_values(trace_processor=str(native_engine))
    with start_engine(limited) as session:
        with pytest.raises(Rejected) as rejected:
            session.query(LARGE_TABLE, COUNT)
        assert rejected.value.reason is Reason.ENGINE_MEMORY
        with pytest.raises(Rejected) as again:
            session.query("SELECT 1 AS n", COUNT)
        assert again.value.reason is Reason.ENGINE_MEMORY


def test_an_engine_that_dies_is_a_reason(settings):
    with start_engine(settings) as session:
        session._process.kill()
        with pytest.raises(Rejected) as rejected:
            session.query("SELECT 1 AS n", COUNT)
        assert rejected.value.reason is Reason.ENGINE_KILLED


# ---- nothing is left behind --------------------------------------------------------------------------
HOLDER = """
import signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and all they start, ignore it
sys.path.insert(0, {root!r})
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engine import start_engine
session = start_engine(Settings(trace_processor={engine!r}))
print(session._process.group, flush=True)
if {is_busy}:
    threading.Thread(target=lambda: session.query({sql!r}, {{"n": "int64"}}), daemon=True).start()
time.sleep(120)
"""


def group_members(group: int) -> list[int]:
    """Living processes (no zombies) of a process group."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, process_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(process_group) == group and state != "Z":
                members.append(int(entry.name))
    return members


def is_gone(group: int, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not group_members(group):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("is_native", [False, True])
@pytest.mark.parametrize("is_busy", [False, True])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_engine_ends_with_its_parent(native_engine, is_native, is_busy, how):
    engine = str(native_engine) if is_native else "wasm"
    code = HOLDER.format(root=str(PACKAGE_ROOT), engine=engine, is_busy=is_busy, sql=ENDLESS)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as holder:
        group = int(holder.stdout.readline())
        time.sleep(0.3)
        assert len(group_members(group)) >= 2  # supervisor and engine
        holder.send_signal(how)
        holder.wait(10)
        assert is_gone(group, within_s=3)


@pytest.mark.skipif(sys.platform != "linux", reason="parent-death signal")
def test_the_engine_ends_when_its_supervisor_is_killed(settings):
    with start_engine(settings) as session:
        group = session._process.group
        os.kill(group, signal.SIGKILL)
        assert is_gone(group, within_s=3)


def test_closing_ends_the_engine_even_in_the_middle_of_a_query(settings):
    session = start_engine(settings)
    failures = []

    def query():
        try:
            session.query(ENDLESS, COUNT)
        except Rejected as error:
            failures.append(error.reason)

    thread = threading.Thread(target=query)
    thread.start()
    time.sleep(0.3)
    group = session._process.group
    session._process.kill()
    thread.join(10)
    session.close()
    assert failures == [Reason.ENGINE_KILLED]
    assert is_gone(group, within_s=3)


def test_an_error_while_loading_closes_the_engine(settings, tmp_path, monkeypatch):
    started = []
    original = Engines.start

    def watched(self, **options):
        process = original(self, **options)
        started.append(process.group)
        return process

    monkeypatch.setattr(Engines, "start", watched)
    with pytest.raises(Rejected):
        open_trace(tmp_path / "missing.pftrace", settings)
    assert len(started) == 1
    assert is_gone(started[0], within_s=3)


# ---- the compiled engine on disk ---------------------------------------------------------------------
def test_the_first_start_says_that_it_compiles_and_where_it_is_kept(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    settings = Settings(trace_processor="wasm", home=tmp_path / "home")
    with start_engine(settings):
        pass
    assert caplog.text.count("compiling the trace engine") == 1
    assert str(tmp_path / "home") in caplog.text
    assert len(list((tmp_path / "home" / "cache" / "engine").glob("*.cwasm"))) == 1
    caplog.clear()
    with start_engine(settings) as session:
        assert session.query("SELECT 1 AS n", COUNT)["n"].tolist() == [1]
    assert "compiling" not in caplog.text
