"""Walks all pages of a site and holds what they say against the marts.

What is checked of a run's first section is whatever stands there in numbers: a number that no check accounts for is a
finding, too, so that a new sentence needs a new check.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

from perfreg_assets.how_many import how_many
from perfreg_assets.reports.data import Setup
from perfreg_assets.reports.links import page_name, run_page, version_page
from perfreg_assets.reports.templating import beside_limit, limit_multiple
from perfreg_assets.reports.wording import axis_label, number, plain_seconds, series_label, setup_text, unit_of
from perfreg_assets.warehouse.connection import Reader
from tests.cost_statements import cost_contradictions

_CURRENT = {
    "verdicts": "SELECT * FROM marts.verdicts WHERE is_current",
    "axes": "SELECT * FROM marts.axis_verdicts WHERE is_current",
    "windows": "SELECT * FROM marts.discords",
    "histories": "SELECT * FROM marts.history_states",
    "members": "SELECT * FROM marts.history_sets ORDER BY run_id, history_rank",
    "any_path": "SELECT * REPLACE (screens_rank AS history_rank) FROM marts.history_candidates "
    "WHERE screens_rank IS NOT NULL ORDER BY run_id, screens_rank",
    "measured": "SELECT run_id, history_distances, threshold FROM marts.distances WHERE is_current AND series <> '*'",
    "causes": "SELECT run_id, rank, growth, growth_share, z FROM marts.causes",
    "also": "SELECT run_id, rank, growth_share, z FROM marts.also_grew",
    "estimated": "SELECT run_id, late_ratio, outside_ratio FROM marts.energy_states WHERE has_energies",
    "evidence": "SELECT run_id, evidence_text AS told FROM marts.distances WHERE is_latest "
    "UNION ALL SELECT run_id, explanation FROM marts.verdicts WHERE is_current "
    "UNION ALL SELECT run_id, disturbance FROM marts.cause_windows",
}
Rows = list[dict[str, Any]]
Facts = dict[str, Rows]
"""Of one run, by what they are of."""
_NUMBER = re.compile(r"(?<![\w.])[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def shown(html: str) -> str:
    """What is read: without tags, runs of blanks as one."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def contradictions(reader: Reader, out: Path, *, only: str = "") -> list[str]:
    """Statements of the site in `out` that the marts contradict, and numbers that nobody accounts for.

    Args:
        only: of pages whose address begins so.
    """
    found = [*_overview(reader, out)] if "index.html".startswith(only) else []
    found += cost_contradictions(reader, out, only=only)
    by_run: dict[str, Facts] = defaultdict(lambda: {name: [] for name in _CURRENT})
    for name, query in _CURRENT.items():
        for row in reader.dicts(query):
            by_run[row["run_id"]][name].append(row)
    for run in reader.dicts("SELECT * FROM marts.runs"):
        if not run_page(run["run_id"]).startswith(only):
            continue
        html = (out / run_page(run["run_id"])).read_text("utf-8")
        found += [f"{run['run_id']}: {one}" for one in _run(run, html, by_run[run["run_id"]])]
    for version in reader.dicts("SELECT * FROM marts.app_versions"):
        page = version_page(version["app"], version["version_name"])
        if not page.startswith(only):
            continue
        html = (out / page).read_text("utf-8")
        found += [f"{version['app']} {version['version_name']}: {one}" for one in _version(reader, version, html)]
    return found


def _section(html: str, start: str, end: str) -> str:
    begin = html.find(start)
    return html[begin : html.find(end, begin)] if begin >= 0 else ""


# ---- a run's page ----------------------------------------------------------------------------------
def _run(run: dict[str, Any], html: str, facts: Facts) -> Iterator[str]:
    history = next(iter(facts["histories"]), None)
    verdicts = {one["series"]: one for one in facts["verdicts"]}
    any_path = facts["any_path"] if _is_of_any_path(history, verdicts) else []
    facts = {**facts, "any_path": any_path, "members": any_path or facts["members"]}
    yield from _first_section(run, html, history, verdicts, facts)
    yield from _facts(run, html, history, facts["any_path"])
    yield from _series(html, verdicts)
    yield from _windows(html, facts["windows"])
    yield from _history(html, history, facts["members"], facts["any_path"])
    yield from _causes(html, [*facts["causes"], *facts["also"]])
    yield from _doubts(html, facts["estimated"])


