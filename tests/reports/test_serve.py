"""`perfreg serve`: loopback only, own Host only, traces by id only, no way out of its folders."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
import websockets.exceptions
from websockets.sync.client import connect

from perfreg_assets.cli.comparing import page_of_runs
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports.reduction_page import PAGE, render_reduction_page
from perfreg_assets.reports.serve import find_trace, make_server, open_socket, perfetto_ui_dir, serve
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse
from tests.reports.served import served
from tests.reports.test_reduction_page import told as reduction
from tests.unprivileged import unprivileged

TRACE = gzip.compress(b"\x0a\x03abc" * 5000, mtime=0)


@dataclass(frozen=True)
class Site:
    port: int
    home: Path

    def ask(
        self, path: str, method: str = "GET", host: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """One request with exactly this path, unnormalised."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", f"127.0.0.1:{self.port}" if host is None else host)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, body


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("home")
    reports = home / "reports"
    (reports / "runs").mkdir(parents=True)
    (reports / "assets").mkdir()
    (reports / "index.html").write_text("<!doctype html>index")
    (reports / "runs" / "shop-001.html").write_text("<!doctype html>run")
    (reports / "assets" / "run.js").write_text("1")
    (reports / ".lock").write_text("{}")
    run = home / "runs" / "shop-001"
    run.mkdir(parents=True)
    (run / "trace.perfetto-trace.gz").write_bytes(TRACE)
    (run / "screenshot.png").write_bytes(b"private")
    (run / "run.json").write_text(json.dumps({"trace": "trace.perfetto-trace.gz"}))
    (home / "secret.txt").write_text("secret")
    (reports / "link.html").symlink_to(home / "secret.txt")
    (home / "kept" / "long").mkdir(parents=True)
    (home / "kept" / "long" / "long.perfetto-trace").write_bytes(TRACE)
    (home / "kept" / "long" / "index.html").write_text("<script>fetch('/review', {method: 'POST'})</script>")
    settings = Settings(home=home, warehouse=home / "w.duckdb")  # not that of a demo in the folder of the checkout
    with open_socket(0) as listener:
        server = make_server(settings, listener, reduced_dir=home / "kept")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.02)
        yield Site(listener.getsockname()[1], home)
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def test_it_listens_on_loopback_only(site):
    with open_socket(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {
        "127.0.0.1",
        "127.0.1.1",
    }
    for address in addresses:
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((address, site.port)) != 0, address


@pytest.mark.parametrize(
    ("path", "mime"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html", "text/html; charset=utf-8"),
        ("/runs/shop-001.html", "text/html; charset=utf-8"),
        ("/assets/run.js", "text/javascript; charset=utf-8"),
        ("/traces/shop-001", "application/octet-stream"),
        ("/reduced/long/long.perfetto-trace", "application/octet-stream"),
        ("/perfetto/", "text/html; charset=utf-8"),
    ],
)
def test_pages_traces_and_the_ui_come_with_their_types_and_guards(site, path, mime):
    status, headers, body = site.ask(path, host=f"localhost:{site.port}")
    assert status == 200
    assert headers["content-type"] == mime
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert body


def test_webassembly_has_its_own_type(site):
    wasm = next(perfetto_ui_dir().rglob("trace_processor.wasm")).relative_to(perfetto_ui_dir())
    status, headers, _ = site.ask(f"/perfetto/{wasm}", method="HEAD", host=f"localhost:{site.port}")
    assert (status, headers["content-type"]) == (200, "application/wasm")


def test_the_ui_may_not_talk_to_the_internet(site):
    policy = site.ask("/perfetto/", host=f"localhost:{site.port}")[1]["content-security-policy"]
    assert f"connect-src 'self' http://127.0.0.1:{site.port} blob: data:" in policy
    assert "https:" not in policy
    assert "content-security-policy" not in site.ask("/")[1], "the pages bring their own, stricter one"


def test_no_script_of_a_reduced_traces_folder_runs_as_an_own_page(site):
    status, headers, _ = site.ask("/reduced/long/index.html")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'unsafe-inline';")


@pytest.mark.parametrize("inside", ["a<b> 1", "deeper/a<b> 1", ""])
def test_links_of_a_reduced_traces_page_lead_to_the_server_that_shows_it(site, inside):
    """Whatever port it was written for, and however deep below the folder that is shown it lies."""
    folder = site.home / "kept" / inside
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a b.perfetto-trace").write_bytes(TRACE)
    told = reduction(trace="a b.perfetto-trace")
    (folder / PAGE).write_text(render_reduction_page(told, folder.name, server="https://perf.example:9001"))
    path = f"/reduced/{quote(f'{inside}/'.lstrip('/'))}{PAGE}"
    status, headers, body = site.ask(path)
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'unsafe-inline';")
    assert "perf.example" not in body.decode()
    own = f"http://127.0.0.1:{site.port}"
    assert f"lead to Perfetto at <code>{own}</code>" in body.decode()
    (link,) = re.findall(r'href="([^"]+visStart=10000000000[^"]+)"', body.decode())
    begin = f"{own}/perfetto/#!/?url={own}"
    assert link.startswith(begin)
    trace = unquote(link.removeprefix(begin).partition("&")[0])
    assert site.ask(trace)[2] == TRACE
    assert site.ask(path, method="HEAD")[1]["content-length"] == headers["content-length"] == str(len(body))


def test_a_gzip_trace_arrives_byte_for_byte_and_in_parts(site):
    status, headers, body = site.ask("/traces/shop-001", Accept_Encoding="gzip")
    assert status == 200
    assert "content-encoding" not in headers, "it is the file itself; Perfetto unpacks it"
    assert hashlib.sha256(body).digest() == hashlib.sha256(TRACE).digest()
    status, headers, body = site.ask("/traces/shop-001", Range="bytes=10-19")
    assert (status, body) == (206, TRACE[10:20])
    assert headers["content-range"] == f"bytes 10-19/{len(TRACE)}"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "",
        "[::1]:{port}",
    ],
)
def test_another_host_name_is_refused(site, host):
    status, headers, body = site.ask("/traces/shop-001", host=host.format(port=site.port))
    assert status in (400, 403)
    assert TRACE[:20] not in body
    assert "access-control-allow-origin" not in headers


