"""After an update of perfreg every page would look different: those of runs of which nothing changed can wait, so that
the others do not wait for them; and if something changed of all runs, those that are there already."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from perfreg_assets.reports import site, version_site
from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.site import build_in_turns, build_site, waiting
from perfreg_assets.reports.site_state import SiteState
from perfreg_assets.warehouse import reviews, runs, verdicts
from perfreg_assets.warehouse.lock import file_lock


@pytest.fixture
def updated(sample_site, tmp_path, monkeypatch) -> Path:
    """A site of `own_sample`, written by another release."""
    monkeypatch.setattr(site, "code_hash", lambda: "another release")
    return shutil.copytree(sample_site[1], tmp_path / "reports")


def _build(warehouse, out: Path, **options) -> set[str]:
    with warehouse.reading() as reader:
        return {Path(page).stem for page in build_site(reader, out, **options) if page.startswith("runs/")}


def _latest_first(warehouse) -> list[str]:
    with warehouse.reading() as reader:
        return [run_id for (run_id,) in reader.rows("SELECT run_id FROM core.runs ORDER BY run_no DESC")]


def _runs(out: Path) -> list[str]:
    """Those whose pages wait."""
    return SiteState(out).head.waiting


def _due(warehouse, out: Path, **options) -> list[str]:
    with warehouse.reading() as reader:
        return site.due_pages(reader, out, **options)[0]


_SIMILARITY = re.compile(r'<td class="v\d+" title="[^"]+ and [^"]+">[^<]+</td>')
"""The sample's stored ones are made up: which of them are shown depends on what is written together."""


def _pages(out: Path) -> dict[str, str]:
    return {str(path.relative_to(out)): _SIMILARITY.sub("", path.read_text("utf-8")) for path in out.glob("*/*.html")}


def test_what_changed_is_written_and_the_others_wait_the_latest_for_the_shortest_time(own_sample, updated):
    everyone = _latest_first(own_sample)
    with own_sample.writing() as writer:
        reviews.add(writer, "shop-0004", "accepted")
    (updated / "runs" / "shop-0002.html").unlink()
    written = _build(own_sample, updated, most_s=0.0)
    assert written == {"shop-0004", "shop-0002"}
    assert len(_runs(updated)) == len(everyone) - len(written)
    left = [run_id for run_id in everyone if run_id not in written]
    assert _due(own_sample, updated) == left
    assert _due(own_sample, updated, with_waiting=False) == []
    assert _build(own_sample, updated, most_s=0.0) == {*left[: site.GROUP_SIZE]}  # never none: it would go on for ever
    assert _due(own_sample, updated) == left[site.GROUP_SIZE :]
    assert _build(own_sample, updated) == {*left[site.GROUP_SIZE :]}
    assert waiting(updated) == 0
    assert _due(own_sample, updated) == []


def test_pages_that_waited_are_those_that_one_build_would_have_written(own_sample, updated, tmp_path, monkeypatch):
    monkeypatch.setattr(site, "TURN_S", 0.0)
    with own_sample.writing() as writer:
        runs.exclude(writer, "shop-0003", "a phone call")
    turns = []

    @contextmanager
    def reading():
        # Between two turns nobody holds the site.
        with file_lock(updated / ".lock", timeout_s=0.0, what="the site"), own_sample.reading() as reader:
            turns.append(waiting(updated))
        with own_sample.reading() as reader:
            yield reader

    written = build_in_turns(reading, updated)
    assert len(turns) > 2
    assert sorted(turns[1:], reverse=True) == turns[1:]
    pages = [Path(page).stem for page in written if page.startswith("runs/")]
    assert sorted(pages) == sorted(_latest_first(own_sample))
    _build(own_sample, tmp_path / "at_once")
    assert _pages(updated) == _pages(tmp_path / "at_once")
    assert _build(own_sample, updated) == set()


def test_a_run_that_changes_while_its_page_waits_is_written_at_once_and_one_that_goes_is_forgotten(own_sample, updated):
    _build(own_sample, updated, most_s=0.0)
    with own_sample.writing() as writer:
        reviews.add(writer, "shop-0004", "accepted")
        writer.execute("DELETE FROM core.runs WHERE run_id = 'quarantined-0001'")
    before = _runs(updated)
    assert "shop-0004" in _build(own_sample, updated, most_s=0.0)
    assert not {"shop-0004", "quarantined-0001"} & {*_runs(updated)}
    assert len(_runs(updated)) < len(before)
    _build(own_sample, updated)
    assert waiting(updated) == 0
    assert _build(own_sample, updated) == set()


def test_another_release_again_forgets_nobody(own_sample, updated, monkeypatch):
    everyone = _latest_first(own_sample)
    _build(own_sample, updated, most_s=0.0)
    monkeypatch.setattr(site, "code_hash", lambda: "one more release")
    _build(own_sample, updated, most_s=0.0)
    assert _runs(updated) == everyone
    assert _build(own_sample, updated) == {*everyone}


