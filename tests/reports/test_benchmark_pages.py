"""Pages of benchmarks: what they show, when they are written again, and names that are no markup."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape

import numpy as np
import pytest

from perfreg_assets.benchmarks import sides
from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.methods.benchmark_comparison import compare
from perfreg_assets.model import benchmarks as model
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.reports import benchmark_pictures, benchmark_site, site
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.connection import Warehouse

HOSTILE = 'com.x."><script>alert(1)</script>.$A_b$'


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb")


def fill(settings, versions=8, slow=1.4, launches=3, app="com.x", iterations=9, judged=True, flags=None):
    """Versions of two benchmarks, the last of which makes one slower.

    Args:
        flags: version → those of the virtual machine; of others nothing says them.
    """
    random = np.random.default_rng(0)
    found = []
    for version in range(1, versions + 1):
        entries = []
        for name, level in (("sort", 100.0), (HOSTILE, 5.0)):
            now = level * (slow if version == versions and name == "sort" else 1.0)
            raw = [(now * np.exp(random.normal(0, 0.01, iterations))).tolist() for _ in range(launches)]
            metric = {"score": now, "scoreUnit": "us/op", "rawData": raw}
            told = {"jvmArgs": flags[version]} if flags and version in flags else {}
            entries.append(
                {"jmhVersion": "1", "benchmark": f"com.x.Bench.{name}", "mode": "avgt", **told, "primaryMetric": metric}
            )
        path = settings.warehouse.parent / f"{app}-{version}.json"
        path.write_text(json.dumps(entries))
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=version)
        origin = Origin(app=app, version_name=f"{version}.0", device="d", started_at=at)
        found += [one.measured for one in take_in([path], origin)]
    with Warehouse.of(settings).writing() as writer:
        table.add(writer, found)
    if judged:
        model.measure_due(Warehouse.of(settings), settings, Stopwatch())


def build(settings):
    with Warehouse.of(settings).reading() as reader:
        return site.build_site(reader, settings.reports_dir)


def is_due(settings):
    with Warehouse.of(settings).reading() as reader:
        return benchmark_site.is_due(reader, settings.reports_dir)


def test_a_page_shows_areas_trends_and_the_last_comparison(settings):
    fill(settings)
    written = build(settings)
    (name,) = [page for page in written if page.startswith("benchmarks/")]
    assert "benchmarks.html" in written
    text = (settings.reports_dir / name).read_text()
    assert "140 µs" in text or "141 µs" in text
    assert "1 of 2" in text.replace("▲ ", "") or "▲ 1 of 1" in text
    assert text.count('class="bench-trend"') == 2
    assert len(re.findall(r'<circle class="alarm"', text)) == 1
    assert text.count('class="bench-forest"') == 1
    assert "beside" in text
    assert "few launches" not in text
    assert name in (settings.reports_dir / "benchmarks.html").read_text()


def compared(settings, a, b):
    """What `perfreg bench compare A B` goes by."""
    with Warehouse.of(settings).reading() as reader:
        both = sides.of_warehouse(reader, (a, b), sides.Selection("com.x"), with_inadequate=False)
    return compare(*(one.entries for one in both), change_minimum=settings.benchmark_change_minimum)


def one_page(settings):
    build(settings)
    (page,) = (settings.reports_dir / "benchmarks").glob("*.html")
    return page.read_text()


def test_the_page_says_of_the_last_two_versions_what_comparing_them_says(settings):
    """Of one launch its iterations tell the noise: the page never looked at them, and said that nothing told it."""
    fill(settings, versions=3, launches=1)
    found = compared(settings, "2.0", "3.0")
    assert found.overall.change.basis == "iterations"
    assert sorted(one.verdict for one in found.tests) == ["no change", "slower"]
    text = one_page(settings)
    for change in (found.overall.change, *(one.change for one in found.tests)):
        low, high = found.interval(change)
        assert f"{found.ratio(change.log_ratio):.4f} [{low:.4f}, {high:.4f}]<" in text
    for one in found.tests:
        (row,) = re.findall(rf">{one.p_holm:.2g}</text><text[^>]*>([a-z ]+)</text>", text)
        assert row == one.verdict
    assert text.count('class="interval') == len(found.tests) + len(found.areas) + 1
    rows = (found.overall, *found.areas, *found.tests)
    assert text.count('class="interval slower"') == sum(one.verdict == "slower" for one in rows) > 0
    assert "One launch: noise between launches is not in the intervals, so they are too narrow." in text
    assert "Nothing tells the noise" not in text


def test_the_page_says_where_the_last_two_versions_ran_under_other_flags(settings):
    """-Xint beside -Xmx1g read as a slower version: `perfreg bench compare` says it of the same two."""
    fill(settings, versions=3, flags={1: ["-Xmx2g"], 2: ["-Xmx1g"], 3: ["-Xint", "<b>"]})
    said = "2 benchmarks ran under other flags of the virtual machine: 2.0 -Xmx1g, 3.0 -Xint &lt;b&gt;"
    assert said in one_page(settings)


def test_of_the_same_flags_and_of_none_that_are_known_the_page_says_nothing(settings):
    fill(settings, versions=3, flags={1: ["-Xint"], 3: ["-Xmx1g"]})
    assert "flags of the virtual machine" not in one_page(settings)


def test_what_was_measured_once_is_said_to_tell_no_noise(settings):
    fill(settings, versions=2, launches=1, iterations=1)
    assert not compared(settings, "1.0", "2.0").is_judged
    text = one_page(settings)
    assert 'class="interval' not in text
    assert "Nothing tells the noise: measure more than once." in text


def test_iterations_are_read_of_the_two_versions_shown_alone(settings, monkeypatch):
    read = []
    known = table.iterations

    def iterations(reader, run_id, names):
        read.append(run_id)
        return known(reader, run_id, names)

    monkeypatch.setattr(table, "iterations", iterations)
    fill(settings, versions=6, launches=1)
    build(settings)
    with Warehouse.of(settings).reading() as reader:
        last = reader.rows("SELECT benchmark_run_id FROM core.benchmark_runs ORDER BY started_at DESC LIMIT 2")
    assert sorted(read) == sorted(run_id for (run_id,) in last)


def test_names_are_no_markup(settings):
    fill(settings)
    build(settings)
    for page in (settings.reports_dir / "benchmarks").glob("*.html"):
        assert "<script>alert" not in page.read_text()


def test_warnings_stand_at_the_number(settings):
    fill(settings, launches=1)
    build(settings)
    (page,) = (settings.reports_dir / "benchmarks").glob("*.html")
    assert 'class="caveat">few launches' in page.read_text()


def test_pages_are_written_again_exactly_when_they_would_come_out_different(settings):
    fill(settings, versions=3)
    build(settings)
    assert not is_due(settings)
    assert build(settings) == []
    with Warehouse.of(settings).writing() as writer:
        settings_table.change(writer, "omega", "1.5")
    assert is_due(settings)
    build(settings)
    assert not is_due(settings)
    (page,) = (settings.reports_dir / "benchmarks").glob("*.html")
    page.unlink()
    assert is_due(settings)
    assert build(settings) == [f"benchmarks/{page.name}"]
    (settings.reports_dir / "benchmarks" / "stranger.html").write_text("x")
    assert build(settings) == ["benchmarks/stranger.html"]
    (settings.reports_dir / benchmark_site.STATE).write_text("torn{")
    assert is_due(settings)
    assert set(build(settings)) == {f"benchmarks/{page.name}", "benchmarks.html"}
    assert not is_due(settings)


def test_another_app_does_not_change_the_first_ones_page(settings):
    fill(settings, versions=2)
    (first,) = [page for page in build(settings) if page.startswith("benchmarks/")]
    fill(settings, versions=2, app="com.y")
    written = build(settings)
    assert first not in written
    assert len([page for page in written if page.startswith("benchmarks/")]) == 1


def test_what_another_app_measures_costs_nothing_for_the_first_ones_page(settings, monkeypatch):
    """All pages were worked out again, comparisons with the draws of each test among it, to find them unchanged."""
    known, worked_out = benchmark_site.beside_before, []

    def beside_before(reader, view, **more):
        worked_out.append(view.family.app)
        return known(reader, view, **more)

    monkeypatch.setattr(benchmark_site, "beside_before", beside_before)
    for app, versions in (("com.x", 3), ("com.y", 2), ("com.z", 4)):
        worked_out.clear()
        fill(settings, versions=versions, launches=1, app=app)
        build(settings)
        assert worked_out == [app]
    worked_out.clear()
    with Warehouse.of(settings).reading() as reader:
        (run_id,) = reader.rows(
            "SELECT arg_max(benchmark_run_id, started_at) FROM core.benchmark_runs WHERE app = 'com.x'"
        )[0]
    with Warehouse.of(settings).writing() as writer:
        table.review(writer, run_id, "accepted", note=None, reviewer=None)
    build(settings)
    assert worked_out == ["com.x"]
    fill(settings, versions=5, app="com.x", judged=False)  # without verdicts yet: the page stays as it is
    model.measure_due(Warehouse.of(settings), settings, Stopwatch())
    worked_out.clear()
    build(settings)
    assert worked_out == ["com.x"]
    with Warehouse.of(settings).writing() as writer:
        settings_table.change(writer, "benchmark_change_minimum", "0.5")
    worked_out.clear()
    build(settings)
    assert sorted(worked_out) == ["com.x", "com.y", "com.z"]


def test_pages_that_were_left_are_those_that_are_written_anew(settings, tmp_path):
    for app, versions in (("com.y", 3), ("com.x", 2)):
        fill(settings, versions=versions, app=app)
        build(settings)
    with Warehouse.of(settings).reading() as reader:
        benchmark_site.write_benchmark_pages(reader, tmp_path / "anew")
    pages = [benchmark_site.PAGE, *(f"benchmarks/{one.name}" for one in (tmp_path / "anew" / "benchmarks").iterdir())]
    assert len(pages) == 3
    for page in pages:
        assert (settings.reports_dir / page).read_bytes() == (tmp_path / "anew" / page).read_bytes()


def test_results_whose_verdicts_are_still_to_come_get_their_page_with_them(settings):
    """Another process may write pages between an import and its verdicts: it failed, with all other pages."""
    fill(settings, versions=2, judged=False)
    assert [page for page in build(settings) if page.startswith("benchmarks/")] == []
    model.measure_due(Warehouse.of(settings), settings, Stopwatch())
    assert len([page for page in build(settings) if page.startswith("benchmarks/")]) == 1


def test_without_results_the_overview_says_so(settings):
    with Warehouse.of(settings).writing():
        pass
    assert "benchmarks.html" in build(settings)
    assert "No results of benchmarks" in (settings.reports_dir / "benchmarks.html").read_text()


def test_the_picture_of_the_means(settings):
    fill(settings)
    with Warehouse.of(settings).reading() as reader:
        png = benchmark_pictures.draw_means(reader, "com.x@8.0")
        assert benchmark_pictures.draw_means(reader, "com.z@1") is None
    assert png is not None
    assert png.startswith(b"\x89PNG")
    assert len(png) > 5000


def index_text(out):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", (out / "index.html").read_text("utf-8"))).split())


def test_an_index_without_runs_says_which_benchmarks_there_are_and_leads_to_them(settings):
    """It said `No runs yet` of a warehouse that holds results of benchmarks, and nothing of them."""
    out = settings.reports_dir
    with Warehouse.of(settings).writing():
        """So that there is one."""
    build(settings)
    assert "benchmark" not in index_text(out).partition("No runs yet")[2]
    fill(settings, versions=1, slow=1.0)
    with Warehouse.of(settings).reading() as reader:
        assert site.due_pages(reader, out) == ([], True)
        assert "index.html" in site.build_benchmark_pages(reader, out)
        assert site.due_pages(reader, out) == ([], False)
    assert "There is 1 benchmark run of 1 version of 1 app" in index_text(out)
    fill(settings, versions=3)
    assert "index.html" in build(settings)
    with Warehouse.of(settings).reading() as reader:
        assert site.build_benchmark_pages(reader, out) == []
    assert "No runs yet There are 3 benchmark runs of 3 versions of 1 app" in index_text(out)
    main = (out / "index.html").read_text("utf-8").partition("<main")[2]
    assert '<a href="benchmarks.html">' in main


def test_the_first_lines_of_the_index_count_benchmarks_where_there_are_any(own_sample, built):
    def sums():
        return (built / "index.html").read_text("utf-8").partition('<ul class="sums">')[2].partition("</ul>")[0]

    with own_sample.reading() as reader:
        count = reader.value("SELECT count(*) FROM marts.benchmark_runs")
    assert count
    assert f'<b>{count}</b> <a href="benchmarks.html">' in sums()
    with own_sample.writing() as writer:
        writer.execute("DELETE FROM core.benchmark_runs")
    with own_sample.reading() as reader:
        site.build_site(reader, built)
    assert "benchmark" not in sums()
