"""Measurements on a run's page: beside the history, with limits in their own unit, and never as a lost series."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from perfreg_assets import detection
from perfreg_assets.catalogue import metric_definition
from perfreg_assets.methods.detectors import make_detector
from perfreg_assets.methods.multiple_testing import correct
from perfreg_assets.methods.omega_rule import is_anomalous
from perfreg_assets.reports import loading, loading_lists
from perfreg_assets.reports.data import Distances, MetricView
from perfreg_assets.reports.metric_limits import metric_limits
from perfreg_assets.reports.metric_rows import metric_rows
from perfreg_assets.reports.pictures import picture_of_worst
from perfreg_assets.reports.run_order import RunOrder
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.wording import headline
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.warehouse import distances, measurements, verdicts
from perfreg_assets.warehouse.measurements import RUN, MeasurementRow

COLD = "startup_initial_display_cold"
HISTORY = (0.61, 0.66, 0.64, 0.7, 0.63, 0.68, 0.65, 0.62)
OMEGA = 0.75


def metric(builders, state: str | None = "anomalous", *, value: float | None = 0.92, **changes) -> MetricView:
    judged = state in ("anomalous", "normal", "improved")
    sentence = "takes 0.92 s; the 8 comparable runs took 0.61 to 0.7 s"
    base = MetricView(
        name=COLD, label="Cold start to first frame", unit="s", value=value, history=HISTORY,
        limits=(None, 0.79) if judged else (None, None),
        missing_reason=None if value is not None else "the app had no cold launch",
        verdict=builders.verdict(COLD, state) if state else None,
        distances=(Distances("default", 4.1, -0.67, 0.67, (), evidence_text=sentence),) if judged else (),
    )  # fmt: skip
    return replace(base, **changes)


def visible(page: str) -> str:
    texts: list[str] = []

    class Reader(HTMLParser):
        def handle_data(self, data):
            texts.append(data)

    Reader().feed(page)
    return re.sub(r"\s+", " ", " ".join(texts))


# ---- limits ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("detector", ["default", "iqr"])
@pytest.mark.parametrize("worse", ["more", "less", "either"])
@pytest.mark.parametrize(
    "history", [HISTORY, (-3.0, 1.0, 0.0, 2.0, -1.0, 0.5), (100.0,) * 6, (0.0, 0.0, 0.0, 0.0, 0.0, 1e-9)]
)
@pytest.mark.parametrize(("omega", "count"), [(0.0, 1), (0.75, 4), (1.5, 12)])
def test_a_value_is_anomalous_exactly_beyond_its_limits(detector, worse, history, omega, count):
    judge, rule = make_detector(detector), detection.definition_of(detector).run_rule
    definition = metric_definition("own.metric", unit="s", worse=worse)
    low, high = metric_limits(judge, history, definition, omega=omega, series_count=count, run_rule=rule)
    assert (low is not None, high is not None) == (worse != "more", worse != "less")

    def alarm(value: float) -> bool:
        score = judge.score_value(np.asarray(history), value, series=definition)
        return is_anomalous(correct(score, count, rule), omega)

    for limit, outwards in ((low, -1), (high, +1)):
        if limit is not None:
            step = 1e-4 * abs(limit) or 1e-9
            assert alarm(limit + outwards * step)
            assert not alarm(float(np.median(history)))
            assert not alarm(limit - outwards * min(step, abs(limit - np.median(history))))


@pytest.mark.parametrize(("unit", "limit"), [("errors", 1.2), ("bytes", 1.2e6), ("ns", 1.2e8), ("ratio", 0.012)])
def test_of_what_was_never_there_the_limit_is_told_in_its_unit(unit, limit):
    definition = metric_definition("own.metric", unit=unit, worse="more")
    judge = make_detector("default")
    low, high = metric_limits(judge, (0.0,) * 12, definition, omega=OMEGA, series_count=1, run_rule="sidak")
    assert (low, high) == (None, pytest.approx(limit, rel=0.1))


def test_a_limit_that_no_value_reaches_is_none():
    definition = metric_definition("own.metric", unit="s", worse="more")
    judge = make_detector("default")
    limits = metric_limits(judge, HISTORY, definition, omega=100.0, series_count=1, run_rule="sidak")
    assert limits == (None, None)  # scores end at 8


# ---- the page ----------------------------------------------------------------------------------------
def test_a_judged_metric_stands_on_the_page_with_value_history_limit_and_in_words(detail, builders):
    page = render_run_page(replace(detail("normal"), metrics=(metric(builders),)))
    text = visible(page)
    assert "Measurements Measurement State This run" in text
    assert f"Cold start to first frame {COLD} Takes 0.92 s; the 8 comparable runs took 0.61 to 0.7 s." in text
    assert "▲ Anomalous 1.52× the limit 0.920 s 0.610 to 0.700 at most 0.790" in text
    told = "Cold start to first frame: this run 0.920 s; 8 comparable runs 0.610 to 0.700 s; limit at most 0.790 s."
    assert f'role="img" aria-label="{told}"' in page
    plot = re.search(r'<svg class="dots".*?</svg>', page, re.DOTALL)[0]
    assert plot.count('class="history"') == 8
    assert plot.count('class="run"') == plot.count('class="limit"') == 1
    assert f'id="series-{COLD}"' not in page


def test_dots_lie_in_order_of_their_values(builders):
    (row,) = metric_rows([metric(builders)])["judged"]
    plot = row["plot"]
    assert np.argsort(plot["history"]).tolist() == np.argsort(HISTORY).tolist()
    assert min(plot["history"]) < plot["median"] < max(plot["history"]) < plot["limits"][0] < plot["value"] <= 100
    alone = metric_rows([metric(builders, limits=(None, 500.0))])["judged"][0]["plot"]
    assert alone["limits"] == [], "a limit far away would make one dot of all"


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_a_history_without_spread_has_a_plot(builders, value):
    (row,) = metric_rows([metric(builders, value=value, history=(value,) * 6, limits=(None, value))])["judged"]
    assert row["usual"] in ("0", "5.00")
    assert 0 <= row["plot"]["value"] <= 100


def test_what_the_run_does_not_have_is_told_not_drawn(detail, builders):
    gone = metric(builders, "series_missing", value=None)
    absent = metric(builders, None, value=None, name="x", label="X", history=())
    idle = metric(builders, None, value=3.0, name="db.query", label="db.query", unit="ms")
    text = visible(render_run_page(replace(detail("normal"), metrics=(gone, absent, idle))))
    assert "Series missing" in text
    assert "1 more measurement, not judged" in text
    assert "3.00 ms" in text
    assert "1 measurement that this run does not have X x the app had no cold launch" in text


def test_a_page_without_measurements_has_no_section(detail):
    assert 'id="metrics"' not in render_run_page(detail("normal"))


def test_an_anomalous_metric_is_in_the_sentence_at_the_top(detail, builders):
    contents = detail("normal")
    alone = replace(contents, metrics=(metric(builders),), run_verdict=builders.verdict(RUN_LEVEL, "anomalous"))
    told = headline(alone)
    assert told.tone == "anomalous"
    assert "outside what the last 12 comparable runs did" in told.text
    assert told.text.endswith("takes 0.92 s (the others took 0.61 to 0.7 s).")
    missing = replace(
        contents,
        metrics=(metric(builders, "series_missing", value=None),),
        run_verdict=builders.verdict(RUN_LEVEL, "series_missing", missing_series=(COLD,)),
    )
    assert headline(missing).tone == "series_missing"
    assert headline(missing).text.startswith("Cold start is missing from this run although its history has it")
    assert (headline(missing).detail or "").startswith("The app had no cold launch. Against")


def test_names_reasons_and_units_of_metrics_are_text(detail, builders):
    evil = builders.naughty
    views = tuple(
        metric(builders, state, value=value, name=f"{evil}{i}", label=evil, unit=evil, missing_reason=evil)
        for i, (state, value) in enumerate([("anomalous", 1.0), ("series_missing", None), (None, 1.0), (None, None)])
    )
    page = render_run_page(replace(detail("normal"), metrics=views))
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count('<svg class="dots"') == 3


# ---- from the warehouse ------------------------------------------------------------------------------
def _measured(run_id: str, name: str, value: float | None, unit: str = "s", **more) -> MeasurementRow:
    return MeasurementRow(
        subject_kind=RUN, subject_id=run_id, metric=name, app="com.example.notes", version_name="v", unit=unit,
        worse="more", value=value, reason=None if value is not None else "the app had no cold launch", **more,
    )  # fmt: skip


def _judge(writer, run_id: str, name: str, value: float | None, history: list[float]) -> None:
    """What the model's steps store of a metric."""
    blank = distances.DistanceRow(run_id=run_id, series=name, detector="default", parameters_hash="p", state="scored")
    if value is None:
        row = replace(blank, state="series_missing", state_reason="8 of the 8 comparable runs have this metric.")
    else:
        definition = metric_definition(name, unit="s", worse="more")
        score = correct(make_detector("default").score_value(np.array(history), value, series=definition), 4, "sidak")
        row = replace(
            blank, distance=score.distance, q1=score.q1, q3=score.q3, improvement=score.improvement,
            evidence=dict(score.evidence), evidence_text=score.sentence, direction=score.direction,
            history_distances=score.history_distances,
        )  # fmt: skip
    others = distances.find(writer, [run_id])  # all that was measured of a run is stored together
    distances.upsert(writer, [*(one for one in others if one.series != row.series), row])
    verdicts.evaluate(writer, 1.5, "default", [run_id])


