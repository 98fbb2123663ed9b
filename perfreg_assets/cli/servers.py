"""`perfreg ui` and `perfreg serve`."""

from __future__ import annotations

import functools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command
from perfreg_assets.named_files import write_named
from perfreg_assets.process_life import members
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.model.review_effects import Effect
    from perfreg_assets.reports.triage import Triage
    from perfreg_assets.warehouse.connection import Reader

_DEFINITIONS = "perfreg_assets.definitions"
_CODE_WORKERS = 16
"""Threads of the code server: sensors that wait in a tick each hold one."""
_START_S = 180.0
_STOP_S = 10.0
_LOOK_S = 0.1
_OTHER_ENDS_S = 3.0
"""So long a `perfreg ui` that was just told to stop is waited for."""
_SET_BACK_S = 60.0
_TICKS_END_S = 0.3
"""Within this time sensors that wait in a tick see that it is over, and end it in order."""


@command("ui", example="perfreg ui --port 3000", ends_itself=True)
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
def ui(settings: Settings, port: int) -> None:
    """Dagster's web UI and daemon on 127.0.0.1: lineage, partitions, plots; the inbox is watched.

    Open the address that it prints: a browser that came in another way reads only."""
    from perfreg_assets.automation.home import prepare_home
    from perfreg_assets.reasons import Reason
    from perfreg_assets.warehouse.lock import file_lock

    home = prepare_home(settings)
    only = file_lock(
        settings.ui_lock_file, timeout_s=_OTHER_ENDS_S, what=str(home), reason=Reason.UI_RUNNING, done="served"
    )
    with only:
        _refuse_taken(port)
        stopping = _serve_until_stopped(settings, home, port)
    if stopping == signal.SIGINT:
        terminal.fail("interrupted; what runs had stored is kept")
        sys.exit(128 + signal.SIGINT)
    sys.exit(0 if stopping else 1)  # whoever supervises a server ends it by SIGTERM: that is no failure of it


def _serve_until_stopped(settings: Settings, home: Path, port: int) -> int | None:
    """The number of the signal that ended it; None where one of its processes did."""
    from perfreg_assets.reports import entrance

    environment = {**_environment(settings), "DAGSTER_HOME": str(home)}
    terminal.note(f"starting; it will be at http://127.0.0.1:{port}")
    secret = entrance.new_secret()
    settings.stopping_file.unlink(missing_ok=True)
    stopping: int | None = None

    def stop(number: int, *_: object) -> None:
        nonlocal stopping
        stopping = number

    # Before the start: what is caught here is at its default in the children. A shell's background jobs ignore SIGINT,
    # and Dagster takes its handler of SIGTERM from that of SIGINT: it could not be stopped then.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # of a terminal that is closed; `nohup` has it ignored
        signal.signal(signal.SIGHUP, stop)
    with tempfile.TemporaryDirectory(prefix="perfreg-ui-") as folder:
        services = _Services(Path(folder), environment, port, secret)
        is_told = False
        while stopping is None and services.are_running():
            if not is_told and _listens(port):
                way_in = entrance.address(port, secret)
                terminal.say(f"{way_in}   inbox {settings.inbox_dir}   stop with Ctrl-C")
                terminal.note(f"its links to pages lead to {settings.reports_address}, where perfreg serve shows them")
                is_told = True
            time.sleep(_LOOK_S)
        settings.stopping_file.touch()
        time.sleep(_TICKS_END_S)
        services.end()
    settings.stopping_file.unlink(missing_ok=True)
    return stopping


