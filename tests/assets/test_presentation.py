"""What Dagster's UI shows beside the numbers of a materialisation."""

from __future__ import annotations

from pathlib import Path

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets import presentation
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.histories import Member


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


# ---- the history ---------------------------------------------------------------------------------
SETTINGS = Settings(warehouse=Path("perfreg.duckdb"))


def _member(run_id: str, version: str = "1.4.0", used_by: int = 1) -> Member:
    return Member("com.x@2", run_id, "com.x", version, f"com.x@{version}", used_by)


def test_the_history_names_its_versions_and_runs_with_links():
    told = presentation.history_table([_member("b", "1.5 (beta)", 3), _member("a"), _member("a_0")], SETTINGS)
    assert (told["history_versions"], told["history_runs"]) == (2, 3)
    server = SETTINGS.reports_address
    (beta, old) = told["history"].value.splitlines()[2:]
    assert beta.startswith(
        "| [com.x@1.5 (beta)](/assets/verdicts?view=partitions&partition=com.x%401.5%20%28beta%29) "
        f"| [page]({server}/versions/"
    )
    assert beta.endswith(f"| [b]({server}/runs/b.html) 3× |")
    assert old == (
        "| [com.x@1.4.0](/assets/verdicts?view=partitions&partition=com.x%401.4.0) "
        f"| [page]({server}/versions/com.x@1.4.0.html) "
        f"| [a]({server}/runs/a.html) 1×, [a\\_0]({server}/runs/a_0.html) 1× |"
    )


def test_a_long_history_is_cut_and_counted():
    many = [_member(f"run{number}") for number in range(presentation.LISTED_HISTORY + 5)]
    told = presentation.history_table(many, SETTINGS)
    assert told["history_runs"] == len(many)
    assert told["history"].value.count("/runs/") == presentation.LISTED_HISTORY
    assert told["history"].value.endswith("\n5 earlier runs are in `marts.history_sets`.")


def test_without_a_history_there_are_counts_only():
    assert presentation.history_table([], SETTINGS) == {"history_versions": 0, "history_runs": 0}


def test_every_asset_with_a_mart_describes_its_columns_without_being_materialised():
    specs = {spec.key.to_user_string(): spec.metadata for spec in build_defs().resolve_all_asset_specs()}
    described = {name: told for name, told in specs.items() if "dagster/table_name" in told}
    chain = {"runs", "traces", "time_series", "thread_times", "history_sets", "barycenters", "distances", "verdicts"}
    assert chain | {"discords", "causes", "energies", "benchmark_verdicts", "marts/verdicts"} <= set(described)
    for name, told in described.items():
        columns = told["dagster/column_schema"].columns
        assert columns, name
        assert all(one.description and one.type for one in columns), name
    shown = {column.name for column in described["verdicts"]["dagster/column_schema"].columns}
    assert shown >= {"run_id", "distance", "omega"}
