"""A report server that takes reviews, with the real model; what becomes due is left to a command of the test."""

from __future__ import annotations

import http.client
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from perfreg_assets.model.review_effects import effect_of
from perfreg_assets.reports.settling import Settling
from perfreg_assets.reports.triage import Triage
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse
from tests.reports.served import served

QUICK = (sys.executable, "-c", "print('step 1 of 1')")
SECRET = "a-secret-of-the-tests"
Answer = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""


@dataclass(frozen=True)
class Desk:
    port: int
    settings: Settings
    warehouse: Warehouse
    settling: Settling | None

    @property
    def own(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def entrance(self) -> str:
        """What `perfreg serve` prints."""
        return f"{self.own}/?token={SECRET}"

    @property
    def token(self) -> str:
        return (self.settings.home_dir / "token").read_text("ascii")

    @property
    def cookie(self) -> str:
        return f"perfreg_token_{self.port}={self.token}"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """One request with exactly these headers, `host` and `content_length` unless they are given."""
        given = {"host": f"127.0.0.1:{self.port}"} | ({} if body is None else {"content_length": str(len(body))})
        given |= headers
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, text in given.items():
            if text:
                connection.putheader(name.replace("_", "-"), text)
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, content

    def send(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        """A form as an own page sends it."""
        usual = {"origin": self.own, "cookie": self.cookie, "content_type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, urlencode(fields).encode(), **(usual | headers))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.warehouse.reading() as reader:
            return reader.rows(sql)


@contextmanager
def desk_of(
    warehouse: Warehouse,
    *,
    command: Sequence[str] = QUICK,
    may_change: bool = True,
    reports: Path | None = None,
    **options: Any,
) -> Iterator[Desk]:
    """The server of a warehouse that may be written to.

    Args:
        reports: a site to be shown.
        options: settings.
    """
    settings = Settings(warehouse=warehouse.path, **options)
    if reports is not None:
        shutil.copytree(reports, settings.reports_dir)
    settling = Settling(command, {}) if may_change else None
    triage = Triage(
        settings, lambda reader, run_id, status: effect_of(reader, settings, run_id, status), settling, name="ada"
    )
    with served(settings, triage=triage, secret=SECRET if may_change else None) as port:
        yield Desk(port, settings, warehouse, settling)
