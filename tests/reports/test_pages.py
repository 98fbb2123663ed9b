"""Run page, index and ω page as text: states, escaping, completeness, sizes."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import numpy as np
import pytest

from perfreg_assets.reports import run_list, version_list, wording
from perfreg_assets.reports.data import (
    AlarmCounts,
    HistoryMember,
    Level,
    ListedRun,
    OmegaOverview,
    Place,
    QualityRow,
    SeriesCell,
    SeriesPoints,
    Setup,
    SetupLevels,
    VersionRow,
)
from perfreg_assets.reports.index_page import IndexFacts, render_index
from perfreg_assets.reports.links import page_name
from perfreg_assets.reports.omega_page import render_omega_page
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.templating import beside_limit, embed_json, limit_multiple, limit_step, numbers
from perfreg_assets.run import PathStep
from perfreg_assets.warehouse import reviews

START_NS = 1_279_364_786_441  # of the fixture's run
KINDS = ["anomalous", "normal", "not_enough_history", "incomplete_trace", "series_missing", "quarantined"]


class _Reader(HTMLParser):
    """Collects start tags with attributes, text, and the JSON payload."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.payload = ""
        self._in_json = False

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_json = tag == "script" and dict(attrs).get("type") == "application/json"

    def handle_endtag(self, tag):
        self._in_json = False

    def handle_data(self, data):
        if self._in_json:
            self.payload += data
        else:
            self.text.append(data)


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader


def _visible(page: str) -> str:
    return re.sub(r"\s+", " ", " ".join(_read(page).text))


@pytest.mark.parametrize("kind", KINDS)
def test_every_state_has_its_own_badge_and_no_other(detail, kind):
    page = render_run_page(detail(kind))
    verdict = re.search(r'<section class="verdict (\w+)"', page)
    assert verdict is not None
    assert verdict[1] == kind
    assert ("No regression" in page) is False
    if kind not in ("normal", "anomalous", "series_missing"):
        assert 'class="badge normal"' not in page


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_loads_nothing_from_elsewhere(detail, kind):
    for tag, attributes in _read(render_run_page(detail(kind))).tags:
        if tag in ("script", "img", "link", "iframe"):
            address = attributes.get("src") or attributes.get("href") or ""
            assert not re.match(r"(?i)[a-z]+:|//", address), (tag, address)
    assert "default-src 'none'; script-src 'self' file:;" in render_run_page(detail(kind)).replace("&#39;", "'")


def test_the_page_carries_run_barycenter_band_discords_path_profile_and_distances(detail):
    contents = detail("anomalous")
    payload = json.loads(_read(render_run_page(contents)).payload)
    memory = payload["series"][0]  # the worst first
    source = next(s for s in contents.series if s.name == "rss_app")
    assert memory["name"] == "rss_app"
    assert np.array_equal(np.array(memory["values"], dtype=float), source.values), "values are exact"
    assert np.allclose(memory["barycenter"], source.barycenter, rtol=1e-4)
    assert np.allclose(memory["band"]["high"], source.band.high, rtol=1e-4)
    assert memory["discords"] == [[120.0, 144.0, 0.93, 0.378], [40.0, 52.0, 0.41, 0.211]], "the surer, the darker"
    assert memory["profile"]["values"][:15] == [None] * 15
    assert (memory["profile"]["low"], memory["profile"]["high"]) == (2.4, 4.1)
    assert memory["box"]["history"] == pytest.approx(source.distances[1].history_distances)
    assert (memory["box"]["title"], memory["box"]["distance"]) == ("score", 4.1), "as the detector that decided has it"
    assert len(payload["series"]) == 9
    assert set(payload["path"]["screens"]) == {"list", "note", "chart", "settings", "search"}


