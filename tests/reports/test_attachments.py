"""A run's screenshots and logs on its page: at their second, reachable from a file and from `perfreg serve`."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin

import pytest

from perfreg_assets.collection import registry
from perfreg_assets.partitions import to_key
from perfreg_assets.reports.data import Attachment
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.serve import find_attachment
from perfreg_assets.reports.site import build_site
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse
from tests.reports.served import served

FILES = {"shots/0003.png": b"\x89PNG third", "page.html": b"<script>alert(1)</script>", "log cat#1?.txt": b"line"}
DOCUMENT = {
    "run_id": "shop-004",
    "app": "com.rig.shop",
    "version_name": "1.5.0",
    "config": {"device": "Pixel", "strategy": "dfs", "time_limit_s": 60, "action_interval_s": 2.0},
    "started_at": "2026-11-20T09:12:00Z",
    "exploration": {"start_ns": 10**12, "end_ns": 10**12 + 60 * 10**9},
    "path": [{"step": 3, "ts_ns": 10**12 + 12_300_000_000, "state_hash": "a", "screen": "home"}],
    "trace": "t.pftrace",
}


@pytest.fixture
def project(tmp_path):
    """Settings of a project that holds one run with its files, and the site of it."""
    folder = tmp_path / "given"
    for name, content in {**FILES, "t.pftrace": b"\x0a\x02\x08\x01", "run.json": json.dumps(DOCUMENT).encode()}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb")
    warehouse = Warehouse(settings.warehouse, lock_timeout_s=5)
    (outcome,) = registry.register([folder], settings, warehouse, to_key)
    assert outcome.rejected is None
    with warehouse.reading() as reader:
        build_site(reader, settings.reports_dir)
    return settings


@pytest.fixture
def address(project):
    with served(project) as port:
        yield f"http://127.0.0.1:{port}"


def links(page: str) -> dict[str, str]:
    """File name → address, of the run's own files."""
    found = [unescape(link) for link in re.findall(r'(?:href|src)="(\.\./\.\./runs/[^"]+)"', page)]
    return {unquote(link).removeprefix("../../runs/shop-004/"): link for link in found}


def test_the_page_shows_them_at_their_second_and_their_addresses_lead_to_the_files(project):
    path = project.reports_dir / "runs" / "shop-004.html"
    page = path.read_text("utf-8")
    assert 'alt="Screenshot shots/0003.png at second 12.3"' in page
    assert 'data-zoom="7.300,17.300"' in page
    assert "1 state<" in page
    found = links(page)
    assert set(found) == set(FILES)
    for name, link in found.items():
        assert (path.parent / unquote(link)).resolve().read_bytes() == FILES[name]


def test_the_same_addresses_lead_to_the_files_when_the_page_is_served(project, address):
    with urllib.request.urlopen(f"{address}/runs/shop-004.html") as answer:
        found = links(answer.read().decode())
    types = {"shots/0003.png": "image/png", "page.html": "application/octet-stream", "log cat#1?.txt": "text/plain"}
    for name, link in found.items():
        with urllib.request.urlopen(urljoin(f"{address}/runs/shop-004.html", link)) as answer:
            assert answer.read() == FILES[name]
            assert answer.headers["content-type"].split(";")[0] == types[name]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
            saved = answer.headers["content-disposition"].startswith("attachment")
            assert saved == (name == "page.html"), "a page of a tester is no page of this site"


def test_a_new_file_makes_the_page_new(project, tmp_path):
    (tmp_path / "given" / "late.png").write_bytes(b"late")
    warehouse = Warehouse(project.warehouse, lock_timeout_s=5)
    registry.register([tmp_path / "given"], project, warehouse, to_key)
    with warehouse.reading() as reader:
        assert "runs/shop-004.html" in build_site(reader, project.reports_dir)
    assert "late.png" in (project.reports_dir / "runs" / "shop-004.html").read_text("utf-8")


def test_nothing_but_a_runs_own_files_is_found(project, tmp_path):
    folder = project.runs_dir / "shop-004"
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "linked").symlink_to(tmp_path)
    (folder / ".hidden").write_bytes(b"x")
    (folder / "shots" / ".hidden").write_bytes(b"x")
    for name in (
        *("run.json", "t.pftrace", "../shop-004/page.html", "shots/../page.html", "./page.html", "/etc/passwd", ""),
        *("shots", "shots/", "gone.png", "link.png", "linked/secret.png", ".hidden", "shots/.hidden", "x" * 5000),
        *("page.html/", "page.html\0", "shots\\0003.png", "\ud800.png"),
    ):
        assert find_attachment(project.runs_dir, "shop-004", name) is None, name
    assert find_attachment(project.runs_dir, "../runs/shop-004", "page.html") is None
    assert find_attachment(project.runs_dir, "shop-004", "page.html") is not None


def test_no_address_leads_out_of_a_runs_folder(address):
    for path in (
        "/runs/shop-004/..%2f..%2fperfreg.duckdb",
        "/runs/shop-004/%2e%2e/%2e%2e/%2e%2e/perfreg.duckdb",
        "/runs/shop-004/run.json",
        "/runs/..%2fshop-004/page.html",
        "/runs/shop-005/page.html",
        "/runs/shop-004/",
        "/runs/shop-004/shots/",
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(address + path)
        with refused.value as answer:
            assert answer.code == 404, path


def test_names_of_files_are_text_and_no_addresses_of_elsewhere(detail, builders):
    evil = builders.naughty + "javascript:alert(1)//"
    files = tuple(Attachment(evil, kind, 5, offset) for kind, offset in (("screenshot", 3.0), ("log", None)))
    found: list[dict[str, str | None]] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attributes: found.append(dict(attributes))
    reader.feed(render_run_page(replace(detail("anomalous"), attachments=files)))
    assert not [name for attributes in found for name in attributes if name.startswith("on")]
    addresses = [attributes.get(key) or "" for attributes in found for key in ("href", "src")]
    assert {link[:6] for link in addresses if "alert" in link} == {"../../"}
