"""Results beside those of earlier versions: who is in a history, what is due, and the verdicts."""

from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
import pytest

from perfreg_assets.model import benchmarks as model
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.partitions import to_key
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse import verdicts as verdict_table
from perfreg_assets.warehouse.connection import Reader


def verdicts(warehouse, **where):
    condition = " AND ".join(f"{name} = ?" for name in where) or "true"
    with warehouse.reading() as reader:
        return reader.dicts(
            f"SELECT * FROM marts.benchmark_verdicts WHERE {condition} ORDER BY started_at, result_name",
            list(where.values()),
        )


def states(warehouse, **where):
    return [row["state"] for row in verdicts(warehouse, **where)]


def test_a_slower_version_is_anomalous_a_quicker_one_improved_and_the_first_ones_are_not_judged(
    history, warehouse, settings
):
    for version in range(1, 9):
        history.add(str(version), {"sort": 100.0, "search": 5.0})
    history.add("9", {"sort": 130.0, "search": 3.0})
    assert len(history.measure(settings)) == 9
    rows = verdicts(warehouse, version_name="9")
    assert {row["benchmark"]: row["state"] for row in rows} == {
        "com.x.Bench.sort": "anomalous",
        "com.x.Bench.search": "improved",
    }
    slow = next(row for row in rows if row["benchmark"] == "com.x.Bench.sort")
    assert slow["is_anomalous"]
    assert slow["history_size"] == 8
    with warehouse.reading() as reader:
        made_from = reader.rows(
            "SELECT input_hash, code_version FROM core.benchmark_judged WHERE benchmark_run_id = ?",
            [slow["benchmark_run_id"]],
        )
    assert [(slow["input_hash"], slow["code_version"])] == made_from
    assert slow["score_change_ratio"] == pytest.approx(0.3, abs=0.02)
    assert " µs, +3" in slow["explanation"]
    assert "8 comparable earlier results" in slow["explanation"]
    assert set(states(warehouse, version_name="5")) == {"not_enough_history"}
    assert set(states(warehouse, version_name="8")) == {"normal"}


def test_a_change_below_the_smallest_one_is_none_however_sure(history, warehouse, settings):
    for version in range(1, 9):
        history.add(str(version), {"sort": 100.0}, noise=0.0001)
    history.add("9", {"sort": 104.0}, noise=0.0001)
    history.add("10", {"sort": 107.0}, noise=0.0001)
    history.measure(settings)
    (small,), (large,) = verdicts(warehouse, version_name="9"), verdicts(warehouse, version_name="10")
    assert (small["state"], small["is_recheck_passed"]) == ("normal", False)
    assert small["distance"] > small["threshold"]
    assert "less than benchmark_change_minimum" in small["explanation"]
    assert large["state"] == "anomalous"
    with warehouse.writing() as writer:
        settings_table.change(writer, "benchmark_change_minimum", "0.01")
    history.measure(settings)
    assert states(warehouse, version_name="9") == ["anomalous"]


def test_histories_do_not_mix(history, warehouse, settings):
    for version in range(1, 7):
        history.add(str(version), {"sort": 100.0})
    others = [
        history.add("7", {"sort": 300.0}, device="another"),
        history.add("7", {"sort": 300.0}, variant="32"),
        history.add("7", {"sort": 300.0}, app="com.y"),
        history.add("7", {"merge": 300.0}),
    ]
    same_version = [history.add("8", {"sort": 300.0}, day=day) for day in (8, 9)]
    history.measure(settings)
    for run_id in others:
        (row,) = verdicts(warehouse, benchmark_run_id=run_id)
        assert (row["state"], row["history_size"]) == ("not_enough_history", 0)
    for run_id in same_version:  # the second is not measured by the first
        (row,) = verdicts(warehouse, benchmark_run_id=run_id)
        assert (row["state"], row["history_size"]) == ("anomalous", 6)


def test_what_is_inadequate_is_not_judged_and_in_no_history(history, warehouse, settings):
    for version in range(1, 7):
        history.add(str(version), {"sort": 100.0})
    rows = json.loads((history.folder / "r0.json").read_text())
    rows[0]["primaryMetric"]["rawData"] = [(np.linspace(2, 1, 9) * 100).tolist()] * 3
    write = history.write
    history.write = lambda levels, **more: (path := write(levels, **more), path.write_text(json.dumps(rows)))[0]
    late = history.add("7", {"sort": 100.0})
    history.write = write
    history.add("8", {"sort": 100.0})
    history.measure(settings)
    (row,) = verdicts(warehouse, benchmark_run_id=late)
    assert row["state"] == "inadequate"
    assert "not_warm" in row["explanation"]
    assert verdicts(warehouse, version_name="8")[0]["history_size"] == 6