def test_the_box_plot_is_on_the_scale_of_the_detector_that_decided(detail):
    contents = detail("anomalous")
    source = next(s for s in contents.series if s.name == "rss_app")
    thesis = replace(source, verdict=replace(source.verdict, detector="iqr"))
    (drawn,) = json.loads(_read(render_run_page(replace(contents, series=(thesis,)))).payload)["series"]
    assert drawn["box"]["history"] == pytest.approx([v / 1e6 for v in source.distances[0].history_distances])
    assert drawn["box"]["limit"] == pytest.approx((10.2 + 1.5 * 2.1) / 1e6), "in MB, as the series is drawn"
    assert drawn["box"]["title"] == "distance, MB"


def test_the_first_link_opens_the_surest_window_of_the_worst_series(detail):
    page = render_run_page(detail("anomalous"))
    window = max(detail("anomalous").series[2].discords, key=lambda w: w.confidence)
    first = next(a["href"] for tag, a in _read(page).tags if tag == "a" and "perfetto" in (a.get("class") or ""))
    assert first is not None
    assert f"&visStart={window.start_ns}&visEnd={window.end_ns}" in first


def test_series_that_the_trace_does_not_have_are_listed_with_the_reason_not_drawn(detail, builders):
    gone = replace(
        builders.series("cycles_app", state=None), values=None, missing_reason="the trace has no CPU frequencies"
    )
    page = render_run_page(replace(detail("normal"), series=(*detail("normal").series, gone)))
    assert "CPU cycles of the app cycles_app the trace has no CPU frequencies" in _visible(page)
    assert "cycles_app" not in {s["name"] for s in json.loads(_read(page).payload)["series"]}


def test_what_half_of_the_normal_runs_have_is_no_multiple_of_the_limit():
    assert [beside_limit(ratio) for ratio in (0.0, 0.0049, 0.006, 1.61)] == [
        *("no more than usual", "no more than usual"),
        *("0.01× the limit", "1.61× the limit"),
    ]


def test_a_series_that_improved_says_by_how_much(detail, builders):
    whole = detail("normal")
    better = replace(whole.series[2], verdict=builders.verdict("rss_app", "improved", distance=-7.34, improvement=7.34))
    page = render_run_page(replace(whole, series=(*whole.series[:2], better)))
    shown = _visible(re.search(r'<article class="series improved".*?</header>', page, re.DOTALL)[0])
    assert "2.7× the limit on its better side (score 7.34 of 2.70)" in shown


def test_each_axis_has_a_chip_with_its_state_in_words_and_the_way_to_the_series_that_decides(detail):
    page = render_run_page(detail("anomalous"))
    chips = re.search(r'<ul class="axes".*?</ul>', page, re.DOTALL)[0]
    text = _visible(chips)
    assert "● CPU : normal CPU of all processes 0.33× the limit" in text
    assert "▲ Memory : anomalous Memory of the app (RSS) 1.52× the limit" in text
    targets = [a["href"][1:] for tag, a in _read(chips).tags if tag == "a"]
    assert targets == ["series-cpu_total", "series-rss_app"]
    assert {a.get("id") for _, a in _read(page).tags} >= set(targets)
    assert "rss_app is anomalous: score 4.1" in chips, "the mart's words"


def test_a_run_without_its_memory_says_so_before_anything_else(detail):
    page = render_run_page(detail("series_missing"))
    text = _visible(page)
    assert re.search(r"<h1[^>]*>Memory is missing from this run although its history has it", page)
    assert "stayed within" not in text
    assert "◌ Memory : series missing Memory of the app (RSS) , which the history has" in text
    assert "Missing although the history has it, so it was not judged. The trace has no mem.rss counters" in text
    assert "of what was judged (cpu_app) the score 0.9 is not above" in text


def test_what_neither_run_nor_history_has_is_listed_and_gets_no_section(detail):
    contents = detail("series_missing")
    whole = replace(contents.run_verdict, state="normal", is_anomalous=False, missing_series=())
    page = render_run_page(replace(contents, run_verdict=whole))
    assert '<section class="verdict normal"' in page
    assert "1 series that this trace does not have" in page
    assert "no mem.rss counters of the app. Its history does not have it either." in _visible(page)
    assert '<article class="series series_missing"' not in page
    assert '<div id="series-rss_app">' in page, "the chip of its axis leads there"


