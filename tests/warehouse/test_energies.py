"""What runs cost, in the warehouse: stored as a whole, at any profile by SQL, and due again when a profile is added."""

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from perfreg_assets.methods.power_calibration import accuracy, compared
from perfreg_assets.methods.power_profile import CoreCluster, PowerProfile
from perfreg_assets.methods.power_states import States, levels
from perfreg_assets.model import offered_profiles
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import attachments, energies, power_calibrations, power_profiles, states
from perfreg_assets.warehouse import series as series_table

VOLTS = 3.85
TABLES = (([300e3, 600e3, 1200e3], [10.0, 20, 60], 2.0), ([500e3, 1000e3, 2000e3], [30.0, 80, 200], 5.0))
SPENT = {  # (cluster, kHz, scope): busy, share of the cluster, share of the processor; those of the series' tests
    (0, 600e3, "app"): (0.75, 0.75, 0.5),
    (0, 900e3, "app"): (0.5, 0.5, 0.25),
    (1, 1000e3, "others"): (1.0, 1.0, 0.625),
    (1, 2400e3, "others"): (0.25, 0.25, 0.25),
    (1, 100e3, "wakeups"): (0.1, 0.1, 0.1),
}


STEPS = (energies.StepCharge(0, "list", 1.5, 0.1, 0.2), energies.StepCharge(1, "", 0.5, 0.0, 0.1))
METHODS = (energies.MethodCharge("app", "main", "draw #", 3, 0.01, 0.02),)


def profile(profile_id="one", factor=1.0, **changed):
    clusters = tuple(
        CoreCluster(khz=np.array(khz), charge_ma=factor * np.array(ma), cluster_ma=factor * own)
        for khz, ma, own in TABLES
    )
    made = PowerProfile(
        profile_id=profile_id, dialect="cores", clusters=clusters, first_cores=(0, 1), core_count=2,
        active_ma=12.0 * factor, base_ma={"idle": 3.0}, capacity_mah=3000.0,
    )  # fmt: skip
    return replace(made, **changed)


def stored(own, *, device="cheetah", origin=power_profiles.BUNDLED):
    return power_profiles.described(
        own, name=f"{device}.xml", device=device, origin=origin, content=own.profile_id.encode()
    )


def run(run_id, own=None, **changed):
    row = energies.EnergyRunRow(
        run_id=run_id, device_name="cheetah", duration_s=2.0, profile_id=own.profile_id if own else None,
        profile_name="cheetah.xml" if own else None, profile_origin="bundled" if own else None, first_cores=(0, 1),
        nominal_voltage_v=VOLTS, reason_code=None if own else "profile_missing",
        threads=(energies.ThreadCharge("app", "main", True, 0.25),),
    )  # fmt: skip
    times = tuple(
        energies.TimeRow(
            run_id=run_id, cluster=cluster, frequency_khz=khz, scope=scope, busy_s=spent[0], cluster_share_s=spent[1],
            active_share_s=spent[2],
        )
        for (cluster, khz, scope), spent in SPENT.items()
    )  # fmt: skip
    return energies.RunEnergies(
        replace(row, **changed), times, (), stored(own) if own else None, STEPS, METHODS if own else "no slices"
    )


def by_hand(own):
    """mA·s by component and scope, by the methods."""
    found = {}
    for (cluster, khz, scope), spent in SPENT.items():
        ma = levels(own, States(np.array([cluster]), np.array([khz])))[0]
        for component, charge in zip(("cpu_core", "cpu_cluster", "cpu_active"), ma * spent, strict=True):
            found[component, scope] = found.get((component, scope), 0.0) + charge
    return found


