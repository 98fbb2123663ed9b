"""Dagster's web server behind our own guards; `perfreg ui` starts it with `python -m`."""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path

import uvicorn
from dagster import DagsterInstance, __version__
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import GrpcServerTarget
from dagster_webserver.app import create_app_from_workspace_process_context
from dagster_webserver.cli import (
    DEFAULT_DB_STATEMENT_TIMEOUT,
    DEFAULT_POOL_MAX_OVERFLOW,
    DEFAULT_POOL_RECYCLE,
)
from starlette.types import ASGIApp

from perfreg_assets.automation.command_guard import CommandGuard
from perfreg_assets.reports.change_guard import OwnPages, token_of
from perfreg_assets.reports.entrance import UI_VARIABLE, Entrance
from perfreg_assets.reports.guard import LOOPBACK, HostGuard, own_hosts


def guarded(app: ASGIApp, *, port: int, token: str, secret: str) -> ASGIApp:
    """Dagster's application for this machine's user alone.

    Args:
        secret: of the address by which a browser gets the token.
    """
    own = OwnPages(port, token)
    return HostGuard(Entrance(CommandGuard(app, own), own, secret), own_hosts(port))


def main() -> None:
    """Serves until it is stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--socket", required=True, help="of the code server")
    parser.add_argument("--location", required=True, help="its name")
    given = parser.parse_args()
    secret = os.environ.pop(UI_VARIABLE)
    logging.getLogger("dagster").setLevel(logging.WARNING)
    with (
        DagsterInstance.get() as instance,
        WorkspaceProcessContext(
            instance,
            GrpcServerTarget(host="localhost", port=None, socket=given.socket, location_name=given.location),
            version=__version__,
        ) as context,
    ):
        instance.optimize_for_webserver(DEFAULT_DB_STATEMENT_TIMEOUT, DEFAULT_POOL_RECYCLE, DEFAULT_POOL_MAX_OVERFLOW)
        app = create_app_from_workspace_process_context(context)
        token = token_of(Path(os.environ["DAGSTER_HOME"]))
        uvicorn.run(
            guarded(app, port=given.port, token=token, secret=secret),
            host=LOOPBACK,
            port=given.port,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
        )


if __name__ == "__main__":
    main()
