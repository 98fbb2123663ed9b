"""The WebAssembly engine itself, in this process."""

from __future__ import annotations

import pytest
import wasmtime

from perfreg_assets.traces.engine import QueryError, start_engine
from perfreg_assets.traces.rpc_envelope import field
from perfreg_assets.traces.wasm_engine import EngineCrashError, EngineMemoryError, WasmEngine
from perfreg_assets.traces.wasm_files import cache_folders, find_wasm

QUERY, QUERY_ARGUMENTS = 3, 103


def request(sql: str) -> bytes:
    return field(1, field(2, QUERY) + field(QUERY_ARGUMENTS, field(1, sql)))


def test_the_memory_limit_holds_inside_the_engine():
    engine = WasmEngine(find_wasm(), memory_bytes=192 << 20, cache_folders=cache_folders(None), announce=print)
    try:
        assert b"answer" in b"".join(engine.rpc(request("SELECT 'answer' AS a")))
        with pytest.raises(EngineMemoryError):
            engine.rpc(
                request(
                    "CREATE PERFETTO TABLE big AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c "
                    "WHERE x < 1e6) SELECT x, hex(randomblob(50000)) AS y FROM c"
                )
            )
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        # What a trace of 500 MB, dense with scheduling, left: the step to the next size of a table passes the addresses
        # there are, which the engine's libc sees by itself and asks nobody for memory.
        (
            "Loading trace 452.98 MB (58.1 MB/s)[676.811] utils.cc:334 PERFETTO_CHECK(res) (errno: 48, Out of memory) "
            "-----BEGIN PERFETTO PRE-CRASH LOG-----",
            EngineMemoryError,
        ),
        ("[3.207] utils.cc:334 PERFETTO_CHECK(res) (errno: 28, Invalid argument)", EngineCrashError),
    ],
)
def test_memory_that_cannot_be_addressed_is_memory_that_lacks(said, kind, monkeypatch):
    engine = WasmEngine(find_wasm(), memory_bytes=192 << 20, cache_folders=cache_folders(None), announce=print)

    def trap(*_given: object) -> None:
        engine._log.append(said)
        raise wasmtime.Trap("wasm trap: wasm `unreachable` instruction executed")

    monkeypatch.setattr(engine, "_on_request", trap)
    try:
        with pytest.raises(EngineCrashError) as crash:
            engine.rpc(request("SELECT 1 AS a"))
        assert type(crash.value) is kind
    finally:
        engine.close()


def test_deep_statements_do_not_overflow_the_engines_stack(settings):
    # On the build's own stack of 64 KiB these overwrite its data before they trap.
    with start_engine(settings) as session:
        terms = " OR ".join(f"x = {k}" for k in range(900))
        assert session.query(f"SELECT count(*) AS n FROM (SELECT 7 AS x) WHERE {terms}", {"n": "int64"})["n"][0] == 1
        union = " UNION ALL ".join(f"SELECT {k} AS x" for k in range(450))
        assert session.query(f"SELECT count(*) AS n FROM ({union})", {"n": "int64"})["n"][0] == 450
        with pytest.raises(QueryError):
            session.query("SELECT " + "(" * 5000 + "1" + ")" * 5000 + " AS n", {"n": "int64"})
        assert session.query("SELECT 1 AS n", {"n": "int64"})["n"][0] == 1


def test_the_engine_sees_no_files(settings):
    with start_engine(settings) as session, pytest.raises(QueryError):
        session.query("ATTACH '/etc/passwd' AS f; SELECT 1 AS n", {"n": "int64"})
