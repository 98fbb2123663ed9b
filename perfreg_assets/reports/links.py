"""Addresses of pages and deep links into Perfetto."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from urllib.parse import quote

from perfreg_assets.run import RUN_ID

DEFAULT_SERVER = "http://127.0.0.1:9001"
"""Where `perfreg serve` is by default. Pages that it serves itself replace this by their own origin."""

PERFETTO_REMOTE = "https://ui.perfetto.dev"

_REGEX_SIGNS = re.compile(r"[\\^$.|?*+()\[\]{}/-]")  # of JavaScript: Python's own quoting also quotes what must not be
_QUOTED = r"\\\g<0>"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")  # without @, which stands between app and version
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class PerfettoLink:
    """The same window in the local UI and in the public one."""

    local: str
    remote: str


def page_name(run_id: str) -> str:
    """File name stem of a run's page: the run_id where it is a safe name, else its hash."""
    if RUN_ID.fullmatch(run_id):
        return run_id
    return f"run-{hashlib.sha256(run_id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


VERSIONS = "versions"
"""Folder of the pages of versions."""


def version_page(app: str, version_name: str) -> str:
    """The page of a version of an app, relative to the site: named after both where that is a safe name and no other
    version's, else by a hash; either way it stands in an address as it is."""
    if _PLAIN.fullmatch(app) and _PLAIN.fullmatch(version_name) and len(app) + len(version_name) <= _LONGEST:
        return f"{VERSIONS}/{app}@{version_name}.html"
    key = "\0".join((app, version_name)).encode("utf-8", "surrogatepass")
    return f"{VERSIONS}/version-{hashlib.sha256(key).hexdigest()[:16]}.html"


def version_named_by(page: str) -> tuple[str, str] | None:
    """(app, version) that a version's page is named after; None where it is named by a hash."""
    app, separator, version_name = page.removeprefix(f"{VERSIONS}/").removesuffix(".html").partition("@")
    return (app, version_name) if separator else None


def run_page(run_id: str) -> str:
    """Address of a run's page below the reports."""
    return f"runs/{page_name(run_id)}.html"


def attachment_link(run_id: str, file_name: str) -> str:
    """Address of a file of a registered run, from its page.

    The same one leads to `<home>/runs/<run_id>/…` when the page was opened from `<home>/reports/runs`, and to
    `perfreg serve`'s `/runs/<run_id>/…` when it was served: a browser does not go above the root.
    """
    return f"../../runs/{quote(run_id, safe='')}/{quote(file_name, safe='/')}"


def reduced_link(folder: str, file_name: str, start_ns: int, end_ns: int, server: str = DEFAULT_SERVER) -> str:
    """Deep link to a stretch of a reduced trace, which `perfreg serve --reduced` shows: in Perfetto's UI beside it.

    Folder and file may have any name, and are quoted twice: once for the address of the trace, once for the parameter
    that it stands in, which the UI decodes before it asks for the trace.
    """
    trace = quote(f"/reduced/{quote(folder, safe='')}/{quote(file_name, safe='')}")
    return f"{server}/perfetto/#!/?url={server}{trace}&visStart={int(start_ns)}&visEnd={int(end_ns)}"


def perfetto_link(
    run_id: str,
    start_ns: int | None = None,
    end_ns: int | None = None,
    *,
    app: str | None = None,
    server: str = DEFAULT_SERVER,
) -> PerfettoLink:
    """Deep link to a trace; with `start_ns`/`end_ns` (trace clock) zoomed there, the tracks of `app` pinned on top."""
    fragment = f"#!/?url={server}/traces/{quote(run_id, safe='')}"
    if start_ns is not None and end_ns is not None:
        fragment += f"&visStart={int(start_ns)}&visEnd={int(end_ns)}"
    if app:
        pin = {"id": "dev.perfetto.PinTracksByRegex", "args": [f"^{_REGEX_SIGNS.sub(_QUOTED, app)}[: ]"]}
        fragment += f"&startupCommands={quote(json.dumps([pin], separators=(',', ':')), safe='')}"
    return PerfettoLink(f"{server}/perfetto/{fragment}", f"{PERFETTO_REMOTE}/{fragment}")