def test_nothing_is_due_after_it_was_measured_and_an_older_one_makes_only_later_ones_due(history, warehouse, settings):
    ids = [history.add(str(version), {"sort": 100.0}) for version in range(1, 9) if version != 4]
    assert set(history.measure(settings)) == set(ids)
    assert history.measure(settings) == []
    elsewhere = history.add("4", {"sort": 100.0}, device="another")
    assert history.measure(settings) == [elsewhere]
    late = history.add("4", {"sort": 100.0})
    assert set(history.measure(settings)) == {late, *ids[3:]}
    with warehouse.reading() as reader:
        assert model.due(reader, settings) == []
        assert model.due(reader, settings.with_values(history_size=7))


def test_reviews_decide_who_is_in_a_history(history, warehouse, settings):
    for version in range(1, 7):
        history.add(str(version), {"sort": 100.0})
    bad = history.add("7", {"sort": 140.0})
    history.add("8", {"sort": 100.0})
    history.measure(settings)
    assert verdicts(warehouse, version_name="8")[0]["history_size"] == 7
    with warehouse.writing() as writer:
        table.review(writer, bad, "confirmed", note="a lock", reviewer="me")
    history.measure(settings)
    assert verdicts(warehouse, version_name="8")[0]["history_size"] == 6
    with warehouse.writing() as writer:
        table.review(writer, bad, "accepted", note=None, reviewer=None)
    history.measure(settings)
    assert verdicts(warehouse, version_name="8")[0]["history_size"] == 1
    with warehouse.writing() as writer, pytest.raises(Rejected) as caught:
        table.review(writer, "b-none", "confirmed", note=None, reviewer=None)
    assert caught.value.reason is Reason.BENCHMARK_UNKNOWN


def test_verdicts_follow_omega_and_detector_without_measuring_again(history, warehouse, settings):
    for version in range(1, 9):
        history.add(str(version), {"sort": 100.0})
    history.add("9", {"sort": 112.0})
    history.measure(settings)
    with warehouse.reading() as reader:
        at = {omega: reader.value("SELECT state FROM marts.benchmark_verdicts_at(?) WHERE version_name = '9'",
                                  [omega]) for omega in (0.0, 90.0)}  # fmt: skip
    assert at == {0.0: "anomalous", 90.0: "normal"}
    with warehouse.writing() as writer:
        verdict_table.make_current(writer, omega=90.0, detector="iqr", note=None)
    (row,) = verdicts(warehouse, version_name="9")
    assert (row["detector"], row["omega"], row["state"]) == ("iqr", 90.0, "normal")
    assert history.measure(settings) == []


def slow_history(entries, place, size):
    """The obvious way: entries (day, version, value), the judged one's place."""
    day, version, _ = entries[place]
    earlier = [one for one in entries if one[0] < day and one[1] != version]
    return [value for _, _, value in sorted(earlier, reverse=True)[:size]]


def test_histories_are_the_latest_of_other_versions(history, warehouse, settings):
    random = np.random.default_rng(7)
    entries = [(day, str(random.integers(1, 6)), float(level)) for day, level in enumerate(random.uniform(90, 110, 25))]
    ids = [history.add(version, {"sort": level}, day=day, noise=0.001) for day, version, level in entries]
    history.measure(settings)
    with warehouse.reading() as reader:
        scores = dict(reader.rows("SELECT benchmark_run_id, score FROM marts.benchmark_results"))
    exact = [(day, version, scores[run_id]) for (day, version, _), run_id in zip(entries, ids, strict=True)]
    for place, run_id in enumerate(ids):
        (row,) = verdicts(warehouse, benchmark_run_id=run_id)
        expected = slow_history(exact, place, settings.history_size)
        assert row["history_size"] == len(expected)
        if row["state"] != "not_enough_history":
            assert row["earlier_median"] == pytest.approx(np.median(expected))
            assert (row["earlier_low"], row["earlier_high"]) == pytest.approx((min(expected), max(expected)))


def test_a_history_of_the_same_noise_alarms_as_seldom_as_it_says(history, warehouse, settings):
    """40 benchmarks of 20 versions without a change, 8 to 12 earlier ones each; nominal .046 at ω = .75."""
    levels = {f"t{number}": 100.0 for number in range(40)}
    for version in range(1, 21):
        shift = history.random.normal(0, 0.02, len(levels))
        history.add(
            str(version),
            {name: level * float(np.exp(d)) for (name, level), d in zip(levels.items(), shift, strict=True)},
        )
    history.measure(settings)
    with warehouse.reading() as reader:
        alarms, judged = reader.rows(
            "SELECT count(*) FILTER (distance > threshold), count(*) FROM marts.benchmark_verdicts "
            "WHERE history_size >= 8"
        )[0]
    assert judged == 40 * 12
    assert 0.02 <= alarms / judged <= 0.075


