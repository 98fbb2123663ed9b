"""Page names and Perfetto links, also of hostile names."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.reports.links import page_name, perfetto_link, reduced_link, version_named_by, version_page


@pytest.mark.parametrize(
    "run_id", ["../../etc/passwd", "a/b", "", ".hidden", "x" * 129, "a b", "ä", "con\u202e", "<script>"]
)
def test_a_page_name_is_always_a_plain_file_name(run_id):
    assert re.fullmatch(r"run-[0-9a-f]{16}", page_name(run_id))


def test_a_good_run_id_is_its_own_page_name():
    assert page_name("shop-004.b_1") == "shop-004.b_1"


def test_the_window_is_passed_in_exact_nanoseconds():
    link = perfetto_link("shop-004", 1_700_000_000_123_456_789, 1_700_000_010_123_456_789)
    assert link.local == (
        "http://127.0.0.1:9001/perfetto/#!/?url=http://127.0.0.1:9001/traces/shop-004"
        "&visStart=1700000000123456789&visEnd=1700000010123456789"
    )
    assert link.remote == link.local.replace("http://127.0.0.1:9001/perfetto", "https://ui.perfetto.dev", 1)


@pytest.mark.parametrize("app", ["com.rig.shop", "a&visStart=1", 'x"],"id":"evil', "com.(a|b)+[c]*", "a#b%20/é\\"])
def test_an_app_name_stays_inside_its_parameter_and_matches_itself_only(app):
    fragment = perfetto_link("run", 1, 2, app=app).local.split("#!/?", 1)[1]
    assert re.fullmatch(r"[A-Za-z0-9%.:/&=_~-]*", fragment)
    parameters = parse_qs(fragment)
    assert set(parameters) == {"url", "visStart", "visEnd", "startupCommands"}
    (command,) = json.loads(parameters["startupCommands"][0])
    assert command["id"] == "dev.perfetto.PinTracksByRegex"
    (pattern,) = command["args"]
    assert re.search(pattern, f"{app} 4711")
    assert re.search(pattern, f"{app}:renderer 4712")
    assert not re.search(pattern, f"{app}2 4713")


def test_a_run_id_cannot_leave_its_path():
    assert unquote(perfetto_link("../x?y#z").local.split("/traces/")[1]) == "../x?y#z"
    assert "/traces/..%2Fx%3Fy%23z" in perfetto_link("../x?y#z").local


@pytest.mark.parametrize("name", ["soak-1", "a #1 & %41 ü?", "a+b<c>.d", "50%"])
def test_a_reduced_trace_of_any_name_is_asked_for_by_it(name):
    link = reduced_link(name, f"{name}.perfetto-trace", 1, 2, "http://127.0.0.1:9001")
    asked = parse_qs(link.split("#!/?", 1)[1])  # decodes once, as Perfetto's UI does
    assert set(asked) == {"url", "visStart", "visEnd"}
    address = urlsplit(asked["url"][0])
    assert (address.netloc, address.query, address.fragment) == ("127.0.0.1:9001", "", "")
    assert unquote(address.path) == f"/reduced/{name}/{name}.perfetto-trace"


@given(st.text(min_size=1), st.text())
def test_a_page_that_is_named_after_its_version_says_which(app, version_name):
    assert version_named_by(version_page(app, version_name)) in (None, (app, version_name))


def test_the_usual_page_of_a_version_is_named_after_it():
    assert version_named_by(version_page("com.example.notes", "1.4.0+7")) == ("com.example.notes", "1.4.0+7")
    assert version_named_by(version_page("com.example@home", "1.4.0")) is None