def test_two_host_headers_are_refused(site):
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as connection:
        connection.sendall(
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode()
        )
        assert connection.recv(64).split()[1] in (b"400", b"403")


def test_localhost_is_this_machine_too(site):
    assert site.ask("/", host=f"LOCALHOST:{site.port}")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/runs/../../secret.txt",
        "/runs/..%5c..%5csecret.txt",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/link.html",
        "/.lock",
        "/runs/%2e%2e/.lock",
        "/runs",
        "/runs/",
        "/assets/",
        "/perfetto/../../../secret.txt",
        "/perfetto/..%2f..%2f__init__.py",
        "/perfetto/..%2f__init__.py",
        "/traces",
        "/traces/",
        "/traces/..%2f..%2fsecret.txt",
        "/traces/%2e%2e",
        "/traces/shop-001/screenshot.png",
        "/traces/shop-001%2fscreenshot.png",
        "/traces/shop-001%00",
        "/traces/shop-002",
        "/traces/shop-001/..%2f..%2f..%2fsecret.txt",
        "/nothing-here",
    ],
)
def test_nothing_else_is_served(site, path):
    status, headers, body = site.ask(path)
    if status in (301, 302, 307, 308):
        own, ui = (f"http://{name}:{site.port}" for name in ("127.0.0.1", "localhost"))
        assert headers["location"].startswith(("/", f"{own}/", f"{ui}/perfetto/")), headers["location"]
        host = f"localhost:{site.port}" if headers["location"].startswith(ui) else None
        status, _, body = site.ask(headers["location"].removeprefix(own).removeprefix(ui), host=host)
    assert status in (400, 404), (status, body[:80])
    assert b"secret" not in body
    assert b"root:" not in body
    assert b"shop-001.html" not in body, "no listing"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(site, method):
    assert site.ask("/runs/shop-001.html", method=method)[0] == 405
    assert site.ask("/traces/shop-001", method=method)[0] == 405


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "own"])
@pytest.mark.parametrize("path", ["/", "/graphql", "/lists/runs"])
def test_no_websocket_opens(site, path, origin):
    given = f"http://127.0.0.1:{site.port}" if origin == "own" else origin
    with pytest.raises(websockets.exceptions.InvalidHandshake):
        connect(f"ws://127.0.0.1:{site.port}{path}", origin=given, open_timeout=20)


