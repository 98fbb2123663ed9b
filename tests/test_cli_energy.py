"""perfreg energy, energy-calibrate and profiles: on the sample warehouse, and from a recorded trace to the table."""

import csv
import gzip
import io
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.traces.power_profile import read_profile
from perfreg_assets.warehouse import power_profiles
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parent / "warehouse"))

import sample_warehouse

DATA = Path(__file__).parent / "data"
PIXEL = "pixel7pro_60s_sched_rss_cpufreq_rails.perfetto-trace.gz"

GIVEN = """<device name="Android">
<array name="cpu.clusters.cores"><value>1</value><value>1</value></array>
<item name="cpu.active">12</item><item name="cpu.idle">3</item>
<array name="cpu.core_speeds.cluster0"><value>300000</value><value>{small}</value></array>
<array name="cpu.core_power.cluster0"><value>10</value><value>20</value></array>
<array name="cpu.core_speeds.cluster1"><value>1000000</value><value>1500000</value></array>
<array name="cpu.core_power.cluster1"><value>80</value><value>200</value></array>
</device>"""


def run(*arguments, warehouse, status=0):
    result = CliRunner().invoke(main, [*map(str, arguments), "--warehouse", str(warehouse)])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("energy") / "perfreg.duckdb"
    sample_warehouse.build(path, runs=24, samples=40)
    return path


@pytest.fixture(scope="module")
def ingested(tmp_path_factory):
    """Warehouse with two runs of a device with rails; one brings a profile that is a stub."""
    folder = tmp_path_factory.mktemp("ingested")
    for number in (1, 2):
        own = folder / "runs" / f"p7-{number}"
        own.mkdir(parents=True)
        # With empty packets more, as another trace: each counts once.
        content = gzip.decompress((DATA / "android-traces" / PIXEL).read_bytes()) + b"\x0a\x00" * number
        (own / "trace.perfetto-trace.gz").write_bytes(gzip.compress(content, 1, mtime=0))
        (own / "run.json").write_text(
            json.dumps(
                {
                    "schema_version": 1, "run_id": f"p7-{number}", "app": "com.google.android.apps.nexuslauncher",
                    "version_name": "1.0", "started_at": f"2026-11-20T09:1{number}:00Z", "path": [],
                    "config": {"device": "Pixel 7 Pro", "strategy": "x", "time_limit_s": 60, "action_interval_s": 2.0},
                    "functional_problems": [], "trace": "trace.perfetto-trace.gz",
                }
            )
        )  # fmt: skip
    stub = DATA / "power-profiles" / "greensoftwarelab_E-MANAFA_power_profile_sm-t810__active.clusterN.xml"
    shutil.copy(stub, folder / "runs" / "p7-2" / "power_profile.xml")
    warehouse = folder / "perfreg.duckdb"
    run("ingest", folder / "runs", warehouse=warehouse)
    return warehouse


# ---- on the sample -----------------------------------------------------------------------------------
def test_json_is_the_contracts_object(sample):
    told = json.loads(run("energy", "shop-0000", "--format", "json", warehouse=sample).stdout)
    assert told["run_id"] == "shop-0000"
    assert {"component", "scope", "charge_mah", "energy_mj", "source"} <= set(told["components"][0])
    assert sum(one["share"] for one in told["components"]) == pytest.approx(1.0)
    assert {one["source"] for one in told["components"]} == {"profile"}
    assert set(told["series"]) == {"power_cpu_total", "power_rail_cpu"}
    assert told["accuracy"]["interval_count"] == 40
    assert {one["screen"] for one in told["screens"]} == {"list", "note"}


def test_csv_has_a_row_per_component_and_scope(sample):
    rows = list(csv.DictReader(io.StringIO(run("energy", "shop-0000", "--format", "csv", warehouse=sample).stdout)))
    assert len(rows) == 9
    assert {row["run_id"] for row in rows} == {"shop-0000"}


def test_the_change_is_against_the_median_of_the_history(sample):
    told = json.loads(run("energy", "shop-0011", "--format", "json", warehouse=sample).stdout)
    assert all(one["change_ratio"] is not None for one in told["components"])
    assert told["run"]["history_count"] > 0


def test_a_run_without_an_estimate_says_why_and_has_no_zeros(sample):
    result = run("energy", "notes-0004", "--format", "json", warehouse=sample)
    told = json.loads(result.stdout)
    assert (told["components"], told["reason_code"]) == ([], "series_missing")
    assert "cpufreq" in result.stderr


