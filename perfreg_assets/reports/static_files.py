"""Files of one folder for a browser: by exact name, no listing, no hidden files, fixed MIME types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_MIME_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}


class Files(StaticFiles):
    """The folder may come later.

    Args:
        policy: the content security policy of every answer; None: what the page itself says.
        readers: the origin whose scripts may read the files besides those of their own.
    """

    def __init__(self, folder: Path, *, policy: str | None = None, readers: str | None = None) -> None:
        super().__init__(directory=folder, check_dir=False)
        self._policy, self._readers = policy, readers

    async def check_config(self) -> None:
        """Whether the folder is there is told by each answer."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if path in ("", "."):
            path = "index.html"
        if any(part.startswith(".") for part in Path(path).parts):
            raise HTTPException(404)
        return await super().get_response(path, scope)

    def file_response(self, full_path: Any, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(full_path, *args, **kwargs)
        mime = _MIME_TYPES.get(Path(full_path).suffix.lower(), "application/octet-stream")
        if "content-type" in response.headers:
            response.headers["content-type"] = mime
        if self._policy is not None:
            response.headers["content-security-policy"] = self._policy
        if self._readers is not None:
            response.headers["access-control-allow-origin"] = self._readers
        return response