def _refuse_taken(port: int) -> None:
    """Before an address is told that another program answers.

    Raises:
        Rejected: PORT_UNAVAILABLE.
    """
    from perfreg_assets.reports.listening import open_socket

    open_socket(port).close()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class _Services:
    """Code server, webserver and daemon: the three processes that Dagster needs, without the two more of its own
    development command, which would each import the same again.

    Args:
        folder: for the socket between them.
        secret: of the address by which a browser gets the web server's token.
    """

    def __init__(self, folder: Path, environment: dict[str, str], port: int, secret: str) -> None:
        from perfreg_assets.reports.entrance import UI_VARIABLE

        self._environment, self._socket = environment, folder / "code.sock"
        workspace = folder / "workspace.yaml"
        write_named(
            workspace, f"load_from:\n  - grpc_server: {{socket: {self._socket}, location_name: {_DEFINITIONS}}}\n"
        )
        code = ("--socket", str(self._socket), "--location", _DEFINITIONS)
        self._rest: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
            (("perfreg_assets.automation.webserver", "--port", str(port), *code), {UI_VARIABLE: secret}),
            (("dagster._daemon", "run", "--workspace", str(workspace)), {}),
        )
        self._group = 0
        self._code = self._start_code()
        self._others: list[subprocess.Popen[bytes]] = []
        self._started_at = time.monotonic()
        self._clock = _clock()  # where it was furthest ahead of the time that nobody sets

    def are_running(self) -> bool:
        """Starts what waits for the code server once that listens; starts that again when it died (no run lost its
        data by that: what is due is asked for anew). False when another one ended by itself."""
        if self._code.poll() is not None:
            if not self._others:
                return False
            terminal.fail(f"the code server ended with {self._code.returncode}; it is started again")
            self._socket.unlink(missing_ok=True)
            self._code = self._start_code()
        if not self._others and self._socket.exists():
            self._others = [self._start(*arguments, **more) for arguments, more in self._rest]
        if not self._others and time.monotonic() - self._started_at > _START_S:
            terminal.fail(f"the code server did not start within {_START_S:g} s")
            return False
        if self._others and self._is_clock_set_back():
            terminal.note("the clock was set back: the daemon is started again")
            self._others[1].kill()  # its ticks are begun anew
            self._others[1].wait()
            arguments, more = self._rest[1]
            self._others[1] = self._start(*arguments, **more)
        for name, process in zip(("web server", "daemon"), self._others, strict=False):  # none yet
            if process.poll() is not None:
                terminal.fail(f"the {name} ended with {process.returncode}, and perfreg ui with it; start it again")
                return False
        return True

    def _is_clock_set_back(self) -> bool:
        """Dagster's daemon keeps when it looks at a schedule next, and would wait until the clock comes there again."""
        now = _clock()
        is_back = now < self._clock - _SET_BACK_S
        self._clock = now if is_back else max(now, self._clock)
        return is_back

    def end(self) -> None:
        """The daemon first, which has ticks to end; then the whole group with its runs. Whoever has not ended is
        killed, and the code server as soon as it is alone: it keeps nothing, and is two seconds in ending."""
        for process in reversed(self._others):
            process.terminate()
        for process in self._others:
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                continue  # the group's signals follow
        _end_group(self._group, self._code, self._others)

    def _start_code(self) -> subprocess.Popen[bytes]:
        where = ("--socket", str(self._socket), "--location-name", _DEFINITIONS, "--max-workers", str(_CODE_WORKERS))
        return self._start(
            "dagster", "api", "grpc", "--module-name", _DEFINITIONS, *where, "--inject-env-vars-from-instance"
        )

    def _start(self, *module: str, **more: str) -> subprocess.Popen[bytes]:
        """All in one process group, that of the first: a signal to it reaches runs as well, and no terminal's does.
        They end with this process however it ends.

        Args:
            more: variables of its environment alone.
        """
        from perfreg_assets.automation import plain_log, with_parent

        is_plain = plain_log.is_wanted(sys.stdout, self._environment)
        bound = (with_parent.__name__, str(os.getpid()))
        process = subprocess.Popen(
            [sys.executable, "-m", *bound, *((plain_log.__name__,) if is_plain else ()), *module],
            env={**self._environment, **more},
            process_group=self._group,
        )
        self._group = self._group or process.pid
        return process


def _clock() -> float:
    """What the clock says beside the time that nobody sets."""
    return time.time() - time.monotonic()


def _end_group(group: int, code: subprocess.Popen[bytes], others: list[subprocess.Popen[bytes]]) -> None:
    """Webserver, daemon, code server and runs; whoever has not ended after 10 s is killed."""
    for number, patience_s in ((signal.SIGTERM, _STOP_S), (signal.SIGKILL, 2.0)):
        deadline = time.monotonic() + patience_s
        try:
            os.killpg(group, number)
            while time.monotonic() < deadline:
                for process in (code, *others):
                    process.poll()  # an ended child counts as a member of its group until it was asked
                if members(group) == {code.pid}:
                    code.kill()
                time.sleep(_LOOK_S / 2)
                os.killpg(group, 0)
        except ProcessLookupError:
            return


