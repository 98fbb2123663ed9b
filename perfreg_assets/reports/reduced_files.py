"""Folders of reduced traces as they are served: the links of their pages lead to the server that shows them.

A page names the address that it was written for, without scripts that could change it, and the folder that it was
written into, which may lie deeper below what is shown.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from perfreg_assets.reports.reduction_page import PAGE
from perfreg_assets.reports.static_files import Files

_LINK = re.compile(r'href="([^"]*)/perfetto/#!/\?url=\1/reduced/[^/"&]+/')
"""Up to the file's name, see `links.reduced_link`."""
_OF_THE_FILE = ("content-length", "accept-ranges")


class ReducedFiles(Files):
    """Args:
    server: address of this server, http://127.0.0.1:9001 say.
    """

    def __init__(self, folder: Path, *, server: str, policy: str, readers: str) -> None:
        super().__init__(folder, policy=policy, readers=readers)
        self._folder, self._server = folder, server

    def file_response(self, full_path: Any, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(full_path, *args, **kwargs)
        path = Path(full_path)
        if path.name != PAGE or response.status_code != 200:
            return response
        page = path.read_text("utf-8", errors="replace")
        headers = {name: told for name, told in response.headers.items() if name not in _OF_THE_FILE}
        return Response(self._linked(page, path.parent), headers=headers)

    def _linked(self, page: str, folder: Path) -> str:
        """The page with this server and this folder in its links, and in the sentence about them."""
        inside = (quote(part, safe="") for part in folder.relative_to(self._folder.resolve()).parts)
        link = f'href="{self._server}/perfetto/#!/?url={self._server}{quote("/".join(("/reduced", *inside, "")))}'
        written_for = {found[1] for found in _LINK.finditer(page)}
        page = _LINK.sub(lambda _: link, page)
        for server in written_for:
            page = page.replace(f"<code>{server}</code>", f"<code>{self._server}</code>")
        return page