def test_trends_comparisons_iterations_and_warnings_are_there_for_sql(history, warehouse, settings):
    for version in range(1, 8):
        history.add(str(version), {"sort": 100.0}, launches=2)
    history.measure(settings)
    with warehouse.reading() as reader:
        assert reader.value("SELECT count(*) FROM marts.benchmark_iterations") == 7 * 2 * 9
        (trend,) = reader.dicts("SELECT * FROM marts.benchmark_trends WHERE version_name = '7'")
        (row,) = reader.dicts("SELECT * FROM marts.benchmark_comparison('1', '7')")
        caveats = reader.rows("SELECT DISTINCT warning_code, sentence FROM marts.benchmark_warnings")
        runs = reader.value("SELECT count(*) FROM marts.benchmark_runs")
        polarity = reader.value("SELECT any_value(polarity) FROM marts.benchmark_results")
    assert (trend["result_count"], trend["unit"], trend["anomalous_count"]) == (1, "ns", 0)
    assert trend["earlier_low"] <= trend["earlier_median"] <= trend["earlier_high"]
    assert row["score_beside"] == pytest.approx(row["score_b"] / row["score_a"])
    assert caveats == [(Reason.FEW_LAUNCHES.code, Reason.FEW_LAUNCHES.sentence)]
    assert (runs, polarity) == (7, "LOWER_IS_BETTER")


def test_moments_are_kept(history, warehouse):
    run_id = history.add("1", {"sort": 1.0}, day=3)
    history.store()
    with warehouse.reading() as reader:
        at = reader.value("SELECT started_at FROM marts.benchmark_runs WHERE benchmark_run_id = ?", [run_id])
    assert at - timedelta(days=3) == at.replace(month=1, day=1)


def test_what_is_due_of_a_version_is_looked_for_among_its_family_only(history, warehouse, settings):
    for version in range(1, 4):
        history.add(str(version), {"sort": 100.0})
    history.add("3", {"sort": 100.0}, device="another")
    history.add("4", {"sort": 100.0}, app="com.y")
    history.store()
    mine, both = to_key("com.x", "2"), to_key("com.x", "3")
    with warehouse.reading() as reader:
        everyone = table.standings(reader)
        assert [one for one in everyone if one.app == "com.x" and one.device == "d"] == table.standings(reader, [mine])
        assert [one for one in everyone if one.app == "com.x"] == table.standings(reader, [both])
        assert table.standings(reader, [to_key("com.z", "1")]) == []
        assert [one.partition_key for one in model.due(reader, settings, [mine])] == [mine]
    assert len(model.measure_due(warehouse, settings, Stopwatch(), [mine])) == 1
    with warehouse.reading() as reader:
        assert table.states(reader, [mine, both, "com.z|1"]) == {
            mine: {"not_enough_history": 1},
            both: {},
            "com.z|1": {},
        }


def test_a_version_without_benchmarks_costs_one_look(history, warehouse, settings, monkeypatch):
    history.add("1", {"sort": 100.0})
    history.store()
    asked = []
    rows = Reader.rows
    monkeypatch.setattr(Reader, "rows", lambda self, *given: asked.append(given) or rows(self, *given))
    assert model.measure_due(warehouse, settings, Stopwatch(), [to_key("com.x", "9")]) == []
    with warehouse.reading() as reader:
        table.states(reader, [to_key("com.x", "9")])
    assert len(asked) == 2
    assert not any("marts." in sql for sql, *_ in asked)


def test_a_benchmark_that_is_measured_seldom_is_compared_with_all_of_it(history, warehouse, settings):
    """However far back its results lie: what is read are the runs just before, and of such a one all."""
    for version in range(1, 61):
        history.add(str(version), {"often": 100.0} | ({"seldom": 5.0} if version % 6 == 1 else {}))
    history.measure(settings)
    history.add("61", {"often": 100.0, "seldom": 9.0, "new": 1.0})
    assert len(history.measure(settings)) == 1
    rows = {row["benchmark"].rpartition(".")[2]: row for row in verdicts(warehouse, version_name="61")}
    assert {name: (row["history_size"], row["state"]) for name, row in rows.items()} == {
        "often": (12, "normal"),
        "seldom": (10, "anomalous"),
        "new": (0, "not_enough_history"),
    }


def test_what_is_measured_later_is_what_is_measured_at_once(history, warehouse, settings):
    random = np.random.default_rng(1)
    for version in range(1, 41):
        names = [name for name in "abcd" if random.random() < {"a": 1, "b": 0.5, "c": 0.2, "d": 0.05}[name]]
        history.add(str(version), dict.fromkeys(["a", *names], 100.0))
        if version % 7 == 0:
            history.measure(settings)
    history.measure(settings)
    columns = "version_name, result_name, state, history_size, distance, earlier_median"
    query = f"SELECT {columns} FROM marts.benchmark_verdicts ORDER BY ALL"
    with warehouse.reading() as reader:
        stepwise = reader.rows(query)
    with warehouse.writing() as writer:
        writer.execute("DELETE FROM core.benchmark_judged")
    assert len(history.measure(settings)) == 40
    with warehouse.reading() as reader:
        assert reader.rows(query) == stepwise