@command("serve", example="perfreg serve --port 9001", ends_itself=True)
@click.option("--port", type=click.IntRange(1, 65535), help="Default: the setting serve_port, 9001.")
@click.option(
    "--reduced",
    "reduced_dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Show the traces below this folder, too: what `perfreg reduce --out` or `collect --endurance` wrote.",
)
@click.option("--read-only", is_flag=True, help="Nobody reviews a run or changes ω on the pages.")
def serve(settings: Settings, port: int | None, reduced_dir: Path | None, read_only: bool) -> None:
    """Shows the report pages, with the traces and Perfetto's UI beside them, on 127.0.0.1; takes reviews there."""
    from perfreg_assets.cli.comparing import page_of_runs
    from perfreg_assets.cli.page_building import bring_up_to_date
    from perfreg_assets.reports import serve as server
    from perfreg_assets.reports.site import OVERVIEW_PAGES
    from perfreg_assets.warehouse.connection import Warehouse

    warehouse = Warehouse.of(settings)
    has_pages = all((settings.reports_dir / page).is_file() for page in OVERVIEW_PAGES)
    if reduced_dir is not None and not warehouse.is_there:
        terminal.note(f"there is no warehouse at {settings.warehouse}: only the reduced traces are shown")
    elif read_only and has_pages and not os.access(settings.reports_dir, os.W_OK):
        terminal.note(f"{settings.reports_dir} cannot be written to: its pages are shown as they are")
    else:
        bring_up_to_date(functools.partial(write_pages, settings), has_pages=has_pages)
    fetch = None
    if settings.exchange:
        from perfreg_assets.automation import spreading
        from perfreg_assets.objects import Objects

        fetch = functools.partial(spreading.fetch_run, Objects(settings.exchange), settings, warehouse)
    server.serve(
        settings,
        port,
        on_ready=lambda address: _tell_addresses(address, reduced_dir),
        fetch=fetch,
        reduced_dir=reduced_dir,
        compare=functools.partial(page_of_runs, settings),
        triage=_triage(settings, read_only=read_only),
    )


def write_pages(settings: Settings) -> None:
    """Brings the pages up to date; those of runs of which something is due say so: nothing of it is computed here."""
    from perfreg_assets.model.freshness import told_now
    from perfreg_assets.reports.site import build_in_turns
    from perfreg_assets.warehouse.connection import Warehouse

    build_in_turns(
        Warehouse.of(settings).reading_caught_up,
        settings.reports_dir,
        server=settings.reports_address,
        due=lambda reader: told_now(reader, settings),
    )


_REDUCED_SHOWN = 10


def _tell_addresses(address: str, reduced_dir: Path | None) -> None:
    """Where the pages are, and those of reduced traces, which no other page leads to."""
    terminal.say(f"{address}   stop with Ctrl-C")
    if reduced_dir is None:
        return
    from perfreg_assets.reports.reduction_page import PAGE

    pages, root = sorted(reduced_dir.rglob(PAGE)), address.partition("?")[0]
    for page in pages[:_REDUCED_SHOWN]:
        terminal.say(f"{root}reduced/{quote(str(page.relative_to(reduced_dir)))}")
    if len(pages) > _REDUCED_SHOWN:
        terminal.say(f"and {len(pages) - _REDUCED_SHOWN} more below {reduced_dir}")


def _triage(settings: Settings, *, read_only: bool) -> Triage:
    """What people may say on the pages; where the warehouse cannot be written to they only read."""
    from perfreg_assets.cli.person import whoever_asks
    from perfreg_assets.model.review_effects import effect_of
    from perfreg_assets.reports.settling import Settling
    from perfreg_assets.reports.triage import Triage

    may_write = settings.warehouse.is_file() and os.access(settings.warehouse, os.W_OK)
    if not read_only and not may_write:
        terminal.note(
            f"reviews cannot be given on the pages: {settings.warehouse} is not there, or cannot be written to"
        )
    settling = None
    if may_write and not read_only:
        settling = Settling(
            [sys.executable, "-m", "perfreg_assets.cli", "catch-up"],
            _environment(settings),
            owed=settings.home_dir / "settling",
        )

    def effect(reader: Reader, run_id: str, status: str) -> Effect:
        return effect_of(reader, settings, run_id, status)

    return Triage(settings, effect, settling, whoever_asks())


def _environment(settings: Settings) -> dict[str, str]:
    """Of a process that is to work on the same warehouse."""
    return {
        **os.environ,
        "PERFREG_WAREHOUSE": str(settings.warehouse.absolute()),
        "PERFREG_HOME": str(settings.home_dir),
        "PERFREG_INBOX": str(settings.inbox_dir),
        "PYTHONWARNINGS": "ignore",
    }
