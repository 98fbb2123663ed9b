"""What the pages of energy and of benchmarks say in numbers, held against the marts (see page_statements)."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from statistics import fmean
from typing import Any

from perfreg_assets.readable import readable_quantity
from perfreg_assets.reports.benchmark_site import family_page
from perfreg_assets.warehouse.connection import Reader

Row = dict[str, Any]
_WORST = ("anomalous", "improved", "normal", "not_enough_history", "inadequate", "invalid")
_FAMILY = ("app", "device", "variant", "runner")


def cost_contradictions(reader: Reader, out: Path, *, only: str = "") -> list[str]:
    """Statements of these pages in `out` that the marts contradict.

    Args:
        only: of pages whose address begins so.
    """
    found: list[str] = []
    if "energy.html".startswith(only):
        found += [f"energy: {one}" for one in _energy(reader, (out / "energy.html").read_text("utf-8"))]
    if "benchmarks".startswith(only.partition("/")[0].removesuffix(".html")):
        found += [f"benchmarks: {one}" for one in _benchmarks(reader, out)]
    return found


def _shown(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def _cells(row: str) -> list[str]:
    return [_shown(one) for one in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]


def _signed(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio * 100:+.1f} %"


# ---- energy ----------------------------------------------------------------------------------------
_ENERGY = """
SELECT versions.*, profiles.profile_name
FROM marts.energy_by_version AS versions
JOIN (
    SELECT DISTINCT profile_id, profile_name FROM core.energy_runs WHERE profile_id IS NOT NULL
) AS profiles ON profiles.profile_id = versions.profile_id
JOIN (
    SELECT app, version_name, device, profile_id, scenario, min(started_at) AS started_at
    FROM marts.energy_by_run GROUP BY ALL
) AS first ON first.app = versions.app AND first.version_name = versions.version_name
    AND first.device = versions.device AND first.profile_id = versions.profile_id
    AND first.scenario IS NOT DISTINCT FROM versions.scenario
ORDER BY versions.app, versions.device, versions.profile_id, versions.scenario, first.started_at, versions.version_name
"""


def _energy(reader: Reader, html: str) -> Iterator[str]:
    known: dict[tuple[str, str, str, str], list[Row]] = defaultdict(list)
    for row in reader.dicts(_ENERGY):
        known[row["app"], row["device"], row["profile_name"], row["scenario"] or ""].append(row)
    told: dict[tuple[str, str, str, str], list[list[str]]] = {}
    for app, device, profile, scenario, table in re.findall(
        r'<h2>(.*?)</h2>\s*<p class="note">(<bdi>.*?</bdi>), by (<bdi>.*?</bdi>)(?:, in (<bdi>.*?</bdi>))?</p>'
        r".*?<tbody>(.*?)</tbody>",
        html,
        re.S,
    ):
        rows = re.findall(r"<tr>.*?</tr>", table, re.S)
        told[_shown(app), _shown(device), _shown(profile), _shown(scenario)] = [_cells(row) for row in rows]
    if told.keys() != known.keys():
        yield f"tables of {sorted(told)}, {sorted(known)} in the marts"
    for key, rows in known.items():
        expected = [_energy_cells(row, before) for before, row in zip([None, *rows], rows, strict=False)]
        if told.get(key) != expected[::-1]:
            yield f"{key}: {told.get(key)} on the page, {expected[::-1]} in the marts"


def _energy_cells(row: Row, before: Row | None) -> list[str]:
    step = row["app_mah_per_h"] / before["app_mah_per_h"] - 1 if before and before["app_mah_per_h"] else None
    share = row["battery_ratio_per_h"]
    return [
        row["version_name"],
        str(row["run_count"]),
        f"{row['app_mah_per_h']:.3g}",
        _signed(step),
        _signed(row["app_change_ratio"]),
        f"{row['total_mah_per_h']:.3g}",
        _signed(row["total_change_ratio"]),
        "–" if share is None else f"{share * 100:.2g} %",
    ]


# ---- benchmarks ------------------------------------------------------------------------------------
_TRENDS = """
SELECT trends.*, results.is_primary
FROM marts.benchmark_trends AS trends
JOIN (
    SELECT app, version_name, device, variant, runner, result_name, bool_or(is_primary) AS is_primary
    FROM marts.benchmark_results GROUP BY ALL
) AS results USING (app, version_name, device, variant, runner, result_name)
ORDER BY trends.first_started_at
"""


def _benchmarks(reader: Reader, out: Path) -> Iterator[str]:
    families: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in reader.dicts(_TRENDS):
        families[tuple(row[name] for name in _FAMILY)].append(row)
    worst: dict[tuple[str, ...], str] = {}
    for row in reader.dicts("SELECT * FROM marts.benchmark_verdicts"):
        key = (*(row[name] for name in _FAMILY), row["version_name"], row["result_name"])
        worst[key] = min(worst.get(key, _WORST[-1]), row["state"], key=_WORST.index)
    overview = (out / "benchmarks.html").read_text("utf-8")
    listed = dict(re.findall(r'<tr><th scope="row"><a href="([^"]+)">(.*?)</tr>', overview, re.S))
    if set(listed) != {family_page(*family) for family in families}:
        yield f"{sorted(listed)} listed, {sorted(map(str, families))} in the marts"
    for family, trends in families.items():
        page = family_page(*family)
        states = {(row["version_name"], row["result_name"]): worst[*family, row["version_name"], row["result_name"]]
                  for row in trends}  # fmt: skip
        versions = list(dict.fromkeys(row["version_name"] for row in trends))
        yield from (f"{family}: {one}" for one in _overview(listed.get(page, ""), trends, states, versions[-1]))
        html = (out / page).read_text("utf-8")
        if f"{len(versions)} versions shown" not in _shown(html):
            yield f"{family}: {len(versions)} versions in the marts, not on the page"
        yield from (f"{family}: {one}" for one in _areas(html, trends, states, versions))
        yield from (f"{family}: {one}" for one in _results(html, trends, states))
        yield from (f"{family}: {one}" for one in _files_left_out(reader, html, family, versions[-2:]))


# Of what is compared, the inadequate files beside which the same version has an adequate one.
_FILES = """
SELECT version_name, result_name, count(*) FILTER (NOT is_adequate) AS left_out
FROM marts.benchmark_results
WHERE (app, device, variant, runner) = (?, ?, ?, ?) AND list_contains(?::VARCHAR[], version_name)
    AND is_primary AND worse <> 'either'