def at(warehouse, profile_id):
    with warehouse.writing() as writer:
        rows = writer.dicts("SELECT * FROM marts.energies_at(?)", [profile_id])
    return {(row["component"], row["scope"]): row for row in rows}


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_another_profile_is_sql_alone_and_says_what_the_methods_say(sample_copy, factor):
    own, other = profile(), profile("another", factor)
    with sample_copy.writing() as writer:
        writer.execute("DELETE FROM core.energy_runs")
        writer.execute("DELETE FROM core.time_in_state")
        energies.upsert(writer, [run("shop-0000", own)])
        power_profiles.keep(writer, [stored(other)])
    found, wanted = at(sample_copy, "another"), by_hand(other)
    assert {key: row["charge_mah"] * 3600 for key, row in found.items()} == pytest.approx(wanted)
    assert {key: row["energy_mj"] for key, row in found.items()} == pytest.approx(
        {key: charge * VOLTS for key, charge in wanted.items()}
    )
    (fit,) = {row["fit_ratio"] for row in found.values()}
    assert fit == pytest.approx(1.75 / 2.6)
    assert all(row["is_foreign_profile"] for row in found.values())


def test_a_profile_of_other_clusters_is_put_on_no_run_and_one_table_on_every(sample_copy):
    single = profile("single", clusters=profile().clusters[:1], first_cores=None, core_count=None)
    with sample_copy.writing() as writer:
        energies.upsert(writer, [run("shop-0000", profile())])
        power_profiles.keep(writer, [stored(profile("foreign", first_cores=(0, 4))), stored(single)])
    assert at(sample_copy, "foreign") == {}
    with sample_copy.writing() as writer:
        rows = writer.dicts("SELECT * FROM marts.energies_at('single') WHERE run_id = 'shop-0000'")
    found = {(row["component"], row["scope"]): row["charge_mah"] * 3600 for row in rows}
    assert found == pytest.approx(by_hand(single))


def test_what_is_stored_of_a_run_goes_and_comes_as_a_whole(sample_copy):
    with sample_copy.writing() as writer:
        energies.upsert(writer, [run("shop-0000", profile())])
        energies.upsert(writer, [run("shop-0000")])
        found = energies.find(writer, ["shop-0000", "nobody"])
        assert list(found) == ["shop-0000"]
        row = found["shop-0000"]
        assert (row.reason_code, row.profile_id, row.first_cores) == ("profile_missing", None, (0, 1))
        assert row.threads == run("x").row.threads
        assert row.priced_step_count == 2
        assert writer.rows("SELECT method_count, reason FROM core.method_energies WHERE run_id = 'shop-0000'") == [
            (None, "no slices")
        ]
        assert writer.value("SELECT count(*) FROM core.time_in_state WHERE run_id = 'shop-0000'") == len(SPENT)
        assert writer.rows(
            "SELECT step_index, screen, duration_s, app_mah FROM marts.energy_by_step "
            "WHERE run_id = 'shop-0000' ORDER BY 1"
        ) == [(0, "list", 1.5, 0.1), (1, None, 0.5, 0.0)]
        energies.upsert(writer, [run("shop-0000", profile()), run("shop-0001", profile())])
        (told,) = energies.methods(writer, "shop-0000")
        assert (told["method"], told["call_count"], told["method_self_mah"], told["method_mah"]) == (
            "draw #",
            3,
            0.01,
            0.02,
        )
        assert told["method_self_mj"] == pytest.approx(0.01 * 3600 * VOLTS)
        assert told["is_upper_bound"] is False
        energies.forget(writer, ["shop-0000"])
        assert energies.methods(writer, "shop-0000") == []
        assert energies.find(writer, ["shop-0000"]) == {}
        assert writer.value("SELECT count(*) FROM core.time_in_state WHERE run_id = 'shop-0000'") == 0


