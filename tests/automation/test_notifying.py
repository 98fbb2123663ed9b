"""The notification sensor: each new regression once, to a webhook on loopback; off unless one is named."""

from __future__ import annotations

import json
import shutil
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
from perfreg_assets.reports.in_flight import InFlight
from perfreg_assets.reports.notify import build_message
from perfreg_assets.reports.pending import pending
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as benchmark_table
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.lock import file_lock

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


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    sample_warehouse.build(folder / "perfreg.duckdb", runs=24, samples=40)
    return folder


@pytest.fixture
def filled(sample, tmp_path):
    shutil.copytree(sample, tmp_path, dirs_exist_ok=True)
    return Settings(warehouse=tmp_path / "perfreg.duckdb")


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
    with Warehouse.of(filled).reading() as reader:
        count = len(pending(reader, filled))
    with InFlight(filled.warehouse).alone():
        busy = command(filled)
    assert (busy.exit_code, messages) == (0, [])
    assert busy.stdout == f"0 of {count} pending regressions posted; {count} being posted by another process\n"
    told = command(filled)
    assert told.exit_code == 0, told.output
    assert told.stdout == f"{count} of {count} pending regressions posted\n"
    assert [message["text"] for message in messages] == looked.stdout.splitlines()
    tick(filled)
    again = command(filled)
    assert (again.exit_code, again.stdout) == (0, "nothing was pending\n")
    assert len(messages) == count


def pending_keys(settings):
    with Warehouse.of(settings).reading() as reader:
        return [one.notification_key for one in pending(reader, settings)]


def test_one_whose_sender_was_killed_is_told_of_and_not_posted_again(filled, webhook, monkeypatch):
    address, messages = webhook
    monkeypatch.setenv("PERFREG_WEBHOOK_URL", address)
    first, *others = pending_keys(filled)
    InFlight(filled.warehouse).goes_out(first, first.partition("/")[0])
    told = command(filled)
    assert told.exit_code == 1
    posted = f"{len(others)} of {len(others) + 1} pending regressions posted"
    assert told.stdout == f"{posted}; 1 perhaps delivered, which are not posted again\n"
    assert first in told.stderr
    assert len(messages) == len(others)
    assert pending_keys(filled) == []


def test_a_refused_message_stays_pending_whoever_writes_meanwhile(filled, webhook, monkeypatch):
    address, _ = webhook
    monkeypatch.setenv("PERFREG_WEBHOOK_URL", address.replace("/hook", "/gone"))
    monkeypatch.setenv("PERFREG_LOCK_TIMEOUT_S", "0.1")
    before = pending_keys(filled)
    with file_lock(Warehouse.of(filled).lock_file, timeout_s=5, what="it"):
        refused = command(filled)
    assert "status 410" in refused.stderr
    assert pending_keys(filled) == before


@pytest.mark.parametrize("url", ["http://[abc/h", "hooks.example/T0/SECRET"])
def test_an_address_that_is_none_is_refused_in_a_sentence(filled, monkeypatch, url):
    monkeypatch.setenv("PERFREG_WEBHOOK_URL", url)
    before = pending_keys(filled)
    refused = command(filled)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("perfreg: webhook_url is no address (")
    assert len(refused.stderr.splitlines()) == 1
    assert "SECRET" not in refused.output
    assert command(filled, "--dry-run").exit_code == 0
    assert pending_keys(filled) == before


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
