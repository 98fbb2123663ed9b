"""Dagster's web server takes commands from this machine's user and from nobody else: each mutation that it knows is
tried from a foreign page, by a foreign name, by GET, without and with a wrong token."""

from __future__ import annotations

import http.client
import json
import os
import re
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection
from typing import Any
from urllib.parse import urlencode

import pytest
import uvicorn
import websockets.exceptions
from dagster import DagsterInstance, __version__
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import EmptyWorkspaceTarget
from dagster_graphql.schema import create_schema
from dagster_webserver.app import create_app_from_workspace_process_context
from websockets.sync.client import connect

from perfreg_assets.automation.webserver import guarded
from perfreg_assets.reports.change_guard import TOKEN_HEADER, token_of
from perfreg_assets.reports.serve import open_socket

TOKEN, SECRET = "a-token-of-the-tests", "a-secret-of-the-tests"
FOREIGN = "https://evil.example"
MUTATIONS = sorted(create_schema().graphql_schema.mutation_type.fields)

Answer = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""


@dataclass(frozen=True)
class Server:
    port: int
    instance: DagsterInstance

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        given = {"host": f"127.0.0.1:{self.port}", **{name.replace("_", "-"): text for name, text in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, text in given.items():
            connection.putheader(name, text)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, content

    def post(self, query: str, **headers: str) -> Answer:
        return self.ask("POST", "/graphql", json.dumps({"query": query}).encode(),
                        **{"content_type": "application/json", **headers})  # fmt: skip

    @property
    def own(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    """Dagster's own application, with nothing to run, behind the guards."""
    home = tmp_path_factory.mktemp("home")
    with (
        DagsterInstance.local_temp(str(home)) as instance,
        WorkspaceProcessContext(instance, EmptyWorkspaceTarget(), version=__version__) as context,
        open_socket(0) as listener,
    ):
        port = listener.getsockname()[1]
        app = guarded(create_app_from_workspace_process_context(context), port=port, token=TOKEN, secret=SECRET)
        serving = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]})
        thread.start()
        while not serving.started:
            time.sleep(0.05)
        yield Server(port, instance)
        serving.should_exit = True
        thread.join(30)


def call(name: str) -> str:
    """A mutation without its arguments: whoever lets it through is found out by Dagster's own complaint."""
    return f"mutation {{ {name} {{ __typename }} }}"


def is_refused(answer: Answer) -> bool:
    status, headers, _ = answer
    return status in (403, 405, 415) and headers["content-type"].startswith("text/plain")


def test_the_list_of_what_is_tried_is_that_of_dagsters_schema():
    """SECURITY.md names each mutation; what follows tries each in each way that stands there."""
    _, _, told = (Path(__file__).parents[2] / "SECURITY.md").read_text("utf-8").partition("The mutations: ")
    assert re.findall(r"`(\w+)`", told.partition(".\n")[0]) == MUTATIONS


def test_there_are_mutations_to_try():
    assert {"launchPipelineExecution", "setSensorCursor", "launchPartitionBackfill", "deletePipelineRun"} <= set(
        MUTATIONS
    )


@pytest.mark.parametrize("name", MUTATIONS)
def test_no_mutation_gets_through_from_elsewhere(server, name):
    query = call(name)
    cookie = f"perfreg_token_{server.port}={TOKEN}"
    assert is_refused(server.post(query, origin=FOREIGN, cookie=cookie))
    assert is_refused(server.post(query, origin="null", cookie=cookie))
    assert is_refused(server.post(query, origin=f"http://127.0.0.1:{server.port + 1}", cookie=cookie))
    assert is_refused(server.post(query, host=f"evil.example:{server.port}", x_perfreg_token=TOKEN))
    assert is_refused(server.post(query, origin=server.own))
    assert is_refused(server.post(query, origin=server.own, x_perfreg_token="wrong"))
    assert is_refused(server.post(query))
    assert is_refused(server.post(query, cookie=cookie)), "a browser says where a page is from"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/graphql"):
        assert is_refused(server.post(query, content_type=kind, x_perfreg_token=TOKEN))
    for method in ("GET", "HEAD"):
        assert is_refused(server.ask(method, f"/graphql?{urlencode({'query': query})}", cookie=cookie))
    assert is_refused(server.ask("POST", f"/graphql?{urlencode({'query': query})}", b"", x_perfreg_token=TOKEN))
    # with the token it reaches Dagster, which misses the arguments or answers
    status, headers, body = server.post(query, origin=server.own, cookie=cookie)
    assert headers["content-type"] == "application/json"
    assert status in (200, 400, 500), body


@pytest.mark.parametrize(
    "query",
    [
        "query A { version } mutation B { __typename }",
        "mutation{__typename}",
        "# query\nmutation { __typename }",
        "subscription { __typename }",
        "not a query",
        "{" * 50_000,
    ],
)
def test_whatever_is_not_a_query_alone_needs_the_token(server, query):
    assert is_refused(server.post(query))


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"null", b'{"query": 7}', b"\xff", b"[" * 99_999])
def test_a_body_that_is_no_request_is_refused(server, body):
    assert is_refused(server.ask("POST", "/graphql", body, content_type="application/json"))


