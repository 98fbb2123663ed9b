"""Causes on a run's page: the sentence leads to the cause, tables are readable without bars, names stay text."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from perfreg_assets.reports.causes_wording import amount, cause_name
from perfreg_assets.reports.data import Cause, Explained, Stack
from perfreg_assets.reports.loading import load_details, run_fingerprints
from perfreg_assets.reports.loading_causes import load_explained
from perfreg_assets.reports.run_order import RunOrder
from perfreg_assets.reports.run_page import render_run_page

MAIN = Cause(
    rank=1, kind="thread", scope="app", process="com.rig.shop", thread="render <b>#", name="render <b>#", value=0.6,
    history_median=0.15, growth=0.45, growth_share=0.9, z=30.25, is_new=False, matched_count=10, history_count=12,
)  # fmt: skip
OTHER = replace(MAIN, scope="other", process="system_server", thread="*", value=1.2, growth=0.9, is_new=True)
WINDOW = Explained(
    is_whole_run=False, start_s=12.0, end_s=20.0, start_ns=12_000_000_000, end_ns=20_000_000_000, confidence=0.9,
    state="ranked", state_reason=None, disturbance="another process grew by 0.9 core (system_server)",
    causes=(MAIN,), also_grew=(OTHER,),
)  # fmt: skip


@pytest.fixture
def page(detail):
    """Of a run whose memory is anomalous, explained by these windows."""

    def make(*windows):
        contents = detail("anomalous")
        series = tuple(replace(one, explained=windows) if one.name == "rss_app" else one for one in contents.series)
        return render_run_page(replace(contents, series=series))

    return make


def test_the_sentence_says_what_grew(page):
    headline = re.search(r'<p class="detail">(.*?)</p>', page(WINDOW))
    assert headline is not None
    assert headline[1] == "What grew: com.rig.shop · render &lt;b&gt;#: +0.45 cores, 90 % of the growth."
    assert "What grew" not in page()


def test_the_table_has_heads_bars_of_one_scale_and_the_numbers_as_text(page):
    (table,) = re.findall(r'<table class="plain causes">.*?</table>', page(WINDOW), re.DOTALL)
    assert table.count('scope="col"') == 6
    assert table.count('<th scope="row">') == 2
    assert "What grew in Memory of the app (RSS), 12–20 s</caption>" in table
    assert re.findall(r"width: (\d+)%", table) == ["50", "12", "100", "12"]
    assert "0.6 cores</span>" in table
    assert "0.15 cores usually" in table
    assert "Also grew, without explaining it" in table
    assert "2 of 12 earlier runs never show these screens: they are compared as a whole." in page(WINDOW)
    assert '<span class="badge">new</span>' in table
    assert "<b>" not in table, "names are text"


def test_a_disturbed_run_says_so_and_the_way_to_perfetto_is_there(page):
    text = page(WINDOW)
    assert "Disturbed run: <bdi>another process grew by 0.9 core (system_server)</bdi>." in text
    assert "visStart=12000000000&amp;visEnd=20000000000" in text


def test_only_the_surest_window_is_open_and_what_is_not_ranked_says_why(page):
    reason = "3 runs of the history can be compared with, 5 are needed: values stand without z."
    unsure = replace(MAIN, history_median=None, growth=None, growth_share=None, z=None)
    few = replace(WINDOW, state="not_enough_history", state_reason=reason, causes=(unsure,), also_grew=())
    nothing = replace(few, state="source_missing", state_reason="the trace has no scheduling events", causes=())
    text = page(few, nothing)
    assert re.findall(r'<details class="causes"( open)?>', text) == [" open", ""]
    assert "com.rig.shop · render &lt;b&gt;#: 0.6 cores</bdi>" in text
    assert reason in text
    assert "<bdi>the trace has no scheduling events</bdi></strong>" in text
    whole = page(replace(WINDOW, is_whole_run=True))
    assert "What grew in the run as a whole:" in whole


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (("thread", "a", "main", "main"), "a · main"),
        (("thread", "a", "*", "*"), "a · other threads"),
        (("thread", "*", "*", "*"), "other processes"),
        (("wait", "a", "main", "uninterruptible:do_read"), "a · main · waiting in the kernel (do_read)"),
        (("wait", "a", "main", "runnable"), "a · main · waiting for a core"),
        (("memory", "a", None, "anon"), "a · anonymous memory"),
        (("memory", "a", None, "anon", "memory"), "a · anonymous memory"),
        (("memory", "a", None, "anon", "process_memory"), "a · anonymous memory of this process"),
        (("memory", "a", None, "gpu"), "a · gpu"),
    ],
)
def test_causes_in_words(cause, words):
    assert cause_name(*cause) == words


def test_amounts_have_units():
    assert amount(0.4567, "thread") == "0.457 cores"
    assert amount(0.4567, "wait", is_difference=True) == "+0.457 s per s"
    assert amount(30_200_000, "memory", is_difference=True) == "+30.2 MB"
    assert amount(None, "thread") is None


def test_the_warehouse_fills_the_page_and_other_causes_make_it_due(own_sample):
    with own_sample.reading() as reader:
        ((run_id,), *_) = reader.rows("SELECT DISTINCT run_id FROM marts.causes ORDER BY run_id")
        (found,) = load_details(reader, [run_id])
        before = run_fingerprints(reader, {run_id: found.run}, RunOrder(reader))
    explained = [one for series in found.series for one in series.explained]
    assert explained
    assert {len(one.causes) for one in explained} == {2}
    assert {one.scope for window in explained for one in window.also_grew} == {"other"}
    with own_sample.writing() as writer:
        writer.execute("UPDATE core.causes SET value = value + 1 WHERE run_id = ?", [run_id])
        writer.execute("UPDATE core.cause_runs SET computed_at = now() WHERE run_id = ?", [run_id])
    with own_sample.reading() as reader:
        assert run_fingerprints(reader, {run_id: found.run}, RunOrder(reader)) != before


def test_runs_that_are_asked_for_one_by_one_and_together_have_the_same_windows_and_causes(own_sample):
    with own_sample.reading() as reader:
        ids = [row[0] for row in reader.rows("SELECT DISTINCT run_id FROM marts.cause_windows ORDER BY run_id")]
        everyone = [*ids, *(row[0] for row in reader.rows("SELECT run_id FROM marts.runs ORDER BY run_id LIMIT 3"))]
        together = load_explained(reader, everyone)
        alone = [load_explained(reader, [run_id]) for run_id in dict.fromkeys(everyone)]
        marts = {
            mart: Counter(reader.rows(f"SELECT run_id, series, start_ns FROM marts.{mart}"))
            for mart in ("causes", "also_grew")
        }
    assert len(ids) > 2
    assert together == {key: windows for part in alone for key, windows in part.items()}
    windows = [(*key, one) for key, found in together.items() for one in found]
    assert marts["causes"] == Counter(
        (run_id, series, one.start_ns) for run_id, series, one in windows for _ in one.causes
    )
    assert marts["also_grew"] == Counter(
        (run_id, series, one.start_ns)
        for run_id, series, one in windows
        for cause in (*one.causes, *one.also_grew)
        if cause in one.also_grew or cause.scope == "other"
    )


def test_the_index_says_first_what_grew_in_several_runs_of_the_latest_version(sample_site):
    index = (sample_site[1] / "index.html").read_text("utf-8")
    (lines, *_) = re.findall(r'<ul class="grew" aria-label="What grew in several runs of ([^"]+)">(.*?)</ul>', index)
    assert lines[0] == "1.2.0"
    told = [re.sub("</?bdi>", "", one) for one in re.findall(r"<li>What grew <bdi>(.*?)</bdi></li>", lines[1])]
    assert 0 < len(told) <= 3
    assert all(re.match(r"in \d+ runs of 1\.2\.0, \w+: app · ", one) for one in told)
    assert "<b>#" not in lines[1]


def test_a_flame_graph_stands_below_the_table_of_its_window_and_only_there(page):
    stacks = tuple(Stack("slices", "com.rig.shop", "main", path, 0.4, 0.1) for path in (("draw",), ("draw", "inflate")))
    told = page(replace(WINDOW, stacks=stacks), WINDOW)
    assert told.count("<canvas data-flame=") == 1
    assert told.index("Also grew, without explaining it") < told.index("<canvas data-flame=")
    (payload,) = re.findall(r'<script type="application/json" id="flame-data">(.*?)</script>', told)
    found = json.loads(payload)
    assert found["names"] == ["com.rig.shop", "main", "draw", "inflate"]
    (flame,) = found["flames"]
    assert (flame["parent"], flame["methods"]) == ([-1, 0, 1, 2], [0, 1, 2, 3])
    assert (flame["before"], flame["now"]) == ([None, None, 100.0, 100.0], [0.0, 0.0, 400.0, 400.0])
    assert "flame" not in page(WINDOW), "pages without stacks load nothing for them"


@pytest.mark.parametrize(
    ("value", "kind", "told"),
    [
        (1.2344e9, "memory", "+1,234 MB"), (9.996e8, "heap", "+1,000 MB"), (-2e9, "memory", "-2,000 MB"),
        (1.234e6, "memory", "+1.23 MB"), (0.00012, "thread", "+0.00012 cores"),
    ],
)  # fmt: skip
def test_amounts_have_three_digits_and_no_exponent(value, kind, told):
    assert amount(value, kind, is_difference=True) == told
