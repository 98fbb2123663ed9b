"""A version with an inadequate file beside an adequate one: whoever is asked leaves out the same file."""

from __future__ import annotations

import json
import math
from datetime import timedelta

import numpy as np
import pytest

from perfreg_assets.benchmarks import sides
from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.methods import adequacy
from perfreg_assets.methods.benchmark_comparison import compare
from perfreg_assets.reasons import Rejected
from perfreg_assets.reports import benchmark_drawing, benchmark_site
from perfreg_assets.reports.benchmark_beside import beside_before
from perfreg_assets.reports.benchmark_data import family_view
from perfreg_assets.warehouse import benchmarks as table
from tests.cost_statements import cost_contradictions

from .conftest import BEGIN

NAME = "com.x.Bench.sort avgt"


def add_warming(history, version, day, *, launches=3):
    """A file of a benchmark that still becomes quicker, from 200 to 100 µs."""
    path = history.write({"sort": 100.0}, launches=launches)
    (result,) = json.loads(path.read_text())
    result["primaryMetric"]["rawData"] = [np.linspace(200, 100, 9).tolist()] * launches
    path.write_text(json.dumps([result]))
    origin = Origin(app="com.x", version_name=version, device="d", started_at=BEGIN + timedelta(days=day))
    history.pending += [one.measured for one in take_in([path], origin)]
    return path


def view_of(warehouse):
    with warehouse.reading() as reader:
        (family,) = table.families(reader)
        return family_view(family, table.levels(reader, family, versions=30))


def beside(warehouse):
    with warehouse.reading() as reader:
        found = beside_before(reader, view_of(warehouse), change_minimum=0.05)
    return None if found is None else found.comparison


def compared(warehouse, a, b, *, with_inadequate=False):
    with warehouse.reading() as reader:
        both = sides.of_warehouse(reader, (a, b), sides.Selection(), with_inadequate=with_inadequate)
    return compare(*(one.entries for one in both), change_minimum=0.05)


@pytest.fixture(params=[(1, True), (1, False), (3, True), (3, False)], ids=str)
def mixed(request, history, warehouse, settings):
    """Six versions, and a seventh of two files, the inadequate one first or last; (folders of 6 and 7)."""
    launches, is_bad_first = request.param
    for version in range(1, 7):
        history.add(str(version), {"sort": 100.0}, launches=launches)
    names = ["r5.json"], ["r6.json", "r7.json"]
    bad, good = (7.0, 7.5) if is_bad_first else (7.5, 7.0)
    add_warming(history, "7", bad, launches=launches)
    history.add("7", {"sort": 101.0}, day=good, launches=launches)
    history.measure(settings)
    folders = []
    for side, files in zip("ab", names, strict=True):
        folder = history.folder.parent / side
        folder.mkdir()
        for name in files:
            (folder / name).write_bytes((history.folder / name).read_bytes())
        folders.append(folder)
    return launches, folders