def test_levels_of_steps_are_added_when_a_trace_tells_their_frequencies(sample_copy):
    steps = profile("steps", clusters=tuple(replace(one, khz=None) for one in profile().clusters))
    with sample_copy.writing() as writer:
        power_profiles.keep(writer, [stored(steps, origin=power_profiles.ADDED)])
        assert writer.value("SELECT count(*) FROM core.power_levels WHERE profile_id = 'steps'") == 0
        power_profiles.keep(writer, [stored(profile("steps"))])
        power_profiles.keep(writer, [stored(profile("steps"))])
        assert writer.value("SELECT count(*) FROM core.power_levels WHERE profile_id = 'steps'") == 6
        assert writer.value("SELECT count(*) FROM core.power_profiles WHERE profile_id = 'steps'") == 1


def test_an_added_profile_makes_the_devices_runs_due_and_no_others(sample_copy):
    def due(reader):
        return {one.run_id for one in states.registered(reader) if one.has_old_profile}

    with sample_copy.writing() as writer:
        energies.upsert(
            writer,
            [
                run("shop-0000", profile()), run("shop-0001"), run("shop-0002", profile(), device_name="flame"),
                run("shop-0003", profile(), profile_origin="run_folder", own_profile_sha256="one"),
                run("shop-0004", profile(), profile_origin="run_folder", own_profile_sha256="another"),
            ],
        )  # fmt: skip
        fetched = json.dumps({"collection": {"power_profile": {"sha256": "one"}}})
        writer.execute("UPDATE core.runs SET extra = ? WHERE run_id IN ('shop-0003', 'shop-0004')", [fetched])
        writer.execute("UPDATE core.energy_runs SET device_name = 'other' WHERE run_id NOT LIKE 'shop-000_'")
        writer.execute("UPDATE core.energy_runs SET device_name = 'other' WHERE run_id > 'shop-0004'")
        before = due(writer)
        outdated = offered_profiles.add(writer, Settings(), stored(profile("newer"), origin=power_profiles.ADDED))
        assert outdated == ["shop-0000", "shop-0001", "shop-0004"]
        assert due(writer) - before == set(outdated)
        assert [row.profile_id for row in power_profiles.of_devices(writer)] == ["newer"]
        energies.upsert(writer, [run("shop-0000", profile("newer"))])
        assert due(writer) - before == {"shop-0001", "shop-0004"}


def test_a_profile_that_is_removed_makes_the_devices_runs_due_and_the_one_before_holds_again(sample_copy):
    with sample_copy.writing() as writer:
        power_profiles.add(writer, stored(profile("older"), origin=power_profiles.ADDED))
        power_profiles.add(writer, stored(profile("newer"), origin=power_profiles.ADDED))
        energies.upsert(
            writer,
            [
                run("shop-0000", profile("newer")), run("shop-0001"),
                run("shop-0002", profile("older"), offered_profiles=energies.OWN_OFFERED),
                run("shop-0003", profile("newer"), profile_origin="run_folder"),
                run("shop-0004", profile("newer"), device_name="flame"),
            ],
        )  # fmt: skip
        writer.execute("UPDATE core.energy_runs SET device_name = 'other' WHERE run_id NOT LIKE 'shop-000_'")
        writer.execute("UPDATE core.energy_runs SET device_name = 'other' WHERE run_id > 'shop-0004'")
        added = power_profiles.find_added(writer, "cheetah")
        assert added is not None
        assert added.profile_id == "newer"
        assert offered_profiles.remove(writer, Settings(), added) == ["shop-0000", "shop-0001", "shop-0003"]
        assert [row.profile_id for row in power_profiles.of_devices(writer)] == ["older"]
        before = power_profiles.find_added(writer, "cheetah.xml")
        assert before is not None
        assert before.profile_id == "older"
        assert writer.value("SELECT removed_at IS NOT NULL FROM marts.power_profiles WHERE profile_id = 'newer'")
        power_profiles.add(writer, stored(profile("newer"), origin=power_profiles.ADDED))
        assert [row.profile_id for row in power_profiles.of_devices(writer)] == ["newer"]