def test_a_run_that_nobody_knows_is_named_with_the_nearest(sample):
    result = run("energy", "shop-000", warehouse=sample, status=1)
    assert "did you mean shop-00" in result.stderr


@pytest.mark.parametrize("command", [("energy",), ("compare", "notes-0004")])
def test_a_quarantined_run_is_said_to_be_in_quarantine_and_why(sample, command):
    with Warehouse(sample, lock_timeout_s=5).reading() as reader:
        [(run_id, why)] = reader.rows("SELECT run_id, reason FROM core.runs WHERE is_quarantined")
    told = " ".join(run(*command, run_id, warehouse=sample, status=1).stderr.split())
    assert f"is quarantined: {why}" in told
    assert run_id in told
    assert "status" not in told


def test_of_a_run_whose_trace_is_not_whole_it_is_said_why(tmp_path):
    path = tmp_path / "perfreg.duckdb"
    with sample_warehouse.build(path, runs=48, samples=10).reading() as reader:
        (run_id, why), *_ = reader.rows("SELECT run_id, reason FROM marts.runs WHERE state = 'incomplete_trace'")
    for command in (("energy",), ("compare", "notes-0000")):
        told = " ".join(run(*command, run_id, warehouse=path, status=1).stderr.split())
        assert f"is incomplete_trace: {why}" in told
        assert run_id in told
        assert "status" not in told


def test_a_profile_of_other_clusters_is_refused(sample):
    other = DATA / "power-profiles" / "power_profile_pixel3a.xml"
    result = run("energy", "shop-0000", "--profile", other, warehouse=sample, status=1)
    assert (
        "the profile's clusters begin at the cores (0, 6), those of shop-0000 at (0, 1), "
        "by cheetah.xml (bundled), which its trace was read with" in result.stderr
    )


@pytest.mark.parametrize(
    ("origin", "told"),
    [("warehouse", "`perfreg profiles remove cheetah` has it"), ("setting", "another setting `power_profile` has it")],
)
def test_after_a_wrong_profile_a_right_one_is_not_called_wrong(sample, tmp_path, origin, told):
    warehouse = tmp_path / "perfreg.duckdb"
    shutil.copy(sample, warehouse)
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        writer.execute("UPDATE core.energy_runs SET profile_origin = ? WHERE run_id = 'shop-0000'", [origin])
    other = DATA / "power-profiles" / "power_profile_pixel3a.xml"
    result = run("energy", "shop-0000", "--profile", other, warehouse=warehouse, status=1)
    assert f"if that is the wrong one, {told} read again" in result.stderr


@pytest.mark.parametrize(
    ("small", "fit", "share"), [(600000, 1.0, None), (610000, 0.5, "50 %")], ids=["fits", "another chip's"]
)
def test_a_profile_that_is_given_is_told_to_be_of_another_chip_as_the_mart_says(sample, tmp_path, small, fit, share):
    given = tmp_path / "given.xml"
    given.write_text(GIVEN.format(small=small))
    result = run("energy", "shop-0000", "--profile", given, "--format", "json", warehouse=sample)
    told = json.loads(result.stdout)
    assert told["profile"]["fit_ratio"] == pytest.approx(fit)
    assert told["profile"]["is_foreign"] is (share is not None)
    assert result.stderr.startswith("estimated by given.xml (given)")
    assert ("of another device, no more than a guess" in result.stderr) is (share is not None)
    if share:
        assert f"the cores were at frequencies of its tables in {share} of their busy time" in result.stderr
    with Warehouse(sample, lock_timeout_s=5).writing() as writer:
        profile, content = read_profile(given, nominal_voltage_v=3.85)
        power_profiles.keep(
            writer,
            [
                power_profiles.described(
                    profile, name=given.name, device="given", origin=power_profiles.ADDED, content=content
                )
            ],
        )
    query = (
        "SELECT component, scope, charge_mah, is_foreign_profile, fit_ratio "
        f"FROM marts.energies_at('{told['profile']['profile_id']}') WHERE run_id = 'shop-0000'"
    )
    rows = json.loads(run("sql", query, "--format", "json", warehouse=sample).stdout)
    assert {row["is_foreign_profile"] for row in rows} == {told["profile"]["is_foreign"]}
    assert [row["fit_ratio"] for row in rows] == pytest.approx([told["profile"]["fit_ratio"]] * len(rows))
    charges = {(one["component"], one["scope"]): one["charge_mah"] for one in told["components"]}
    priced = {(row["component"], row["scope"]): row["charge_mah"] for row in rows}
    assert priced == pytest.approx({key: charges[key] for key in priced})
    assert priced.keys() >= {("cpu_core", "app"), ("cpu_active", "others")}


