"""What Dagster's processes say into a file has no colours in it."""

from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest

from perfreg_assets.automation import plain_log
from perfreg_assets.cli import servers

PROGRAM = """
import logging, sys
from dagster._utils.log import configure_loggers
if __name__ == "__main__":
    configure_loggers(formatter=sys.argv[1])
    logging.getLogger("dagster.daemon").warning("a line")
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def said(tmp_path, *before, form="colored"):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", *before, "program", form]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout


def test_dagsters_log_is_as_it_was_without_its_colours(tmp_path):
    coloured, plain = said(tmp_path), said(tmp_path, plain_log.__name__)
    assert "\x1b[" in coloured, "Dagster looks itself by now: plain_log can go"
    assert "\x1b" not in plain
    assert plain.endswith(" - dagster.daemon - WARNING - a line\n")


def test_formats_without_styles_are_dagsters_own(tmp_path):
    assert said(tmp_path, plain_log.__name__, form="json").startswith("{")


@pytest.mark.parametrize(
    ("stream", "environment", "is_wanted"),
    [
        (io.StringIO(), {}, True),
        (Terminal(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, True),
        (Terminal(), {"NO_COLOR": ""}, False),  # https://no-color.org: "when present and not an empty string"
    ],
)
def test_who_has_colours(stream, environment, is_wanted):
    assert plain_log.is_wanted(stream, environment) == is_wanted


@pytest.mark.parametrize(("stdout", "is_plain"), [(io.StringIO(), True), (Terminal(), False)])
def test_perfreg_ui_starts_dagsters_processes_so(tmp_path, monkeypatch, stdout, is_plain):
    started = []

    def start(command, **_):
        started.append(command)
        return SimpleNamespace(pid=1)

    monkeypatch.setattr(servers.subprocess, "Popen", start)
    monkeypatch.setattr(sys, "stdout", stdout)
    servers._Services(tmp_path, {}, 3000, "secret")
    [command] = started
    assert command[command.index("dagster") :][:3] == ["dagster", "api", "grpc"]
    assert (plain_log.__name__ in command) is is_plain