def _doubts(html: str, estimated: Rows) -> Iterator[str]:
    """For how much of the time an estimate rests on what the trace or the profile does not say."""
    section = shown(_section(html, 'id="energy"', "</section>"))
    told = re.findall(r"(\d+) % of the (cores' time is before|busy time is at frequencies beyond)", section)
    known = [
        (f"{100 * one[name]:.0f}", words)
        for one in estimated
        for name, words in (
            ("late_ratio", "cores' time is before"),
            ("outside_ratio", "busy time is at frequencies beyond"),
        )
        if one[name] is not None and one[name] >= 0.01
    ]
    if told != known:
        yield f"{told} of what its estimate rests on, {known} in marts.energy_states"


def _is_of_any_path(history: dict[str, Any] | None, verdicts: dict[str, Any]) -> bool:
    """Whether the verdict in force rests on runs of any path; the thesis' rule never does."""
    whole = verdicts.get("*")
    return history is not None and history["way"] == "any_path" and (whole is None or whole["detector"] != "iqr")


def _first_section(
    run: dict[str, Any], html: str, history: dict[str, Any] | None, verdicts: dict[str, Any], facts: Facts
) -> Iterator[str]:
    section = _section(html, '<section class="verdict', "</section>")
    state = run["state"] if run["state"] != "complete" else run["run_verdict"] or "not_judged"
    tone = re.match(r'<section class="verdict (\w+)"', section)
    if tone is None or tone[1] != state:
        yield f"is {tone and tone[1]} on its page, {state} in marts.runs"
    for one in facts["axes"]:
        chip = re.search(
            rf'<li class="{one["state"]}"><a href="#\w+-{re.escape(one["series"])}".*?</li>', section, re.S
        )
        ratio = one["excess_ratio"]
        told = ratio is not None and one["state"] != "improved"
        if chip is None or (told and beside_limit(max(ratio, 0.0)) not in shown(chip[0])):
            yield f"axis {one['axis']} is {one['state']} by {one['series']}, {ratio} of its limit: not on the page"
    text = shown(re.sub(r"<li class.*?</li>", " ", section, flags=re.S))
    for known in (run["run_id"], run["version_name"], run["folder_name"], run["reason"], run["review_note"]):
        text = text.replace(str(known), " ") if known else text
    text = re.sub(r"Reviewed [\d-]+ [\d:]+ UTC", " ", text)
    evidence = " ".join(one["told"] or "" for one in facts["evidence"])
    text = _checked(text, _claims(history, verdicts, facts))
    allowed = {one.strip("+") for one in _NUMBER.findall(evidence)}
    allowed |= {plain_seconds(one[key]) for one in facts["windows"] for key in ("start_s", "end_s")}
    wrong = [one for one in _NUMBER.findall(text) if one.strip("+") not in allowed]
    if wrong:
        yield f"nobody accounts for {wrong} in: {text}"


Claim = tuple[str, Callable[[re.Match[str]], bool]]


