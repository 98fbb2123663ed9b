"""The still picture of a series, as PNG for comments and the console demo, as SVG for Dagster's metadata."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from perfreg_assets import detection
from perfreg_assets.assets.markdown_image import SVG, markdown_image
from perfreg_assets.reports import charts
from perfreg_assets.reports.box_plot import box_plot
from perfreg_assets.reports.charts import draw_series
from perfreg_assets.reports.colours import ALERT_COLOUR
from perfreg_assets.reports.data import Place
from perfreg_assets.reports.pictures import picture_of_worst
from perfreg_assets.reports.site_assets import contents
from perfreg_assets.reports.svg_picture import svg_of

# of plotly.js-cartesian-dist-min 4.1.1 in the npm registry
PLOTLY_SHA256 = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"


def _pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=int)


def _near(pixels: np.ndarray, colour: str) -> int:
    target = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return int((np.abs(pixels - target).sum(axis=2) < 24).sum())


def test_the_picture_is_small_and_has_the_asked_size(builders):
    png = draw_series(builders.series("rss_app", state="anomalous", leak=6e5))
    assert _pixels(png).shape == (260, 760, 3)
    assert len(png) < 60_000


@pytest.mark.parametrize("name", ["商店の画面", "🙂", "$x_{$ \\frac", "a $b$ c", "a$b"])
def test_names_in_any_script_are_drawn_without_a_word(builders, recwarn, name):
    png = draw_series(builders.series("rss_app"), title=name)
    assert _pixels(png).shape == (260, 760, 3)
    # Of drawing: a look for garbage may fall into this test and tell of what another one left open.
    assert [str(one.message) for one in recwarn if issubclass(one.category, UserWarning)] == []


def test_windows_and_the_runs_own_distance_are_marked_only_when_anomalous(builders):
    bad = _pixels(draw_series(builders.series("rss_app", state="anomalous", leak=6e5)))
    good = _pixels(draw_series(builders.series("rss_app", state="normal")))
    assert _near(bad, ALERT_COLOUR) > 40 > _near(good, ALERT_COLOUR) - 200  # the limit's line is in both
    shaded = (bad[:, :, 0] - bad[:, :, 2] > 40).sum()
    assert shaded > 5 * (good[:, :, 0] - good[:, :, 2] > 40).sum()


def test_the_legend_names_each_kind_that_is_drawn_once(builders, monkeypatch):
    drawn = []
    monkeypatch.setattr(charts.figures, "as_png", lambda figure: drawn.append(figure) or b"")
    series = builders.series("rss_app", state="anomalous", leak=6e5)
    (window, *_) = series.discords
    twice = replace(series, discords=(window, window), place=Place("windows", None, 15.0, 172.0))
    draw_series(twice)
    axes, side = drawn[0].axes
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named[-2:] == ["suspicious", "not examined"]
    assert len(set(named)) == len(named) == 5
    assert [text.get_text() for text in side.texts] == ["limit"]


def test_a_box_plot_is_named_by_the_scale_and_says_whose_limit_it_shows(builders):
    series = builders.series("rss_app")  # judged by the default detector
    by_score = box_plot(series)
    assert (by_score.title, by_score.limit_name) == ("score", "limit"), "of the detector that decided"
    assert by_score.distance == series.distances[1].distance, "a score has no unit"
    by_distance = box_plot(replace(series, distances=series.distances[:1]))
    assert (by_distance.title, by_distance.limit_name) == ("distance, MB", "iqr limit")
    assert by_distance.distance == pytest.approx(series.distances[0].distance / 1e6), "as the series is drawn"
    forgotten = replace(series.distances[0], detector="of an earlier release")
    assert box_plot(replace(series, distances=(forgotten,))).title == "score"
    assert box_plot(replace(series, distances=())) is None


def test_a_registered_third_detector_is_drawn_by_its_scale(builders):
    series = builders.series("rss_app")
    own = replace(series.distances[1], detector="third")
    try:
        detection.register(replace(detection.definition_of("iqr"), name="third"))
        verdict = replace(series.verdict, detector="third")
        drawn = box_plot(replace(series, distances=(*series.distances, own), verdict=verdict))
    finally:
        detection.unregister("third")
    assert (drawn.title, drawn.limit_name) == ("distance, MB", "limit")
    assert drawn.distance == pytest.approx(own.distance / 1e6)


def test_the_same_series_gives_the_same_bytes(builders):
    series = builders.series("cpu_app", state="anomalous")
    assert draw_series(series) == draw_series(series)


def test_a_missing_series_says_why_instead_of_drawing_nothing(builders):
    gone = replace(builders.series("rss_app"), values=None, distances=(), missing_reason="no mem.rss counters")
    png = draw_series(gone)
    assert 100 < (_pixels(png).sum(axis=2) < 300).sum() < 20_000


def test_names_with_dollar_signs_are_no_formulas(builders):
    assert draw_series(builders.series("rss_app"), title="app $\\frac{1}{ of $evil$ $")


def test_gaps_and_histories_without_spread_are_drawn(builders):
    series = builders.series("cpu_app", state="anomalous")
    values = series.values.copy()
    values[10:50] = np.nan
    flat = replace(series.distances[0], q1=9.0, q3=9.0, history_distances=(9.0, 9.0, 9.0))
    assert draw_series(replace(series, values=values, distances=(flat,), band=None, barycenter=None))


def test_markdown_holds_the_picture_and_a_harmless_text(builders):
    svg = svg_of(builders.series("cpu_app"), "title").encode()
    text = markdown_image(svg, "CPU [x](javascript:alert(1))\n# head", SVG)
    found = re.fullmatch(r"!\[([^\[\]\n]*)\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", text)
    assert found is not None
    assert base64.b64decode(found[2]) == svg


def _elements(svg: str) -> list[tuple[str, str, str]]:
    """(Tag, class, text) of all elements; an error where it is no XML."""
    return [
        (one.tag.rpartition("}")[2], one.get("class", ""), one.text or "") for one in ElementTree.fromstring(svg).iter()
    ]


@pytest.mark.parametrize(
    "name", ["商店の画面 🙂", "$x_{$ \\frac", "</text><script>alert(1)</script>", 'a"b\x00\x1b&amp;']
)
def test_names_in_any_script_are_text_of_the_svg(builders, name):
    found = _elements(svg_of(builders.series("rss_app"), name))
    assert ("text", "title", re.sub("[\x00\x1b]", "�", name)) in found
    assert {tag for tag, _, _ in found}.isdisjoint({"script", "image", "a", "foreignObject"})


def test_the_svg_marks_windows_and_the_runs_own_distance_only_when_anomalous(builders):
    bad = _elements(svg_of(builders.series("rss_app", state="anomalous", leak=6e5), "bad"))
    good = _elements(svg_of(builders.series("rss_app", state="normal"), "good"))
    for found, is_marked in ((bad, True), (good, False)):
        assert any(one[:2] == ("path", "own alarm") for one in found) == is_marked
        assert any(one[:2] == ("path", "own") for one in found) != is_marked
        assert any(one[:2] == ("rect", "window") for one in found) == is_marked
        assert any(one[:2] == ("path", "line limit") for one in found), "the limit is in both"
        assert any(one[:2] == ("polyline", "run") for one in found)


def test_the_svgs_legend_names_each_kind_that_is_drawn_once(builders):
    series = builders.series("rss_app", state="anomalous", leak=6e5)
    (window, *_) = series.discords
    twice = replace(series, discords=(window, window), place=Place("windows", None, 15.0, 172.0))
    names = [text for tag, kind, text in _elements(svg_of(twice, "title")) if (tag, kind) == ("text", "name")]
    legend = [name for name in names if name not in ("s", "score")]
    assert legend == [
        "this run",
        "barycenter",
        f"{series.band.run_count} earlier runs, 10–90 %",
        "suspicious",
        "not examined",
    ]


def test_the_svg_says_why_a_series_is_missing_and_draws_gaps_and_no_spread(builders):
    series = builders.series("rss_app", state="anomalous")
    gone = replace(series, values=None, distances=(), missing_reason="no mem.rss counters")
    assert ("text", "message", "no mem.rss counters") in _elements(svg_of(gone, "title"))
    values = series.values.copy()
    values[10:50] = np.nan
    flat = replace(series.distances[0], q1=9.0, q3=9.0, history_distances=(9.0, 9.0, 9.0))
    bare = replace(series, values=values, distances=(flat,), band=None, barycenter=None, discords=())
    svg = svg_of(bare, "title")
    assert sum(one[:2] == ("polyline", "run") for one in _elements(svg)) == 2, "a gap is no line"
    assert "nan" not in svg
    assert svg == svg_of(bare, "title")
    assert len(svg) < 60_000


def test_the_worst_picture_is_of_the_series_farthest_beyond_its_limit(sample_site):
    warehouse, _ = sample_site
    with warehouse.reading() as reader:
        worst = reader.rows(
            "SELECT run_id, series FROM marts.verdicts WHERE is_current AND is_anomalous AND series <> '*' "
            "ORDER BY critical_omega DESC LIMIT 1"
        )
        found = picture_of_worst(reader)
        calm = picture_of_worst(reader, ["notes-0000"])
    assert found is not None
    assert (found.run_id, found.series) == worst[0]
    assert found.caption == f"{found.series} of {found.run_id}, anomalous"
    assert _pixels(found.png).shape == (260, 760, 3)
    assert any(kind == "title" and found.run_id in text for _, kind, text in _elements(found.svg))
    assert calm is None, "that run has no history, so nothing was judged"


def test_the_bundled_chart_library_is_the_published_one():
    files = contents()
    script = files["plotly-cartesian.min.js"]
    assert b"plotly.js (cartesian - minified) v4.1.1" in script[:200]
    assert hashlib.sha256(script).hexdigest() == PLOTLY_SHA256
    assert "MIT" in files["plotly-cartesian.LICENSE"].decode()