@pytest.mark.parametrize(
    "path", ["report_asset_materialization/a", "report_asset_check/a", "report_asset_observation/a"]
)
def test_events_of_assets_need_the_token(server, path):
    assert is_refused(server.ask("POST", f"/{path}", b"{}", content_type="application/json"))
    assert is_refused(server.ask("POST", f"/{path}", b"{}", origin=FOREIGN, x_perfreg_token=TOKEN))
    assert not is_refused(server.ask("POST", f"/{path}", b"{}", content_type="application/json", x_perfreg_token=TOKEN))


def test_reading_needs_no_token_and_no_foreign_page_reads(server):
    status, _, body = server.post("{ version }")
    assert (status, json.loads(body)["data"]["version"]) == (200, __version__)
    assert is_refused(server.post("{ version }", origin=FOREIGN))
    assert is_refused(server.post("{ version }", host="evil.example"))
    assert is_refused(server.ask("GET", "/", host=f"evil.example:{server.port}"))


def test_the_printed_address_gives_the_token_and_its_browser_may_command(server):
    for path in ("/", "/?token=wrong", f"/?token={TOKEN}", f"/runs?token={SECRET}"):
        status, headers, _ = server.ask("GET", path, accept="text/html")
        assert "set-cookie" not in headers, path
    assert server.ask("GET", "/")[1]["x-frame-options"] == "DENY"
    assert server.ask("GET", f"/?token={SECRET}", host=f"evil.example:{server.port}")[0] == 403
    status, headers, _ = server.ask("GET", f"/?token={SECRET}", accept="text/html")
    assert (status, headers["location"], headers["cache-control"]) == (303, "/", "no-store")
    cookie, *attributes = headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    answer = server.post("mutation { setNuxSeen }", origin=f"http://localhost:{server.port}", cookie=f"a=b; {cookie}")
    assert (answer[0], json.loads(answer[2])["data"]) == (200, {"setNuxSeen": True})


def socket(server: Server, **options: Any) -> Any:
    return connect(f"ws://127.0.0.1:{server.port}/graphql", subprotocols=["graphql-ws"], open_timeout=60, **options)


@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"origin": FOREIGN, TOKEN_HEADER: TOKEN},
        {"origin": "null", TOKEN_HEADER: TOKEN},
        {"origin": "http://127.0.0.1:1", "cookie": TOKEN},
        {"host": "evil.example", TOKEN_HEADER: TOKEN},
        {},
        {TOKEN_HEADER: "wrong"},
    ],
    ids=["foreign page", "no origin", "another port", "another name", "no token", "wrong token"],
)
def test_no_mutation_gets_through_over_a_websocket_from_elsewhere(server, name, given):
    """The handshake and the mutation are sent at once, as who does not wait for the answer would."""
    given = {"host": f"127.0.0.1:{server.port}", **given}
    if "cookie" in given:
        given["cookie"] = f"perfreg_token_{server.port}={given['cookie']}"
    head = [
        "GET /graphql HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: graphql-ws",
        *(f"{key}: {value}" for key, value in given.items()), "", "",
    ]  # fmt: skip
    messages = [
        {"type": "connection_init"},
        {"id": "1", "type": "start", "payload": {"query": call(name)}},
    ]
    with create_connection(("127.0.0.1", server.port), timeout=60) as wire:
        wire.sendall("\r\n".join(head).encode() + b"".join(map(frame, messages)))
        answer = b""
        while piece := received(wire):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"101 Switching" not in answer
    assert b'"data"' not in answer


def received(wire) -> bytes:
    """b"" at the end; a server that refuses may not have read all that was sent, which resets the connection."""
    try:
        return wire.recv(65_536)
    except ConnectionResetError:
        return b""


def frame(message: dict[str, Any]) -> bytes:
    """A text frame of a client, masked with zeros (RFC 6455, 5.2)."""
    content = json.dumps(message).encode()
    assert 126 <= len(content) + 126 < 65_536
    size = bytes([0x80 | len(content)]) if len(content) < 126 else b"\xfe" + len(content).to_bytes(2, "big")
    return b"\x81" + size + bytes(4) + content


def test_no_websocket_opens_by_a_foreign_name(server):
    with pytest.raises(websockets.exceptions.InvalidStatus):
        connect(f"ws://127.1:{server.port}/graphql", additional_headers={TOKEN_HEADER: TOKEN})


def test_a_websocket_of_its_own_page_opens(server):
    cookie = f"perfreg_token_{server.port}={TOKEN}"
    with socket(server, origin=server.own, additional_headers={"cookie": cookie}) as open_one:
        open_one.send(json.dumps({"type": "connection_init"}))
        assert json.loads(open_one.recv(timeout=60)) == {"type": "connection_ack"}


def test_the_token_is_made_once_and_nobody_else_reads_it(tmp_path):
    first = token_of(tmp_path)
    assert len(first) >= 32
    assert token_of(tmp_path) == first
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["token"]