def _claims(history: dict[str, Any] | None, verdicts: dict[str, Any], facts: Facts) -> list[Claim]:
    """Sentences with numbers in a run's first section, each with what makes it true."""
    size = history["history_size"] if history else None
    ratios = [
        max(one["distance"], 0.0) / one["threshold"]
        for one in verdicts.values()
        if one["series"] != "*" and one["distance"] is not None and (one["threshold"] or 0) > 0
    ]
    alike = [one for one in facts["members"] if one["similarity_ratio"] is not None]
    far = {
        one["history_run_id"]
        for row in facts["measured"]
        if row["history_distances"] and len(row["history_distances"]) == len(facts["members"])
        for one, distance in zip(facts["members"], row["history_distances"], strict=True)
        if distance is not None and row["threshold"] is not None and distance > row["threshold"]
    }
    nearest = max(
        alike,
        key=lambda one: (one["history_run_id"] not in far, one["similarity_ratio"], -one["history_rank"]),
        default=None,
    )

    def grew(found: re.Match[str]) -> bool:
        return any(
            one["rank"] == 1
            and one["growth"] is not None
            and f"{100 * one['growth_share']:.0f}" == found[3]
            and found[1] in {f"{one['growth'] * factor:+.3g}" for factor in (1.0, 1e-6)}
            for one in facts["causes"]
        )

    return [
        (r"the last (\d+) comparable runs", lambda m: int(m[1]) == size),
        (r"the last (\d+) runs of any path", lambda m: int(m[1]) == len(facts["any_path"])),
        (r"(\d+) comparable earlier runs? of the (\d+) needed", lambda m: _needed(m, history)),
        (
            r"For a verdict on it (\d+) more comparable",
            lambda m: int(m[1]) == history["history_minimum"] - size if history else False,
        ),
        (r"(\d+) of (\d+) earlier runs? (?:is|are) comparable", lambda m: _of(m, history)),
        (r"Left out: (.*?)\.", lambda m: _left_out(m[1], history)),
        (r"([+−-][\d.e+]+) ([\w/ ]+?), (\d+) % of the growth", grew),
        (
            r"Of (?:(\d+) judged series and measurements|what was judged), .* is farthest from its history: "
            r"(.*?)\.(?= |$)",
            lambda m: int(m[1] or 1) == len(ratios) and m[2] == beside_limit(max(ratios)),
        ),
        (
            r"Of (?:(\d+) judged series and measurements|what was judged), nothing is above what is usual",
            lambda m: int(m[1] or 1) == len(ratios) and max(ratios) <= 0,
        ),
        (r"at second (\d+)", lambda m: m[1] in {f"{one['start_s']:.0f}" for one in facts["windows"]}),
        (
            r"Beside it: (\S+)(?: of (\S+))? ?, same seconds",
            lambda m: (
                nearest is not None and (m[1], m[2]) == (nearest["history_run_id"], nearest["history_version_name"])
            ),
        ),
        (r"over all (\d+) judged series", lambda m: int(m[1]) == len(ratios)),
        (r"Only \d+% of the session is on .*? needed\.", lambda m: m[0] == verdicts["*"]["explanation"]),
    ]


def _needed(found: re.Match[str], history: dict[str, Any] | None) -> bool:
    return history is not None and (int(found[1]), int(found[2])) == (
        history["history_size"],
        history["history_minimum"],
    )


def _of(found: re.Match[str], history: dict[str, Any] | None) -> bool:
    return history is not None and (int(found[1]), int(found[2])) == (
        history["history_size"],
        history["candidate_count"],
    )


def _left_out(told: str, history: dict[str, Any] | None) -> bool:
    counts = sorted(one for one in json.loads(history["excluded_counts"]).values() if one) if history else []
    return sorted(int(one.split()[0]) for one in told.split("; ")) == counts


def _checked(text: str, claims: list[Claim]) -> str:
    """The text without the sentences that are true; what is not true stays, with its numbers."""
    for pattern, is_true in claims:
        text = re.sub(pattern, lambda found, is_true=is_true: " " if is_true(found) else found[0], text)
    return text


def _facts(run: dict[str, Any], html: str, history: dict[str, Any] | None, any_path: Rows) -> Iterator[str]:
    facts = dict(re.findall(r"<dt>(\w+)</dt><dd>(.*?)</dd>", _section(html, '<dl class="facts">', "</dl>"), re.S))
    steps = shown(facts.get("Steps", ""))
    if run["step_count"] is not None and not steps.startswith(str(run["step_count"])):
        yield f"{run['step_count']} steps in the marts, {steps} on the page"
    expected = f"{history['history_size']} of {history['history_maximum']} runs" if history else "–"
    expected = f"{len(any_path)} runs of any path" if any_path else expected
    if shown(facts.get("History", "")) != expected:
        yield f"history of {expected} in the marts, {shown(facts.get('History', ''))} on the page"
    count = run["functional_problem_count"] or 0
    told = re.search(r'<h2 id="problems">(\d+) functional', html)
    if int(told[1] if told else 0) != count:
        yield f"{count} functional problems in the marts, {told and told[1]} on the page"


