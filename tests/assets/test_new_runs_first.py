"""A new run does not wait for the pages that an update of perfreg makes different; whoever brings all up to date writes
them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.cli import main
from perfreg_assets.reports import site


@pytest.fixture
def updated(make_site, monkeypatch):
    """A site with two runs, written by another release than the one that runs now; no page is written that can wait."""
    found = make_site()
    found.ingest(*sorted(demo_runs_dir().iterdir())[:2])
    monkeypatch.setattr(site, "code_hash", lambda: "another release")
    monkeypatch.setattr("perfreg_assets.assets.reports.MOST_S", 0.0)
    return found


def _command(updated, *words: str):
    places = {"PERFREG_WAREHOUSE": str(updated.settings.warehouse), "PERFREG_HOME": str(updated.settings.home_dir)}
    return CliRunner(env=places).invoke(main, words)


def _written(updated) -> dict[str, int]:
    """Page of a run or version → when it was written."""
    folder = updated.settings.reports_dir
    pages = [*folder.glob("runs/*.html"), *folder.glob("versions/*.html")]
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in pages}


def test_an_ingest_writes_its_own_pages_says_how_many_wait_and_catching_up_writes_those(updated):
    given = sorted(demo_runs_dir().iterdir())[2]
    before = _written(updated)
    done = _command(updated, "ingest", str(given))
    assert done.exit_code == 0, done.output
    now = _written(updated)
    assert f"runs/{given.name}.html" in set(now) - set(before)
    left = site.waiting(updated.settings.reports_dir)
    assert left == sum(now[page] == before[page] for page in before) > 0
    assert f"{left} pages of other runs and versions still look as before" in " ".join(done.stderr.split())
    status = _command(updated, "status")
    assert "nothing is due" not in status.stderr
    caught_up = _command(updated, "catch-up")
    assert caught_up.exit_code == 0, caught_up.output
    assert site.waiting(updated.settings.reports_dir) == 0
    assert "nothing is due" in _command(updated, "status").stderr


def test_a_job_that_takes_nothing_in_writes_every_page(updated):
    done = updated.bring_up_to_date()
    assert not done.left.keys
    assert site.waiting(updated.settings.reports_dir) == 0
    assert done.done.counts["pages_written_now"] >= 2
