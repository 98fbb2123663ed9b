"""The run that a page sets beside an alarm: of its history, the most similar path that is usual itself."""

from __future__ import annotations

import pytest

from perfreg_assets.reports.loading import load_details
from perfreg_assets.reports.loading_version_pages import _worst
from perfreg_assets.warehouse.connection import Writer

ALARM = (
    "SELECT run_id FROM marts.verdicts WHERE is_current AND is_anomalous AND series = 'rss_app' "
    "AND app = 'com.example.notes' AND version_name = '1.2.0' ORDER BY run_id"
)
OF_HISTORY = "SELECT history_run_id FROM marts.history_sets WHERE run_id = ? ORDER BY history_rank"


def nearest(writer: Writer, run_id: str) -> str:
    """Of the run's page, and of that of its version."""
    (detail,) = load_details(writer, [run_id])
    of_version = _worst(writer, {"1.2.0": run_id})["1.2.0"].nearest
    assert detail.nearest is not None
    assert of_version is not None
    assert of_version.run_id == detail.nearest.run_id
    return detail.nearest.run_id


def give(writer: Writer, run_id: str, series: str, distances: list[float]) -> None:
    writer.execute(
        "UPDATE core.distances SET history_distances = ? WHERE is_latest AND detector = 'default' AND run_id = ? "
        "AND series = ?",
        [distances, run_id, series],
    )


@pytest.mark.parametrize("series", ["rss_app", "cpu_app"])
def test_a_run_that_is_beyond_the_limit_itself_is_not_set_beside_an_alarm(own_sample, series):
    with own_sample.writing() as writer:
        run_id = writer.rows(ALARM)[0][0]
        members = [one for (one,) in writer.rows(OF_HISTORY, [run_id])]
        for name in ("cpu_app", "cpu_total", "rss_app"):
            give(writer, run_id, name, [0.0] * len(members))
        first = nearest(writer, run_id)
        give(writer, run_id, series, [99.0 if one == first else 0.0 for one in members])
        second = nearest(writer, run_id)
        assert second in {*members} - {first}
        give(writer, run_id, series, [99.0] * len(members))
        assert nearest(writer, run_id) == first, "there is no other"
        give(writer, run_id, series, [99.0] * (len(members) - 1))
        assert nearest(writer, run_id) == first, "nobody knows whose they are"