@pytest.fixture
def measured(own_sample):
    """(warehouse, run, ids of its history): the run's cold start is far from its history's, another metric is gone."""
    with own_sample.reading() as reader:
        run_id, ids = max(
            reader.rows("SELECT run_id, list(history_run_id ORDER BY history_rank) FROM marts.history_sets GROUP BY 1"),
            key=lambda row: (len(row[1]), row[0]),
        )
    with own_sample.writing() as writer:
        for i, member in enumerate(ids):
            rows = [_measured(member, COLD, 0.6 + i / 100), _measured(member, "db.query", 3.0 + i, "ms")]
            measurements.replace_subjects(writer, RUN, [member], rows)
        own = [_measured(run_id, COLD, 3.0), _measured(run_id, "startup_initial_display_hot", None)]
        measurements.replace_subjects(writer, RUN, [run_id], own)
        _judge(writer, run_id, COLD, 3.0, [0.6 + i / 100 for i in range(len(ids))])
        _judge(writer, run_id, "db.query", None, [])
    return own_sample, run_id, ids


def _detail(warehouse, run_id):
    with warehouse.reading() as reader:
        (detail,) = loading.load_details(reader, [run_id])
    return detail


def test_metrics_are_loaded_with_history_limits_and_verdict_and_are_no_series(measured):
    warehouse, run_id, ids = measured
    detail = _detail(warehouse, run_id)
    found = {one.name: one for one in detail.metrics}
    assert set(found) == {COLD, "db.query", "startup_initial_display_hot"}
    assert not {one.name for one in detail.series} & set(found)
    cold, own, hot = found[COLD], found["db.query"], found["startup_initial_display_hot"]
    assert (cold.value, cold.unit, cold.label) == (3.0, "s", "Cold start to first frame")
    assert cold.history == pytest.approx([0.6 + i / 100 for i in range(len(ids))])
    assert cold.verdict.state == "anomalous"
    assert cold.limits[0] is None
    assert max(cold.history) < cold.limits[1] < 3.0
    assert (own.value, own.unit, own.verdict.state) == (None, "ms", "series_missing")
    assert len(own.history) == len(ids)
    assert (hot.value, hot.verdict, hot.missing_reason) == (None, None, "the app had no cold launch")
    text = visible(render_run_page(detail))
    assert "so it was not judged." not in text, "that is said of series only"
    assert "Takes 3 s" in text or "Takes 3.0 s" in text


