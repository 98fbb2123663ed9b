"""`/docs` of `perfreg serve`: the documentation as a site, which was made when perfreg was installed.

A checkout that was put on the path without an installation has none: one page then says which command makes it.
"""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Scope

from perfreg_assets.reports.static_files import Files

BUILD = "pip install -c requirements.lock -e '.[docs]' && mkdocs build -f deploy/docs/mkdocs.yml"
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
)
"""The theme has a few scripts and styles inline; nothing comes from elsewhere or goes there."""
_NOT_BUILT = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>No documentation yet</title></head>
<body><main><h1>The documentation is not built</h1>
<p>Run in the checkout of perfreg, then load this page again:</p>
<p><code>{BUILD}</code></p>
<p>The same pages are there as text: README.md and the folder docs.</p></main></body>
</html>
"""


def docs_routes(site: Path) -> list[BaseRoute]:
    """What answers at `/docs` and below it.

    Args:
        site: the folder of the site; whether it is there is looked up at each request.
    """

    def to_start(_request: Request) -> Response:
        return RedirectResponse("/docs/", 308)

    return [Route("/docs", to_start, methods=["GET", "HEAD"]), Mount("/docs", _Docs(site, policy=_POLICY))]


class _Docs(Files):
    def __init__(self, site: Path, *, policy: str) -> None:
        super().__init__(site, policy=policy)
        self._site = site

    async def get_response(self, path: str, scope: Scope) -> Response:
        if not (self._site / "index.html").is_file():
            return HTMLResponse(_NOT_BUILT, 404, {"content-security-policy": _POLICY})
        return await super().get_response(path, scope)
