"""Versions by charge, and estimate and rails in one chart."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from perfreg_assets.reports import energy_site
from perfreg_assets.reports.energy_drawing import draw_power, draw_versions
from perfreg_assets.reports.loading import load_details
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.warehouse import energies, runs, stamps


def build(warehouse, out):
    with warehouse.reading() as reader:
        return energy_site.write_energy_page(reader, out)


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "reports"
    (folder / "runs").mkdir(parents=True)
    return folder


def test_the_page_says_what_the_mart_says_and_is_written_once(own_sample, out):
    assert build(own_sample, out) == ["energy.html"]
    assert build(own_sample, out) == []
    text = (out / "energy.html").read_text("utf-8")
    with own_sample.reading() as reader:
        rows = reader.dicts("SELECT * FROM marts.energy_by_version")
    assert not energy_site.is_lost(out)
    assert rows
    for row in rows:
        assert row["app"] in text
        assert f">{row['app_mah_per_h']:.3g}<" in text
    kept = [row for own in json.loads((out / energy_site.STATE).read_text())["rows"].values() for row in own]
    keys = ("version_name", "run_count", "app_mah_per_h", "total_mah_per_h", "app_change_ratio", "battery_ratio_per_h")
    assert sorted(tuple(map(repr, (row[key] for key in keys))) for row in kept) == sorted(
        tuple(map(repr, (row[key] for key in keys))) for row in rows
    )


def test_versions_stand_in_their_order_not_in_that_of_their_first_runs(own_sample):
    """As everywhere (marts.version_ranks): the version before is that of the lower code where all have one."""

    def told() -> dict[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], list[str]] = {}
        with own_sample.reading() as reader:
            for row in energies.versions(reader, "com.example.notes", most=99):
                found.setdefault((row["device"], row["scenario"]), []).append(row["version_name"])
        return found

    before = told()
    assert any(len(own) > 1 for own in before.values())
    with own_sample.writing() as writer:
        first = writer.value("SELECT min(version_name) FROM core.runs WHERE app = 'com.example.notes'")
        writer.execute("UPDATE core.runs SET version_code = CASE version_name WHEN ? THEN 9 ELSE 1 END", [first])
    assert told() == {key: [*(one for one in own if one != first), *(one for one in own if one == first)]
                      for key, own in before.items()}  # fmt: skip


@pytest.mark.parametrize("change", ["profile_name = 'renamed.xml'", "profile_id = 'another'"])
def test_versions_stand_beside_those_by_the_same_profile_whatever_its_file_is_called(own_sample, out, change):
    """Runs bring a file along, and it is added: a version had none before it, or one by another profile."""
    first = "SELECT min(version_name) FROM core.runs WHERE app = 'com.example.notes'"
    with own_sample.writing() as writer:
        writer.execute(
            f"UPDATE core.energy_runs SET {change} WHERE profile_id IS NOT NULL AND run_no IN "
            f"(SELECT run_no FROM core.runs WHERE app = 'com.example.notes' AND version_name = ({first}))"
        )
        tables = writer.value(
            "SELECT count(*) FROM (SELECT DISTINCT app, device, profile_id, scenario FROM marts.energy_by_version)"
        )
    build(own_sample, out)
    assert (out / "energy.html").read_text("utf-8").count(", by <bdi>") == tables


def test_a_run_that_is_left_out_costs_its_version_nothing(own_sample, out):
    build(own_sample, out)
    with own_sample.reading() as reader:
        (run_id, app, version), *_ = reader.rows(
            "SELECT run_id, app, version_name FROM marts.energy_by_run SEMI JOIN marts.counted_runs "
            "USING (run_no) ORDER BY run_id DESC"
        )
    ask = (
        "SELECT (SELECT sum(run_count) FROM marts.energy_by_version WHERE app = $app AND version_name = $version), "
        "(SELECT count(*) FROM marts.energy_by_run WHERE app = $app AND version_name = $version AND run_id <> $run)"
    )
    for said in (lambda writer: runs.exclude(writer, run_id, "charging"), lambda writer: runs.include(writer, run_id)):
        with own_sample.writing() as writer:
            said(writer)
        with own_sample.reading() as reader:
            ((counted, others),) = reader.rows(ask, {"app": app, "version": version, "run": run_id})
            is_left_out = run_id not in {one for (one,) in reader.rows("SELECT run_id FROM marts.counted_runs")}
            assert (counted or 0) == others + (not is_left_out)
        assert build(own_sample, out) == ["energy.html"]


def test_only_apps_whose_runs_changed_are_asked_for_again(own_sample, out, monkeypatch):
    build(own_sample, out)
    asked = []
    versions = energy_site.energies.versions
    monkeypatch.setattr(
        energy_site.energies,
        "versions",
        lambda *given, **named: asked.append(given[1]) or versions(*given, **named),
    )
    with own_sample.writing() as writer:
        run_id, app = writer.rows("SELECT run_id, app FROM marts.energy_by_run ORDER BY run_id DESC LIMIT 1")[0]
        writer.execute("UPDATE core.energy_runs SET extracted_at = now() WHERE run_id = ?", [run_id])
    build(own_sample, out)
    assert asked == [app]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE core.energy_runs SET extracted_at = now() WHERE run_id = $run",
        "UPDATE core.history_sets SET selected_at = now() WHERE run_id = $run",
        "UPDATE core.runs SET is_excluded = true, exclude_reason = 'charging' WHERE run_id = $run",
        "UPDATE core.runs SET version_code = CASE run_id WHEN $run THEN 9 ELSE 1 END",
        "UPDATE core.runs SET is_quarantined = true, reason_code = 'DEVICE_LOST', reason = 'gone' WHERE run_id = $run",
        "DELETE FROM core.energy_runs WHERE run_id = $run",
    ],
)
def test_whatever_the_page_rests_on_is_in_the_checksum_of_all_runs(own_sample, change):
    """Whether a site is due is decided by that alone."""

    def told():
        with own_sample.reading() as reader:
            return energies.stamps_of_apps(reader), stamps.totals(reader).checksum

    before = told()
    with own_sample.writing() as writer:
        run_id = writer.value(
            "SELECT run_id FROM marts.energy_by_run SEMI JOIN core.history_sets USING (run_id) ORDER BY run_id LIMIT 1"
        )
        writer.execute(change, {"run": run_id})
    after = told()
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_rows_that_another_release_kept_are_asked_for_again(own_sample, out):
    build(own_sample, out)
    state = out / energy_site.STATE
    kept = json.loads(state.read_text())
    for row in (row for own in kept["rows"].values() for row in own):
        del row["scenario"]  # which a release before did not have
    state.write_text(json.dumps(kept | {"code": "of another release"}))
    (out / "energy.html").unlink()
    assert build(own_sample, out) == ["energy.html"]


def test_damaged_state_is_made_anew_and_no_estimate_says_what_it_takes(own_sample, out):
    build(own_sample, out)
    (out / energy_site.STATE).write_text("{")
    assert build(own_sample, out) == ["energy.html"]
    with own_sample.writing() as writer:
        writer.execute("DELETE FROM core.energy_runs")
    assert build(own_sample, out) == ["energy.html"]
    assert "perfreg collect --energy" in (out / "energy.html").read_text("utf-8")


# ---- drawings ------------------------------------------------------------------------------------
def points(svg, kind):
    found = re.findall(rf'<poly\w+ class="{kind}" points="([^"]*)"', svg)
    return [[tuple(map(float, pair.split(","))) for pair in one.split()] for one in found]


def test_estimate_rail_and_band_are_on_one_scale(own_sample):
    with own_sample.reading() as reader:
        (run_id, *_) = (row for (row,) in reader.rows("SELECT run_id FROM marts.energy_accuracy"))
        (detail,) = load_details(reader, [run_id])
    page = render_run_page(detail)
    by_name = {one.name: one for one in detail.series}
    estimated, measured = by_name["power_cpu_total"], by_name["power_rail_cpu"]
    svg = str(draw_power(estimated, measured))
    assert svg in page
    (line,), (rail,) = points(svg, "estimate"), points(svg, "rail")
    assert len(line) == len(rail) == len(estimated.values)
    scale = np.polyfit(estimated.values, [top for _, top in line], 1)
    assert [top for _, top in rail] == pytest.approx(np.polyval(scale, measured.values), abs=0.2)


def test_gaps_are_not_drawn_over_and_nothing_is_nothing(own_sample):
    with own_sample.reading() as reader:
        (run_id, *_) = (row for (row,) in reader.rows("SELECT run_id FROM marts.energy_accuracy"))
        (detail,) = load_details(reader, [run_id])
    one = next(series for series in detail.series if series.name == "power_cpu_total")
    values = one.values.copy()
    values[10:12] = np.nan
    assert len(points(str(draw_power(replace(one, values=values, band=None), None)), "estimate")) == 2
    single = str(draw_power(replace(one, values=np.array([3.0]), band=None), None))
    assert '<circle class="estimate"' in single
    assert draw_power(None, None) is None
    assert draw_power(replace(one, values=np.full(5, np.nan)), None) is None
    long = replace(one, values=np.ones(3600), band=None)
    assert len(points(str(draw_power(long, None)), "estimate")[0]) <= 400


def test_versions_are_drawn_where_there_are_two():
    assert draw_versions([1.0], [2.0]) is None
    assert str(draw_versions([0.0, 0.0], [0.0, 0.0])).count("<circle") == 4