def test_how_far_a_forced_profile_fits_is_told_of_what_it_was_chosen_by(sample, tmp_path):
    """Samples of the frequencies, not the busy time that `--profile` goes by: of one run that is another figure."""
    warehouse = tmp_path / "perfreg.duckdb"
    shutil.copy(sample, warehouse)
    shutil.copytree(sample.with_suffix(".data"), warehouse.with_suffix(".data"))
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        writer.execute(
            "UPDATE core.energy_runs SET is_foreign_profile = true, fit_ratio = 0.6 WHERE run_id = 'shop-0000'"
        )
    result = run("energy", "shop-0000", warehouse=warehouse)
    assert "its tables have 60 % of the samples of the cores' frequencies" in result.stderr


def test_a_profile_given_for_a_run_without_times_in_state_says_what_the_trace_lacks(sample, tmp_path):
    given = tmp_path / "given.xml"
    given.write_text(GIVEN.format(small=600000))
    result = run("energy", "notes-0004", "--profile", given, "--format", "json", warehouse=sample)
    told = json.loads(result.stdout)
    assert (told["components"], told["reason_code"], told["profile"]["is_foreign"]) == ([], "series_missing", None)
    assert "notes-0004: no estimate: the trace has no CPU frequencies" in result.stderr


def test_what_the_estimate_rests_on_and_what_rails_lack_is_told(sample):
    assert "held backwards" not in run("energy", "shop-0001", warehouse=sample).stderr
    with Warehouse(sample, lock_timeout_s=5).writing() as writer:
        writer.execute("UPDATE core.energy_runs SET late_ratio = 0.94, outside_ratio = 0.5 WHERE run_id = 'shop-0001'")
        samples = np.full(40, 300.0)
        samples[[0, 7]] = np.nan
        row = series_table.find(writer, ["shop-0001"], ["cpu_app"])["shop-0001", "cpu_app"]
        series_table.upsert(writer, [replace(row, series="power_rail_display", unit="mW", values=samples)])
    result = run("energy", "shop-0001", "--format", "json", warehouse=sample)
    told = json.loads(result.stdout)
    assert (told["late_ratio"], told["profile"]["outside_ratio"]) == (0.94, 0.5)
    assert told["partly_measured"] == [
        {"component": "rail_display", "known_count": 38, "interval_count": 40, "mean_mw": 300.0}
    ]
    for words in (
        "94 % of the cores' time is before their first known frequency, held backwards",
        "50 % of the busy time is at frequencies beyond the profile's, whose ends hold there",
        "shop-0001: rail_display has no figure for the whole run: its counter is known in 38 of 40 intervals, with 300",
    ):
        assert words in result.stderr


def test_profiles_are_listed_with_those_of_the_installation_and_copies_are_named(sample):
    rows = json.loads(run("profiles", "list", "--format", "json", warehouse=sample.with_name("none.duckdb")).stdout)
    assert {"cheetah", "bluejay", "flame"} <= {row["device"] for row in rows}
    husky = DATA / "power-profiles" / "LineageOS_google_shusky_husky__core_power.xml"
    result = run("profiles", "check", husky, warehouse=sample)
    assert "its values are those of" in result.stderr


def test_a_stub_is_refused_with_one_sentence(sample):
    stub = DATA / "power-profiles" / "greensoftwarelab_E-MANAFA_power_profile_sm-t810__active.clusterN.xml"
    for arguments in (("check", stub), ("add", stub, "--device", "sm")):
        result = run("profiles", *arguments, warehouse=sample, status=1)
        assert "Nobody filled this power profile in" in result.stderr
        assert "Traceback" not in result.output


