"""A version's page: what the marts say of it, states without data in words, and written exactly when it changes."""

from __future__ import annotations

import errno
import os
import re
import time
from collections import defaultdict
from dataclasses import replace
from html import unescape

import pytest

from perfreg_assets.reports import site, version_site
from perfreg_assets.reports.benchmark_site import family_page
from perfreg_assets.reports.changes import SETTLED_NS
from perfreg_assets.reports.links import page_name, version_page
from perfreg_assets.reports.loading_lists import ListQuery, find_listed
from perfreg_assets.reports.loading_version_pages import load_version_views, worst_first
from perfreg_assets.reports.run_order import RunOrder
from perfreg_assets.reports.site_state import SiteState, VersionEntry
from perfreg_assets.reports.version_page import render_version_page
from perfreg_assets.warehouse import runs


def _text(out, app, version) -> str:
    return (out / version_page(app, version)).read_text("utf-8")


def _shown(text: str) -> str:
    """What is read: without tags, runs of blanks as one."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_there_is_a_page_per_version_and_it_says_what_the_marts_say(sample_site):
    warehouse, out = sample_site
    with warehouse.reading() as reader:
        versions = reader.rows("SELECT app, version_name, run_count, anomalous_run_count FROM marts.app_versions")
        verdicts = {
            (app, version, axis): (state, explanation)
            for app, version, axis, state, explanation in reader.rows(
                "SELECT app, version_name, axis, state, explanation FROM marts.version_verdicts WHERE is_current"
            )
        }
        of_runs = reader.rows(
            "SELECT app, version_name, run_id, CASE WHEN state <> 'complete' THEN state ELSE run_verdict END "
            "FROM marts.runs WHERE state <> 'quarantined'"
        )
        grown = reader.rows("SELECT app, version_name, run_ids FROM marts.causes_by_version")
        energy = reader.rows("SELECT app, version_name, app_mah_per_h, run_count FROM marts.energy_by_version")
        measured = reader.rows("SELECT app, version_name, device, variant, runner FROM marts.benchmark_runs")
        left_out = reader.rows(
            "SELECT app, version_name FROM core.runs WHERE NOT is_quarantined "
            "AND run_no NOT IN (SELECT run_no FROM marts.counted_runs)"
        )
    assert {path.name for path in (out / "versions").glob("*.html")} == {
        version_page(app, version).removeprefix("versions/") for app, version, *_ in versions
    }
    tones = {verdicts[app, version, "all"][0] for app, version, *_ in versions}
    assert tones >= {"anomalous", "normal", "not_enough_history"}
    assert left_out
    for app, version, count, anomalous in versions:
        text = _text(out, app, version)
        assert ("Runs that are left out of the verdict are in no level" in text) == ((app, version) in left_out)
        state, explanation = verdicts[app, version, "all"]
        assert f'<section class="verdict {state}"' in text
        assert explanation in _shown(text)
        assert f"Runs {count}, {anomalous} anomalous" in _shown(text)
        assert ("got worse" in _shown(text)) == (state == "anomalous")
        for (one, name, axis), (axis_state, why) in verdicts.items():
            if (one, name) == (app, version) and axis != "all":
                assert re.search(rf'<li class="{axis_state}"><a href="#series" title="{re.escape(why)}', text)
    for app, version, run_id, state in of_runs:
        row = re.search(
            rf'<tr><td><a href="\.\./runs/{page_name(run_id)}\.html">.*?</tr>', _text(out, app, version), re.S
        )
        assert row is not None
        assert f'<span class="badge {state}">' in row[0], run_id
    assert grown
    for app, version, run_ids in grown:
        assert f"{len(run_ids)}: {', '.join(run_ids[:3])}".replace(", ", " , ") in _shown(_text(out, app, version))
    assert energy
    for app, version, charge, count in energy:
        assert f"{count} {charge:.3g}" in _shown(_text(out, app, version))
    assert measured
    for app, version, *family in measured:
        assert f'href="../{family_page(app, *family)}"' in _text(out, app, version)


def test_a_run_that_was_excluded_is_not_the_one_to_look_at_first_and_says_so(own_sample, built):
    copy, out = own_sample, built
    anomalous = (
        "SELECT run_id, app, version_name FROM marts.runs WHERE run_verdict = 'anomalous' AND review_status IS NULL "
        "AND NOT is_excluded ORDER BY app, version_name, run_id"
    )
    with copy.reading() as reader:
        of_version = defaultdict(list)
        for run_id, app, version in reader.rows(anomalous):
            of_version[app, version].append(run_id)
        opened = find_listed(reader, ListQuery(is_open=True))[0]
    app, version = next(one for one, ids in of_version.items() if len(ids) > 1)
    lead = re.compile(r'run <a href="../runs/([^"]+)\.html">')
    first = lead.search(_text(out, app, version))[1]
    with copy.writing() as writer:
        runs.exclude(writer, first, "charging")
    with copy.reading() as reader:
        site.build_site(reader, out)
        assert find_listed(reader, ListQuery(is_open=True))[0] == opened - 1
    assert lead.search(_text(out, app, version))[1] != first
    page = (out / "runs" / f"{first}.html").read_text()
    assert "Excluded by hand" in page
    assert "charging" in page


def test_the_change_to_the_version_before_and_the_slow_one_are_those_of_the_trends(sample_site):
    warehouse, out = sample_site
    with warehouse.reading() as reader:
        steps = reader.rows(
            "SELECT app, version_name, series, level_median / lag(level_median) OVER before - 1, "
            "level_median / first_value(level_median) OVER before - 1, version_rank FROM marts.trends_by_scenario "
            "WHERE series IN (SELECT series FROM marts.verdicts WHERE is_current) "
            "AND config_hash = (SELECT config_hash FROM core.runs WHERE run_id = 'notes-0000') "
            "WINDOW before AS (PARTITION BY app, series ORDER BY version_rank)"
        )
    assert len({version for _, version, *_ in steps}) == 3
    for app, version, series, step, slow, rank in steps:
        row = re.search(rf'<tr id="series-{series}">.*?</tr>', _text(out, app, version), re.S)
        if row is None:  # nothing of it was judged
            continue
        told = [None if one is None else f"{one * 100:+.1f} %" for one in (step, slow if rank > 2 else None)]
        assert _shown(row[0]).endswith(" ".join(one or "–" for one in told)), (version, series)


def test_the_first_screen_leads_to_the_worst_second_its_cause_and_the_nearest_run(sample_site):
    warehouse, out = sample_site
    with warehouse.reading() as reader:
        worst, app, version = reader.rows(
            "SELECT run_id, app, version_name FROM marts.verdicts WHERE is_current AND is_anomalous AND series <> '*' "
            "AND run_id NOT IN (SELECT run_id FROM marts.reviews WHERE status = 'rejected' AND is_in_force) "
            "AND run_id IN (SELECT run_id FROM marts.runs WHERE run_verdict = 'anomalous') "
            "ORDER BY app, distance / threshold DESC LIMIT 1"
        )[0]
        ((start, end),) = reader.rows(
            "SELECT arg_max(d.start_ns, (v.critical_omega, d.confidence)), "
            "arg_max(d.end_ns, (v.critical_omega, d.confidence)) FROM marts.discords AS d "
            "JOIN marts.verdicts AS v ON v.run_id = d.run_id AND v.series = d.series AND v.is_current "
            "WHERE d.run_id = ?",
            [worst],
        )
        nearest = reader.value(
            "SELECT arg_max(history_run_id, similarity_ratio) FROM marts.history_sets WHERE run_id = ?", [worst]
        )
        similarity = reader.value("SELECT max(similarity_ratio) FROM marts.history_sets WHERE run_id = ?", [worst])
        ties = reader.rows(
            "SELECT history_run_id FROM marts.history_sets WHERE run_id = ? AND similarity_ratio = ?",
            [worst, similarity],
        )
    first = _text(out, app, version).partition("</section>")[0]
    assert f"visStart={start}&amp;visEnd={end}" in first
    assert f'run <a href="../runs/{worst}.html">' in first
    near = re.search(r"perfreg compare (\S+) ([^<\s]+)<", first)
    assert near is not None
    assert near[2] == worst
    assert near[1] in {one for (one,) in ties} | {nearest}
    assert f"perfreg review {worst} --status confirmed" in first


@pytest.fixture(scope="module")
def view(sample_site):
    """Of an anomalous version."""
    with sample_site[0].reading() as reader:
        order = RunOrder(reader)
        own = [one for one in order.runs_of("com.example.notes") if one.version_name == "1.2.0"]
        return load_version_views(reader, "com.example.notes", {"1.2.0": own}, {"1.2.0": {}})["1.2.0"]


def test_a_run_judged_beside_runs_of_any_path_is_not_said_to_have_no_history(view):
    shown = _shown(render_version_page(replace(view, worst=replace(view.worst, nearest=None))))
    assert "None of the runs that it was compared with went a similar way." in shown
    assert "no history" not in shown


def test_what_there_is_nothing_of_is_said_in_words(view):
    bare = replace(
        view,
        row=replace(view.row, cells={}, points={}, setups=(), anomalous_count=0),
        verdicts=(), grown=(), energy=(), benchmarks=(), worst=None,
    )  # fmt: skip
    told = _shown(render_version_page(bare))
    for sentence in (
        "1.2.0 has not been judged yet.",
        "perfreg status says what is still to be computed",
        "No run of this version is anomalous",
        "No series of this version has a verdict yet.",
        "No run of this version has an estimate",
        "No results of benchmarks were imported",
    ):
        assert sentence in told, sentence
    assert 'class="verdict not_judged"' in render_version_page(bare)
    row = {"axis": "all", "state": "not_judged", "judged_count": 0, "anomalous_count": 0, "series": None,
           "explanation": "So it is."}  # fmt: skip
    out = _shown(render_version_page(replace(bare, verdicts=({**row, "run_count": 0},))))
    assert "1.2.0 is not judged: people took all its runs out. So it is." in out
    assert "perfreg include RUN" in out
    waiting = _shown(render_version_page(replace(bare, verdicts=({**row, "run_count": 2},))))
    assert "1.2.0 has not been judged yet." in waiting
    assert "perfreg status says what is still to be computed" in waiting
    few = replace(bare, row=replace(view.row, run_count=2, anomalous_count=1))
    assert "It takes 3 runs to say what grew in several of them; there are 2." in _shown(render_version_page(few))


@pytest.mark.parametrize(
    ("count", "told"), [(1, "1 run was confirmed as a regression."), (2, "2 runs were confirmed as regressions.")]
)
def test_what_people_confirmed_leads(view, count, told):
    whole = [{**one, "state": "anomalous", "confirmed_count": count} for one in view.verdicts if one["axis"] == "all"]
    page = _shown(render_version_page(replace(view, verdicts=whole)))
    assert f"1.2.0 as a whole got worse than in comparable earlier runs: {told}" in page


@pytest.mark.parametrize("state", ["normal", "improved"])
def test_a_version_in_order_with_alarms_that_nobody_answered_is_not_done_with(view, state):
    """The index counted them, the exit status was theirs, and the page said that nothing needs to be done."""
    whole = [{**one, "state": state} if one["axis"] == "all" else one for one in view.verdicts]
    (run, *_) = view.runs
    alarm, quiet = (replace(run, state=of, review=None) for of in ("anomalous", "normal"))
    told = {}
    cases = {
        "none": [quiet],
        "said": [replace(alarm, review="rejected"), quiet],
        "one": [alarm, quiet],
        "two": [alarm] * 2,
    }
    for name, listed in cases.items():
        told[name] = _shown(render_version_page(replace(view, verdicts=whole, runs=listed)))
    for name, expected in (("none", True), ("said", True), ("one", False), ("two", False)):
        assert ("Nothing needs to be done." in told[name]) is expected, name
    assert "a run of it is anomalous by itself, and nobody has said yet what it is" in told["one"]
    assert "runs of it are anomalous by themselves, and nobody has said yet what they are" in told["two"]


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        (["trace_truncated", "trace_errors"], "no run of it has a whole trace"),
        (["package_missing", "package_missing"], "no process of the app is in the trace of any of its runs"),
        (["package_missing", "trace_truncated"], "none of its traces can be judged"),
    ],
)
def test_traces_that_are_not_judged_are_called_what_they_are(view, codes, told):
    row = {"axis": "all", "state": "incomplete_trace", "judged_count": 0, "anomalous_count": 0, "series": "cpu_app",
           "run_count": 2, "explanation": None}  # fmt: skip
    runs = tuple(replace(view.runs[0], state="incomplete_trace", reason_code=code) for code in codes)
    assert f"1.2.0 cannot be judged: {told}." in _shown(
        render_version_page(replace(view, verdicts=(row,), runs=runs, worst=None))
    )


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ([("anomalous", 3.0, None)], ""),
        ([("anomalous", 3.0, None), ("normal", 0.5, None)], "The worst first."),
        ([("anomalous", 3.0, None), ("anomalous", 1.5, "excluded"), ("normal", None, None)], "The worst first."),
        (
            [("anomalous", 1.5, None), ("anomalous", 3.0, "excluded")],
            "The worst first, those that are excluded or were called a false alarm last.",
        ),
        (
            [("anomalous", 1.5, None), ("anomalous", 3.0, "rejected"), ("normal", 0.5, None)],
            "Anomalous ones first, then the others; of each the worst first, those that are excluded or were called a "
            "false alarm last.",
        ),
        (
            [("anomalous", 1.1, None), ("normal", 1.2, None)],
            "Anomalous ones first, then the others; of each the worst first.",
        ),
        ([("not_enough_history", None, None)] * 2, "The latest first."),
    ],
)
def test_the_order_of_runs_is_said_as_it_is(view, listed, told):
    """`The worst first` was said of every version, also where one that is excluded is worse than those before it."""
    runs = tuple(replace(view.runs[0], state=state, ratio=ratio, review=review) for state, ratio, review in listed)
    assert worst_first(runs) == runs
    page = _shown(render_version_page(replace(view, runs=runs)))
    assert f"Its runs {told} ".replace("  ", " ") in page
    assert ("worst first" in page) is ("worst first" in told)


def test_names_are_text(view, builders):
    hostile = replace(view, app=builders.naughty, row=replace(view.row, version_name=builders.naughty))
    assert "<script>alert" not in render_version_page(hostile)
    assert "<img" not in re.sub(r'<img src="\.\./assets/icon\.svg"[^>]*>', "", render_version_page(hostile))


def test_a_version_page_is_named_so_that_no_two_share_one():
    pairs = [
        ("a.b", "1.0"),
        ("a.b", "1@0"),
        ("a", "b@1.0"),
        ("a.b", "1/0"),
        ("a.b", "../x"),
        ("a.b", ""),
        ("a" * 300, "1"),
    ]
    pages = [version_page(*pair) for pair in pairs]
    assert len(set(pages)) == len(pages)
    assert pages[0] == "versions/a.b@1.0.html"
    assert all(re.fullmatch(r"versions/[A-Za-z0-9._+@-]{1,220}\.html", page) for page in pages)


def test_versions_are_in_the_order_of_the_mart_with_codes_and_without(own_sample):
    def order(reader):
        ranked = reader.rows(
            "SELECT version_name FROM marts.app_versions WHERE app = 'com.example.notes' ORDER BY version_rank"
        )
        return [name for _, _, name in runs.versions_in_order(reader, "com.example.notes")], [
            name for (name,) in ranked
        ]

    with own_sample.writing() as writer:
        writer.execute("UPDATE core.runs SET version_code = 300 - version_code WHERE app = 'com.example.notes'")
        own, mart = order(writer)
        assert own == mart == ["1.2.0", "1.1.0", "1.0.0"]
        writer.execute("UPDATE core.runs SET version_code = NULL WHERE run_id = 'notes-0003'")
        own, mart = order(writer)
        assert own == mart == ["1.0.0", "1.1.0", "1.2.0"]


def test_another_order_of_versions_and_a_lost_page_make_pages_due(own_sample, built, tmp_path):
    out, anew = built, tmp_path / "anew"
    lost = version_page("com.example.shop", "1.0.0")
    (out / lost).unlink()
    (out / "versions" / "stranger.html").write_text("of nobody")
    with own_sample.reading() as reader:
        assert site.due_pages(reader, out) == ([], True)
        assert sorted(site.build_site(reader, out)) == sorted([lost, "versions/stranger.html"])
        assert site.due_pages(reader, out) == ([], False)
    with own_sample.writing() as writer:
        writer.execute("UPDATE core.runs SET version_code = NULL, version_name = '1.1.9' WHERE run_id = 'notes-0012'")
    with own_sample.reading() as reader:
        site.build_site(reader, out)
        site.build_site(reader, anew)
    assert {path.name: path.read_text("utf-8") for path in (out / "versions").iterdir()} == {
        path.name: path.read_text("utf-8") for path in (anew / "versions").iterdir()
    }
    assert "the version before is 1.1.9" in _shown(_text(out, "com.example.notes", "1.2.0"))


def test_a_version_that_an_earlier_build_left_goes_when_everything_is_looked_at(own_sample, built):
    out, page = built, version_page("com.example.notes", "0.9.9")
    with own_sample.reading() as reader:
        state = SiteState(out)
        state.put_version("com.example.notes", "0.9.9", VersionEntry(page="of old", first="2026-01-01T00:00:00+00:00"))
        state.save()
        (out / page).write_text("of old")
        assert page in site.build_site(reader, out, server="http://127.0.0.1:7")  # which all pages show
    assert not (out / page).exists()
    assert not SiteState(out).version("com.example.notes", "0.9.9").page


def _measure_benchmarks_anew(warehouse, out):
    """Leaves a site that is whole but for the benchmarks of a version."""
    with warehouse.writing():
        """The first write of a copied warehouse makes its marts anew."""
    with warehouse.reading() as reader:
        site.build_site(reader, out)
    with warehouse.writing() as writer:
        writer.execute("UPDATE core.benchmark_distances SET distance = 1000")
        writer.execute("UPDATE core.benchmark_judged SET measured_at = measured_at + INTERVAL 1 SECOND")


def test_results_of_benchmarks_make_their_versions_page_new_and_no_other(own_sample, built):
    _measure_benchmarks_anew(own_sample, built)
    with own_sample.reading() as reader:
        written = site.build_benchmark_pages(reader, built)
        assert [page for page in written if page.startswith("versions/")] == ["versions/com.example.notes@1.0.0.html"]
        assert site.due_pages(reader, built) == ([], False)


def test_benchmarks_count_as_shown_when_the_page_is_written_not_before(own_sample, built, monkeypatch):
    """A build that dies at the page leaves it to the next one."""
    _measure_benchmarks_anew(own_sample, built)
    write = version_site.write

    def full(path, text):
        if path.suffix == ".html":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, text)

    monkeypatch.setattr(version_site, "write", full)
    with own_sample.reading() as reader, pytest.raises(OSError, match="No space left"):
        site.build_benchmark_pages(reader, built)
    monkeypatch.setattr(version_site, "write", write)
    with own_sample.reading() as reader:
        assert "versions/com.example.notes@1.0.0.html" in site.build_site(reader, built)


def test_a_clock_that_was_set_back_keeps_no_build_waiting(tmp_path, monkeypatch):
    """A folder that changed in an hour: waiting for that would hold the lock of all pages as long."""
    slept: list[float] = []
    monkeypatch.setattr(version_site.time, "sleep", slept.append)
    now = time.time_ns()
    later = now + 3_600_000_000_000
    os.utime(tmp_path, ns=(later, later))
    assert version_site._settled(tmp_path) == 0  # it is looked at again next time
    assert slept == []
    os.utime(tmp_path, ns=(now, now))
    assert version_site._settled(tmp_path) == now
    assert sum(slept) <= SETTLED_NS / 1e9