@pytest.mark.parametrize("path", ["/perfetto/", "/perfetto/index.html?a=b", "/perfetto/gone"])
def test_the_ui_is_on_an_origin_of_its_own(site, path):
    status, headers, _ = site.ask(path)
    assert (status, headers["location"]) == (307, f"http://localhost:{site.port}{path}")


def test_the_ui_reads_traces_and_nothing_else_from_its_origin(site):
    ui = f"http://localhost:{site.port}"
    for path in ("/traces/shop-001", "/reduced/long/long.perfetto-trace"):
        assert site.ask(path, Origin=ui)[1]["access-control-allow-origin"] == ui
    for path in ("/", "/runs/shop-001.html", "/lists/runs", "/upkeep"):
        assert "access-control-allow-origin" not in site.ask(path, Origin=ui)[1]


def test_only_perfettos_uis_may_read_traces_from_another_origin(site):
    _, headers, _ = site.ask("/traces/shop-001", Origin="https://evil.example")
    assert headers["access-control-allow-origin"] == "https://ui.perfetto.dev"
    assert "access-control-allow-origin" not in site.ask("/", Origin="https://ui.perfetto.dev")[1]
    status, headers, _ = site.ask("/traces/shop-001", method="OPTIONS", Origin="https://ui.perfetto.dev")
    assert (status, headers["access-control-allow-private-network"]) == (204, "true")


@pytest.mark.parametrize(
    "trace", ["../secret.txt", "/etc/passwd", "", "sub/trace", None, 7, ["a"], "gone.gz", "link.gz"]
)
def test_a_registry_entry_cannot_name_a_file_outside_its_folder(site, trace):
    folder = site.home / "runs" / "odd-001"
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"trace": trace}))
    if not (folder / "link.gz").is_symlink():
        (folder / "link.gz").symlink_to(site.home / "secret.txt")
    assert find_trace(site.home / "runs", "odd-001") is None
    assert site.ask("/traces/odd-001")[0] == 404


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"trace"', "\ud800"])
def test_a_damaged_registry_entry_is_not_registered(tmp_path, text):
    (tmp_path / "r1").mkdir()
    (tmp_path / "r1" / "run.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert find_trace(tmp_path, "r1") is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_registered_trace_is_found_whether_its_run_json_begins_with_a_mark_or_not(tmp_path, encoding):
    (tmp_path / "r1").mkdir()
    (tmp_path / "r1" / "run.json").write_text('{"trace": "t.gz"}', encoding)
    (tmp_path / "r1" / "t.gz").touch()
    assert find_trace(tmp_path, "r1") == tmp_path / "r1" / "t.gz"


@pytest.mark.parametrize(
    ("closed", "path"),
    [
        ("trace.gz", "/traces/r1"),
        ("run.json", "/traces/r1"),
        (".", "/traces/r1"),
        ("a.log", "/runs/r1/a.log"),
        ("run.json", "/runs/r1/a.log"),
        (".", "/runs/r1/a.log"),
    ],
)
def test_a_file_of_a_run_that_cannot_be_read_is_refused_in_words(tmp_path, closed, path):
    folder = tmp_path / "runs" / "r1"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"trace": "trace.gz"}')
    (folder / "trace.gz").write_bytes(TRACE)
    (folder / "a.log").write_text("told")
    (folder / closed).chmod(0)
    try:
        with unprivileged(), served(Settings(home=tmp_path, warehouse=tmp_path / "w.duckdb")) as port:
            status, headers, body = Site(port, tmp_path).ask(path)
    finally:
        folder.chmod(0o700)
    assert status == 503
    assert body.decode().startswith("This file is kept on this machine and cannot be read: Permission denied")
    assert ("access-control-allow-origin" in headers) == path.startswith("/traces/")