def test_history_near_misses_and_reasons_are_listed(detail):
    text = _visible(render_run_page(detail("anomalous")))
    assert "Compared with the 12 most recent of 31 earlier runs: same configuration" in text
    assert "12 on another path through the app; 3 with functional problems" in text
    assert "shop-020" in text
    assert "0.740" in text


def test_functional_problems_and_reviews_are_shown(detail, builders):
    contents = detail("anomalous")
    run = replace(
        contents.run, functional_problem_count=1, review_status="rejected", review_note="warm-up", reviewer="ada",
        functional_problems=({"kind": "crash", "message": "NullPointerException", "ts_ns": START_NS + 25 * 10**8},),
    )  # fmt: skip
    text = _visible(render_run_page(replace(contents, run=run)))
    assert "1 functional problem " in text
    assert "crash at 2.5 s NullPointerException" in text
    assert "False alarm" in text
    assert "“ warm-up ”" in text


def test_a_quarantined_run_says_why_and_what_to_do(detail):
    base = detail("quarantined")
    text = render_run_page(replace(base, run=replace(base.run, folder_name="broken <copy>")))
    first = text.partition("</section>")[0]
    assert "run.json: started_at has no time zone." in first
    for told in ("time_without_zone", "broken &lt;copy&gt;", "perfreg ingest PATH"):
        assert f"<code>{told}" in first or f"<code><bdi>{told}" in first, told
    assert "perfreg ingest" not in render_run_page(detail("normal"))


@pytest.mark.parametrize(
    ("code", "told", "next_step"),
    [
        ("trace_truncated", "its trace is not whole", "Record it again"),
        ("package_missing", "no process of the app is in its trace", "check the application id"),
        ("source_missing", "its trace lacks a data source that is needed", "add it to the Perfetto config"),
        ("engine_memory", "its trace could not be read", "raise engine_memory_bytes"),
    ],
)
def test_a_trace_that_is_not_judged_is_called_what_it_is(detail, code, told, next_step):
    found = detail("incomplete_trace")
    page = _visible(render_run_page(replace(found, run=replace(found.run, reason_code=code))))
    assert f"This run cannot be judged: {told}." in page
    assert next_step in page
    assert ("not whole" in page) is (code == "trace_truncated")


def test_an_alarm_says_how_to_answer_it_and_what_each_answer_does_to_histories(detail):
    text = render_run_page(detail("anomalous"))
    for status, effect in wording.REVIEW_EFFECTS.items():
        assert f"perfreg review shop-040 --status {status} --note why</code>" in text
        assert effect in text
    assert set(wording.REVIEW_EFFECTS) == set(reviews.STATUSES)
    assert len({status[0] for status in wording.REVIEW_EFFECTS}) == 3, "each has a key of its own"
    assert "perfreg review" not in render_run_page(detail("normal"))


def test_the_scenario_is_among_the_facts_of_a_run_that_names_one(detail):
    contents = detail("anomalous")
    assert "Scenario" not in _visible(render_run_page(contents))
    run = replace(contents.run, scenario="cold-start")
    assert "Scenario cold-start" in _visible(render_run_page(replace(contents, run=run)))


def test_what_stands_at_the_foot_makes_the_page_reproducible(detail):
    page = render_run_page(detail("anomalous"))
    for value in ("Perfetto v52.0", "0.1.0", "ab" * 32, "c0ffee" * 10, "ba" * 32, "beef" * 16):
        assert value in page


