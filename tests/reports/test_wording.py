"""The sentence at the top of a run's page, and the words for series, units and numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfreg_assets import detection
from perfreg_assets.catalogue import AXES, DisplayUnit
from perfreg_assets.readable import readable_quantity
from perfreg_assets.reports import answers, wording
from perfreg_assets.reports.data import Distances


def test_an_anomalous_run_says_what_got_worse_and_since_when(detail):
    found = wording.headline(detail("anomalous"))
    assert found.tone == "anomalous"
    assert found.text.startswith("Memory of 1.5.0 is outside what the last 12 comparable runs did: it grows 0.4")
    assert "MB/s faster than usual from second 6" in found.text  # the leak starts at second 60


def test_cpu_is_described_by_its_level_and_the_surest_window(detail, builders):
    worse = builders.series("cpu_app", state="anomalous")
    worse = replace(worse, values=worse.band.middle * 1.4)
    found = wording.headline(replace(detail("anomalous"), series=(worse,)))
    assert "CPU of 1.5.0 is outside" in found.text
    assert "it is 40 % higher on average than usual, most clearly from second 120 to 144" in found.text


def test_the_detectors_own_evidence_goes_before_what_the_samples_show(detail, builders):
    worse = builders.series("rss_app", state="anomalous", leak=6e5)
    evidence = "memory swings over 70 MB after start-up; the 12 comparable runs over 20 to 31"
    own = replace(worse.distances[1], evidence_text=evidence)
    assert own.detector == worse.verdict.detector
    found = wording.headline(replace(detail("anomalous"), series=(replace(worse, distances=(own,)),)))
    assert found.text == (
        "Memory of 1.5.0 is outside what the last 12 comparable runs did: "
        "it swings over 70 MB after start-up (the others over 20 to 31), most clearly from second 120 to 144."
    )
    other = replace(own, detector="iqr")
    found = wording.headline(replace(detail("anomalous"), series=(replace(worse, distances=(other,)),)))
    assert "grows" in found.text, "another detector's evidence is not the reason"


@pytest.mark.parametrize(("usual", "told"), [("0 to 1", "0 to 1 bursts"), ("0", "0 bursts"), ("1", "1 burst")])
def test_how_often_the_others_had_bursts_stands_with_what_they_used(detail, builders, usual, told):
    cpu = builders.series("cpu_app", state="anomalous")
    evidence = f"uses 0.9 cores on average, in 8 bursts above 1.2 cores every 8 s (usually {usual}); "
    own = replace(cpu.distances[1], evidence_text=f"{evidence}the 12 comparable runs used 0.2 to 0.4")
    found = wording.headline(replace(detail("anomalous"), series=(replace(cpu, distances=(own,)),)))
    assert (
        f"it uses 0.9 cores on average, in 8 bursts above 1.2 cores every 8 s (the others used 0.2 to 0.4, in {told}), "
        "most clearly"
    ) in found.text


def test_several_anomalous_series_are_named_and_the_worst_is_described(detail, builders):
    memory = replace(
        builders.series("rss_app", state="anomalous", leak=6e5),
        verdict=builders.verdict("rss_app", "anomalous", critical_omega=9.0),
    )
    cpu = builders.series("cpu_app", state="anomalous")
    found = wording.headline(replace(detail("anomalous"), series=(cpu, memory)))
    assert found.text.startswith("Memory and CPU of 1.5.0 are outside")
    assert ": Memory grows" in found.text


@pytest.mark.parametrize("kind", ["not_enough_history", "incomplete_trace", "series_missing", "quarantined"])
def test_what_was_not_judged_is_never_called_normal(detail, kind):
    found = wording.headline(detail(kind))
    assert found.tone == kind
    assert "normal" not in found.text.lower()


def test_not_enough_history_says_how_many_are_there_and_needed(detail):
    text = wording.headline(detail("not_enough_history")).text
    assert "2 comparable earlier runs of the 5 needed" in text
    assert "nothing good or bad about 1.5.0" in text


def test_a_run_on_screens_that_no_earlier_one_showed_says_so_and_not_how_few_went_its_way(detail, builders):
    contents = detail("not_enough_history")
    told = "Only 12% of the session is on screens that the 7 earlier runs showed, 50% are needed."
    by_screens = replace(builders.history(size=7), state="not_enough_history", way="any_path", size=0)
    whole = builders.verdict("*", "not_enough_history", explanation=told)
    contents = replace(contents, history=by_screens, run_verdict=whole)
    text = wording.headline(contents).text
    assert text.startswith("Not judged: ")
    assert "beside the last 7 runs of any path" in text
    assert "nothing good or bad" in text
    assert answers.why(contents) == told


def test_a_run_that_lacks_what_its_history_has_says_that_first_and_never_that_it_stayed_within(detail):
    found = wording.headline(detail("series_missing"))
    assert found.tone == "series_missing"
    assert found.text == (
        "Memory is missing from this run although its history has it, so 1.5.0 is not judged as a whole."
    )
    assert found.detail == (
        "The trace has no mem.rss counters of the app. Against the last 12 comparable runs, CPU is normal."
    )


def test_every_series_that_is_missing_is_named(detail):
    contents = detail("series_missing")
    frames = replace(
        contents.series[1], name="frames_app", missing_reason="the trace has no frames",
        verdict=replace(contents.series[1].verdict, series="frames_app"),
    )  # fmt: skip
    whole = replace(contents.run_verdict, missing_series=("frames_app", "rss_app"))
    found = wording.headline(replace(contents, series=(*contents.series, frames), run_verdict=whole))
    assert found.text.startswith("Frames and Memory are missing from this run although its history has them, so 1.5.0")
    assert found.detail.startswith("The trace has no frames. The trace has no mem.rss counters of the app. Against")


def test_what_its_history_lacks_too_is_told_and_leaves_the_verdict_as_it_is(detail):
    contents = detail("series_missing")
    whole = replace(contents.run_verdict, state="normal", is_anomalous=False, missing_series=())
    found = wording.headline(replace(contents, run_verdict=whole))
    assert found.tone == "normal"
    assert found.text == "CPU of 1.5.0 stayed within what the last 12 comparable runs did."
    assert found.detail == "Neither this run nor its history has Memory."


def test_a_series_known_from_too_few_runs_is_named_beside_what_was_judged(detail, builders):
    contents = detail("normal")
    few = builders.verdict("rss_app", "not_enough_history", explanation="Only 3 of 12 have it on this grid.")
    cpu, total, memory = contents.series[:3]
    found = wording.headline(replace(contents, series=(cpu, total, replace(memory, verdict=few))))
    assert found.tone == "normal"
    assert found.text.startswith("CPU and Total CPU of 1.5.0 stayed within")
    assert found.detail == "Not judged: Memory (Only 3 of 12 have it on this grid)."


def test_a_missing_series_beside_an_anomalous_one_is_still_named(detail, builders):
    contents = detail("series_missing")
    worse = builders.series("cpu_app", state="anomalous")
    whole = replace(contents.run_verdict, state="anomalous", is_anomalous=True)
    found = wording.headline(replace(contents, series=(worse, contents.series[1]), run_verdict=whole))
    assert found.tone == "anomalous"
    assert found.text.startswith("CPU of 1.5.0 is outside")
    assert found.detail == (
        "Missing although the history has it, so not judged: Memory (The trace has no mem.rss counters of the app)."
    )


def test_a_run_of_which_everything_is_missing_cannot_be_judged(detail):
    contents = detail("series_missing")
    whole = replace(contents.run_verdict, distance=None, q1=None, q3=None, threshold=None)
    found = wording.headline(replace(contents, series=contents.series[1:], run_verdict=whole))
    assert found.tone == "series_missing"
    assert found.text == "This run cannot be judged: its trace lacks the series that are compared."
    assert found.detail == "Memory (The trace has no mem.rss counters of the app)."


def test_too_few_runs_with_the_series_are_not_called_a_short_history(detail, builders):
    contents = detail("not_enough_history")
    whole = builders.verdict("*", "not_enough_history", explanation="Only 3 of the 12 have cpu_app.")
    found = wording.headline(replace(contents, history=builders.history(), run_verdict=whole))
    assert found.tone == "not_enough_history"
    assert "12" not in found.text
    assert found.detail == "Only 3 of the 12 have cpu_app."


def test_a_run_that_only_the_run_level_finds_is_anomalous(detail, builders):
    normal = detail("normal")
    found = wording.headline(replace(normal, run_verdict=builders.verdict("*", "anomalous")))
    assert found.tone == "anomalous"
    assert found.text == "1.5.0 as a whole is outside what the last 12 comparable runs did."


def test_a_series_above_its_own_limit_in_a_normal_run_is_named_but_does_not_alarm(detail, builders):
    normal = detail("normal")
    high = builders.series("cpu_app", state="anomalous")
    found = wording.headline(replace(normal, series=(high, *normal.series[1:])))
    assert found.tone == "normal"
    assert found.detail is not None
    assert found.detail.startswith("CPU by itself is above its limit; over all 3 judged series together")


def test_less_load_is_called_better(detail, builders):
    less = builders.series("cpu_app", state="improved")
    level = builders.verdict("*", "improved")
    found = wording.headline(replace(detail("normal"), series=(less,), run_verdict=level))
    assert (found.tone, found.text) == ("improved", "CPU of 1.5.0 is better than in the last 12 comparable runs.")


def test_a_run_without_any_verdict_is_not_judged_yet(detail):
    bare = replace(detail("normal"), series=(), run_verdict=None)
    assert wording.headline(bare).tone == "not_judged"


def test_a_change_needs_values_and_a_history(builders):
    series = builders.series("cpu_app", state="anomalous")
    assert wording.describe_change(replace(series, band=None)) is None
    assert wording.describe_change(replace(series, values=None)) is None
    assert wording.describe_change(replace(series, values=np.full(180, np.nan))) is None


def test_every_axis_of_the_catalogue_has_a_name_for_people():
    assert set(wording.AXIS_LABELS) == {*AXES, "other"}
    assert wording.axis_label("later") == "later"
    assert sorted(["other", "later", "memory", "cpu"], key=wording.axis_place) == ["cpu", "memory", "later", "other"]


def test_a_detector_is_told_by_what_its_registry_says(builders):
    try:
        detection.register(replace(detection.definition_of("iqr"), name="third", summary="a third one"))
        assert wording.detector_text("third") == "third, a third one"
        assert wording.scale_of("third") == "distance"
    finally:
        detection.unregister("third")
    assert wording.detector_text("third") == "third", "one of an earlier release"
    assert wording.scale_of("third") == "score"
    assert wording.detector_text(None) == "–"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("cpu_app", "CPU of the app"),
        ("cpu_app_core_3", "CPU of the app on core 3"),
        ("cpu_core_0", "CPU of all processes on core 0"),
        ("cpu_freq_7", "Frequency of core 7"),
        ("something_new", "something_new"),
    ],
)
def test_series_have_names_for_people(name, label):
    assert wording.series_label(name) == label


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0"),
        (0.12345, "0.123"),
        (12345.6, "12,346"),
        (2.5e7, "2.50e+07"),
        (-1.5, "-1.50"),
    ],
)
def test_numbers_read_well(value, text):
    assert wording.number(value) == text


def test_memory_is_drawn_in_megabytes_and_cpu_in_cores():
    assert wording.unit_of("rss_app", "bytes") == DisplayUnit(1e-6, "MB", "bytes")
    assert wording.unit_of("cpu_total", "cores").axis == "cores busy"
    assert wording.unit_of("cpu_freq_0", "kHz").axis == "MHz"
    assert wording.unit_of("temperature_max", "celsius").axis == "°C"
    assert wording.unit_of("idle_deep_ratio", "ratio") == DisplayUnit(100.0, "%", "ratio")
    assert wording.unit_of("widgets", "pieces") == DisplayUnit(1.0, "pieces", "pieces")


def test_windows_at_regular_times_are_told_with_their_period(detail, builders):
    worse = builders.series("cpu_app", state="anomalous")
    (window, _) = worse.discords
    starts = (20.0, 51.0, 80.0, 110.0)
    regular = tuple(replace(window, start_s=start, end_s=start + 5, confidence=0.9 - start / 1e3) for start in starts)
    worse = replace(worse, values=worse.band.middle * 1.4, discords=regular)
    found = wording.headline(replace(detail("anomalous"), series=(worse,)))
    assert "than usual, about every 30 s, most clearly from second 20 to 25" in found.text


def test_what_earlier_runs_of_the_app_make_of_a_score_is_told_where_they_were_asked():
    alone = Distances("default", 2.1, -0.67, 0.67, (), uncorrected_distance=2.43)
    assert wording.beside_past_runs(alone) is None
    told = wording.beside_past_runs(replace(alone, theoretical_score=2.9, past_runs=34.0))
    assert told == (
        "Beside its history alone it scores 2.90; what 34 earlier runs of the app scored beside theirs makes that 2.43."
    )
    new_unit = wording.beside_past_runs(replace(alone, theoretical_score=2.9, past_runs=0.0, unit_runs=0.0))
    assert new_unit == (
        "Beside its history alone it scores 2.90; that the history is of other device units, and nothing is "
        "known of its own, makes that 2.43."
    )
    both = wording.beside_past_runs(replace(alone, theoretical_score=2.9, past_runs=34.0, unit_runs=1.0))
    assert both == (
        "Beside its history alone it scores 2.90; what 1 earlier run of its own device unit scored beside other units, "
        "and what 34 earlier runs of the app scored beside theirs make that 2.43."
    )


def test_a_passing_disturbance_is_told_where_earlier_runs_had_some():
    alone = Distances(
        *("default", 1.2, -0.67, 0.67, ()),
        **{"uncorrected_distance": 1.41, "theoretical_score": 4.2, "past_runs": 34.0},
        **{"score_without_transient": 0.3, "transient_start_s": 40.0, "transient_end_s": 55.0},
    )
    assert "seconds" not in wording.beside_past_runs(alone)
    assert wording.beside_past_runs(replace(alone, transient_runs=3.0)) == (
        "Beside its history alone it scores 4.20; what 34 earlier runs of the app scored beside theirs, and that 3 of "
        "them were unusual for some seconds only, as this one, which scores 0.30 without seconds 40 to 55, make that "
        "1.41."
    )
    stays = replace(alone, transient_runs=1.0, score_without_transient=3.9)
    assert "seconds" not in wording.beside_past_runs(stays)


def test_amounts_of_memory_in_sentences_have_the_unit_of_tables_and_charts():
    unit = wording.unit_of("rss_app", "bytes")
    assert readable_quantity(44_060_000, "bytes") == f"{44_060_000 * unit.factor:.1f} {unit.axis}" == "44.1 MB"
    assert [readable_quantity(one, "bytes") for one in (2.5e9, 1_024, 12)] == ["2.5 GB", "1.02 kB", "12 bytes"]