# ---- from a recorded trace ---------------------------------------------------------------------------
def test_a_recorded_run_says_what_it_cost_and_one_with_a_stub_why_not(ingested):
    result = run("energy", "p7-1", "--format", "json", warehouse=ingested)
    told = json.loads(result.stdout)
    cores = [one for one in told["components"] if one["component"].startswith("cpu_")]
    assert sum(one["energy_mj"] for one in cores) == pytest.approx(told["series"]["power_cpu_total"]["mean"] * 59)
    assert sum(one["charge_mah"] for one in told["threads"]) == pytest.approx(
        sum(one["charge_mah"] for one in cores if one["scope"] != "wakeups")
    )
    assert (told["profile"]["name"], told["profile"]["origin"]) == ("cheetah.xml", "bundled")
    assert told["accuracy"]["correlation"] > 0.95
    assert any(one["source"] == "rail" for one in told["components"])
    other = json.loads(run("energy", "p7-2", "--format", "json", warehouse=ingested).stdout)
    assert other["reason_code"] == "profile_stub"
    assert {one["source"] for one in other["components"]} == {"rail"}
    verdicts = json.loads(run("verdicts", "--format", "json", warehouse=ingested, status=4).stdout)
    assert {row["state"] for row in verdicts} == {"not_enough_history"}


def test_a_profile_can_be_put_on_a_run_whose_own_is_a_stub(ingested):
    cheetah = Path(__file__).parents[1] / "power_profiles" / "cheetah.xml"
    own, given = (
        json.loads(run("energy", *arguments, "--format", "json", warehouse=ingested).stdout)
        for arguments in (("p7-1",), ("p7-2", "--profile", cheetah))
    )
    charges, wanted = (
        {(one["component"], one["scope"]): one["charge_mah"] for one in told["components"] if one["source"] != "rail"}
        for told in (given, own)
    )
    assert charges == pytest.approx(wanted)
    assert given["profile"]["fit_ratio"] == 1.0
    query = "SELECT run_id, sum(charge_mah) AS mah FROM marts.energies_at(?) GROUP BY run_id".replace(
        "?", f"'{own['profile']['profile_id']}'"
    )
    rows = json.loads(run("sql", query, "--format", "json", warehouse=ingested).stdout)
    cores = sum(charge for (component, _), charge in wanted.items() if component.startswith("cpu_"))
    assert {row["run_id"]: row["mah"] for row in rows} == pytest.approx({"p7-1": cores, "p7-2": cores})


def test_a_given_profile_that_is_known_to_be_a_sibling_chips_is_told_as_that(ingested):
    """Neighbouring generations share most of their tables: such a file may fit all the same."""
    by_name = Path(__file__).parents[1] / "power_profiles"
    for name, doubt in (
        ("oriole.xml", "it has other frequencies than cheetah's cores, by the profile known of it"),
        ("cheetah.xml", None),
        ("lynx.xml", None),  # of its chip
    ):
        told = run("energy", "p7-1", "--profile", by_name / name, "--format", "json", warehouse=ingested)
        profile = json.loads(told.stdout)["profile"]
        assert profile["doubt"] == doubt
        is_said = f"perhaps another chip's: {doubt}" in told.stderr or "of another device" in told.stderr
        assert is_said is (doubt is not None)


@pytest.mark.parametrize(
    ("device", "doubt"),
    [
        ("raven", "it has other frequencies than raven's cores, by the profile of bluejay, of its chip"),
        ("husky", "it is the profile known of cheetah, nothing is known of husky"),
        (None, None),
        ("cheetah", None),
    ],
)
def test_what_nothing_is_known_of_is_told_by_whose_profile_was_given(ingested, tmp_path, device, doubt):
    """A newer chip's tables have all frequencies of an older one."""
    warehouse = tmp_path / "perfreg.duckdb"
    shutil.copy(ingested, warehouse)
    shutil.copytree(ingested.with_suffix(".data"), warehouse.with_suffix(".data"))
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        writer.execute("UPDATE core.energy_runs SET device_name = ? WHERE run_id = 'p7-1'", [device])
    cheetah = Path(__file__).parents[1] / "power_profiles" / "cheetah.xml"
    told = run("energy", "p7-1", "--profile", cheetah, "--format", "json", warehouse=warehouse)
    profile = json.loads(told.stdout)["profile"]
    assert (profile["is_foreign"], profile["doubt"]) == (False, doubt)
    assert (f"perhaps another chip's: {doubt}" in told.stderr) is (doubt is not None)


def test_by_a_given_profile_nothing_is_told_that_another_one_estimated_and_all_that_was_measured(ingested):
    curve = DATA / "measured-curves" / "freqbench__gs201.csv"
    own, given = (
        json.loads(run("energy", "p7-1", *arguments, "--format", "json", warehouse=ingested).stdout)
        for arguments in ((), ("--profile", curve))
    )
    assert {one["source"] for one in own["components"]} == {"profile", "rail"}
    assert {one["source"] for one in given["components"]} == {"curve", "rail"}
    rails, wanted = ([one for one in told["components"] if one["source"] == "rail"] for told in (given, own))
    assert rails == wanted
    assert given["series"] == {name: values for name, values in own["series"].items() if name.startswith("power_rail_")}
    assert "power_cpu_total" in own["series"]