def test_page_marts_and_comparison_take_the_same_file(mixed, warehouse, settings):
    launches, folders = mixed
    with warehouse.reading() as reader:
        (trend,) = reader.dicts("SELECT * FROM marts.benchmark_trends WHERE version_name = '7'")
        (in_marts,) = reader.dicts("SELECT * FROM marts.benchmark_comparison('6', '7')")
        good = reader.value("SELECT score FROM marts.benchmark_results WHERE version_name = '7' AND is_adequate")
    assert trend["score"] == pytest.approx(good)
    assert (trend["result_count"], in_marts["launches_b"]) == (2, launches)
    view = view_of(warehouse)
    (shown,) = view.trends
    assert shown.latest.score == pytest.approx(good)
    assert (shown.latest.state, shown.latest.left_out) == ("normal", ("not_warm",))
    assert "not_warm" not in shown.latest.warnings
    assert shown.change == pytest.approx(trend["score_change_ratio"])
    assert view.cells["Bench"][-1].change == pytest.approx(1 / (1 + shown.change) - 1)
    of_files = [sides.of_files([folder], with_inadequate=False).entries for folder in folders]
    for found in (beside(warehouse), compared(warehouse, "6", "7"), compare(*of_files, change_minimum=0.05)):
        (one,) = found.tests
        assert (one.score_b, one.launches_b) == (pytest.approx(in_marts["score_b"]), launches)
        if launches > 1:  # of one its iterations are compared, by their medians
            assert math.exp(-one.change.log_ratio) == pytest.approx(in_marts["score_beside"])
        assert one.verdict == "no change"
        assert (found.excluded, found.files_excluded) == ((), ((NAME, "on the second side: not_warm"),))
    with warehouse.reading() as reader:
        benchmark_site.write_benchmark_pages(reader, settings.reports_dir)
        assert cost_contradictions(reader, settings.reports_dir, only="benchmarks") == []
    (page,) = (settings.reports_dir / "benchmarks").glob("*.html")
    text = page.read_text()
    assert "a file left out: not warm" in text
    assert "1 file of a benchmark left out, others are adequate: on the second side: not_warm" in text
    page.write_text(text.replace("1 file of a benchmark", "2 files of a benchmark"))
    with warehouse.reading() as reader:
        (found,) = cost_contradictions(reader, settings.reports_dir, only="benchmarks")
    assert "2 files left out of the comparison on the page, 1 in the marts" in found


def test_asked_for_what_is_inadequate_counts_as_well(mixed, warehouse):
    launches, folders = mixed
    of_files = [sides.of_files([folder], with_inadequate=True).entries for folder in folders]
    for found in (compared(warehouse, "6", "7", with_inadequate=True), compare(*of_files, change_minimum=0.05)):
        (one,) = found.tests
        assert (one.launches_b, found.files_excluded) == (2 * launches, ())
        assert one.score_b > 1.1e5


def test_a_version_of_inadequate_files_alone_has_no_level_and_is_compared_with_none(history, warehouse, settings):
    for version in range(1, 7):
        history.add(str(version), {"sort": 100.0})
    files = [add_warming(history, "7", day) for day in (7.0, 7.5)]
    history.measure(settings)
    with warehouse.reading() as reader:
        (trend,) = reader.dicts("SELECT * FROM marts.benchmark_trends WHERE version_name = '7'")
        assert reader.dicts("SELECT * FROM marts.benchmark_comparison('6', '7')") == []
    view = view_of(warehouse)
    (shown,) = view.trends
    assert (trend["score"], shown.latest.score, shown.change, shown.told) == (None, None, None, "–")
    assert (shown.latest.state, shown.latest.warnings, shown.latest.left_out) == (
        "inadequate",
        ("noisy", "not_warm"),
        (),
    )
    cell = view.cells["Bench"][-1]
    assert (cell.change, cell.count, cell.adequate) == (None, 1, 0)
    assert beside(warehouse) is None
    for paths in ([history.folder / "r5.json"], files):
        assert len(sides.of_files(paths, with_inadequate=False).entries) == 1
    (entry,) = sides.of_files(files, with_inadequate=False).entries
    assert (entry.why_left_out, entry.files_left_out) == ("not_warm", ())
    with pytest.raises(Rejected, match="on the second side: not_warm"):
        compared(warehouse, "6", "7")
    assert "1 without an adequate result" in benchmark_drawing.draw_trend(shown, 7)
    with warehouse.reading() as reader:
        benchmark_site.write_benchmark_pages(reader, settings.reports_dir)
        assert cost_contradictions(reader, settings.reports_dir, only="benchmarks") == []


def test_what_was_never_adequate_is_drawn_without_a_line(history, warehouse, settings):
    add_warming(history, "1", 1)
    history.measure(settings)
    (shown,) = view_of(warehouse).trends
    assert "<circle" not in benchmark_drawing.draw_trend(shown, 1)


def test_the_adequate_count_or_where_there_is_none_all():
    assert adequacy.counted([1, -2, 3], lambda one: one > 0) == ([1, 3], [-2])
    assert adequacy.counted([-1, -2], lambda one: one > 0) == ([-1, -2], [])
    assert adequacy.why_inadequate(["noisy", "validating", "emulator"]) == "emulator, validating"
