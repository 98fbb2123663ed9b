"""A detector is a class and a row of the registry: the whole chain follows, from distances to pages and evaluation."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import Project, reader_of, row

from perfreg_assets import detection
from perfreg_assets.evaluation.evaluate import evaluate
from perfreg_assets.methods.samples import Score
from perfreg_assets.reports.site import build_site

RUNS = [row(number, version="1" if number < 6 else "2") for number in range(12)]
LABELLED = Path(__file__).parents[1] / "data" / "evaluation" / "recorded.parquet"
OF_DETECTOR = "SELECT count(*) AS n FROM marts.distances WHERE detector = 'highest' AND state = 'scored' AND is_latest"


@dataclass(frozen=True)
class HighestSample:
    """Tukey's rule on the highest sample of each run."""

    name: str = "highest"

    def score_value(self, history, value, *, series):
        q1, q3 = np.quantile(history, [0.25, 0.75])
        told = f"reaches {value:.3g}"
        return Score(float(value), q1, q3, None, None, None, "more", np.asarray(history), None, {}, told)

    def score(self, history, target, *, series, interval_s, barycenter=None):
        return self.score_value([one.values.max() for one in history], target.values.max(), series=series)

    def score_all(self, history, targets, *, series, interval_s, barycenter=None):
        return [self.score(history, one, series=series, interval_s=interval_s) for one in targets]


@pytest.fixture
def highest():
    detection.register(
        detection.DetectorDefinition(
            name="highest",
            summary="the highest sample of all",
            scale="distance",
            run_rule="any",
            localisation="thesis",
            implementation=f"{__name__}:HighestSample",
        )
    )
    yield
    detection.unregister("highest")


def test_a_detector_that_is_registered_judges_localises_and_is_shown(highest, tmp_path):
    project = Project(tmp_path / "project", reader_of({"made-008": ("cpu_app", 1.0)}))
    project.arrive(*RUNS)
    project.settle()
    assert project.rows(OF_DETECTOR)[0]["n"] > 0
    assert project.rows("SELECT summary FROM marts.detectors WHERE detector = 'highest'") == [
        {"summary": "the highest sample of all"}
    ]
    project.change("detector", "highest")
    project.settle()
    assert project.due() == []
    (verdict,) = project.rows(
        "SELECT state, detector, explanation FROM marts.verdicts "
        "WHERE is_current AND run_id = 'made-008' AND series = 'cpu_app'"
    )
    assert (verdict["state"], verdict["detector"]) == ("anomalous", "highest")
    assert verdict["explanation"].startswith("reaches ")
    assert project.rows("SELECT localisation FROM marts.profiles WHERE run_id = 'made-008'")[0]["localisation"] == (
        "thesis"
    )
    with project.warehouse.reading() as reader:
        build_site(reader, tmp_path / "pages")
    page = (tmp_path / "pages" / "runs" / "made-008.html").read_text()
    assert "highest" in page
    assert "reaches " in page


def test_a_detector_that_is_registered_is_evaluated(highest):
    result = evaluate(LABELLED, protocol="chronological", detectors=("default", "highest"), localisation_repeats=0)
    mine = [one for one in result["rows"] if one["detector"] == "highest"]
    assert {one["correction"] for one in mine if one["series"] == "*"} == {"none: any series"}
    assert {one["detector"] for one in result["rows"]} == {"default", "highest"}


def test_a_detector_that_is_registered_later_is_due_where_others_measured_already(tmp_path, request):
    project = Project(tmp_path, reader_of({"made-008": ("cpu_app", 1.0)}))
    project.arrive(*RUNS[:8])
    project.settle()
    request.getfixturevalue("highest")
    assert {one.why for one in project.due()} == {"not measured by highest yet"}
    project.settle()
    assert project.rows(OF_DETECTOR)[0]["n"] > 0
    detection.unregister("highest")
    project.arrive(*RUNS[8:])
    project.settle()
    assert project.rows("SELECT * FROM marts.detectors WHERE detector = 'highest'") == []