def test_turns_end_after_a_while_and_go_on_where_they_ended(own_sample, updated, monkeypatch):
    monkeypatch.setattr(site, "TURN_S", 0.0)
    build_in_turns(own_sample.reading, updated, most_s=0.0)
    left = _runs(updated)
    assert len(left) > site.GROUP_SIZE
    build_in_turns(own_sample.reading, updated, most_s=0.0)
    assert _runs(updated) == left[site.GROUP_SIZE :]


def test_pages_of_versions_wait_too_but_for_those_of_which_a_run_changed(own_sample, updated, monkeypatch):
    monkeypatch.setattr(site, "VERSION_GROUP_SIZE", 1)
    with own_sample.reading() as reader:
        versions = {
            version_page(*row): row
            for row in reader.rows("SELECT DISTINCT app, version_name FROM core.runs WHERE NOT is_quarantined")
        }
        (changed,) = reader.rows("SELECT app, version_name FROM core.runs WHERE run_id = 'shop-0004'")
    with own_sample.writing() as writer:
        reviews.add(writer, "shop-0004", "accepted")
    before = _pages(updated)
    monkeypatch.setattr(version_site, "render_version_page", lambda *given, **named: "a version of another release")
    _build(own_sample, updated, most_s=0.0)
    waits = {version_page(*one) for one in SiteState(updated).head.waiting_versions}
    assert version_page(*changed) in set(versions) - waits
    same = {page for page in versions if _pages(updated)[page] == before[page]}
    assert 2 < len(same) < len(versions)
    assert same <= waits  # pages of versions after the changed one, which name its runs, are written with it
    with own_sample.reading() as reader:
        assert site.due_pages(reader, updated)[1]
        assert not site.due_pages(reader, updated, with_waiting=False)[1]
    _build(own_sample, updated, most_s=0.0)
    later = {version_page(*one) for one in SiteState(updated).head.waiting_versions}
    assert later < waits
    build_in_turns(own_sample.reading, updated)
    assert waiting(updated) == 0
    assert {_pages(updated)[page] for page in versions} == {"a version of another release"}


def _another_omega(warehouse) -> None:
    with warehouse.writing() as writer:
        verdicts.make_current(writer, omega=1.25)


def _everything_written_again(warehouse) -> None:
    """As by a release that extracts series again: another moment in each row."""
    with warehouse.writing() as writer:
        writer.execute("UPDATE core.time_series SET extracted_at = extracted_at + INTERVAL 1 DAY")


@pytest.mark.parametrize("change", [_another_omega, _everything_written_again])
def test_where_something_changed_of_too_many_runs_those_without_a_page_come_first(
    own_sample, sample_site, tmp_path, monkeypatch, change
):
    monkeypatch.setattr(site, "MANY_CHANGED", 2)
    out = shutil.copytree(sample_site[1], tmp_path / "reports")
    change(own_sample)
    (out / "runs" / "shop-0002.html").unlink()
    late = {*_due(own_sample, out)}
    assert len(late) > site.MANY_CHANGED + 1
    assert _build(own_sample, out, most_s=0.0) == {"shop-0002"}
    assert {*_runs(out)} == late - {"shop-0002"}
    assert SiteState(out).head.waiting_versions
    assert _due(own_sample, out, with_waiting=False) == []
    with own_sample.writing() as writer:  # one among the many that wait is no longer one of many
        reviews.add(writer, "shop-0004", "accepted")
    assert "shop-0004" in _build(own_sample, out, most_s=0.0)
    build_in_turns(own_sample.reading, out)
    assert waiting(out) == 0
    _build(own_sample, tmp_path / "at_once")
    assert _pages(out) == _pages(tmp_path / "at_once")


@pytest.mark.parametrize("release", ["this release", "another release"])
def test_where_too_many_runs_are_due_their_pages_wait_too(own_sample, sample_site, tmp_path, monkeypatch, release):
    """Another way of measuring makes every run due at once: an ingest drew all pages, an hour for each 30,000."""
    monkeypatch.setattr(site, "MANY_CHANGED", 2)
    out = shutil.copytree(sample_site[1], tmp_path / "reports")
    if release == "another release":
        monkeypatch.setattr(site, "code_hash", lambda: release)
    due = dict.fromkeys(_latest_first(own_sample), "measured in another way")
    (out / "runs" / "shop-0002.html").unlink()
    assert _build(own_sample, out, due=due, most_s=0.0) == {"shop-0002"}
    assert {*_runs(out)} == {*due} - {"shop-0002"}
    few = {"shop-0004": due["shop-0004"]}
    build_in_turns(own_sample.reading, out, due=lambda _: few)
    assert waiting(out) == 0
    _build(own_sample, tmp_path / "at_once", due=few)
    assert _pages(out) == _pages(tmp_path / "at_once")


def test_what_changed_of_a_few_runs_is_written_at_once(own_sample, sample_site, tmp_path, monkeypatch):
    out = shutil.copytree(sample_site[1], tmp_path / "reports")
    with own_sample.writing() as writer:
        reviews.add(writer, "shop-0003", "accepted")
        reviews.add(writer, "shop-0004", "accepted")
    assert {"shop-0003", "shop-0004"} <= _build(own_sample, out, most_s=0.0)
    assert waiting(out) == 0