GROUP BY ALL HAVING bool_or(is_adequate)
"""


def _files_left_out(reader: Reader, html: str, family: tuple[str, ...], versions: list[str]) -> Iterator[str]:
    rows = reader.dicts(_FILES, [*family, versions])
    sides = Counter(row["result_name"] for row in rows)
    expected = sum(row["left_out"] for row in rows if sides[row["result_name"]] == 2)
    told = sum(int(count) for count in re.findall(r"(\d+) files? of a benchmark left out", _shown(html)))
    if told != expected:
        yield f"{told} files left out of the comparison on the page, {expected} in the marts"


def _overview(told: str, trends: list[Row], states: dict[tuple[str, str], str], latest: str) -> Iterator[str]:
    count = len({row["result_name"] for row in trends})
    if f'<td class="num">{count}</td>' not in told:
        yield f"{count} benchmarks in the marts, not in the list"
    expected = Counter(state for (version, _), state in states.items() if version == latest)
    badges = re.findall(r'<span class="badge (\w+)">.*?</span>.*?</span>\s*(\d+)', told, re.S)
    if Counter({state: int(number) for state, number in badges}) != expected:
        yield f"latest version {badges} in the list, {dict(expected)} in the marts"


def _areas(html: str, trends: list[Row], states: dict[tuple[str, str], str], versions: list[str]) -> Iterator[str]:
    table = html[html.index('<h2 id="areas">') : html.index('<h2 id="benchmarks">')]
    told = {cells[0]: cells[1:] for cells in map(_cells, re.findall(r"<tr>.*?</tr>", table, re.S)[1:])}
    primary = [row for row in trends if row["is_primary"]]
    for area in sorted({row["area"] or "" for row in primary}):
        expected = []
        for version in versions:
            rows = [row for row in primary if (row["area"] or "") == area and row["version_name"] == version]
            levels = [row for row in rows if row["score"] is not None]
            speeds = [_speed(row) for row in levels if row["earlier_median"] and row["worse"] != "either"]
            anomalous = sum(states[version, row["result_name"]] == "anomalous" for row in rows)
            without = "no history" if levels else "inadequate" if rows else "–"
            text = _signed(math.expm1(fmean(speeds))) if speeds else without
            expected.append(f"{text} ▲ {anomalous} of {len(rows)}" if anomalous else text)
        if told.get(area or "–") != expected:
            yield f"area {area}: {told.get(area or '–')} on the page, {expected} in the marts"


def _speed(row: Row) -> float:
    change = math.log(row["score"] / row["earlier_median"])
    return -change if row["worse"] == "more" else change


def _results(html: str, trends: list[Row], states: dict[tuple[str, str], str]) -> Iterator[str]:
    begin = html.index('<h2 id="benchmarks">')
    rows = re.findall(r"<tr><th scope=\"row\"><small>.*?</tr>", html[begin : html.index("</tbody>", begin)], re.S)
    last = {row["result_name"]: row for row in trends}  # in order of time
    named = {}
    for told in rows:
        name = _shown(told[told.index("<br>") : told.index("</th>")])
        named[name] = told
    if named.keys() != last.keys():
        yield f"benchmarks {sorted(named)} on the page, {sorted(last)} in the marts"
    for name, row in last.items():
        told = named.get(name, "")
        cells = _cells(told)
        is_told, is_compared = row["score"] is not None, row["score"] is not None and row["earlier_median"]
        change = row["score"] / row["earlier_median"] - 1 if is_compared else None
        level = readable_quantity(row["score"], row["unit"]) if is_told else "–"
        if not cells or not cells[1].startswith(level) or cells[2] != _signed(change):
            yield f"{name}: {cells} on the page, {level} and {_signed(change)} in the marts"
        state = states[row["version_name"], name]
        if f'class="badge {state}"' not in told:
            yield f"{name} is {state}, not so on the page"