def _series(html: str, verdicts: dict[str, Any]) -> Iterator[str]:
    for article in re.findall(r'<article class="series.*?</header>', html, re.S):
        series = re.search(r'id="series-([^"]+)"', article)
        if series is None or series[1] not in verdicts:
            continue
        one = verdicts[series[1]]
        if f'class="badge {one["state"]}"' not in article:
            yield f"{series[1]} is {one['state']}, not so on the page"
        score = one["improvement"] if one["state"] == "improved" else one["distance"]
        told = re.search(r"([\d.,]+)× the limit( on its better side)? \(\w+ (\S+) of (\S+)\)", shown(article))
        if told is None and one["state"] == "improved":
            yield f"{series[1]} is improved, by how much is not on the page"
        if told is not None and (bool(told[2]), told[1], *told.groups()[2:]) != (
            one["state"] == "improved",
            limit_multiple(max(score, 0.0) / one["threshold"]),
            number(score),
            number(one["threshold"]),
        ):
            yield f"{series[1]}: {told[0]} on the page, {score} of {one['threshold']} in the marts"


def _windows(html: str, windows: list[dict[str, Any]]) -> Iterator[str]:
    told = re.findall(
        r'<li data-window="[^"]*"><button[^>]*>([\d.]+)–([\d.]+) s</button>.*?confidence ([\d.]+)', html, re.S
    )
    known = [
        (plain_seconds(one["start_s"]), plain_seconds(one["end_s"]), f"{one['confidence']:.2f}") for one in windows
    ]
    if sorted(told) != sorted(known):
        yield f"windows {sorted(told)} on the page, {sorted(known)} in the marts"


def _history(html: str, history: dict[str, Any] | None, members: Rows, any_path: Rows) -> Iterator[str]:
    if history is None:
        return
    section = _section(html, '<h2 id="history">', "</section>")
    head = re.search(
        r"Compared with the (\d+) most recent of (\d+)|(\d+) of (\d+) earlier runs are comparable", shown(section)
    )
    numbers = [int(one) for one in head.groups() if one] if head else []
    if numbers != [history["history_size"], history["candidate_count"]]:
        yield f"history {numbers} on the page, {history['history_size']} of {history['candidate_count']} in the marts"
    beside = re.search(r"beside the (\d+) most recent runs of any path", shown(section))
    if (int(beside[1]) if beside else 0) != len(any_path):
        yield f"{beside and beside[0]} on the page, {len(any_path)} in the marts"
    told = re.findall(
        r'<td class="num">(\d+)</td><td><a href="([^"]+)\.html">.*?<td class="num">([\d.–]+)</td></tr>', section
    )
    known = [
        (str(one["history_rank"]), page_name(one["history_run_id"]), number(one["similarity_ratio"])) for one in members
    ]
    if told != known:
        yield f"history {told} on the page, {known} in the marts"


def _causes(html: str, causes: Rows) -> Iterator[str]:
    known = {
        (
            str(one["rank"]),
            "–" if one["growth_share"] is None else f"{100 * one['growth_share']:.0f} %",
            "–" if one["z"] is None else f"{one['z']:.1f}",
        )
        for one in causes
    }
    for table in re.findall(r'<table class="plain causes">.*?</table>', html, re.S):
        for row in re.findall(r"<tr>(<td class=\"num\">.*?)</tr>", table, re.S):
            cells = [shown(one) for one in re.findall(r'<td class="num">(.*?)</td>', row, re.S)]
            if (cells[0], cells[2], cells[3]) not in known:
                yield f"cause {cells} is not in the marts"