def test_calibrated_on_halves_and_told_by_the_command(ingested):
    run("energy-calibrate", "--device", "cheetah", warehouse=ingested)
    rows = json.loads(run("sql", "FROM marts.power_calibrations", "--format", "json", warehouse=ingested).stdout)
    (row,) = rows
    assert row["energy_ratio"] == pytest.approx(1.0, abs=0.05)
    assert row["mape_ratio"] <= 0.15
    told = json.loads(run("energy", "p7-1", "--format", "json", warehouse=ingested).stdout)
    measured_mj = told["series"]["power_rail_cpu"]["mean"] * 59
    assert told["calibrated_mj"] == pytest.approx(measured_mj, rel=0.05)
    result = run("energy-calibrate", "--device", "nobody", warehouse=ingested, status=1)
    assert "no runs, or too few, with an estimate and measured rails" in result.stderr


def test_what_rails_measured_of_a_part_of_an_interval_is_no_measure_of_the_estimate(tmp_path):
    """The Pixel 6's rails begin .1 s after its trace and end in the last interval: three of five are whole."""
    trace, warehouse = DATA / "android-traces" / "pixel6_api32_odpm_rails.perfetto-trace.gz", tmp_path / "p.duckdb"
    app = "androidx.benchmark.integration.macrobenchmark.target"
    run("import", trace, "--app", app, "--app-version", "1", warehouse=warehouse)
    rows = json.loads(run("sql", "FROM marts.energy_accuracy", "--format", "json", warehouse=warehouse).stdout)
    told = json.loads(run("energy", rows[0]["run_id"], "--format", "json", warehouse=warehouse).stdout)
    assert (told["accuracy"]["interval_count"], len(rows)) == (3, 1)
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        names = "power_cpu_total", "power_rail_cpu"
        found = series_table.find(reader, [rows[0]["run_id"]], names)
    estimated, measured = (found[rows[0]["run_id"], name].values for name in names)
    assert np.isfinite(measured).tolist() == [True] * 5  # as it is judged and drawn
    assert told["accuracy"]["energy_ratio"] == pytest.approx(estimated[1:4].sum() / measured[1:4].sum())


def test_an_added_profile_is_put_on_the_devices_runs(ingested, tmp_path):
    own = tmp_path / "mine.xml"
    text = (Path(__file__).parents[1] / "power_profiles" / "cheetah.xml").read_text()
    own.write_text(text.replace('name="cpu.active">8.2<', 'name="cpu.active">80.2<'))
    before = json.loads(run("energy", "p7-1", "--format", "json", warehouse=ingested).stdout)
    result = run("profiles", "add", own, "--device", "cheetah", warehouse=ingested)
    assert "2 runs are read again" in result.stdout
    after = json.loads(run("energy", "p7-1", "--format", "json", warehouse=ingested).stdout)
    assert (after["profile"]["name"], after["profile"]["origin"]) == ("mine.xml", "warehouse")

    def active(told):
        return sum(one["charge_mah"] for one in told["components"] if one["component"] == "cpu_active")

    assert active(after) == pytest.approx(active(before) * 80.2 / 8.2)
    own_stub = json.loads(run("energy", "p7-2", "--format", "json", warehouse=ingested).stdout)
    assert own_stub["reason_code"] == "profile_stub"  # what a run brings goes first
    removed = run("profiles", "remove", "cheetah", warehouse=ingested)
    assert "mine.xml is no longer the profile of cheetah; the installation's cheetah.xml holds" in removed.stdout
    assert json.loads(run("energy", "p7-1", "--format", "json", warehouse=ingested).stdout) == before
    unknown = run("profiles", "remove", "cheetah", warehouse=ingested, status=1)
    assert "none was added as cheetah" in unknown.stderr
    nowhere = tmp_path / "typo.duckdb"
    assert "does not exist" in run("profiles", "remove", "cheetah", warehouse=nowhere, status=1).stderr
    assert not nowhere.exists()
    (listed,) = (
        one
        for one in json.loads(run("profiles", "list", "--format", "json", warehouse=ingested).stdout)
        if one["name"] == "mine.xml"
    )
    assert listed["origin"] == "removed"
    assert "nothing is due" in run("status", warehouse=ingested).output
