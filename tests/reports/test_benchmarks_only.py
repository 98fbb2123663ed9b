"""Versions that have benchmarks and no run: no page is written of them, and asking for one leads to the benchmarks."""

from __future__ import annotations

import re
import urllib.request
from urllib.error import HTTPError

import pytest

from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.model import benchmarks as model
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.reports.benchmarks_only import SENTENCE, ways_to_benchmarks
from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.site import build_site
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse.connection import Warehouse
from tests.reports.served import served

RESULTS = """[{"jmhVersion": "1", "benchmark": "com.x.Bench.sort", "mode": "avgt",
  "primaryMetric": {"score": 1, "scoreUnit": "us/op", "rawData": [[1, 1.1, 1.2]]}}]"""
ODD = "1.0 <b>"


def ask(port, path, accept="text/html"):
    """(status, text)"""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", headers={"accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def add(warehouse, folder, version, device, app="com.x"):
    path = folder / f"{len(list(folder.glob('*.json')))}.json"
    path.write_text(RESULTS)
    (one,) = take_in([path], Origin(app=app, version_name=version, device=device))
    with warehouse.writing() as writer:
        table.add(writer, [one.measured])


@pytest.fixture
def settings(tmp_path):
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb")
    warehouse = Warehouse.of(settings)
    for version, device in (("1.0", "phone"), ("2.0", "phone"), ("2.0", "tablet"), (ODD, "phone")):
        add(warehouse, tmp_path, version, device)
    model.measure_due(warehouse, settings, Stopwatch())
    with warehouse.reading() as reader:
        build_site(reader, settings.reports_dir)
    return settings


def test_the_address_of_a_version_with_benchmarks_alone_leads_to_them(settings):
    """The advice was `perfreg catch-up`, which writes no such page."""
    with served(settings) as port:
        for version, devices in (("1.0", ["phone"]), ("2.0", ["phone", "tablet"]), (ODD, ["phone"])):
            status, text = ask(port, version_page("com.x", version).replace("@", "%40"))
            assert (status, SENTENCE in text, "catch-up" in text) == (404, True, False)
            links = re.findall(r'<a href="(/benchmarks/[^"]+)">(.*?)</a>', text)
            assert [name for _, name in links] == [f"Benchmarks of com.x: {device}, jmh" for device in devices]
            for address, _ in links:
                status, page = ask(port, address.lstrip("/"))
                assert status == 200
                assert "com.x: benchmarks of version" in re.sub(r"</?bdi>", "", page)
        line = ask(port, version_page("com.x", "1.0"), accept="*/*")[1].splitlines()
        assert line[0] == SENTENCE
        assert [one.startswith("/benchmarks/") for one in line[1:]] == [True]
        status, text = ask(port, version_page("com.x", "3.0"))
        assert (status, SENTENCE in text, "catch-up" in text) == (404, False, True)


def test_of_a_version_with_runs_its_page_is_due(sample_site):
    warehouse, _ = sample_site
    with warehouse.reading() as reader:
        (place,) = reader.rows("SELECT DISTINCT app, version_name FROM core.benchmark_runs")
        assert reader.rows("SELECT run_id FROM core.runs WHERE (app, version_name) = (?, ?)", list(place))
    assert ways_to_benchmarks(warehouse, f"/{version_page(*place)}") == []


def test_without_a_warehouse_there_is_no_way_to_tell(tmp_path):
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb")
    assert ways_to_benchmarks(Warehouse.of(settings), f"/{version_page('com.x', '1.0')}") == []
    with served(settings) as port:
        status, text = ask(port, version_page("com.x", "1.0"))
    assert (status, "no page of this version" in text) == (404, True)