# ---- a version's page ------------------------------------------------------------------------------
def _version(reader: Reader, version: dict[str, Any], html: str) -> Iterator[str]:
    key = [version["app"], version["version_name"]]
    text = shown(html)
    if f"Runs {version['run_count']:,}, {version['anomalous_run_count']:,} anomalous" not in text:
        yield f"{version['run_count']} runs, {version['anomalous_run_count']} of them anomalous: not on the page"
    section = _section(html, '<section class="verdict', "</section>")
    for one in reader.dicts(
        "SELECT * FROM marts.version_verdicts WHERE is_current AND app = ? AND version_name = ?", key
    ):
        if one["axis"] == "all":
            headline = shown(_section(html, '<h1 id="headline">', "</h1>"))
            counts = re.search(r"(?:(\d+) of )?(\d+) judged runs?", headline)
            is_wrong = counts and int(counts[2]) != one["judged_count"]
            if is_wrong or (counts and counts[1] and int(counts[1]) != one["anomalous_count"]):
                yield f"{headline}: but {one['anomalous_count']} of {one['judged_count']} in the marts"
            if f'class="verdict {one["state"]}"' not in section:
                yield f"is {one['state']}, not so on its page"
            continue
        counts = f"{one['anomalous_count']} of {one['judged_count']} runs anomalous" if one["judged_count"] else ""
        chips = [shown(chip) for chip in re.findall(rf'<li class="{one["state"]}">.*?</li>', section, re.S)]
        if not any(f"{axis_label(one['axis'])} :" in chip and counts in chip for chip in chips):
            yield f"axis {one['axis']}: {one['state']}, {counts}: not on the page"
    yield from _levels(reader, key, html)


_MADE = """
SELECT levels.*, made.* EXCLUDE (config_hash)
FROM marts.trends_by_scenario AS levels
JOIN (
    SELECT config_hash, any_value(strategy) AS strategy, any_value(time_limit_s) AS time_limit_s,
        any_value(action_interval_s) AS action_interval_s
    FROM core.runs GROUP BY config_hash
) AS made ON made.config_hash = levels.config_hash
WHERE app = ? AND version_name = ?
"""
_OF_RUNS = re.compile(r"(\d+) runs? with (.*)")
_PARTS = ("config_hash", "scenario", "device", "strategy", "time_limit_s", "action_interval_s")


