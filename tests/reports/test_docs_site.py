"""The documentation as a site: whole, offline, searchable, readable by everybody; and `/docs` of `perfreg serve`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from perfreg_assets.reports import serve
from perfreg_assets.reports.docs_route import BUILD
from perfreg_assets.settings import Settings
from tests.reports.served import served

pytest.importorskip("material", reason="mkdocs-material is not installed")
from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).parents[2]
PAGES = {f"{page.stem}.html" for page in (ROOT / "docs").glob("*.md")} | {
    *("index.html", "changelog.html", "contributing.html", "security.html"),
}
LOADED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Strictly: a link or an anchor that leads nowhere, or a page that is in no menu, is an error."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    build(load_config(str(ROOT / "deploy" / "docs" / "mkdocs.yml"), site_dir=str(folder)))
    return folder


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """Of a server that shows the folder that the test names, by default the built site."""
    folder = getattr(request, "param", None) or request.getfixturevalue("built")
    monkeypatch.setattr(serve, "docs_site", lambda: folder)
    with served(Settings(home=tmp_path)) as port:
        yield f"http://127.0.0.1:{port}"


def test_it_has_every_page_and_the_schema(built):
    assert {page.name for page in built.glob("*.html")} == PAGES
    assert (built / "run.schema.json").read_bytes() == (ROOT / "docs" / "run.schema.json").read_bytes()
    assert (built / "source" / "sql" / "examples" / "01_versions_that_got_worse.sql.html").is_file()
    assert (built / "source" / "readme" / "run-page.png").is_file()


def test_nothing_in_it_is_loaded_from_elsewhere(built):
    found = {match for page in built.rglob("*.html") for match in LOADED.findall(page.read_text("utf-8"))}
    assert found == set()
    styles = "".join(one.read_text("utf-8") for one in built.rglob("*.css"))
    assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", styles)


def test_lists_and_tables_are_rendered(built):
    """What GitHub takes for a list or a table and Python-Markdown does not stays as text."""
    for page in PAGES - {"dictionary.html"}:
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", (built / page).read_text("utf-8"), flags=re.DOTALL)
        paragraphs = re.findall(r"<p>(.*?)</p>", text, re.DOTALL)
        assert [one for one in paragraphs if re.search(r"^(?:[*-] |\|.*\|$|\d+\. |#+ )", one, re.MULTILINE)] == [], page


def test_serve_shows_it(address):
    first = requests.get(f"{address}/docs", timeout=20)
    assert (first.url, first.status_code) == (f"{address}/docs/", 200)
    page = requests.get(f"{address}/docs/first-trace.html", timeout=20)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert requests.get(f"{address}/docs/none.html", timeout=20).status_code == 404
    assert requests.get(f"{address}/docs/%2e%2e/%2e%2e/settings.py", timeout=20).status_code == 404


@pytest.mark.parametrize("address", [Path("/nowhere/docs")], indirect=True, ids=["none"])
def test_serve_says_how_to_build_it(address):
    page = requests.get(f"{address}/docs/", timeout=20)
    assert page.status_code == 404
    assert BUILD in page.text
    assert (ROOT / BUILD.rpartition(" ")[2]).is_file()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_searched_and_breaks_no_rule_of_axe(browser, address, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    broken = []
    for name in ("index.html", "first-trace.html", "verdicts.html", "quality.html", "run-folders.html", "series.html"):
        page.goto(f"{address}/docs/{name}")
        broken += [
            f"{name}: {rule['id']}, {rule['help']}: {node['html'][:200]}"
            for rule in axe.Axe().run(page).response["violations"]
            for node in rule["nodes"]
        ]
    page.click("input.md-search__input")
    page.keyboard.type("interquartile")
    page.wait_for_selector(".md-search-result__link", timeout=60_000)
    assert page.locator(".md-search-result__link[href*='glossary']").count() > 0
    context.close()
    assert broken == []
    assert errors == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