def test_the_profile_that_was_added_last_is_the_devices_when_the_clock_was_set_back(sample_copy):
    ahead = stored(profile("ahead"), origin=power_profiles.ADDED)
    ahead = replace(ahead, row=replace(ahead.row, added_at=ahead.row.added_at + timedelta(days=1)))
    with sample_copy.writing() as writer:
        power_profiles.add(writer, ahead)
        power_profiles.add(writer, stored(profile("corrected"), origin=power_profiles.ADDED))
        assert [row.profile_id for row in power_profiles.of_devices(writer)] == ["corrected"]
        added = power_profiles.find_added(writer, "cheetah")
        assert added is not None
        assert added.profile_id == "corrected"


def test_a_run_whose_folder_has_another_profile_than_was_read_is_due(sample_copy):
    def due(reader):
        return {one.run_id for one in states.registered(reader) if one.has_other_file}

    def brought(run_id, sha256):
        return attachments.AttachmentRow(
            run_id=run_id, file_name="power_profile.xml", kind="other", bytes=1, sha256=sha256, ts_ns=None
        )

    with sample_copy.writing() as writer:
        energies.upsert(writer, [run("shop-0000", own_profile_sha256="a"), run("shop-0001"), run("shop-0002")])
        before = due(writer)
        assert before == {"shop-0000"}  # it is not there any more
        attachments.replace(writer, ["shop-0000"], [brought("shop-0000", "a")])
        attachments.replace(writer, ["shop-0001"], [brought("shop-0001", "b")])
        assert due(writer) == {"shop-0001"}
        attachments.replace(writer, ["shop-0000"], [brought("shop-0000", "changed")])
        assert due(writer) == {"shop-0000", "shop-0001"}


def test_a_profile_is_found_by_device_file_or_beginning_of_its_id(sample_copy):
    with sample_copy.writing() as writer:
        power_profiles.keep(writer, [stored(profile("0123456789abcdef"), device="raven")])
        for name in ("raven", "raven.xml", "01234567"):
            found = power_profiles.find(writer, name)
            assert found is not None
            assert found.profile_id == "0123456789abcdef"
        assert power_profiles.find(writer, "0123") is None
        assert power_profiles.find(writer, "nobody") is None


def test_accuracy_is_that_of_numpy(sample):
    with sample.reading() as reader:
        (row,) = reader.dicts("SELECT * FROM marts.energy_accuracy")
        values = dict(
            reader.rows(
                "SELECT series, \"values\" FROM marts.series_arrays WHERE run_id = ? AND series LIKE 'power%'",
                [row["run_id"]],
            )
        )
    estimated, measured = (np.array(values[name]) for name in ("power_cpu_total", "power_rail_cpu"))
    assert row["energy_ratio"] == pytest.approx(estimated.sum() / measured.sum())
    assert row["correlation"] == pytest.approx(np.corrcoef(estimated, measured)[0, 1])
    assert row["mape_ratio"] == pytest.approx(np.mean(np.abs(estimated - measured) / measured))
    assert row["interval_count"] == len(estimated)


@pytest.mark.parametrize(
    ("spread", "is_known"), [(1e-13, False), (1e-3, True)], ids=["rounding of a straight line", "measured"]
)
def test_of_rails_that_do_not_vary_the_mart_says_what_the_method_says(sample_copy, spread, is_known):
    chaos = np.random.default_rng(2)
    estimated = chaos.uniform(100, 500, 40)
    measured = 333.3 * (1 + spread * chaos.uniform(0, 1, 40))
    with sample_copy.writing() as writer:
        (was,) = writer.dicts("SELECT run_id FROM marts.energy_accuracy")
        rows = series_table.find(writer, [was["run_id"]], ("power_cpu_total", "power_rail_cpu"))
        changed = {"power_cpu_total": estimated, "power_rail_cpu": measured}
        series_table.upsert(writer, [replace(row, values=changed[name]) for (_, name), row in rows.items()])
        (row,) = writer.dicts("SELECT * FROM marts.energy_accuracy")
    wanted = accuracy(estimated, measured)
    assert row["energy_ratio"] == pytest.approx(wanted.energy_ratio)
    if is_known:
        assert (row["correlation"], row["mape_ratio"]) == pytest.approx((wanted.correlation, wanted.mape_ratio))
    else:
        assert (row["correlation"], row["mape_ratio"]) == (None, None)
        assert np.isnan([wanted.correlation, wanted.mape_ratio]).all()


