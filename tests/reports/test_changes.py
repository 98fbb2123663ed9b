"""What a build looks at: exactly the runs of which something changed, found without looking at all of them."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from seeds import seeds

from perfreg_assets import bundled
from perfreg_assets.reports import (
    changes,
    energy_site,
    loading,
    loading_lists,
    run_list,
    site,
    site_state,
    version_site,
)
from perfreg_assets.reports.files import digest
from perfreg_assets.reports.run_order import RunOrder
from perfreg_assets.warehouse import (
    attachments,
    discords,
    distances,
    histories,
    measurements,
    reviews,
    runs,
    series,
    settings_table,
    stamps,
    traces,
    verdicts,
)
from perfreg_assets.warehouse.connection import Reader

EARLY = datetime(2020, 1, 1, tzinfo=UTC)
"""Longer ago than anything else was written: as of a worker whose clock is wrong, or whose result came late."""


# ---- what may happen to a warehouse ------------------------------------------------------------------
def _review(writer, run_id, chance):
    reviews.add(writer, run_id, chance.choice(reviews.STATUSES), note=str(chance.random()))


def _exclude(writer, run_id, chance):
    runs.exclude(writer, run_id, str(chance.random()))


def _include(writer, run_id, chance):
    runs.include(writer, run_id)


def _quarantine(writer, run_id, chance):
    runs.quarantine(writer, run_id, "trace_truncated", "The trace ends inside a packet.")


def _gone(writer, run_id, chance):
    traces.note_gone(writer, [run_id], is_gone=chance.random() < 0.5)


def _arrive(writer, run_id, chance):
    """A new run, the latest or one that started in between."""
    (row,) = runs.find(writer, [run_id]).values()
    number = chance.randrange(10**9)
    started = row.started_at + timedelta(seconds=chance.choice([-1, 1, 40 * 86400]) + number % 1000)
    version = chance.choice([row.version_name, f"2.{number}"])
    changed = {"run_id": f"{run_id}-{number}", "content_hash": f"{number:064d}", "started_at": started}
    fresh = replace(row, **changed, version_name=version, partition_key=f"{row.app}@{version}")
    moment = row.registered_at + timedelta(days=1)  # the sample's runs were registered in what is the future by now
    runs.upsert(writer, [replace(fresh, registered_at=moment, is_quarantined=False, reason_code=None)])


def _again(writer, run_id, chance):
    """Given again with another start and version: its first registration stays."""
    (row,) = runs.find(writer, [run_id]).values()
    moved = row.started_at + timedelta(hours=chance.randrange(-30, 30), seconds=chance.randrange(60))
    runs.upsert(writer, [replace(row, started_at=moved, content_hash=f"{chance.randrange(10**9):064d}")])


def _samples(writer, run_id, chance, moment=None):
    rows = list(series.find(writer, [run_id]).values())
    if rows:
        found = [
            row if row.values is None else replace(row, values=row.values + 1, values_hash=str(chance.random()))
            for row in rows
        ]
        series.upsert(writer, [replace(row, extracted_at=moment or datetime.now(UTC)) for row in found])


def _late_samples(writer, run_id, chance):
    _samples(writer, run_id, chance, EARLY + timedelta(microseconds=chance.randrange(10**9)))  # never twice the same


def _no_samples(writer, run_id, chance):
    series.forget(writer, [run_id])


def _measure(writer, run_id, chance):
    (row,) = runs.find(writer, [run_id]).values()
    known = [
        measurements.MeasurementRow(
            subject_kind="run", subject_id=run_id, metric=name, app=row.app, version_name=row.version_name, unit="ms",
            worse="more", value=chance.random(),
        )
        for name in ("db.query", "startup_full_display_cold") if chance.random() < 0.7
    ]  # fmt: skip
    measurements.replace_subjects(writer, "run", [run_id], known)


def _attach(writer, run_id, chance):
    row = attachments.AttachmentRow(
        run_id=run_id, file_name="log.txt", kind="log", bytes=chance.randrange(10**6), sha256="0" * 64, ts_ns=None
    )
    attachments.replace(writer, [run_id], [row] if chance.random() < 0.7 else [])


def _distances(writer, run_id, chance):
    rows = distances.find(writer, [run_id], chance.choice(["default", "iqr"]))
    more, moment = chance.random(), datetime.now(UTC)
    found = [replace(row, distance=None if row.distance is None else row.distance + more) for row in rows]
    distances.upsert(writer, [replace(row, measured_at=moment) for row in found])
    verdicts.evaluate_current(writer, [run_id])


def _windows(writer, run_id, chance):
    discords.replace_runs(writer, [run_id], [], [])


def _history(writer, run_id, chance):
    found = histories.find(writer, [run_id])
    others = [row[0] for row in writer.rows("SELECT run_id FROM core.runs WHERE NOT is_quarantined ORDER BY 1")]
    members = [
        histories.CandidateRow(
            run_id=run_id, history_run_id=other, history_rank=rank, similarity_ratio=0.9, exclude_reason=None
        )
        for rank, other in enumerate(chance.sample(others, 4), 1)
    ]
    if found:
        histories.upsert(writer, [replace(found[run_id], history_size=4, selected_at=datetime.now(UTC))], members)


def _omega(writer, run_id, chance):
    settings_table.change(writer, "omega", str(chance.choice([0.5, 1.0, 1.5])))
    verdicts.evaluate_current(writer)


def _detector(writer, run_id, chance):
    settings_table.change(writer, "detector", chance.choice(["iqr", "default"]))
    verdicts.evaluate_current(writer)


def _evaluate(writer, run_id, chance):
    verdicts.evaluate(writer, chance.choice([0.25, 0.75, 2.5]), "default")


def _nothing(writer, run_id, chance):
    return None


STEPS = [
    _review, _exclude, _include, _quarantine, _gone, _arrive, _again, _samples, _late_samples, _no_samples, _measure,
    _attach, _distances, _windows, _history, _omega, _detector, _evaluate, _nothing,
]  # fmt: skip
USUAL = [step for step in STEPS if step not in (_omega, _detector, _quarantine)]


# ---- the slow way --------------------------------------------------------------------------------------
def stale_pages(reader, out, due) -> set[str]:
    """Runs whose page is not what a build would write: every fingerprint is made."""
    state, order = site_state.SiteState(out), RunOrder(reader)
    general = digest(f"{site._salt(site.DEFAULT_SERVER)} {stamps.general(reader)!r}")
    everyone = loading.load_runs(reader, [row[0] for row in reader.rows("SELECT run_id FROM marts.runs")])
    prints = loading.run_fingerprints(reader, everyone, order)
    wanted = {run_id: digest(f"{due.get(run_id)} {general} {prints[run_id]}") for run_id in everyone}
    return {run_id for run_id in everyone if state.get(run_id).page != wanted[run_id]}


@pytest.fixture
def quick(monkeypatch):
    """What is on the pages does not matter here."""
    monkeypatch.setattr(site.loading, "load_details", lambda reader, ids, *rest: [None] * len(ids))
    monkeypatch.setattr(site, "render_run_page", lambda detail, **options: "</html>")
    monkeypatch.setattr(run_list, "BLOCK_SIZE", 10)


@pytest.mark.parametrize("seed", seeds(1))  # of odd ones every step may happen
def test_after_any_changes_in_any_order_the_pages_to_write_are_those_of_the_full_comparison(
    own_sample, tmp_path, quick, monkeypatch, seed
):
    monkeypatch.setattr(version_site, "load_version_views", lambda reader, app, versions, earlier: dict(versions))
    monkeypatch.setattr(version_site, "render_version_page", lambda view, **options: "</html>")
    chance, out = random.Random(seed), tmp_path / "reports"
    everything = STEPS if seed % 2 else USUAL
    with own_sample.reading() as reader:
        site.build_site(reader, out)
        ids = [row[0] for row in reader.rows("SELECT run_id FROM marts.runs WHERE state <> 'quarantined' ORDER BY 1")]
    due: dict[str, str] = {}
    for _ in range(12):
        with own_sample.writing() as writer:
            for step in chance.choices(everything, k=chance.choice([1, 1, 1, 2, 4])):
                step(writer, chance.choice(ids), chance)
        due = dict.fromkeys(chance.sample(ids, 2), "windows") if chance.random() < 0.3 else due
        with own_sample.reading() as reader:
            state = site_state.SiteState(out)
            found = changes.changed_stamps(reader, state, stamps.totals(reader))
            assert found == changes.compared_stamps(reader, state)
            late, is_overview_due = site.due_pages(reader, out, due=due)
            assert set(late) == stale_pages(reader, out, due)
            if chance.random() < 0.6:
                written = site.build_site(reader, out, due=due)
                assert {f"runs/{run_id}.html" for run_id in late} <= set(written)
                assert stale_pages(reader, out, due) == set()
                assert site.due_pages(reader, out, due=due) == ([], False)
                assert bool({"index.html", "omega.html"} & set(written)) <= is_overview_due
    with own_sample.reading() as reader:
        site.build_site(reader, out, due=due)
        site.build_site(reader, tmp_path / "anew", due=due)
    assert _state(out) == _state(tmp_path / "anew")


def _state(out) -> dict:
    """Stamp, page and place of every run: the same however a site came about (blocks are not)."""
    return {run_id: replace(entry, block=-1) for run_id, entry in site_state.SiteState(out).items() if entry.stamp}


def test_a_change_that_is_written_with_its_time_is_found_without_looking_at_all_runs(
    own_sample, tmp_path, quick, monkeypatch
):
    out = tmp_path / "reports"
    with own_sample.reading() as reader:
        site.build_site(reader, out)
    monkeypatch.setattr(changes, "compared_stamps", lambda *args: pytest.fail("all runs were compared"))
    chance = random.Random(1)
    for step in (_review, _samples, _measure, _distances, _history, _arrive):
        with own_sample.writing() as writer:
            step(writer, "notes-0021", chance)
        with own_sample.reading() as reader:
            assert "runs/notes-0021.html" in site.build_site(reader, out), step.__name__


def test_a_build_asks_a_mart_about_a_changed_run_once(own_sample, tmp_path, monkeypatch):
    """Lists, its page and its version's show the same rows; each look at a mart is a look through all runs' ids."""
    out, asked = tmp_path / "reports", []
    with own_sample.reading() as reader:
        site.build_site(reader, out)
    with own_sample.writing() as writer:
        _review(writer, "notes-0021", random.Random(1))
    for name in ("rows", "dicts"):
        ask = getattr(Reader, name)
        monkeypatch.setattr(
            Reader, name, lambda self, sql, given=(), ask=ask: asked.append((sql, repr(given))) or ask(self, sql, given)
        )
    with own_sample.reading() as reader:
        site.build_site(reader, out)
    once = (
        "FROM marts.runs ",
        "FROM marts.verdicts WHERE is_current AND run_id",
        "marts.discords",
        "version_verdicts_at",
    )
    looked = [
        (sql, given) for sql, given in asked if any(mart in sql for mart in once) and "series, state, is" not in sql
    ]
    assert len(looked) >= len(once)
    assert sorted(looked) == sorted(set(looked))


def test_what_arrives_with_an_earlier_time_is_found_by_the_checksum(own_sample, tmp_path, quick, monkeypatch):
    out = tmp_path / "reports"
    with own_sample.reading() as reader:
        site.build_site(reader, out)
    with own_sample.writing() as writer:
        _late_samples(writer, "notes-0003", random.Random(1))
    monkeypatch.setattr(stamps, "written_since", lambda reader, latest: set())  # as where no moment tells of it
    with own_sample.reading() as reader:
        assert "runs/notes-0003.html" in site.build_site(reader, out)


def test_the_checksum_of_all_is_that_of_the_stamps_of_all_runs(own_sample):
    with own_sample.reading() as reader:
        found = stamps.of_runs(reader)
        total = 0
        for stamp in found.values():
            total ^= stamp
        assert total == stamps.totals(reader).checksum
        some = sorted(found)[:5]
        assert stamps.of_runs(reader, some) == {run_id: found[run_id] for run_id in some}


# ---- lists -----------------------------------------------------------------------------------------------
def _version_pages(out) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in (out / "versions").glob("*.html")}


@pytest.mark.parametrize("seed", seeds(0))
def test_lists_that_grew_by_changes_hold_what_lists_made_at_once_hold(own_sample, tmp_path, quick, seed):
    chance, out = random.Random(seed), tmp_path / "reports"
    with own_sample.reading() as reader:
        site.build_site(reader, out)
        ids = [row[0] for row in reader.rows("SELECT run_id FROM marts.runs WHERE state <> 'quarantined' ORDER BY 1")]
    for _ in range(6):
        with own_sample.writing() as writer:
            for step in chance.choices(USUAL, k=3):
                step(writer, chance.choice(ids), chance)
        with own_sample.reading() as reader:
            site.build_site(reader, out)
    with own_sample.reading() as reader:
        site.build_site(reader, tmp_path / "anew")
        everyone = [row[0] for row in reader.rows("SELECT run_id FROM marts.runs")]
        listed = {run_id: run_list.packed(one) for run_id, one in loading_lists.load_listed(reader, everyone).items()}
    grown, anew = ({kind: _rows(folder, kind) for kind in ("runs", "versions")} for folder in (out, tmp_path / "anew"))
    assert grown == anew
    assert _version_pages(out) == _version_pages(tmp_path / "anew")
    assert grown["runs"] == listed
    assert (out / energy_site.STATE).read_text("utf-8") == (tmp_path / "anew" / energy_site.STATE).read_text("utf-8")


def _rows(out, kind) -> dict:
    """Rows of all blocks; of versions by app and version."""
    head = site_state.SiteState(out).head
    found = {}
    if kind == "runs":
        for number, block in enumerate(head.blocks):
            found |= run_list.shards.read(out, run_list.name_of(number), block["digest"])
        return found
    for app, known in head.apps.items():
        for number, block in enumerate(known["blocks"]):
            rows = run_list.shards.read(out, site.version_list.name_of(known["number"], number), block["digest"])
            found |= {(app, version): row for version, row in rows.items()}
    return found


def test_the_settings_that_all_pages_depend_on_are_those_that_marts_read():
    """Another setting shows on a page only by the rows that come of it, and makes no page late by itself."""
    texts = [path.read_text("utf-8") for path in bundled.sql_dir().glob("marts/*.sql")]
    read = {name for text in texts for name in re.findall(r"current_value\('(\w+)'\)", text)}
    assert read == set(stamps.SETTINGS_IN_MARTS)
    assert sum("core.settings" in text for text in texts) == 2  # that macro, and the listing of all changes