def _levels(reader: Reader, key: list[str], html: str) -> Iterator[str]:
    """Each table of levels says how many runs of which scenario and configuration it is of."""
    series = re.findall(r'<tr id="series-([^"]+)">', html)
    made: dict[Setup, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in reader.dicts(_MADE, key):
        if row["series"] in series:
            made[Setup(*(row[part] for part in _PARTS))][row["series"]] = row
    section = _section(html, '<h2 id="series">', "</section>")
    first, *others = section.split('<details class="setup">')
    if not made:
        return
    tables = [(shown(_section(first, "means, of its ", "; ").removeprefix("means, of its ")), first)]
    tables += [(shown(_section(one, "<summary>", "</summary>").removeprefix("<summary>")), one) for one in others]
    if len(tables) != len(made):
        yield f"levels of {len(tables)} scenarios and configurations, of {len(made)} in the marts"
    for told, table in tables:
        found = _OF_RUNS.fullmatch(told)
        alike = [rows for setup, rows in made.items() if found and setup_text(setup) == found[2]]
        if not any(_is_told(rows, int(found[1]), shown(table)) for rows in alike if found):
            yield f"levels of {told}: not those of the marts"


def _is_told(rows: Mapping[str, dict[str, Any]], count: int, table: str) -> bool:
    if count != max(row["run_count"] for row in rows.values()):
        return False
    for series, row in rows.items():
        unit = unit_of(series, row["unit"])
        level = f" {number(row['level_median'] * unit.factor)} {unit.axis} "
        if level not in f" {table.partition(f' {series_label(series)} ')[2]}":
            return False
    return True


# ---- index and ω page ------------------------------------------------------------------------------
def _overview(reader: Reader, out: Path) -> Iterator[str]:
    html = (out / "index.html").read_text("utf-8")
    sums = shown(_section(html, '<ul class="sums">', "</ul>"))
    states = dict(
        reader.rows(
            "SELECT CASE WHEN state <> 'complete' THEN state ELSE coalesce(run_verdict, 'not_judged') END, count(*) "
            "FROM marts.runs GROUP BY 1"
        )
    )
    open_count = reader.value(
        "SELECT count(*) FROM marts.runs WHERE run_verdict = 'anomalous' AND review_status IS NULL"
    )
    versions = reader.value("SELECT count(*) FROM marts.app_versions")
    ((measured, of_versions),) = reader.rows(
        "SELECT count(*), count(DISTINCT (app, version_name)) FROM marts.benchmark_runs"
    )
    calm = states.get("normal", 0) + states.get("improved", 0)
    alarms, total = states.get("anomalous", 0), sum(states.values())
    for told in (
        f"{alarms} anomalous",
        f"{open_count} not reviewed" if open_count else "",
        f"{calm} within their history",
        f"{total - alarms - calm} not judged",
        f"{total} run",
        f"{total - states['quarantined']} of them of {versions} version" if states.get("quarantined") else "",
        f"of {versions} version",
        f"{how_many(measured, 'benchmark run')} of {how_many(of_versions, 'version')}" if measured else "",
    ):
        if told not in sums:
            yield f"index: {told} in the marts, {sums} on the page"
    yield from _listed(reader, out)
    payload = omega_payload(out)
    if payload["measured"]:
        omega = float(reader.value("SELECT \"value\" FROM marts.settings WHERE is_current AND name = 'omega'"))
        found = reader.value(
            "SELECT count(*) FROM marts.run_verdicts AS verdicts JOIN marts.runs USING (run_id) "
            "WHERE verdicts.is_current AND NOT runs.is_excluded AND verdicts.critical_omega > ?",
            [omega],
        )
        if payload["counts"][round(omega * payload["steps"])] != found:
            yield f"ω page: {payload['counts'][round(omega * payload['steps'])]} anomalous runs, {found} in the marts"


def omega_payload(out: Path) -> dict[str, Any]:
    """What the ω page hands its script."""
    found = re.search(r'id="omega-data">(.*?)</script>', (out / "omega.html").read_text("utf-8"))
    assert found is not None
    payload: dict[str, Any] = json.loads(found[1])
    return payload


def _listed(reader: Reader, out: Path) -> Iterator[str]:
    """Rows of the list and cells of the heat maps."""
    rows: dict[str, Any] = {}
    cells: dict[tuple[str, str], Any] = {}
    for path in sorted((out / "data").glob("*.js")):
        text = path.read_text("utf-8")
        piece = json.loads(text[text.index("{") : text.rindex("}") + 1])
        if path.stem.startswith("runs-"):
            rows |= piece
        else:
            cells |= {(one["page"], series): cell for one in piece.values() for series, cell in one["cells"].items()}
    for run_id, verdict, state, reason in reader.rows("SELECT run_id, run_verdict, state, reason_code FROM marts.runs"):
        told = rows.get(run_id)
        expected = state if state != "complete" else verdict or "not_judged"
        if told is None or (told[4], told[13]) != (expected, reason):
            yield f"index: {run_id} is {expected} for {reason} in the marts, {told} in the list"
    for app, version, series, anomalous, judged, ratio in reader.rows(
        "SELECT app, version_name, series, count(*) FILTER (is_anomalous), count(is_anomalous), "
        "max(greatest(distance, 0) / threshold) FILTER (threshold > 0) "
        "FROM marts.verdicts WHERE is_current AND series <> '*' GROUP BY ALL"
    ):
        cell = cells.get((version_page(app, version), series))
        is_same = cell is not None and cell[1:3] == [anomalous, judged]
        if not is_same or (ratio is not None and abs(cell[0] - ratio) > 1e-3 * ratio):
            yield f"index: {version} {series}: {anomalous} of {judged}, {ratio}; cell {cell}"