def test_names_from_an_app_are_text_everywhere(detail, builders):
    evil = builders.naughty
    contents = detail("anomalous")
    run = builders.run(
        app=evil, version_name=evil, device=evil, strategy=evil, scenario=evil, reason=evil, review_status="accepted",
        review_note=evil, reviewer=evil, functional_problem_count=1,
        functional_problems=({"kind": evil, "message": evil},),
    )  # fmt: skip
    worst = next(s for s in contents.series if s.discords)
    worst = replace(
        worst, name=evil, verdict=replace(worst.verdict, explanation=evil), missing_reason=evil,
        discords=tuple(replace(w, screens=(evil,)) for w in worst.discords),
        distances=tuple(replace(d, evidence_text=evil, engine_version=evil) for d in worst.distances),
    )  # fmt: skip
    gone = replace(worst, name="gone", values=None)
    path = tuple(PathStep(i, START_NS + i * 10**9, evil, evil, evil) for i in range(5))
    members = (HistoryMember(evil, 1, 0.9, None, evil), HistoryMember(evil, None, None, evil, evil))
    contents = replace(
        contents, run=run, series=(worst, gone), path=path,
        history=replace(contents.history, members=members, excluded_counts={evil: 2}),
        similarity=replace(contents.similarity, run_ids=(evil,) * 15), previous_run_id=evil,
    )  # fmt: skip
    page = render_run_page(contents)
    harmless = _read(render_run_page(detail("anomalous")))
    found = _read(page)
    assert {tag for tag, _ in found.tags} <= {tag for tag, _ in harmless.tags} | {"p", "li", "strong"}
    assert not [a for _, a in found.tags for key in a if key.startswith("on")]
    assert all(a.get("src", "").startswith("../assets/") for _, a in found.tags if "src" in a)
    assert not [
        a for tag, a in found.tags if tag == "a" and re.match(r"(?i)\s*(javascript|data):", a.get("href") or "")
    ]
    assert json.loads(found.payload)["path"]["screens"] == [evil], "the name itself arrives whole"
    assert evil in "".join(found.text)
    assert "49" not in _visible(page).replace(evil, ""), "templates do not evaluate names"


def test_json_cannot_end_its_script_element():
    text = str(embed_json({"x": "</script><!--\u2028&"}))
    assert not re.search(r"[<>&\u2028]", text)
    assert json.loads(text) == {"x": "</script><!--\u2028&"}


def test_numbers_for_charts_keep_their_digits_and_name_gaps():
    assert numbers([1.23456789, float("nan"), 2e8, float("inf")], digits=5) == [1.2346, None, 200000000, None]
    assert numbers([0.1 + 0.2], digits=None) == [0.1 + 0.2]
    assert numbers(None) is None


def test_a_run_page_of_1800_samples_and_12_series_is_small(detail, builders):
    names = ["cpu_app", "cpu_total", "rss_app", *(f"cpu_core_{i}" for i in range(9))]
    series = tuple(builders.series(n, n=1800, state="normal" if i < 3 else None) for i, n in enumerate(names))
    page = render_run_page(replace(detail("normal", n=1800), series=series))
    assert len(page.encode()) < 2_000_000


def test_an_anomalous_series_without_a_window_says_so_and_draws_no_empty_profile(detail, builders):
    series = builders.series("rss_app", state="anomalous")
    flat = replace(series, discords=(), profile=replace(series.profile, values=np.zeros(171)))
    looked = replace(flat, place=Place("none", None, 15.0, 172.0))
    page = render_run_page(replace(detail("anomalous"), series=(looked,)))
    assert "No window stands out" in page
    assert "Not examined: 0 to 15 s and 172 to 180 s." in page
    (drawn,) = json.loads(_read(page).payload)["series"]
    assert "profile" not in drawn
    assert drawn["unexamined"] == [[0.0, 15.0], [172.0, 180.0]]
    assert "No window stands out" not in render_run_page(detail("anomalous"))


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (Place("not_computed", "cpu_app of shop-004 (ValueError: no)"), "cpu_app of shop-004 (ValueError: no)"),
        (None, "It was not looked for yet."),
    ],
)
def test_windows_that_could_not_be_computed_are_not_called_none(detail, builders, place, why):
    series = replace(builders.series("cpu_app", state="anomalous"), discords=(), profile=None, place=place)
    page = render_run_page(replace(detail("anomalous"), series=(series,)))
    assert "No window stands out" not in page
    assert "Where it differs is not known." in page
    assert html.escape(why) in page
    assert json.loads(_read(page).payload)["series"][0]["unexamined"] == []