def test_without_a_site_the_start_page_says_what_to_do(tmp_path):
    with served(Settings(home=tmp_path)) as port:
        status, _, body = Site(port, tmp_path).ask("/")
    assert status == 404
    assert b"perfreg ingest" in body


_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/runs/notes-9999.html", "no page of this run"),
        ("/versions/none.html", "no page of this version"),
        ("/nothing-here", "nothing at this address"),
        ("/runs/<b>.html", "no page of this run"),
        ("/compare?a=notes-0010&b=notes-9999", "notes-9999"),
        ("/compare?a=%3Cscript%3E&b=notes-0016", "&lt;script&gt;"),
        ("/compare", "two different runs or versions"),
        ("/runs/notes-0010/gone.mp4", "No registered run has this file"),
        ("/traces/notes-9999", "No registered run has this id"),
    ],
)
def test_a_browser_is_shown_a_page_with_the_way_on_and_a_program_a_line(lists, path, told):
    status, headers, body = lists.site.ask(path, accept=_BROWSER)
    assert status in (400, 404)
    assert headers["content-type"].startswith("text/html")
    page = body.decode()
    assert told in page
    assert 'href="/index.html"' in page
    assert "<script>" not in page
    assert "<b>" not in page
    status, headers, body = lists.site.ask(path)
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert body.count(b"\n") == 1


def test_a_taken_port_is_one_clear_sentence(tmp_path):
    with open_socket(0) as listener, pytest.raises(Rejected) as caught:
        serve(Settings(home=tmp_path), listener.getsockname()[1])
    assert caught.value.reason is Reason.PORT_UNAVAILABLE
    assert "--port" in str(caught.value)


# ---- lists -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Lists:
    site: Site
    warehouse: Warehouse

    def ask(self, query: str = "") -> tuple[int, Any]:
        status, headers, body = self.site.ask(f"/lists/runs{query}")
        return status, json.loads(body) if headers["content-type"] == "application/json" else body.decode()


@pytest.fixture(scope="module")
def lists(sample_site, tmp_path_factory) -> Iterator[Lists]:
    """A server over the sample warehouse."""
    warehouse, _ = sample_site
    settings = Settings(home=tmp_path_factory.mktemp("home"), warehouse=warehouse.path)
    with served(settings, compare=partial(page_of_runs, settings)) as port:
        yield Lists(Site(port, settings.home), warehouse)