@pytest.mark.parametrize("partly", [None, (), (0, 7, 39)])
def test_no_estimate_of_a_whole_interval_is_compared_with_rails_that_cover_a_part_of_it(sample_copy, partly):
    with sample_copy.writing() as writer:
        (was,) = writer.dicts("SELECT run_id FROM marts.energy_accuracy")
        rows = series_table.find(writer, [was["run_id"]], ("power_cpu_total", "power_rail_cpu"))
        estimated, measured = (rows[was["run_id"], name] for name in ("power_cpu_total", "power_rail_cpu"))
        whole = np.ones(len(measured.values), bool)
        begin_ns = None
        if partly is not None:
            whole[list(partly)] = False
            begin_ns = tuple(measured.start_ns + round(place * measured.interval_s * 1e9) for place in partly)
        own = run(was["run_id"], profile(), is_foreign_profile=False, rails_partly_ns=begin_ns)
        energies.upsert(writer, [own])
        assert energies.find(writer, [was["run_id"]])[was["run_id"]].rails_partly_ns == begin_ns
        (row,) = writer.dicts("SELECT * FROM marts.energy_accuracy")
        ((_, _, *pair),) = power_calibrations.measured_series(writer, own.row.device_name)
    wanted = accuracy(estimated.values[whole], measured.values[whole])
    assert row["interval_count"] == whole.sum()
    assert (row["energy_ratio"], row["correlation"], row["mape_ratio"]) == pytest.approx(
        (wanted.energy_ratio, wanted.correlation, wanted.mape_ratio)
    )
    assert compared(*pair) == (pytest.approx(estimated.values[whole]), pytest.approx(measured.values[whole]))


def test_runs_stand_beside_the_median_of_their_history(sample):
    with sample.reading() as reader:
        rows = reader.dicts("SELECT * FROM marts.energy_by_run WHERE history_count > 3 ORDER BY run_id LIMIT 5")
        for row in rows:
            members = [
                mah * 3600 / seconds
                for mah, seconds in reader.rows(
                    "SELECT sum(charge_mah) FILTER (WHERE scope = 'app'), any_value(duration_s) FROM core.energies "
                    "JOIN core.energy_runs USING (run_id) WHERE run_id IN "
                    "(SELECT history_run_id FROM marts.history_sets "
                    "WHERE run_id = ?) GROUP BY run_id",
                    [row["run_id"]],
                )
            ]
            assert row["history_count"] == len(members)
            assert row["app_change_ratio"] == pytest.approx(row["app_mah_per_h"] / np.median(members) - 1)
    assert len(rows) == 5


def test_figures_of_a_partition_are_plotted_and_what_nobody_knows_is_not_0(sample):
    with sample.reading() as reader:
        version = reader.value("SELECT min(version_name) FROM marts.runs")
        rows = reader.dicts("SELECT * FROM marts.energy_by_run WHERE version_name = ?", [version])
        found = energies.figures(reader, [row["run_id"] for row in rows])
        assert found["app_mah_per_h"] == pytest.approx(np.median([row["app_mah_per_h"] for row in rows]))
        assert found["total_mah_per_h"] == pytest.approx(np.median([row["total_mah_per_h"] for row in rows]))
        assert found["cpu_mah"] == pytest.approx(sum(row["total_mah"] for row in rows))
        assert energies.figures(reader, ["nobody"]) == {"runs": 0, "missing": 0, "rows": 0}
