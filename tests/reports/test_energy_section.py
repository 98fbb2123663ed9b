"""Where the charge went, on a run's page."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

from perfreg_assets.reports.data import CostRow, EnergyView, MethodCost, ScreenCost
from perfreg_assets.reports.loading import load_details, run_fingerprints
from perfreg_assets.reports.run_order import RunOrder
from perfreg_assets.reports.run_page import render_run_page

VIEW = EnergyView(
    app_mah_per_h=12.34, total_mah_per_h=45.6, battery_ratio_per_h=0.0123, history_count=7, app_change_ratio=0.25,
    total_change_ratio=-0.5, profile_name="cheetah.xml", is_foreign_profile=False, has_idle_states=True,
    costs=(CostRow("cpu_core", 0.111, 0.222, 0.333),), screens=(ScreenCost("<list>", 12.5, 0.444, 0.555),),
)  # fmt: skip


def test_a_run_without_an_estimate_has_no_such_section(detail):
    assert "Where the charge went" not in render_run_page(detail("anomalous"))


def test_the_section_says_how_much_by_whom_where_and_by_which_profile(detail):
    page = render_run_page(replace(detail("anomalous"), energy=VIEW))
    assert "12.3 mAh an hour on the cores (+25 % against 7 comparable runs), everything together 45.6 (-50 %)" in page
    assert "1.2 % of the battery" in page
    for text in ("0.111", "0.222", "0.333", "0.444", "0.555", "12.5", "cheetah.xml"):
        assert text in page
    assert "<list>" not in page.replace("&lt;list&gt;", "")
    assert "no more than a guess" not in page
    foreign = render_run_page(
        replace(detail("anomalous"), energy=replace(VIEW, is_foreign_profile=True, has_idle_states=False))
    )
    assert "no more than a guess" in foreign
    assert "without idle states" in foreign


def test_how_near_to_the_rails_methods_and_doubts_are_told(detail):
    told = replace(
        VIEW, energy_ratio=0.734, correlation=0.9591, mape_ratio=0.277, profile_doubt="no profile of raven is known",
        methods=(MethodCost("main", "bind <item>", 0.0123, 0.0456),),
    )  # fmt: skip
    page = render_run_page(replace(detail("anomalous"), energy=told))
    assert "the estimate is 0.73 of the energy, r = 0.959, MAPE 0.28" in page
    assert "no profile of raven is known" in page
    assert "neither r nor MAPE" not in page
    flat = replace(detail("anomalous"), energy=replace(told, correlation=None, mape_ratio=None))
    assert "0.73 of the energy; the rails did not vary, so neither r nor MAPE is known." in render_run_page(flat)
    assert "0.0123" in page
    assert "0.0456" in page
    assert "bind <item>" not in page
    assert "rails of the cores measured" not in render_run_page(replace(detail("anomalous"), energy=VIEW))


def test_what_the_estimate_rests_on_is_told_where_it_is_a_percent_of_the_time(own_sample):
    with own_sample.writing() as writer:
        run_id = writer.value("SELECT min(run_id) FROM marts.energy_by_run")
        writer.execute(
            "UPDATE core.energy_runs SET late_ratio = 0.94, outside_ratio = 0.004 WHERE run_id = ?", [run_id]
        )
    with own_sample.reading() as reader:
        (found,) = load_details(reader, [run_id])
    page = unescape(render_run_page(found))
    assert "94 % of the cores' time is before their first known frequency, held backwards. Good for comparing" in page
    assert "beyond the profile's" not in page
    assert "held backwards" not in render_run_page(replace(found, energy=VIEW))


def test_without_history_no_change_is_told(detail):
    alone = replace(VIEW, app_change_ratio=None, total_change_ratio=None, history_count=None, battery_ratio_per_h=None)
    page = render_run_page(replace(detail("anomalous"), energy=alone))
    assert "12.3 mAh an hour on the cores, everything together 45.6." in page


def test_the_warehouse_fills_the_section_and_other_charges_make_the_page_due(own_sample):
    with own_sample.reading() as reader:
        run_id = reader.value("SELECT max(run_id) FROM marts.energy_by_run WHERE history_count > 0")
        (found,) = load_details(reader, [run_id])
        before = run_fingerprints(reader, {run_id: found.run}, RunOrder(reader))
    assert found.energy is not None
    assert next(one.component for one in found.energy.costs) == "cpu_core"
    assert {one.screen for one in found.energy.screens} == {"list", "note"}
    assert found.energy.app_change_ratio is not None
    with own_sample.writing() as writer:
        writer.execute("UPDATE core.energies SET charge_mah = 2 * charge_mah WHERE run_id = ?", [run_id])
        writer.execute("UPDATE core.energy_runs SET extracted_at = now() WHERE run_id = ?", [run_id])
    with own_sample.reading() as reader:
        assert run_fingerprints(reader, {run_id: found.run}, RunOrder(reader)) != before