QUERIES = {
    "": "true",
    "?app=com.example.shop": "app = 'com.example.shop'",
    "?app=com.example.shop&version=1.1.0": "app = 'com.example.shop' AND version_name = '1.1.0'",
    "?app=(unknown)": "app IS NULL",
    "?axis=cpu.improved": "axis_states['cpu'] = 'improved'",
    "?anomalous=1": "state = 'complete' AND run_verdict = 'anomalous'",
    "?open=1": "state = 'complete' AND run_verdict = 'anomalous' AND review_status IS NULL",
    "?part=ES-00": "run_id LIKE '%es-00%'",
    "?part=100%25": "false",
    "?app=%27%20OR%20true%20--": "false",
    "?series=rss_app": "run_id IN (SELECT run_id FROM marts.verdicts "
    "WHERE is_current AND is_anomalous AND series = 'rss_app')",
    "?above=0.5&upto=1.5": "run_id IN (SELECT run_id FROM marts.run_verdicts "
    "WHERE is_current AND critical_omega > 0.5 AND critical_omega <= 1.5)",
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_list_has_the_runs_that_the_marts_name(lists, query):
    with lists.warehouse.reading() as reader:
        wanted = reader.rows(
            f"SELECT run_id FROM marts.runs WHERE {QUERIES[query]} ORDER BY started_at DESC NULLS LAST, run_id DESC"
        )
    status, found = lists.ask(query)
    assert status == 200
    assert [row[0] for row in found["rows"]] == [run_id for (run_id,) in wanted]
    assert found["total"] == len(wanted)


def test_pages_of_a_list_make_up_the_whole_in_any_order(lists):
    for sort in ("started", "run", "app", "version", "worst", "omega"):
        for direction in ("", "&ascending=1"):
            _, whole = lists.ask(f"?sort={sort}{direction}")
            parts = [lists.ask(f"?sort={sort}{direction}&offset={at}&limit=20")[1] for at in range(0, 60, 20)]
            assert [row for part in parts for row in part["rows"]] == whole["rows"]
            assert {part["total"] for part in parts} == {whole["total"]} == {len(whole["rows"])}


def test_of_a_page_of_no_rows_the_total_is_told_too(lists):
    _, whole = lists.ask("?anomalous=1")
    assert whole["total"] > 0
    assert lists.ask("?anomalous=1&limit=0") == (200, {"total": whole["total"], "rows": []})


@pytest.mark.parametrize(
    "query",
    [
        "?sort=run_id;DROP", "?limit=1001", "?limit=-1", "?offset=1e3", "?offset=%D9%A3", "?axis=cpu", "?above=1",
        "?above=nan&upto=1", "?above=x&upto=1", "?anomalous=yes", "?unheard=1", f"?part={'x' * 301}",
    ],
)  # fmt: skip
def test_a_question_that_makes_no_sense_is_one_sentence(lists, query):
    status, told = lists.ask(query)
    assert status == 400
    assert told.count("\n") == 1
    assert "DROP" not in told


def test_lists_are_guarded_like_everything_else(lists):
    status, headers, body = lists.site.ask("/lists/runs", host="evil.example")
    assert status == 403
    assert b"notes" not in body
    status, headers, _ = lists.site.ask("/lists/runs", Origin="https://ui.perfetto.dev")
    assert status == 200
    assert "access-control-allow-origin" not in headers
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"
    assert lists.site.ask("/lists/runs", method="POST")[0] == 405
    for path in ("/lists", "/lists/", "/lists/runs/x", "/.state/head.json"):
        assert lists.site.ask(path)[0] == 404


def test_two_runs_or_versions_are_set_beside_each_other(lists):
    for query in ("a=notes-0010&b=notes-0016", "a=1.1.0&b=1.2.0&app=com.example.notes"):
        status, headers, body = lists.site.ask(f"/compare?{query}")
        assert status == 200, body
        assert headers["content-type"].startswith("text/html")
        a, b = query.split("&")[:2]
        assert f"<h1>B <bdi>{b[2:]}</bdi> beside A <bdi>{a[2:]}</bdi></h1>" in body.decode()
        assert "Memory of the app (RSS)" in body.decode()


@pytest.mark.parametrize(
    ("query", "expected", "told"),
    [
        ("", 400, "two different runs or versions"),
        ("a=notes-0010&b=notes-0010", 400, "two different runs or versions"),
        ("a=notes-0010&b=notes-0016&html=/tmp/x", 400, "a, b, app"),
        (f"a=notes-0010&b={'x' * 301}", 400, "longer than 300"),
        ("a=notes-0010&b=notes-9999", 404, "notes-9999"),
        ("a=/etc&b=notes-0016", 404, "version '/etc'"),
        ("a=1.1.0&b=1.2.0&app=none.such", 404, "none.such"),
        ("a=1.1.0&b=1.2.0", 409, "--app"),
        ("a=notes-0010&b=notes-0020", 409, "no run of notes-0020 is whole"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_one_sentence(lists, query, expected, told):
    status, headers, body = lists.site.ask(f"/compare?{query}")
    assert (status, headers["content-type"]) == (expected, "text/plain; charset=utf-8")
    assert told in body.decode()
    assert body.count(b"\n") == 1


def test_comparisons_are_guarded_like_everything_else(lists):
    assert lists.site.ask("/compare?a=notes-0010&b=notes-0016", host="evil.example")[0] == 403
    assert lists.site.ask("/compare?a=notes-0010&b=notes-0016", method="POST")[0] == 405


def test_without_a_warehouse_there_is_no_list(site):
    status, _, body = site.ask("/lists/runs")
    assert status == 404
    assert body.count(b"\n") == 1
