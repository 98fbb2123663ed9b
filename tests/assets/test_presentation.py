"""What Dagster's UI shows beside the numbers of a materialisation."""

from __future__ import annotations

from perfreg_assets.assets import presentation


def _axis(run_id: str, axis: str, state: str, series: str, ratio: float | None = None) -> dict[str, object]:
    return {"run_id": run_id, "axis": axis, "state": state, "series": series, "excess_ratio": ratio}


def test_runs_stand_against_axes_in_words_and_with_the_series_that_decides():
    whole = {"a": "anomalous", "b": "series_missing", "c": "not_enough_history"}
    rows = [
        _axis("a", "memory", "anomalous", "rss_app", 1.524),
        _axis("a", "cpu", "normal", "cpu_app", 0.3),
        _axis("b", "memory", "series_missing", "rss_app"),
        _axis("b", "cpu", "improved", "cpu_app", 0.0),
    ]
    table = presentation.axis_table(whole, rows)["axes"].value
    assert table.splitlines() == [
        "| Run | Verdict | CPU | Memory |",
        "| --- | --- | --- | --- |",
        "| a | ▲ Anomalous | ● Normal | ▲ Anomalous (rss\\_app 1.52× the limit) |",
        "| b | ◌ Series missing | ▼ Improved | ◌ Series missing (rss\\_app) |",
        "| c | ○ Not enough history |  |  |",
    ]


def test_without_a_verdict_there_is_no_table():
    assert presentation.axis_table({}, []) == {}


def test_a_name_neither_ends_its_cell_nor_becomes_a_link():
    table = presentation.axis_table({"x | [y](http://z)\n": "normal"}, [])["axes"].value
    assert table.splitlines()[2] == "| x \\| \\[y\\](http://z)  | ● Normal |"


def test_of_many_runs_the_latest_are_shown_and_the_rest_is_counted():
    whole = {f"run{number:03d}": "normal" for number in range(presentation.TABLED_RUNS + 3)}
    lines = presentation.axis_table(whole, [])["axes"].value.splitlines()
    assert lines[2].startswith("| run003 ")
    assert lines[-1] == "3 earlier runs are in `marts.axis_verdicts`."
