"""The chain on real recorded runs: what comes out, what is not computed twice, and what bad input does not break."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
from pathlib import Path

import dagster as dg
import numpy as np
import pytest

from perfreg_assets.assets import checks
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.partitions import DIMENSION, to_key
from perfreg_assets.reasons import Reason
from perfreg_assets.reports import wording
from perfreg_assets.warehouse import barycenters as barycenter_table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import verdicts as verdict_table

BAD_TRACES = Path(__file__).parents[1] / "data" / "bad-traces"
JUDGED = {"anomalous", "normal", "improved"}


def materialisations(site, asset: str) -> dict[str, int]:
    """Partition → how often the asset was materialised."""
    with dg.DagsterInstance.from_config(str(site.settings.dagster_home)) as instance:
        records = instance.fetch_materializations(dg.AssetKey(asset), limit=1000).records
    counts: dict[str, int] = {}
    for record in records:
        counts[record.partition_key] = counts.get(record.partition_key, 0) + 1
    return counts


# ---- what comes out ------------------------------------------------------------------------------
def test_every_recorded_run_is_complete_and_has_a_verdict_or_says_why_not(recorded):
    rows = recorded.rows("SELECT run_id, state, reason_code, run_verdict FROM marts.runs ORDER BY run_id")
    assert [row["run_id"] for row in rows] == sorted(path.name for path in demo_runs_dir().iterdir())
    assert {row["state"] for row in rows} == {"complete"}
    judged = {row["run_id"] for row in rows if row["run_verdict"] in JUDGED}
    by_path = recorded.rows("SELECT run_id FROM marts.history_states WHERE state = 'ready'")
    assert {row["run_id"] for row in by_path} == {"notes-020", "notes-021", "notes-026", "notes-031"}
    any_path = recorded.rows("SELECT run_id FROM marts.history_states WHERE way = 'any_path'")
    assert {row["run_id"] for row in any_path} == {"notes-011", "notes-029"}
    assert judged == {row["run_id"] for row in (*by_path, *any_path)}
    assert {row["run_verdict"] for row in rows if row["run_id"] not in judged} == {"not_enough_history"}


def test_the_history_is_what_a_plain_reading_of_the_rules_selects(recorded):
    documents = {path.name: json.loads((path / "run.json").read_text()) for path in demo_runs_dir().iterdir()}
    new = documents["notes-026"]
    hashes = {name: [step["state_hash"] for step in one["path"]] for name, one in documents.items()}
    expected = {
        name: difflib.SequenceMatcher(None, hashes[name], hashes["notes-026"], autojunk=False).ratio()
        for name, one in documents.items()
        if one["version_name"] != new["version_name"]
        and one["config"] == new["config"]
        and one["functional_problems"] == []
        and one["started_at"] < new["started_at"]
    }
    expected = {name: ratio for name, ratio in expected.items() if ratio >= 0.8}
    got = recorded.rows(
        "SELECT history_run_id, similarity_ratio, history_rank FROM marts.history_sets "
        "WHERE run_id = 'notes-026' ORDER BY history_rank"
    )
    assert {row["history_run_id"]: row["similarity_ratio"] for row in got} == expected
    starts = [documents[row["history_run_id"]]["started_at"] for row in got]
    assert starts == sorted(starts, reverse=True)


def test_iqr_verdicts_equal_a_plain_numpy_reading_of_the_rule(recorded):
    rows = recorded.rows(
        "SELECT run_id, series, distance, q1, q3, history_distances FROM marts.distances "
        "WHERE detector = 'iqr' AND state = 'scored' AND series <> '*'"
    )
    assert len(rows) == 12
    for row in rows:
        q1, q3 = np.quantile(row["history_distances"], [0.25, 0.75])
        assert (row["q1"], row["q3"]) == (pytest.approx(q1), pytest.approx(q3))
    at = {
        (row["run_id"], row["series"]): row
        for row in recorded.rows(
            "SELECT * FROM marts.verdicts_at(0.5, detector := 'iqr') WHERE series <> '*' AND is_latest"
        )
    }
    for row in rows:
        got = at[row["run_id"], row["series"]]
        assert got["threshold"] == pytest.approx(row["q3"] + 0.5 * (row["q3"] - row["q1"]))
        if row["series"] != "rss_app":  # memory has a second check, which can take an alarm away
            assert got["is_anomalous"] == (row["distance"] > got["threshold"])


def test_a_run_is_anomalous_exactly_when_a_series_is(recorded):
    for detector in ("default", "iqr"):
        for omega in (0.0, 0.5, 1.0, 1.5, 3.0):
            rows = recorded.rows(
                "SELECT run_id, bool_or(is_anomalous) FILTER (series <> '*') AS any_series, "
                "bool_or(is_anomalous) FILTER (series = '*') AS run FROM marts.verdicts_at($omega, $detector) "
                "WHERE is_latest AND is_anomalous IS NOT NULL GROUP BY run_id",
                {"omega": omega, "detector": detector},
            )
            assert rows
            assert all(row["any_series"] == row["run"] for row in rows), (detector, omega)


def test_every_sample_has_its_trace_time(recorded):
    rows = recorded.rows(
        "SELECT min(trace_ts_ns) AS first, max(trace_ts_ns) AS last, count(*) AS n FROM marts.time_series "
        "WHERE run_id = 'notes-020' AND series = 'cpu_app'"
    )
    start = json.loads((demo_runs_dir() / "notes-020" / "run.json").read_text())["exploration"]["start_ns"]
    assert rows[0]["first"] == start
    assert rows[0]["last"] == start + (rows[0]["n"] - 1) * 1_000_000_000


def test_pages_exist_for_every_run_and_name_it(recorded):
    for path in demo_runs_dir().iterdir():
        page = recorded.settings.reports_dir / "runs" / f"{path.name}.html"
        assert path.name in page.read_text()
    assert "com.rig.notes" in (recorded.settings.reports_dir / "index.html").read_text()


def test_each_asset_was_materialised_once_per_version(recorded):
    keys = {to_key("com.rig.notes", "1.4.0"): 1, to_key("com.rig.notes", "1.5.0"): 1}
    for asset in ("runs", "traces", "time_series", "history_sets", "barycenters", "distances", "verdicts", "reports"):
        assert materialisations(recorded, asset) == keys, asset


def _metadata(recorded, asset):
    with dg.DagsterInstance.from_config(str(recorded.settings.dagster_home)) as instance:
        (record,) = instance.fetch_materializations(
            dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=[to_key("com.rig.notes", "1.5.0")]), limit=1
        ).records
    return record.asset_materialization.metadata


def test_metadata_shows_numbers_pictures_and_columns(recorded):
    metadata, windows = (_metadata(recorded, asset) for asset in ("verdicts", "discords"))
    assert "preview" not in metadata, "drawn once a job, where the windows are known"
    assert "data:image/svg+xml;base64," in windows["preview"].value
    assert metadata["runs"].value == 6
    assert metadata["judged_runs"].value == 6
    header, _, *lines = metadata["axes"].value.splitlines()
    assert header == "| Run | Verdict | CPU | Memory |"
    verdicts = {
        row["run_id"]: row["run_verdict"] for row in recorded.rows("SELECT run_id, run_verdict FROM marts.runs")
    }
    assert len(lines) == 6
    for line in lines:
        run_id, verdict, *states = (cell.strip() for cell in line.strip("|").split("|"))
        assert wording.STATE_LABELS[verdicts[run_id]] in verdict
        assert ("Anomalous" in verdict) == any("Anomalous" in state for state in states)


@pytest.mark.parametrize(
    "asset", ["runs", "time_series", "thread_times", "history_sets", "distances", "discords", "causes"]
)
def test_the_rows_that_dagster_counts_are_those_of_the_mart_it_names(recorded, asset):
    """Beside the name of marts.time_series stood how many series there are, and not how many samples."""
    (row,) = recorded.rows(f"SELECT count(*) AS rows FROM marts.{asset} WHERE version_name = '1.5.0'")
    assert _metadata(recorded, asset)["dagster/partition_row_count"].value == row["rows"]


def test_metadata_names_the_history_and_what_was_explored(recorded):
    history, runs = (_metadata(recorded, asset) for asset in ("history_sets", "runs"))
    members = {
        row["history_run_id"]
        for row in recorded.rows("SELECT DISTINCT history_run_id FROM marts.history_sets WHERE version_name = '1.5.0'")
    }
    assert members
    assert history["history_runs"].value == len(members)
    assert all(f"/runs/{run_id}.html)" in history["history"].value for run_id in members)
    assert "(/assets/verdicts?view=partitions&partition=com.rig.notes%401.4.0)" in history["history"].value
    (explored,) = recorded.rows(
        "SELECT avg(explored_state_count) AS states, avg(step_count) AS steps FROM marts.runs "
        "WHERE version_name = '1.5.0'"
    )
    assert runs["explored_states_per_run"].value == pytest.approx(explored["states"])
    assert runs["steps_per_run"].value == pytest.approx(explored["steps"])


# ---- what is not computed twice ------------------------------------------------------------------
@pytest.fixture(scope="module")
def few_in(tmp_path_factory, make_site):
    """A project with six runs of a version and one of the next."""
    site, inbox = make_site(), tmp_path_factory.mktemp("few")
    for name in ("notes-000", "notes-001", "notes-003", "notes-010", "notes-015", "notes-019", "notes-021"):
        shutil.copytree(demo_runs_dir() / name, inbox / name)
    done, _ = site.ingest(inbox)
    assert done is not None
    assert done.failures == []
    return site


@pytest.fixture
def few(few_in, copy_of):
    """One to change."""
    return copy_of(few_in)


def test_another_run_of_a_version_is_judged_and_nothing_old_is_computed_again(few):
    site = few
    checked = {
        row["run_id"]: row["engine_seconds"] for row in site.rows("SELECT run_id, engine_seconds FROM marts.runs")
    }
    averaged = {row["barycenter_id"] for row in site.rows("SELECT barycenter_id FROM marts.barycenters")}
    assert averaged
    done, _ = site.ingest(demo_runs_dir() / "notes-026")
    assert done is not None
    assert done.failures == []
    verdicts = {row["run_id"]: row["run_verdict"] for row in site.rows("SELECT run_id, run_verdict FROM marts.runs")}
    assert verdicts["notes-026"] in JUDGED
    again = {row["run_id"]: row["engine_seconds"] for row in site.rows("SELECT run_id, engine_seconds FROM marts.runs")}
    assert {run_id: again[run_id] for run_id in checked} == checked  # no trace was opened a second time
    with site.warehouse.reading() as reader:
        known = barycenter_table.find(reader, averaged)
    assert set(known) == averaged
    assert materialisations(site, "history_sets") == {
        to_key("com.rig.notes", "1.4.0"): 1,
        to_key("com.rig.notes", "1.5.0"): 2,
    }


def test_another_history_size_measures_again_what_depends_on_it_and_nothing_else(few, monkeypatch):
    site = few
    traces = site.rows("SELECT run_id, engine_seconds FROM marts.runs ORDER BY run_id")
    before = site.rows("SELECT run_id, series, detector, k, parameters_hash FROM marts.distances ORDER BY ALL")
    history = site.rows(
        "SELECT history_run_id FROM marts.history_sets WHERE run_id = 'notes-021' ORDER BY history_rank"
    )
    assert len(history) == 6
    monkeypatch.setenv("PERFREG_HISTORY_SIZE", "5")
    done, _ = site.ingest(*(demo_runs_dir() / name for name in ("notes-000", "notes-021")))  # both versions
    assert done is not None
    assert done.failures == []
    assert site.rows("SELECT run_id, engine_seconds FROM marts.runs ORDER BY run_id") == traces
    assert (
        site.rows("SELECT history_run_id FROM marts.history_sets WHERE run_id = 'notes-021' ORDER BY history_rank")
        == history[:5]
    )
    after = site.rows("SELECT run_id, series, detector, k, parameters_hash FROM marts.distances ORDER BY ALL")
    assert [row for row in after if row["k"] == 12] == before  # what was measured with k = 12 stays
    assert len([row for row in after if row["k"] == 5]) == len(before)
    current = site.rows("SELECT run_id, series, k FROM marts.verdicts WHERE is_current")
    assert {row["k"] for row in current} == {5}
    assert len(current) == len({(row["run_id"], row["series"]) for row in current}) == 7 * 4


def test_an_omega_backfill_keeps_old_verdicts_and_measures_nothing(recorded):
    distances = recorded.rows("SELECT run_id, series, detector, measured_at FROM marts.distances ORDER BY ALL")
    with recorded.warehouse.writing() as writer:
        old = writer.value("SELECT count(*) FROM core.verdicts")
        verdict_table.evaluate(writer, 0.25, "iqr")
    with recorded.warehouse.reading() as reader:
        assert reader.value("SELECT count(*) FROM core.verdicts WHERE omega <> 0.25") == old
        assert reader.value("SELECT count(*) FROM core.verdicts WHERE omega = 0.25") == 68
    assert recorded.rows("SELECT run_id, series, detector, measured_at FROM marts.distances ORDER BY ALL") == distances


# ---- bad input -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def bad(make_site, tmp_path_factory):
    """Every bad trace in a run folder of its own, malformed run.json files, and one good run, in one batch."""
    site = make_site()
    inbox = tmp_path_factory.mktemp("bad")
    good = json.loads((demo_runs_dir() / "notes-020" / "run.json").read_text())
    for trace in sorted(BAD_TRACES.iterdir()):
        folder = inbox / trace.name.replace(".", "-")
        folder.mkdir()
        shutil.copyfile(trace, folder / trace.name)
        document = {**good, "run_id": folder.name, "trace": trace.name}
        del document["trace_bytes"], document["trace_sha256"]
        (folder / "run.json").write_text(json.dumps(document))
    for name, text in {"not-json": "{", "no-app": json.dumps({**good, "run_id": "no-app", "app": None})}.items():
        shutil.copytree(demo_runs_dir() / "notes-020", inbox / name)
        (inbox / name / "run.json").write_text(text)
    shutil.copytree(demo_runs_dir() / "notes-000", inbox / "zz-good")
    done, refused = site.ingest(inbox)
    assert done is not None
    assert done.failures == []
    return site, refused


def test_each_bad_trace_ends_with_a_reason_and_never_with_a_verdict(bad):
    site, _ = bad
    rows = {row["run_id"]: row for row in site.rows("SELECT * FROM marts.runs")}
    for trace in BAD_TRACES.iterdir():
        row = rows[trace.name.replace(".", "-")]
        assert row["state"] in ("quarantined", "incomplete_trace"), row
        assert row["reason_code"] in {reason.code for reason in Reason}
        assert row["reason"].endswith(".")
        assert row["run_verdict"] in (None, "incomplete_trace")
        if trace.name != "bad_gz_ok.pftrace":  # whole, but recorded on something else than the app
            assert row["state"] == "quarantined", row


def test_the_rest_of_a_bad_batch_goes_on(bad):
    site, refused = bad
    assert site.rows("SELECT state FROM marts.runs WHERE run_id = 'notes-000'") == [{"state": "complete"}]
    assert {outcome.folder.name for outcome in refused} >= {"not-json", "no-app"}
    assert {outcome.rejected.reason for outcome in refused if outcome.folder.name == "no-app"} == {Reason.KEY_MISSING}


def test_a_quarantined_folder_that_is_mended_becomes_a_run(make_site, run_folder):
    site = make_site()
    folder = run_folder("mended", started_at="yesterday")
    _, refused = site.ingest(folder)
    assert [outcome.rejected.reason for outcome in refused] == [Reason.WRONG_TYPE]
    assert site.rows("SELECT run_id, state FROM marts.runs") == [{"run_id": "mended", "state": "quarantined"}]
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, "started_at": "2026-11-20T10:01:52Z"}))
    site.ingest(folder)
    assert site.rows("SELECT run_id, state FROM marts.runs") == [{"run_id": "mended", "state": "complete"}]


def test_a_run_that_named_the_wrong_app_is_corrected_by_giving_it_again(make_site, run_folder):
    """It was a circle: another content under its id was refused, and under another id it was a trace given twice."""
    site = make_site()
    folder = run_folder("notes-000", app="com.rig.note")
    site.ingest(folder)
    (first,) = site.rows("SELECT app, state, reason FROM marts.runs")
    assert (first["app"], first["state"]) == ("com.rig.note", "incomplete_trace")
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, "app": "com.rig.notes"}))
    site.ingest(folder)
    assert site.rows("SELECT run_id, app, state FROM marts.runs") == [
        {"run_id": "notes-000", "app": "com.rig.notes", "state": "complete"}
    ]
    assert site.rows("SELECT DISTINCT app FROM marts.app_versions") == [{"app": "com.rig.notes"}]
    assert [page.name.partition("@")[0] for page in (site.settings.reports_dir / "versions").glob("*.html")] == [
        "com.rig.notes"
    ]
    assert not re.search(r"com\.rig\.note\b", (site.settings.reports_dir / "index.html").read_text())
    assert site.rows("SELECT state FROM marts.run_verdicts WHERE is_current") == [{"state": "not_enough_history"}]
    # Now that it is whole, it is what it is.
    (folder / "run.json").write_text(json.dumps({**document, "app": "com.rig.note"}))
    site.ingest(folder)
    told = site.rows("SELECT app, state, reason_code FROM marts.runs ORDER BY state")
    assert told[0] == {"app": "com.rig.notes", "state": "complete", "reason_code": None}
    assert told[1]["reason_code"] == Reason.RUN_ID_CONFLICT.code


def test_a_judged_run_is_corrected_once_it_is_excluded_and_its_version_is_no_partition_any_more(make_site, run_folder):
    """It stayed a partition of which its last materialisation said "runs: 1"; its history is kept."""
    site = make_site()
    folder, mistaken = run_folder("notes-000", version_name="1.5.0"), "com.rig.notes@1.5.0"
    site.ingest(folder)
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, "version_name": "1.6.0"}))
    site.ingest(folder)
    (conflict,) = site.rows("SELECT reason_code, reason FROM marts.runs WHERE state = 'quarantined'")
    assert (conflict["reason_code"], "perfreg exclude notes-000" in conflict["reason"]) == ("run_id_conflict", True)
    with site.warehouse.writing() as writer:
        run_table.exclude(writer, "notes-000", "of another version")
    site.ingest(folder)
    assert site.rows("SELECT run_id, version_name, state FROM marts.runs WHERE state <> 'quarantined'") == [
        {"run_id": "notes-000", "version_name": "1.6.0", "state": "complete"}
    ]
    assert site.rows("SELECT DISTINCT version_name FROM marts.version_verdicts WHERE is_current") == [
        {"version_name": "1.6.0"}
    ]
    pages = [page.name for page in (site.settings.reports_dir / "versions").glob("*.html")]
    assert ["1.6.0" in page for page in pages] == [True], pages
    assert "1.5.0" not in site.page("notes-000")
    excluded = "SELECT is_excluded, exclude_reason FROM marts.runs WHERE run_id = 'notes-000'"
    assert site.rows(excluded) == [{"is_excluded": True, "exclude_reason": "of another version"}]
    assert site.rows("SELECT version_name, state FROM marts.run_verdicts WHERE is_current") == [
        {"version_name": "1.6.0", "state": "not_enough_history"}
    ]
    with dg.DagsterInstance.from_config(str(site.settings.dagster_home)) as instance:
        assert instance.get_dynamic_partitions(DIMENSION) == ["com.rig.notes@1.6.0"]
        assert told_runs(instance, mistaken) == [1, 0]
        assert told_runs(instance, mistaken, asset="verdicts") == [1, 0]
        assert counts_left(instance, mistaken) == {}
        assert checks_of_earlier_states(instance) == []
    correct_version(site, folder, "1.5.0")  # it is back
    with dg.DagsterInstance.from_config(str(site.settings.dagster_home)) as instance:
        assert instance.get_dynamic_partitions(DIMENSION) == [mistaken]
        assert told_runs(instance, mistaken) == [1, 0, 1]
        assert told_runs(instance, "com.rig.notes@1.6.0") == [0, 1, 0], "0 while it was refused"


def test_a_version_of_which_a_refused_folder_is_left_stays_and_says_that_it_has_no_run(make_site, run_folder):
    site = make_site()
    folder, mistaken = run_folder("notes-000", version_name="1.5.0"), "com.rig.notes@1.5.0"
    broken = run_folder("broken", source="notes-001", version_name="1.5.0")
    next(broken.glob("*trace*")).write_bytes(b"<html>not found</html>")
    site.ingest(folder, broken)
    correct_version(site, folder, "1.6.0")
    with dg.DagsterInstance.from_config(str(site.settings.dagster_home)) as instance:
        assert instance.get_dynamic_partitions(DIMENSION) == [mistaken, "com.rig.notes@1.6.0"]
        assert told_runs(instance, mistaken) == [1, 0]


def counts_left(instance, key):
    """Assets of runs whose latest materialisation of a partition counts anything, and what."""
    found = {}
    for asset in instance.all_asset_keys():
        wanted = dg.AssetRecordsFilter(asset_key=asset, asset_partitions=[key])
        for record in instance.fetch_materializations(wanted, limit=1).records:
            told = record.asset_materialization.metadata
            counts = {name: value.value for name, value in told.items() if isinstance(value, dg.IntMetadataValue)}
            found |= {asset.to_user_string(): counts} if any(counts.values()) else {}
    return found


def checks_of_earlier_states(instance):
    """Checks that Dagster shows as not evaluated: what was told of their asset last is of another run, or of none."""
    keys = [
        dg.AssetCheckKey(dg.AssetKey(asset), check.__name__)
        for asset, its_checks in checks.OF_ASSET.items()
        for check in its_checks
    ]
    found = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    latest = {key: instance.get_latest_materialization_event(key.asset_key).run_id for key in keys}
    return [key for key in keys if found[key].run_id != latest[key]]


def correct_version(site, folder, version_name):
    """Gives a run once more as one of another version, for which it has to be excluded."""
    document = json.loads((folder / "run.json").read_text())
    with site.warehouse.writing() as writer:
        run_table.exclude(writer, document["run_id"], "of another version")
    (folder / "run.json").write_text(json.dumps({**document, "version_name": version_name}))
    site.ingest(folder)


def told_runs(instance, key, asset="runs"):
    """What was told of a partition, the first first."""
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey(asset), asset_partitions=[key])
    records = instance.fetch_materializations(wanted, limit=100, ascending=True).records
    return [record.asset_materialization.metadata["runs"].value for record in records]


def test_a_trace_that_an_engine_could_not_read_is_read_when_its_folder_is_given_again_and_one_that_was_read_is_not(
    make_site, monkeypatch
):
    """With more slices, time or memory, as its reason advises; it stayed unread, as the file is the same."""
    site = make_site()
    monkeypatch.setenv("PERFREG_SCHED_SLICES_MAX", "1000")
    site.ingest(demo_runs_dir() / "notes-020")
    told = "SELECT runs.state, runs.reason_code, checked_at FROM marts.runs JOIN core.traces USING (run_id)"
    (before,) = site.rows(told)
    assert (before["state"], before["reason_code"]) == ("incomplete_trace", Reason.TRACE_TOO_DENSE.code)
    monkeypatch.delenv("PERFREG_SCHED_SLICES_MAX")
    site.ingest(demo_runs_dir() / "notes-020")
    (after,) = site.rows(told)
    assert (after["state"], after["reason_code"]) == ("complete", None)
    rows = site.rows("SELECT * EXCLUDE (run_verdict) FROM marts.runs")
    site.ingest(demo_runs_dir() / "notes-020")
    assert site.rows(told) == [after]  # and not once more
    assert site.rows("SELECT * EXCLUDE (run_verdict) FROM marts.runs") == rows  # it is one run


def test_another_content_under_a_known_id_is_refused_and_the_first_run_stays_even_an_excluded_one(
    make_site, run_folder, tmp_path
):
    site = make_site()
    site.ingest(demo_runs_dir() / "notes-020")
    impostor = run_folder("notes-020", source="notes-021")
    site.ingest(impostor)
    rows = site.rows("SELECT run_id, state, reason_code FROM marts.runs ORDER BY state")
    assert rows[0] == {"run_id": "notes-020", "state": "complete", "reason_code": None}
    assert [row["reason_code"] for row in rows[1:]] == [Reason.RUN_ID_CONFLICT.code]
    with site.warehouse.writing() as writer:
        run_table.exclude(writer, "notes-020", "the device was charging")
    impostor.rename(tmp_path / "first")
    site.ingest(run_folder("notes-020", source="notes-026"))
    rows = site.rows("SELECT run_id, reason_code FROM marts.runs ORDER BY state")
    assert rows[0] == {"run_id": "notes-020", "reason_code": None}
    assert [row["reason_code"] for row in rows[1:]] == [Reason.RUN_ID_CONFLICT.code] * 2


NAUGHTY = [
    "'; DROP TABLE core.runs; --",
    "a\"b'c",
    "новый\n版本",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "x...y,z|w",
]


def test_naughty_version_names_go_through_unchanged(make_site, run_folder):
    site = make_site()
    of_runs = {f"naughty-{number}": name for number, name in enumerate(NAUGHTY)}
    done, _ = site.ingest(*(run_folder(run_id, version_name=name) for run_id, name in of_runs.items()))
    assert done is not None
    assert done.failures == []
    rows = site.rows("SELECT run_id, version_name, state FROM marts.runs")
    assert {row["run_id"]: row["version_name"] for row in rows} == of_runs
    assert {row["state"] for row in rows} == {"complete"}
    for run_id in of_runs:
        page = (site.settings.reports_dir / "runs" / f"{run_id}.html").read_text()
        assert "<script>alert(1)</script>" not in page


def test_unknown_functional_problems_keep_a_run_out_of_histories(make_site, tmp_path):
    site = make_site()
    for name in ("notes-000", "notes-001", "notes-003", "notes-010", "notes-019", "notes-026"):
        shutil.copytree(demo_runs_dir() / name, tmp_path / "in" / name)
    unknown = tmp_path / "in" / "notes-019" / "run.json"
    document = json.loads(unknown.read_text())
    del document["functional_problems"]
    unknown.write_text(json.dumps(document))
    site.ingest(tmp_path / "in")
    (row,) = site.rows(
        "SELECT state, history_size, excluded_counts FROM marts.history_states WHERE run_id = 'notes-026'"
    )
    assert (row["state"], row["history_size"]) == ("not_enough_history", 4)
    assert json.loads(row["excluded_counts"])["functional_problems_unknown"] == 1


def test_the_given_folder_may_be_changed_and_deleted_afterwards(make_site, run_folder):
    site = make_site()
    folder = run_folder("gone")
    site.ingest(folder)
    stored = site.settings.runs_dir / "gone"
    registered = (stored / "run.json").read_text()
    with (folder / "run.json").open("r+") as edited:
        edited.write("changed in place")
    assert (stored / "run.json").read_text() == registered
    shutil.rmtree(folder)
    assert sorted(os.listdir(stored)) == ["run.json", "trace.perfetto-trace.gz"]