# ---- index -------------------------------------------------------------------------------------------
def _block(count: int = 40, **changes) -> dict:
    """Facts of a block of the list of runs."""
    states = {"anomalous": 2, "normal": count - 2}
    plain = {
        "digest": "0123456789abcdef", "count": count, "newest": 1_793_520_000, "states": states,
        "axes": ["cpu.improved", "memory.anomalous", "memory.normal"], "apps": ["com.rig.shop"], "nameless": False,
        "series": ["rss_app"], "open": 1,
    }  # fmt: skip
    return {**plain, **changes}


def _app(count: int = 20, number: int = 0, **changes) -> dict:
    """Facts of the blocks of versions of an app."""
    plain = {
        "digest": "fedcba9876543210", "count": count, "runs": 2 * count, "anomalous": 2, "newest": 1_793_520_000,
        "series": ["cpu_app", "cpu_total", "rss_app"],
    }  # fmt: skip
    latest = changes.pop("latest", ["1.9.0", 2, 1, "anomalous"])
    return {"number": number, "blocks": [{**plain, **changes}], "latest": latest, "grew": []}


AXES = {"cpu_app": "cpu", "rss_app": "memory", "cpu_total": "cpu"}


def _index(builders, **changes) -> IndexFacts:
    listed = ListedRun("shop-040", "com.rig.shop", "1.9.0", datetime(2026, 11, 1, tzinfo=UTC), "normal")
    first = [["shop-040", *run_list.packed(listed)]]
    facts = IndexFacts([_block()], {"com.rig.shop": _app()}, first, 1.5, "default", AXES)
    return replace(facts, **changes)


def test_an_index_of_100000_runs_is_under_300_kb(builders):
    """20 apps, a version for each run: the most that there can be of them."""
    long = {"count": 1000, "apps": [f"com.rig.application{i:02d}" for i in range(20)]}
    listed = ListedRun(
        "application00-100000", "com.rig.application00", "2026.11.21-rc17", datetime(2026, 11, 1, tzinfo=UTC),
        "anomalous", {"cpu": "not_enough_history", "memory": "series_missing", "startup": "normal"},
        ("cpu_app", "rss_app"), 14.3, "confirmed", 3, 2.7182, True,
    )  # fmt: skip
    facts = IndexFacts(
        [_block(**long)] * 100,
        {f"com.rig.application{i:02d}": {**_app(50, number=i), "blocks": _app(50)["blocks"] * 100} for i in range(20)},
        [[listed.run_id, *run_list.packed(listed)]] * run_list.FIRST_ROWS, 1.5, "default", AXES,
    )  # fmt: skip
    page = render_index(facts)
    assert len(page.encode()) < 300_000
    assert "100,000" in page


def test_an_app_is_told_in_a_line_by_its_latest_version_and_its_counts(builders):
    earlier, later = _app(50, newest=9), _app(7, newest=5, latest=["0.9-fix", 4, 1, "anomalous"])
    apps = {"com.rig.shop": {**later, "blocks": earlier["blocks"] + later["blocks"]}}
    text = _visible(render_index(_index(builders, apps=apps)))
    assert re.search(r"114 runs of 57 versions, 4 anomalous; latest 0\.9-fix ▲ Anomalous ?: ▲ 1 of 4", text)


