"""Hooks of mkdocs: what pages of docs/ link to outside of docs/ becomes part of the site.

README, changelog, contributing and security are pages; sources are shown as text below `source/`, folders as lists of
their files; pictures are copied. So every link that works in the repository works offline in the site.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOP_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
LANGUAGES = {".py": "python", ".sql": "sql", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".json": "json"}
PICTURES = {".png", ".svg", ".jpg"}
READABLE = """\
/* What the theme lacks for WCAG 2 AA: links told by more than colour, colours of code with a ratio of 4.5 and more. */
.md-typeset p a, .md-typeset li a, .md-typeset td a { text-decoration: underline; }
[data-md-color-scheme=default] { --md-code-hl-comment-color: #5c5c5c; --md-code-hl-variable-color: #5c5c5c;
  --md-code-hl-generic-color: #5c5c5c; --md-code-hl-operator-color: #5c5c5c; --md-code-hl-punctuation-color: #5c5c5c; }
[data-md-color-scheme=slate] { --md-code-hl-keyword-color: #a99bea; --md-code-hl-name-color: #d5d8e2;
  --md-code-hl-number-color: #ee8578; --md-code-hl-constant-color: #a99bea; }
[data-md-color-scheme=slate] .md-typeset a code { color: #b4bfe0; }
"""
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)

_origin: dict[str, Path] = {}
"""Page of the site → the file that its links are relative to."""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the pages, sources and pictures that lie outside of docs/."""
    _origin.clear()
    files.append(File.generated(config, "readable.css", content=READABLE))
    texts = {page.src_uri: page.content_string for page in files.documentation_pages()}
    _origin.update({uri: DOCS / uri for uri in texts})
    for name, uri in TOP_PAGES.items():
        texts[uri] = (ROOT / name).read_text("utf-8")
        _origin[uri] = ROOT / name
        files.append(File.generated(config, uri, content=texts[uri]))
    wanted = {target for uri, text in texts.items() for target in _outside(_origin[uri], text)}
    wanted |= {child for target in wanted if target.is_dir() for child in _children(target)}
    for target in sorted(wanted):
        content = target.read_bytes() if target.suffix in PICTURES else _source_page(target)
        files.append(File.generated(config, _uri_of(target), content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Points links at where the site has what they mean."""
    origin = _origin.get(page.file.src_uri)
    if origin is None:  # a source: its links are written for the site
        return markdown
    here = PurePosixPath(page.file.src_uri).parent

    def replaced(match: re.Match[str]) -> str:
        target, anchor = _target(origin, match[2])
        if target is None:
            return match[0]
        return f"{match[1]}{os.path.relpath(_uri_of(target), here)}{anchor}{match[3]}"

    return _outside_fences(markdown, lambda text: _LINK.sub(replaced, text))


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A table without heads has no empty ones; each can be focused, so that keys scroll one wider than the page."""
    return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html).replace("<table>", '<table tabindex="0">')


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """The theme's search is a dialog without a name."""
    return output.replace(
        'class="md-search" data-md-component="search"',
        'class="md-search" aria-label="Search" data-md-component="search"',
    )


def on_post_build(*, config: MkDocsConfig) -> None:
    """Takes away what an English site never loads: other languages' stemmers, maps of the theme's scripts, and a page
    for addresses that are not there, which would look for its styles at the server's root."""
    site = Path(config.site_dir)
    for path in [*site.rglob("*.map"), *(site / name for name in ("sitemap.xml", "sitemap.xml.gz", "404.html"))]:
        path.unlink(missing_ok=True)
    shutil.rmtree(site / "assets" / "javascripts" / "lunr", ignore_errors=True)


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if part.startswith("```") else change(part) for part in _FENCE.split(text))


def _target(origin: Path, link: str) -> tuple[Path | None, str]:
    """The file that a relative link means, and its anchor; None for other links."""
    if re.match(r"[a-z]+:|#", link):
        return None, ""
    name, sign, anchor = link.partition("#")
    return (origin.parent / name).resolve(), sign + anchor


def _outside(origin: Path, text: str) -> Iterator[Path]:
    for link in _LINK.findall(_FENCE.sub("", text)):
        target, _ = _target(origin, link[1])
        if target is not None and _is_source(target):
            yield target


def _is_source(target: Path) -> bool:
    return not target.is_relative_to(DOCS) and target.relative_to(ROOT).as_posix() not in TOP_PAGES


def _uri_of(target: Path) -> str:
    """Where the site has a file of the repository."""
    if target == DOCS:
        return "index.md"
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    name = target.relative_to(ROOT).as_posix()
    if name in TOP_PAGES:
        return TOP_PAGES[name]
    shown = f"source/{name.lstrip('.')}"  # what begins with a dot is in no site
    return shown if target.suffix in PICTURES else f"{shown}.md"


def _children(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.is_file() and not one.name.startswith("."))


def _source_page(target: Path) -> str:
    """A source as text, a folder as a list; not searched, for they would come before the pages that explain them."""
    name = target.relative_to(ROOT).as_posix()
    if target.is_dir():
        body = "\n".join(f"* [{one.name}]({target.name}/{one.name}.md)" for one in _children(target))
    else:
        body = f"````{LANGUAGES.get(target.suffix, 'text')}\n{target.read_text('utf-8')}\n````"
    return f"---\nsearch: {{exclude: true}}\n---\n\n# {name}\n\n{body}\n"
