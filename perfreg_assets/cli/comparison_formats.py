"""What `perfreg compare --format json` gives as a comment, annotations or JUnit's XML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from perfreg_assets.cli.differences import interval, quantity, share, signed
from perfreg_assets.cli.markup import Case, annotation, cell, junit, sign
from perfreg_assets.reports.grown_words import GROWN_WORDS
from perfreg_assets.terminal import listed

Told = Mapping[str, Any]
_GROWN_SHOWN = 5
_NAMED = 5
_KINDS = {"anomalous": "error", "not_enough_runs": "warning"}


def comparison_markdown(told: Told) -> str:
    """A comment for a pull request: the answer first, then a table of the judged series."""
    lines = [
        f"### perfreg: {cell(_title(told))}",
        "",
        f"{sign(told['verdict'])} {cell(told['explanation'])}",
        "",
        "| series | A | B | difference | 95 % interval | p | would show | state |",
        "|--|--:|--:|--:|--:|--:|--:|--|",
    ]
    for row in told["series"]:
        if row["is_judged"]:
            lines.append(_table_row(row, row["series"], "mean_", "", row["mean_state"] or row["state"]))
            if row["growth_difference"] is not None:
                state = row["growth_state"] or row["state"]
                lines.append(_table_row(row, f"growth of {row['series']}, per minute", "growth_", "growth_", state))
    for source in told["sources"]:
        words, rows = GROWN_WORDS[source["source"]], told[source["source"]][:_GROWN_SHOWN]
        if rows:
            grown = [f"{cell(_grown_name(row))} {row['difference']:+.4f}" for row in rows]
            lines += ["", f"{words.title}, {words.unit}: {', '.join(grown)}"]
        elif source["state"] != "compared":
            lines += ["", f"{words.title}: not compared, {cell(source['reason'])}"]
    for side in ("a", "b"):
        for sentence in series_left_out(told["series_excluded"], side):
            lines += ["", f"{side.upper()}: {cell(sentence)}"]
    return "\n".join(lines) + "\n"


def series_left_out(rows: Iterable[Told], side: str) -> list[str]:
    """A sentence for all series of a side that are left out of the same runs for the same reason: a device has dozens
    of rails.

    Args:
        rows: as under `series_excluded`.
    """
    runs: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["side"] == side:
            runs.setdefault((row["series"], row["reason"]), []).append(row["run"])
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (series, why), of in runs.items():
        alike.setdefault((why, tuple(of)), []).append(series)
    return [
        f"{listed(names[:_NAMED], len(names))} of {listed(of[:_NAMED], len(of))} left out: {why}"
        for (why, of), names in alike.items()
    ]


def _grown_name(row: Told) -> str:
    """A slice or function; a thread with its process, as another process may have one of the same name."""
    return str(row.get("name") or " · ".join(part for part in (row["process"], row["thread"]) if part))


def comparison_github(told: Told) -> str:
    """One annotation: an error when B is worse, a warning without a verdict, a notice otherwise."""
    kind = _KINDS.get(told["verdict"], "notice")
    return annotation(kind, f"perfreg: {_title(told)} is {told['verdict']}", told["explanation"]) + "\n"


def comparison_junit(told: Told) -> str:
    """One test suite, a test case for the whole and one per judged series; without a verdict all are skipped."""
    group = _title(told)
    cases = [Case(group, "the whole comparison", told["verdict"], told["explanation"])]
    for row in told["series"]:
        if row["is_judged"]:
            cases.append(Case(group, row["series"], row["state"], _changes(row)))
    return junit([(group, cases)])


COMPARISON_FORMATS: dict[str, Callable[[Told], str]] = {
    "markdown": comparison_markdown,
    "github": comparison_github,
    "junit": comparison_junit,
}
"""By name: what `perfreg compare --format` writes."""


def _title(told: Told) -> str:
    return f"{told['b']} beside {told['a']}"


def _table_row(row: Told, name: str, side: str, part: str, state: str) -> str:
    """The mean of a series, or its growth: `side` and `part` are what their keys begin with. `would show` is the
    difference that eight of ten such comparisons would find."""
    p_value, detectable, unit = row[f"{part}p_value"], row[f"{part}detectable"], row["unit"]
    of_a = None if detectable is None or part else share(detectable, row[f"{side}a"])
    told = (
        name,
        quantity(row[f"{side}a"], unit),
        quantity(row[f"{side}b"], unit),
        signed(row[f"{part}difference"], unit),
        _interval(row, part),
        "–" if p_value is None else f"{p_value:.2g}",
        "–" if detectable is None else quantity(detectable, unit) + (f" ({of_a})" if of_a else ""),
        state,
    )
    return f"| {' | '.join(cell(one) for one in told)} |"


def _changes(row: Told) -> str:
    """Mean and growth, that which decides before the other."""
    unit = row["unit"]
    mean = f"{quantity(row['mean_a'], unit)} to {quantity(row['mean_b'], unit)}, 95 % interval {_interval(row, '')}"
    if row["growth_difference"] is None:
        return mean
    growth = (
        f"growth per minute {quantity(row['growth_a'], unit)} to {quantity(row['growth_b'], unit)}, "
        f"95 % interval {_interval(row, 'growth_')}"
    )
    is_by_growth = row["growth_state"] == row["state"] != row["mean_state"]
    return f"{growth}; mean {mean}" if is_by_growth else f"{mean}; {growth}"


def _interval(row: Told, part: str) -> str:
    return interval(row[f"{part}low"], row[f"{part}high"], row["unit"])
