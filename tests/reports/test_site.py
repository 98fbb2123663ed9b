"""The site from a real warehouse: complete, incremental, and nothing left of vanished runs."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets.reports import bands, files, loading, run_list, site, site_state, version_list
from perfreg_assets.reports.site import build_site
from perfreg_assets.reports.site_assets import contents
from perfreg_assets.settings import OMEGA_LARGEST
from perfreg_assets.warehouse import distances, evaluations, reviews, runs, series, verdicts
from perfreg_assets.warehouse.connection import Warehouse, Writer
from tests.page_statements import omega_payload

NOTES_1_1 = "versions/com.example.notes@1.1.0.html"
"""The page of the version of notes-0008 to notes-0015."""


def _stamps(folder: Path) -> dict[str, int]:
    return {
        str(p.relative_to(folder)): p.stat().st_mtime_ns
        for p in sorted(folder.rglob("*"))
        if p.is_file() and site_state.FOLDER not in p.parts and p.name != ".lock"
    }


def _pieces(out: Path, kind: str) -> dict:
    """Name of a run or version → its row, over all pieces of the lists of a kind."""
    found = {}
    for path in sorted((out / "data").glob(f"{kind}-*.js")):
        found |= json.loads(path.read_text("utf-8").removeprefix("document.currentScript.rows = ").removesuffix(";\n"))
    return found


def _build(warehouse, out: Path, **options) -> list[str]:
    with warehouse.reading() as reader:
        return build_site(reader, out, **options)


def test_every_registered_run_has_a_page_quarantined_ones_too(sample_site):
    warehouse, out = sample_site
    with warehouse.reading() as reader:
        ids = {row[0] for row in reader.rows("SELECT run_id FROM marts.runs")}
    assert {p.stem for p in (out / "runs").glob("*.html")} == ids
    assert any(run_id.startswith("quarantined") for run_id in ids)
    assert {p.name for p in (out / "assets").iterdir()} == set(contents())


def test_pages_of_the_latest_runs_are_written_first(sample_site, tmp_path):
    warehouse, _ = sample_site
    with warehouse.reading() as reader:
        ids = [run_id for (run_id,) in reader.rows("SELECT run_id FROM marts.runs ORDER BY run_no DESC")]
    written = [page for page in _build(warehouse, tmp_path / "reports") if page.startswith("runs/")]
    assert len(written) > site.GROUP_SIZE
    assert {Path(page).stem for page in written[: site.GROUP_SIZE]} == {*ids[: site.GROUP_SIZE]}


def test_links_between_pages_lead_to_pages(sample_site):
    _, out = sample_site
    for page in [out / "index.html", out / "omega.html", *out.glob("runs/*.html"), *out.glob("versions/*.html")]:
        for address in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', page.read_text("utf-8")):
            if address.startswith("../../runs/"):  # the sample's run folders are not there; see test_attachments
                continue
            if re.match(r"(\.\./)?(omega|review)\?", address):  # `perfreg serve` answers; see test_triage
                continue
            assert (page.parent / address).resolve().is_file(), (page.name, address)


def test_pages_say_what_the_marts_say(sample_site):
    warehouse, out = sample_site
    with warehouse.reading() as reader:
        rows = reader.rows("SELECT run_id, coalesce(run_verdict, state), state FROM marts.runs")
        windows = reader.rows("SELECT run_id, start_ns, end_ns FROM marts.discords")
        flips = reader.rows(
            "SELECT count(DISTINCT run_id) FROM marts.verdict_flips(1.5, 0.5) WHERE series = '*' AND flip <> 'other'"
        )
    assert {verdict for _, verdict, _ in rows} >= {
        "anomalous",
        "normal",
        "not_enough_history",
        "incomplete_trace",
    }
    for run_id, verdict, state in rows:
        tone = re.search(r'<section class="verdict (\w+)"', (out / "runs" / f"{run_id}.html").read_text("utf-8"))
        assert tone is not None
        expected = state if state in ("quarantined", "incomplete_trace") else verdict
        assert tone[1] == expected, run_id
    assert windows
    for run_id, start_ns, end_ns in windows:
        assert f"visStart={start_ns}&amp;visEnd={end_ns}" in (out / "runs" / f"{run_id}.html").read_text("utf-8")
    payload = omega_payload(out)
    at = {omega: payload["counts"][round(omega * payload["steps"])] for omega in (0.5, 1.5)}
    assert at[0.5] - at[1.5] == flips[0][0], "the page's sliders flip what the SQL macro flips"
    turning = [row for row in _pieces(out, "runs").values() if row[10] is not None and 0.5 < row[10] <= 1.5]
    assert len(turning) == flips[0][0]


def _lose_memory(writer: Writer, run_id: str) -> None:
    """As if its trace had no memory counters, though those of its history have."""
    unmeasured = dict.fromkeys(("distance", "q1", "q3", "improvement", "p_value", "history_distances"))
    missing = {"state": "series_missing", "state_reason": "The trace has no memory counters.", **unmeasured}
    rows = {row.series: row for row in distances.find(writer, [run_id], "default")}
    rows["*"] = replace(rows["*"], missing_series=("rss_app",))
    rows["rss_app"] = replace(rows["rss_app"], **missing)
    distances.upsert(writer, list(rows.values()))


def test_the_page_of_a_run_without_the_memory_of_its_history_is_not_that_of_a_normal_one(own_sample, built):
    page = built / "runs" / "notes-0009.html"
    assert '<section class="verdict normal"' in page.read_text("utf-8")
    with own_sample.writing() as writer:
        _lose_memory(writer, "notes-0009")
    assert "runs/notes-0009.html" in _build(own_sample, built)
    text = page.read_text("utf-8")
    assert '<section class="verdict series_missing"' in text
    assert '<h1 id="headline">Memory is missing from this run although its history has it' in text
    assert "stayed within" not in text
    assert re.search(r'<li class="series_missing"><a href="#series-rss_app" title="Not judged, missing although', text)
    assert re.search(r'<li class="normal"><a href="#series-cpu_', text)
    row = _pieces(built, "runs")["notes-0009"]
    assert row[4] == "series_missing"
    assert "memory.series_missing" in row[5].split()
    assert row[11] == 1


def test_a_changed_state_of_an_axis_rewrites_the_page(own_sample, built):
    out = built
    with own_sample.writing() as writer:
        writer.execute("UPDATE core.series_definitions SET axis = 'energy' WHERE definition_name = 'rss_app'")
        judged = {row[0] for row in writer.rows("SELECT run_id FROM marts.axis_verdicts WHERE axis = 'energy'")}
    assert judged
    assert set(_build(own_sample, out)) >= {f"runs/{run_id}.html" for run_id in judged}
    assert "Energy</bdi>: anomalous" in (out / "runs" / "notes-0016.html").read_text("utf-8")


def test_a_second_build_writes_nothing(sample_site):
    warehouse, out = sample_site
    before = _stamps(out)
    assert _build(warehouse, out) == []
    assert _stamps(out) == before


def test_a_review_rewrites_that_run_and_the_overviews_only(own_sample, built):
    out = built
    before = _stamps(out)
    with own_sample.writing() as writer:
        reviews.add(writer, "notes-0010", "accepted", note="new cache")
    changed = _build(own_sample, out)
    assert set(changed) <= {"runs/notes-0010.html", NOTES_1_1, "index.html", "omega.html"}
    assert {"runs/notes-0010.html", NOTES_1_1} <= set(changed)
    after = _stamps(out)
    assert {page for page in after if after[page] != before[page]} == {*changed, "data/runs-0.js"}
    assert "new cache" in (out / "runs" / "notes-0010.html").read_text("utf-8")


def test_changed_samples_rewrite_the_run_and_those_that_have_it_in_their_history(own_sample, built):
    out = built
    with own_sample.writing() as writer:
        rows = {one.series: one for one in series.find(writer, ["notes-0003"]).values()}
        own = rows["cpu_app"]
        rows["cpu_app"] = replace(own, values=own.values + 1, extracted_at=datetime.now(UTC))
        series.upsert(writer, list(rows.values()))
        users = {
            row[0] for row in writer.rows("SELECT run_id FROM marts.history_sets WHERE history_run_id = 'notes-0003'")
        }
    changed = {page for page in _build(own_sample, out) if page.startswith("runs/")}
    assert users
    assert changed == {f"runs/{run_id}.html" for run_id in users | {"notes-0003"}}


def test_due_pages_are_those_that_a_build_would_write_and_a_page_says_what_is_out_of_date(own_sample, tmp_path):
    out = tmp_path / "reports"
    with own_sample.reading() as reader:
        everyone, is_overview_due = site.due_pages(reader, out)
        assert is_overview_due
        build_site(reader, out)
        assert site.due_pages(reader, out) == ([], False)
        due = {"shop-0004": "no windows of cpu_app yet"}
        assert site.due_pages(reader, out, due=due)[0] == ["shop-0004"]
        assert build_site(reader, out, due=due) == ["runs/shop-0004.html"]
        assert "computed again: no windows of cpu_app yet" in (out / "runs" / "shop-0004.html").read_text("utf-8")
        assert build_site(reader, out) == ["runs/shop-0004.html"]
    with own_sample.writing() as writer:
        verdicts.evaluate(writer, 2.5, "default")  # the ω page lists it, no run's page does
    with own_sample.reading() as reader:
        assert site.due_pages(reader, out) == ([], True)
    assert "omega.html" in _build(own_sample, out)
    assert "shop-0004" in everyone
    assert "computed again" not in (out / "runs" / "shop-0004.html").read_text("utf-8")


def test_the_page_of_a_vanished_run_goes_and_a_deleted_page_comes_back(own_sample, built):
    out = built
    (out / "runs" / "gone-0001.html").write_text("a run that was here once")
    (out / "runs" / "shop-0002.html").unlink()
    assert set(_build(own_sample, out)) == {"runs/gone-0001.html", "runs/shop-0002.html"}
    assert not (out / "runs" / "gone-0001.html").exists()
    assert (out / "runs" / "shop-0002.html").is_file()


def test_changed_templates_rewrite_every_run_page(own_sample, built, monkeypatch):
    monkeypatch.setattr(site, "code_hash", lambda: "another release")
    again = {page for page in _build(own_sample, built) if page.startswith("runs/")}
    assert again == {f"runs/{page.name}" for page in built.glob("runs/*.html")}


DAMAGES = ["", "[]", '{"format": 99, "runs": {}}', json.dumps({"format": site_state.FORMAT, "runs": 3}), None]


@pytest.fixture(scope="module")
def accepted(sample_site, copied, tmp_path_factory) -> tuple[Warehouse, dict]:
    """The sample with a review more, and what a site of it holds that was built at once. Read both only."""
    folder = tmp_path_factory.mktemp("accepted")
    own = copied(sample_site[0], folder)
    with own.writing() as writer:
        reviews.add(writer, "shop-0004", "accepted")
    _build(own, folder / "clean")
    return own, _contents(folder / "clean")


@pytest.mark.parametrize(("which", "content"), [("head.json", "not json"), *(("runs", one) for one in DAMAGES)])
def test_a_damaged_state_only_costs_time(accepted, built, content, which):
    warehouse, clean = accepted
    number = site_state._number("shop-0004")
    path = built / site_state.FOLDER / (which if which == "head.json" else f"{number:02x}.json")
    path.unlink()
    if content is not None:
        path.write_text(content)
    _build(warehouse, built)
    assert _contents(built) == clean
    assert _build(warehouse, built) == []


def test_a_state_that_is_damaged_without_a_change_of_its_size_is_found(accepted, built):
    warehouse, clean = accepted
    path = built / site_state.FOLDER / f"{site_state._number('shop-0004'):02x}.json"
    path.write_text("x" * path.stat().st_size)
    with warehouse.reading() as reader:
        assert "shop-0004" in site.due_pages(reader, built)[0]
    _build(warehouse, built)
    assert _contents(built) == clean


def test_a_deleted_piece_of_a_list_comes_back_and_a_damaged_one_when_it_changes(own_sample, built, tmp_path):
    out, clean = built, shutil.copytree(built, tmp_path / "clean")
    for path in (out / "data").glob("*.js"):
        path.unlink()
    with own_sample.reading() as reader:
        assert site.due_pages(reader, out) == ([], True)
    _build(own_sample, out)
    assert _contents(out) == _contents(clean)
    for path in (out / "data").glob("runs-*.js"):
        path.write_text("document.currentScript.rows = {")
    with own_sample.writing() as writer:
        reviews.add(writer, "shop-0004", "accepted")
    _build(own_sample, out)
    _build(own_sample, clean)
    assert _contents(out) == _contents(clean)


def _contents(out: Path) -> dict[str, str]:
    """What a reader of the site meets: pages, and the rows of the lists wherever they stand."""
    pages = {
        str(p.relative_to(out)): p.read_text("utf-8") for p in (*out.glob("runs/*.html"), *out.glob("versions/*.html"))
    }
    return {**pages, "runs": _pieces(out, "runs"), "versions": _pieces(out, "versions")}


def test_a_run_more_rewrites_its_own_pieces_only(own_sample, tmp_path, monkeypatch):
    monkeypatch.setattr(run_list, "BLOCK_SIZE", 7)
    out = tmp_path / "reports"
    _build(own_sample, out)
    before = _stamps(out)
    everyone = _pieces(out, "runs")
    assert len(list((out / "data").glob("runs-*.js"))) == 1 + (len(everyone) - 1) // 7
    with own_sample.writing() as writer:
        (row,) = runs.find(writer, ["notes-0023"]).values()
        fresh = replace(
            row, run_id="notes-9999", content_hash="9" * 64, version_name="9.9.9",
            partition_key="com.example.notes@9.9.9", started_at=row.started_at + timedelta(days=1),
            registered_at=datetime.now(UTC),
        )  # fmt: skip
        runs.upsert(writer, [fresh])
    changed = _build(own_sample, out)
    assert set(changed) - {"omega.html"} == {
        "runs/notes-9999.html",
        "runs/notes-0023.html",
        "versions/com.example.notes@9.9.9.html",
        "index.html",
    }
    after = _stamps(out)
    touched = {name for name in after if after[name] != before.get(name)}
    last = f"data/runs-{len(everyone) // 7}.js"
    assert {name for name in touched if name.startswith("data/runs-")} == {last}
    assert len([name for name in touched if name.startswith("data/versions-")]) == 1
    assert set(_pieces(out, "runs")) == {*everyone, "notes-9999"}


@pytest.mark.parametrize("size", [1, 50])
def test_an_old_version_that_is_run_again_is_not_the_latest_one(own_sample, tmp_path, monkeypatch, size):
    """The index goes by the order of versions (marts.version_ranks), as drifts and version pages do; in it a version of
    a higher code may come to stand behind another, whose row in its block does not change for that."""
    monkeypatch.setattr(version_list, "BLOCK_SIZE", size)
    out = tmp_path / "reports"

    def latest() -> str:
        _build(own_sample, out)
        (told,) = re.findall(
            r'"versions/com.example.notes@([^"]+).html">All about', (out / "index.html").read_text("utf-8")
        )
        return told

    def ranked_last() -> str:
        with own_sample.reading() as reader:
            return runs.versions_in_order(reader, "com.example.notes")[-1][2]

    before = latest()
    assert before == ranked_last()
    with own_sample.writing() as writer:
        (row,) = runs.find(writer, ["notes-0000"]).values()
        again = replace(
            row, run_id="notes-9999", content_hash="9" * 64, started_at=row.started_at + timedelta(days=99),
            registered_at=datetime.now(UTC),
        )  # fmt: skip
        runs.upsert(writer, [again])
    assert latest() == before == ranked_last()
    with own_sample.writing() as writer:
        writer.execute("UPDATE core.runs SET version_code = CASE version_name WHEN '1.0.0' THEN 9 ELSE 1 END")
        reviews.add(writer, "notes-0023", "confirmed")
    assert ranked_last() == "1.0.0"
    assert latest() == "1.0.0"


def test_an_interrupted_build_leaves_whole_pages_and_is_finished_by_the_next(own_sample, tmp_path, monkeypatch):
    out = tmp_path / "reports"
    real, calls = site.render_run_page, []

    def breaks(detail, **options):
        calls.append(detail.run.run_id)
        if len(calls) == 5:
            raise OSError(28, os.strerror(28))
        return real(detail, **options)

    monkeypatch.setattr(site, "render_run_page", breaks)
    with pytest.raises(OSError, match="space"):
        _build(own_sample, out)
    assert all(p.read_text("utf-8").rstrip().endswith("</html>") for p in (out / "runs").glob("*.html"))
    monkeypatch.setattr(site, "render_run_page", real)
    _build(own_sample, out)
    assert _build(own_sample, out) == []
    assert not list(out.rglob(".tmp*"))


def test_builds_at_the_same_time_do_not_disturb_each_other(own_sample, tmp_path):
    out = tmp_path / "reports"
    failures: list[BaseException] = []

    def build() -> None:
        try:
            _build(own_sample, out)
        except BaseException as error:  # noqa: BLE001  reported by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=build) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert _build(own_sample, out) == []


def test_the_band_needs_three_values_and_knows_shorter_runs(sample_site):
    warehouse, _ = sample_site
    with warehouse.reading() as reader:
        (detail,) = loading.load_details(reader, ["notes-0016"])
        values = dict(
            reader.rows(
                'SELECT history_run_id, a."values" FROM marts.history_sets '
                "JOIN marts.series_arrays AS a ON a.run_id = history_run_id "
                "WHERE history_sets.run_id = 'notes-0016' AND a.series = 'cpu_app' AND NOT a.is_missing"
            )
        )
    band = next(s for s in detail.series if s.name == "cpu_app").band
    assert band is not None
    assert band.run_count == len(values) == 12
    at_seven = sorted(v[7] for v in values.values())
    assert at_seven[1] <= band.low[7] <= at_seven[2]
    assert at_seven[9] <= band.high[7] <= at_seven[10]
    assert detail.similarity is not None
    assert detail.similarity.run_ids[-1] == "notes-0016"


def test_band_quantiles_are_numpys_and_know_gaps():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((7, 40))
    values[rng.random((7, 40)) < 0.3] = np.nan
    values[2:, 5] = np.nan  # two values left: too few for a band
    values[0, 6] = np.inf
    found = bands.quantiles(values, (0.1, 0.5, 0.9))
    for column in range(40):
        finite = values[np.isfinite(values[:, column]), column]
        if len(finite) < bands.MINIMUM:
            assert np.isnan(found[:, column]).all()
        else:
            assert found[:, column] == pytest.approx(np.quantile(finite, (0.1, 0.5, 0.9)))
    assert np.isnan(found[:, 5]).all()


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_runs_of_any_path_have_no_band_where_too_few_have_the_series(count):
    own = series.SeriesRow(
        run_id="own", series="rss_app", unit="bytes", interval_s=1.0, start_ns=0, is_missing=False,
        values=np.arange(5.0),
    )  # fmt: skip
    known = [replace(own, run_id=str(number)) for number in range(count)]
    screens = [([(10**9, "main")], "main")] * (count + 1)
    found = bands.of_any_path(own, known, screens)
    assert (found is not None) == (count >= bands.MINIMUM)


def test_similarities_that_the_warehouse_knows_are_not_computed_again(sample_site, monkeypatch):
    warehouse, _ = sample_site
    asked: list[int] = []
    monkeypatch.setattr(loading, "similarity", lambda a, b: asked.append(1) or 0.5)
    with warehouse.reading() as reader:
        memory = loading.PathSimilarities()
        loading.load_details(reader, ["notes-0016"], similarities=memory)
        first = len(asked)
        loading.load_details(reader, ["notes-0016"], similarities=memory)
    assert 0 < first < 15 * 14 / 2
    assert len(asked) == first


def test_with_hundreds_of_runs_the_index_stays_small_and_one_change_rewrites_one_page(tmp_path, build_sample_warehouse):
    warehouse = build_sample_warehouse(tmp_path / "perfreg.duckdb", runs=300, samples=30)
    out = tmp_path / "reports"
    _build(warehouse, out)
    assert (out / "index.html").stat().st_size < 300_000
    with warehouse.writing() as writer:
        reviews.add(writer, "notes-0100", "confirmed")
    changed = set(_build(warehouse, out))
    version = "versions/com.example.notes@1.12.0.html"
    assert {"runs/notes-0100.html", version} <= changed
    assert changed <= {"runs/notes-0100.html", version, "index.html", "omega.html"}


def test_a_page_that_cannot_be_written_leaves_nothing_beside_it(tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("before")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        files.write(tmp_path / "page.html", "after")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "before"


def test_the_omega_page_counts_at_every_step_what_the_marts_count(sample_site):
    warehouse, out = sample_site
    payload = omega_payload(out)
    with warehouse.reading() as reader:
        found = [
            count
            for (count,) in reader.rows(
                "SELECT (SELECT count(*) FROM marts.run_verdicts WHERE is_current AND critical_omega > step / 40.0) "
                "FROM range(201) AS steps(step) ORDER BY step"
            )
        ]
        measured = reader.value("SELECT count(critical_omega) FROM marts.run_verdicts WHERE is_current")
    assert payload["counts"] == found
    assert payload["measured"] == measured > found[0] > found[-1]


@pytest.mark.parametrize(
    ("critical", "steps"),
    [
        (-1.0, 0),
        (0.0, 0),
        (1e-9, 1),
        (0.025, 1),
        (0.175, 7),
        (0.0250000001, 2),
        (1.7750000000000001, 72),
        (5.0, 200),
        (5.01, 201),
        (1e9, 4001),
    ],
)
def test_a_run_is_anomalous_at_the_steps_below_its_critical_omega(critical, steps):
    below = [step for step in range(run_list.OMEGA_STEPS * OMEGA_LARGEST + 1) if step / 40 < critical]
    counts, measured = run_list.anomalous_at([{"omegas": {run_list._steps(critical): 1}}])
    assert (sum(counts), measured) == (len(below), 1) == (steps, 1)


def test_what_perfreg_power_measures_makes_no_page_due_and_an_evaluation_does(own_sample, tmp_path):
    """No page shows what was found of what was injected; the ω page shows how good the rule is on labelled data."""
    out = tmp_path / "site"
    with own_sample.reading() as reader:
        build_site(reader, out)
        result = evaluations.latest(reader)
    for protocol, is_due in (("power", False), ("thesis", True)):
        with own_sample.writing() as writer:
            evaluations.add(writer, {**result, "protocol": protocol, "seed": 17})
        with own_sample.reading() as reader:
            assert site.due_pages(reader, out) == ([], is_due)
