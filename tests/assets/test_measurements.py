"""From run folder to core.measurements: startup times of the trace, and what run.json reports."""

from __future__ import annotations

from pathlib import Path

TRACES = Path(__file__).parents[1] / "data" / "android-traces"
TARGET = "androidx.benchmark.integration.macrobenchmark.target"
FOUND = """
SELECT metric, "value", unit, reason FROM marts.measurements WHERE subject_kind = 'run' AND subject_id = ?
ORDER BY metric
"""
CONFIG = {"device": "Pixel 6a / Android 12", "strategy": "macrobenchmark", "time_limit_s": 1, "action_interval_s": 1}


def test_startup_times_and_own_metrics_of_a_run_are_measurements(make_site, run_folder):
    site = make_site()
    folder = run_folder(
        "launched", trace=TRACES / "pixel6a_api32_startup_warm.perfetto-trace.gz", app=TARGET, config=CONFIG,
        exploration=..., path=[],
        metrics=[
            {"name": "db.query", "value": 12, "unit": "ms"}, {"name": "Db", "value": 1}, {"name": "fps", "value": "x"},
        ],
    )  # fmt: skip
    done, refused = site.ingest(folder)
    assert (done.failures, refused) == ([], [])
    found = {row["metric"]: row for row in site.rows(FOUND, ["launched"])}
    assert {name: row["value"] for name, row in found.items() if row["value"] is not None} == {
        "startup_initial_display_warm": 0.154636678, "startup_full_display_warm": 0.659648153, "db.query": 12.0
    }  # fmt: skip
    assert found["startup_initial_display_cold"]["reason"] == "the app had no cold launch"
    assert "metrics[1].name" in found["metrics[1]"]["reason"]
    assert "metrics[2].value" in found["fps"]["reason"]
    assert (found["db.query"]["unit"], found["startup_full_display_warm"]["unit"]) == ("ms", "s")
    page = (site.settings.reports_dir / "runs" / "launched.html").read_text()
    assert "Warm start to first frame" in page
    assert "0.155" in page


def test_a_run_whose_trace_is_not_whole_keeps_what_it_reports_itself(make_site, run_folder):
    site = make_site()
    site.ingest(run_folder("other-app", app="com.rig.absent", metrics=[{"name": "db.query", "value": 12}]))
    assert site.rows("SELECT state FROM marts.runs") == [{"state": "incomplete_trace"}]
    assert [(row["metric"], row["value"]) for row in site.rows(FOUND, ["other-app"])] == [("db.query", 12.0)]
