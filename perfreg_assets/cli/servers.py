"""`perfreg ui` and `perfreg serve`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command
from perfreg_assets.settings import Settings


@command("ui", example="perfreg ui --port 3000")
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
def ui(settings: Settings, port: int) -> None:
    """Dagster's web UI and daemon on 127.0.0.1: lineage, partitions, plots; the inbox is watched."""
    from perfreg_assets.automation.materialise import prepare_home

    home = prepare_home(settings)
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "PERFREG_WAREHOUSE": str(settings.warehouse.absolute()),
        "PERFREG_HOME": str(settings.home_dir),
        "PERFREG_INBOX": str(settings.inbox_dir),
        "PYTHONWARNINGS": "ignore",
    }
    terminal.say(f"http://127.0.0.1:{port}   inbox {settings.inbox_dir}   stop with Ctrl-C")
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    # Before the start: what is caught here is at its default in the child. A shell's background jobs ignore SIGINT,
    # and Dagster takes its handler of SIGTERM from that of SIGINT: it could not be stopped then.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "dagster", "dev", "--module-name", "perfreg_assets.definitions"),
            *("--host", "127.0.0.1", "--port", str(port)),
        ],
        env=environment,
        start_new_session=True,
    )
    while process.poll() is None:
        if stopping:
            process.terminate()
            process.wait()
        time.sleep(0.2)
    _end_group(process.pid)
    sys.exit(0 if stopping else 1)


def _end_group(group: int) -> None:
    """Webserver, daemon and code servers end with Dagster's own process; whoever has not after 10 s is killed."""
    for number, patience_s in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 2.0)):
        deadline = time.monotonic() + patience_s
        try:
            os.killpg(group, number)
            while time.monotonic() < deadline:
                time.sleep(0.1)
                os.killpg(group, 0)
        except ProcessLookupError:
            return


@command("serve", example="perfreg serve --port 9001")
@click.option("--port", type=click.IntRange(1, 65535), help="Default: the setting serve_port, 9001.")
def serve(settings: Settings, port: int | None) -> None:
    """Shows the report pages, with the traces and Perfetto's UI beside them, on 127.0.0.1."""
    from perfreg_assets.reports import serve as server
    from perfreg_assets.reports.site import build_site
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).reading() as reader:
        build_site(reader, settings.reports_dir, server=settings.reports_address)
    server.serve(settings, port, on_ready=lambda address: terminal.say(f"{address}   stop with Ctrl-C"))