def test_a_metric_is_not_what_a_picture_is_drawn_of(measured):
    warehouse, run_id, _ = measured
    with warehouse.reading() as reader:
        found = picture_of_worst(reader, [run_id])
    assert found is None or found.series not in (COLD, "db.query")


def test_the_index_shows_metrics_like_series(measured):
    warehouse, run_id, _ = measured
    with warehouse.reading() as reader:
        run = loading_lists.load_listed(reader, [run_id])[run_id]
        axes = loading_lists.load_axes(reader, [COLD, "db.query", "no such metric"])
    assert COLD in run.flagged
    assert axes == {COLD: "startup", "db.query": "app", "no such metric": "other"}


def test_a_page_is_written_again_when_a_measurement_of_it_or_its_history_changes(measured):
    warehouse, run_id, ids = measured

    def fingerprint() -> str:
        with warehouse.reading() as reader:
            return loading.run_fingerprints(reader, loading.load_runs(reader, [run_id]), RunOrder(reader))[run_id]

    before = fingerprint()
    with warehouse.writing() as writer:
        measurements.replace_subjects(writer, RUN, [ids[0]], [_measured(ids[0], COLD, 0.6)])
    between = fingerprint()
    with warehouse.writing() as writer:
        measurements.replace_subjects(writer, RUN, [run_id], [_measured(run_id, COLD, 3.5)])
    assert len({before, between, fingerprint()}) == 3
