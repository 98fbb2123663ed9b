"""What `perfreg serve` shows where not all of it is there; the server itself has its own tests."""

import os

import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.reports import serve as server


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Runs the command up to where it would serve; gives its result and what it would have served."""
    served = []
    monkeypatch.setattr(server, "serve", lambda settings, *_args, **shown: served.append((settings, shown)))
    monkeypatch.setenv("PERFREG_WAREHOUSE", str(tmp_path / "w.duckdb"))
    monkeypatch.setenv("PERFREG_HOME", str(tmp_path / "home"))

    def run(*arguments):
        served.clear()
        return CliRunner().invoke(main, ["serve", *arguments]), list(served)

    return run


def test_reduced_traces_are_shown_without_a_warehouse(serve, tmp_path):
    (tmp_path / "kept").mkdir()
    result, served = serve("--reduced", str(tmp_path / "kept"))
    assert result.exit_code == 0, result.output
    ((_, shown),) = served
    assert shown["reduced_dir"] == tmp_path / "kept"
    assert "only the reduced traces are shown" in result.stderr


def test_without_reduced_traces_a_warehouse_that_is_missing_is_named(serve):
    result, served = serve()
    assert result.exit_code == 1
    assert served == []
    assert "There is no published warehouse yet" in result.stderr


def test_pages_that_cannot_be_written_are_shown_as_they_are_to_whoever_only_reads(serve, tmp_path, monkeypatch):
    reports = tmp_path / "home" / "reports"
    reports.mkdir(parents=True)
    for page in ("index.html", "omega.html"):
        (reports / page).write_text("as it was")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    result, served = serve("--read-only")
    assert result.exit_code == 0, result.output
    assert len(served) == 1
    assert "its pages are shown as they are" in result.stderr
    assert (reports / "index.html").read_text() == "as it was"
