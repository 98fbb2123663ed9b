"""The notification sensor: each new regression once, to a webhook on loopback; off unless one is named."""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner

from perfreg_assets.assets.project import Project
from perfreg_assets.automation.notifying import new_regressions
from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.cli import main
from perfreg_assets.model import benchmarks
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.reports import benchmark_site
from perfreg_assets.reports import pending as waiting
from perfreg_assets.reports.notify import build_message
from perfreg_assets.reports.pending import pending
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as benchmark_table
from perfreg_assets.warehouse import notifications
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parents[1] / "warehouse"))

import sample_warehouse


@pytest.fixture
def webhook():
    """(address, messages received); answers 200, and 410 below /gone."""
    messages = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):  # the library's name
            messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(410 if self.path == "/gone" else 200)
            self.end_headers()

        def log_message(self, *_):
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", messages
    server.shutdown()


@pytest.fixture
def filled(tmp_path):
    path = tmp_path / "perfreg.duckdb"
    sample_warehouse.build(path, runs=24, samples=40)
    return Settings(warehouse=path)


def tick(settings):
    context = dg.build_sensor_context(resources={"project": Project.of(settings)})
    return new_regressions(context)


def anomalous(settings):
    with Warehouse(settings.warehouse, lock_timeout_s=10).reading() as reader:
        rows = reader.rows("SELECT run_id FROM marts.run_verdicts WHERE is_current AND is_anomalous")
    return {run_id for (run_id,) in rows}


def test_each_new_regression_is_posted_once(filled, webhook, monkeypatch):
    address, messages = webhook
    monkeypatch.setenv("PERFREG_WEBHOOK_URL", address)
    expected = anomalous(filled)
    with Warehouse(filled.warehouse, lock_timeout_s=10).reading() as reader:
        reviewed = {run_id for (run_id,) in reader.rows("SELECT run_id FROM marts.reviews")}
    tick(filled)
    posted = {run_id for run_id in expected for message in messages if f"/{run_id}.html" in json.dumps(message)}
    assert posted == expected - reviewed
    assert posted
    assert all(message["text"].startswith("Performance regression (") for message in messages), "names the axes"
    assert all("What grew: in " in message["text"] for message in messages), "of the version first, then of the run"
    assert all("disturbed run: another process grew by 0.9 core" in message["text"] for message in messages)
    count = len(messages)
    tick(filled)
    assert len(messages) == count


def command(settings, *options):
    return CliRunner().invoke(main, ["notify", *options, "--warehouse", str(settings.warehouse)])


def test_the_command_and_the_sensor_post_the_same_once_between_them(filled, webhook, monkeypatch):
    address, messages = webhook
    unset = command(filled)
    assert (unset.exit_code, unset.stderr) == (1, "perfreg: no webhook is set (PERFREG_WEBHOOK_URL)\n")
    monkeypatch.setenv("PERFREG_WEBHOOK_URL", address)
    looked = command(filled, "--dry-run")
    assert (looked.exit_code, messages) == (0, [])
    assert "hook" not in looked.stderr.partition("http://127.0.0.1")[2], "the address is a secret"
    # One was just claimed by another process, which has not published it.
    with Warehouse.of(filled).reading() as reader:
        first, *others = pending(reader, filled)
    real = notifications.claim
    taken = []

    def claim(writer, notices):
        if not taken:
            taken.extend(real(writer, [(first.notification_key, first.run_id)]))
        return real(writer, notices)

    monkeypatch.setattr(notifications, "claim", claim)
    told = command(filled)
    assert told.exit_code == 0, told.output
    count = len(others) + 1
    assert told.stdout == (f"{len(others)} of {count} pending regressions posted; 1 being posted by another process\n")
    assert [message["text"] for message in messages] == looked.stdout.splitlines()[1:]
    tick(filled)
    again = command(filled)
    assert (again.exit_code, again.stdout) == (0, "nothing was pending\n")
    assert len(messages) == len(others)


def test_what_the_webhook_refuses_ends_the_command_with_1_and_stays_pending(filled, webhook, monkeypatch):
    address, messages = webhook
    monkeypatch.setenv("PERFREG_WEBHOOK_URL", address.replace("/hook", "/gone"))
    refused = command(filled)
    assert refused.exit_code == 1
    assert "refused, which stay pending" in refused.stdout
    assert all("status 410" in line for line in refused.stderr.splitlines())
    monkeypatch.setenv("PERFREG_WEBHOOK_URL", address)
    messages.clear()
    assert command(filled).exit_code == 0
    assert len(messages) == len(refused.stderr.splitlines())


def test_nothing_is_posted_unless_a_webhook_is_named(filled, webhook, monkeypatch):
    monkeypatch.delenv("PERFREG_WEBHOOK_URL", raising=False)
    result = tick(filled)
    assert "no webhook" in result.skip_message
    assert webhook[1] == []


def test_slower_benchmarks_are_posted_once_per_file(tmp_path, webhook, monkeypatch):
    address, messages = webhook
    monkeypatch.setenv("PERFREG_WEBHOOK_URL", address)
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb")
    data = Path(__file__).parents[1] / "data" / "benchmark-results"
    names = [f"{day}_{arm}" for day in ("2024-02", "2024-07", "2024-09") for arm in ("disabled", "enabled")]
    found = []
    for day, name in enumerate([*names, "2025-07_enabled"], 1):
        origin = Origin(app="sh.measure", version_name=f"{day}.0", started_at=datetime(2026, 1, day, tzinfo=UTC))
        found += [one.measured for one in take_in([data / f"jetpack_startup_{name}.json.gz"], origin)]
    warehouse = Warehouse.of(settings)
    with warehouse.writing() as writer:
        benchmark_table.add(writer, found)
    benchmarks.measure_due(warehouse, settings, Stopwatch())
    tick(settings)
    (message,) = messages
    assert message["text"].startswith("Performance regression: sh.measure 7.0: 1 of its benchmarks: ")
    assert "535 ms, +36.1%" in message["text"]
    with warehouse.reading() as reader:
        assert benchmark_site.page_name(benchmark_table.families(reader)[0]) in message["text"]
        assert reader.rows("SELECT app, version_name FROM marts.notifications") == [("sh.measure", "7.0")]
    tick(settings)
    assert len(messages) == 1


def test_the_message_about_a_version_leads_to_its_page():
    row = {
        "notification_key": "version/a.b@1.0/default", "run_id": "r1", "app": "a.b", "version_name": "1.0",
        "explanation": "The version as a whole is anomalous.", "axes": ["cpu"],
    }  # fmt: skip
    message = build_message(waiting._of_version(row), reports_url="http://reports/")
    assert "http://reports/versions/a.b@1.0.html" in message["text"]