def test_with_many_apps_each_is_opened_when_it_is_asked_for(builders):
    few = {f"com.rig.app{i}": _app(number=i) for i in range(3)}
    assert render_index(_index(builders, apps=few)).count("<details open>") == 3
    many = {f"com.rig.app{i}": _app(number=i) for i in range(4)}
    page = render_index(_index(builders, apps=many))
    assert (page.count("<details open>"), page.count("<details>")) == (0, 4)


def test_the_state_of_each_axis_has_a_column_and_is_in_the_filter(builders):
    page = render_index(_index(builders))
    assert re.findall(r'data-axis="(\w+)">([^<]*)', page) == [("cpu", "CPU"), ("memory", "Memory")]
    filters = re.search(r'<select name="axis">.*?</select>', page)[0]
    assert re.findall(r'value="([^"]*)">([^<]*)', filters) == [
        ("", "Any state"),
        ("cpu.improved", "CPU: improved"),
        ("memory.anomalous", "Memory: anomalous"),
        ("memory.normal", "Memory: normal"),
    ]


def test_the_series_of_an_axis_stand_side_by_side(builders):
    payload = json.loads(_read(render_index(_index(builders))).payload)
    assert [(name, axis) for name, _, _, axis in payload["series"]] == [
        ("cpu_app", "CPU"),
        ("cpu_total", "CPU"),
        ("rss_app", "Memory"),
    ]


def test_a_run_is_packed_for_the_scripts():
    run = ListedRun(
        "bad name", None, "1.0", None, "series_missing", {"memory": "series_missing", "cpu": "normal"}, ("rss_app",),
        1.23456, "rejected", 2, -1.0, True, "Pixel 6a", "trace_empty",
    )  # fmt: skip
    assert run_list.packed(run) == [
        page_name("bad name"), None, "1.0", None, "series_missing", "cpu.normal memory.series_missing", ["rss_app"],
        1.235, "rejected", 2, -1.0, 1, "Pixel 6a", "trace_empty",
    ]  # fmt: skip


def test_a_version_is_packed_in_the_unit_that_is_shown():
    start = datetime(2026, 11, 1, tzinfo=UTC)
    setup = Setup("c0ffee", "cold-start", "Pixel 6a", "dfs", 180.0, 0.5)
    row = VersionRow(
        "1.0", 3, 1, start, start + timedelta(hours=2), ("a", "b", "c"),
        {"rss_app": SeriesCell(2.04567, 1, 2, 1, None), "cpu_app": SeriesCell(None, 0, 0, 0, "not_enough_history")},
        {"rss_app": SeriesPoints("bytes", (1.9e8, None, 2.1e8), (2.04567, None, 0.5), (True, None, False))},
        (SetupLevels(setup, 2, {"rss_app": Level(2e8, None, 2.1e8)}), SetupLevels(Setup("beef"), 1, {})), (0, None, 1),
    )  # fmt: skip
    packed = version_list.packed(row)
    assert packed["cells"] == {"cpu_app": [None, 0, 0, 0, "not_enough_history"], "rss_app": [2.046, 1, 2, 1, None]}
    assert packed["levels"] == {"rss_app": [[[200, None, 210], None], [190, None, 210], "MB", [2.05, None, 0.5], "auj"]}
    assert packed["of"] == [0, None, 1]
    assert [one[1:] for one in packed["setups"]] == [
        ["scenario cold-start, Pixel 6a, strategy dfs, time limit 180 s, an action every 0.5 s", 2],
        ["configuration beef", 1],
    ]  # fmt: skip
    assert (packed["runs"], packed["anomalous"], packed["last"] - packed["first"]) == (3, 1, 7200)


