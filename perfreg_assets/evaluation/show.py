"""The tables of an evaluation for a terminal, with the thesis' printed figures beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

from rich.table import Table

from perfreg_assets.evaluation.printed import event_row, verdict_rows
from perfreg_assets.terminal import console_on

_FIGURES = ("precision", "recall", "f1", "false_positive_rate", "mcc", "roc_auc", "average_precision")
_HEADS = ("precision", "recall", "F1", "FPR", "MCC", "ROC AUC", "AP")
_COUNTS = ("tp", "tn", "fp", "fn")
_ALL = "all"
_RUN = "*"


def print_tables(result: dict[str, Any], file: IO[str] | None = None) -> None:
    """Verdicts (pooled, per series, per severity, for runs), false alarms against nominal, localisation."""
    console = console_on(file, 132 if file else None)
    console.print(
        f"data set {result['dataset']}, protocol {result['protocol']}, {result['repeats']} repeats, history "
        f"{result['history']}, seed {result['seed']}, {result['seconds']:.1f} s"
    )
    without = result["counts"]["without_history"]
    if without:
        console.print(
            "not judged for lack of history: " + ", ".join(f"{n} {label} runs" for label, n in without.items())
        )
    rows = result["rows"]
    totals = [row for row in rows if row["anomaly_kind"] == _ALL and row["severity"] == _ALL]
    if result["protocol"] == "aa":
        console.print(_false_alarms(totals))
        return
    console.print(_verdicts("Verdicts per series", [row for row in totals if row["series"] == _ALL], with_printed=True))
    console.print(_verdicts("Verdicts by series", [row for row in totals if row["series"] not in {_ALL, _RUN}]))
    console.print(_verdicts("Verdicts on whole runs (any series)", [row for row in totals if row["series"] == _RUN]))
    console.print(_severities(rows))
    if result["reliability"]:
        console.print(_reliability(result["reliability"]))
    if result["localisation"]:
        console.print(_localisation(result["localisation"]))


def _verdicts(title: str, rows: Iterable[dict[str, Any]], *, with_printed: bool = False) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("detector", "series", "knob"):
        table.add_column(name)
    for name in (*_COUNTS, *_HEADS):
        table.add_column(name, justify="right")
    if with_printed:
        for row in verdict_rows():
            table.add_row("thesis, printed", "all", f"ω = {row['omega']:g}", *_cells(row), style="dim")
        table.add_section()
    for row in rows:
        table.add_row(row["detector"], _series(row["series"]), _knob(row), *_cells(row))
    return table


def _cells(row: dict[str, Any]) -> list[str]:
    return [*(str(row[name]) for name in _COUNTS), *(_number(row.get(name)) for name in _FIGURES)]


def _false_alarms(rows: Iterable[dict[str, Any]]) -> Table:
    table = Table(title="Normal runs against normal runs: every alarm is false", title_justify="left")
    for name in ("detector", "series", "knob", "nominal", "measured", "95 % interval", "cases"):
        table.add_column(name, justify="left" if name in {"detector", "series", "knob"} else "right")
    for row in rows:
        interval = (row.get("intervals") or {}).get("false_positive_rate")
        table.add_row(
            row["detector"],
            _series(row["series"]),
            _knob(row),
            _number(row["level"]),
            _number(row["false_positive_rate"]),
            f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "",
            str(row["cases"]),
        )
    return table


def _severities(rows: Iterable[dict[str, Any]]) -> Table:
    """Recall per severity, at one knob of each detector: level .05 where its ω has levels, else ω = 1."""
    rows = list(rows)
    table = Table(title="Recall by severity (at level .05 where ω has one, else at ω = 1)", title_justify="left")
    for name in ("detector", "series", "severity", "anomalous cases", "recall"):
        table.add_column(name, justify="right" if name in {"anomalous cases", "recall"} else "left")
    with_levels = {row["detector"] for row in rows if row["level"] is not None}
    for row in rows:
        is_shown = row["level"] == 0.05 if row["detector"] in with_levels else row["omega"] == 1.0
        if is_shown and row["severity"] != _ALL and row["anomaly_kind"] == _ALL and row["series"] != _ALL:
            cases = row["tp"] + row["fn"]
            table.add_row(row["detector"], _series(row["series"]), row["severity"], str(cases), _number(row["recall"]))
    return table


def _reliability(points: Iterable[dict[str, Any]]) -> Table:
    table = Table(title="False alarms: nominal and measured, all series", title_justify="left")
    for name in ("detector", "nominal", "measured", "95 % interval"):
        table.add_column(name, justify="left" if name == "detector" else "right")
    for point in points:
        if point["series"] == _ALL and point["level"] in {0.02, 0.05, 0.1, 0.2, 0.25}:
            interval = f"{point['low']:.3f} to {point['high']:.3f}"
            table.add_row(point["detector"], _number(point["level"]), _number(point["measured"]), interval)
    return table


def _localisation(rows: Iterable[dict[str, Any]]) -> Table:
    table = Table(title="Localisation of what was injected", title_justify="left")
    for name in ("detector", "series", "runs", "unit"):
        table.add_column(name)
    for name in ("precision", "recall", "F1", "lift", "flagged per clean run"):
        table.add_column(name, justify="right")
    printed = event_row()
    figures = (_number(printed[name]) for name in ("precision", "recall", "f1"))
    table.add_row("thesis, printed", "all", "alarmed", "events", *figures, "", "", style="dim")
    table.add_section()
    for row in rows:
        table.add_row(
            row["detector"],
            _series(row["series"]),
            row["runs"],
            row["unit"],
            *(_number(row[name]) for name in ("precision", "recall", "f1", "lift", "flagged_per_clean_run")),
        )
    return table


def _series(name: str) -> str:
    return "run" if name == _RUN else name


def _knob(row: dict[str, Any]) -> str:
    if row["omega"] is None:
        return f"level {row['level']:g}"
    return f"ω = {row['omega']:g}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