def test_names_on_the_index_are_text(builders):
    evil = builders.naughty
    listed = ListedRun(evil, evil, evil, None, "normal", {evil: "normal"}, (evil,))
    facts = _index(
        builders,
        apps={evil: _app(latest=[evil, 2, 1, None], series=[evil])},
        blocks=[_block(apps=[evil], series=[evil], axes=[f"{evil}.normal"])],
        first=[[evil, *run_list.packed(listed)]],
    )
    page = render_index(facts)
    found = _read(page)
    assert not [a for _, a in found.tags for key in a if key.startswith("on")]
    assert sum(tag == "img" for tag, _ in found.tags) == 1, "the logo only"
    assert evil in "".join(found.text)
    assert json.loads(found.payload)["first"][0][0] == evil
    assert html.escape(evil, quote=False).replace("&", "&") != evil


def test_runs_that_were_not_judged_are_counted_as_such(builders):
    states = ["normal", "anomalous", "not_enough_history", "incomplete_trace", "series_missing", "quarantined"]
    counts = dict.fromkeys(states, 1) | {"not_judged": 1, "improved": 3}
    text = _visible(render_index(_index(builders, blocks=[_block(states=counts), _block(states={"normal": 2})])))
    assert "1 anomalous" in text
    assert "6 within their history" in text
    assert "5 not judged" in text
    assert "12 runs , 11 of them of 20 versions" in text, "what was not taken in is of none"
    taken = _visible(render_index(_index(builders, blocks=[_block(states={"normal": 12})])))
    assert "12 runs of 20 versions" in taken


def test_an_empty_warehouse_says_what_to_do():
    text = _visible(render_index(IndexFacts()))
    assert "No runs yet" in text
    assert "perfreg ingest" in text


@pytest.mark.parametrize(
    ("ratio", "step"), [(None, "none"), (0.0, "b4"), (0.95, "b0"), (1.0, "b0"), (1.01, "a0"), (2.0, "a4"), (90.0, "a4")]
)
def test_the_colour_turns_exactly_at_the_limit(ratio, step):
    assert limit_step(ratio) == step


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.957, "0.96"), (1.04, "1.04"), (2.04, "2.0"), (28.6, "29"), (1234.0, "1,234")]
)
def test_multiples_of_the_limit_read_well(ratio, text):
    assert limit_multiple(ratio) == text


# ---- ω page ------------------------------------------------------------------------------------------
def test_the_omega_page_shows_alarms_apart_and_quality_of_the_detector_in_force(builders):
    overview = OmegaOverview(
        1.5, "default", 1, (1,) * 160 + (0,) * 41,
        (AlarmCounts("default", 1.5, 20, 4, 1, 0, 3, 0.25), AlarmCounts("iqr", 1.5, 20, 9, 0, 0, 9)),
        (QualityRow("simulated_noise1", "default", 1.5, 0.973, 0.851, 0.908, 0.02),),
    )  # fmt: skip
    page = render_omega_page(overview)
    payload = json.loads(_read(page).payload)
    assert payload["counts"][round(3.9 * payload["steps"])] == 1
    assert payload["counts"][round(4.0 * payload["steps"])] == 0
    assert payload["expected"] == [[1.5, 0.25]]
    text = _visible(page)
    assert "1.5 (in force) 4 of 20 1 0 3 0.2 0.973 0.851 0.908" in text
    assert "9 of 20" not in text
    assert "alarm rate" not in text  # of alarms that nobody looked at it is none of false ones
    assert "simulated_noise1" in text


@pytest.mark.parametrize(("omega", "maximum"), [(1.234, 5), (7.0, 7), (7.25, 8), (100.0, 100)])
def test_the_omega_in_force_is_on_the_omega_page_whatever_it_is(omega, maximum):
    page = render_omega_page(OmegaOverview(omega, "default", 1, (1,) * 4001))
    assert re.search(rf"In force: detector .* at ω {omega:g} ?\. ", _visible(page))
    assert set(re.findall(r'type="range" [^>]*max="(\d+)"', page)) == {str(maximum)}
    assert len(json.loads(_read(page).payload)["counts"]) == maximum * 40 + 1


def test_an_omega_page_without_verdicts_says_so():
    assert "No run has been judged yet" in _visible(render_omega_page(OmegaOverview(None, None)))
