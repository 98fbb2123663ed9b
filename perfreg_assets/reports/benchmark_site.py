"""The pages of benchmarks: an overview, and a page per app, device, variant and runner.

A family's page is worked out again when anything changed that it shows (`warehouse.benchmarks.stamps_of_families`, the
settings in force, the code of the pages); what the overview says of it is kept until then. Of a family the last
versions are shown, so that a page does not grow with the history.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from perfreg_assets.methods.benchmark_words import caveats
from perfreg_assets.reports import benchmark_forest as forest
from perfreg_assets.reports.benchmark_beside import Beside, beside_before
from perfreg_assets.reports.benchmark_data import BENCHMARKS, VERSIONS, FamilyView, family_view
from perfreg_assets.reports.benchmark_drawing import draw_trend
from perfreg_assets.reports.files import digest, write
from perfreg_assets.reports.templating import code_hash, render
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.benchmarks import Family
from perfreg_assets.warehouse.connection import Reader

PAGE = "benchmarks.html"
FOLDER = "benchmarks"
STATE = ".state/benchmarks.json"


def is_due(reader: Reader, out_dir: Path) -> bool:
    """Whether a page of benchmarks is not there or would come out different."""
    known = _known(out_dir)
    return not _is_whole(known, out_dir) or _stamps(reader) != known["stamps"]


def _is_whole(known: dict[str, Any], out_dir: Path) -> bool:
    """Whether the pages that are known are there, and no other."""
    there = {f"{FOLDER}/{path.name}" for path in (out_dir / FOLDER).glob("*.html")}
    return (out_dir / PAGE).is_file() and set(known["pages"]) == {PAGE, *there}


def write_benchmark_pages(reader: Reader, out_dir: Path) -> list[str]:
    """Writes the pages that come out different and removes those of families that are gone; their names."""
    known, stamps = _known(out_dir), _stamps(reader)
    if _is_whole(known, out_dir) and stamps == known["stamps"]:
        return []
    (out_dir / FOLDER).mkdir(parents=True, exist_ok=True)
    (out_dir / STATE).parent.mkdir(exist_ok=True)
    minimum = settings_table.in_force(reader, Settings()).benchmark_change_minimum
    texts: dict[str, str] = {}
    pages: dict[str, str] = {}
    rows: dict[str, dict[str, Any]] = {}
    for family in table.families(reader):
        name = page_name(family)
        if stamps[name] == known["stamps"].get(name):
            if name not in known["rows"]:
                continue
            if (out_dir / name).is_file():
                pages[name], rows[name] = known["pages"][name], known["rows"][name]
                continue
        view = family_view(family, table.levels(reader, family, versions=VERSIONS))
        if not view.versions:  # just taken in: its page comes with its first verdicts
            continue
        texts[name] = _family_page(view, beside_before(reader, view, change_minimum=minimum))
        rows[name] = _row(view)
    texts[PAGE] = _overview(rows)
    pages |= {name: digest(text) for name, text in texts.items()}
    written = []
    for name, text in texts.items():
        if known["pages"].get(name) != pages[name] or not (out_dir / name).is_file():
            write(out_dir / name, text)
            written.append(name)
    for path in (out_dir / FOLDER).glob("*.html"):
        if f"{FOLDER}/{path.name}" not in pages:
            path.unlink()
            written.append(f"{FOLDER}/{path.name}")
    write(out_dir / STATE, json.dumps({"stamps": stamps, "pages": pages, "rows": rows}))
    return written


def page_name(family: Family) -> str:
    """The family's page, relative to the site."""
    return family_page(family.app, family.device, family.variant, family.runner)


def family_page(app: str, device: str, variant: str, runner: str) -> str:
    """The page of what was measured so, relative to the site."""
    key = "\0".join((app, device, variant, runner))
    return f"{FOLDER}/{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.html"


_KINDS = {"stamps": str, "pages": str, "rows": dict}


def _known(out_dir: Path) -> dict[str, Any]:
    """As it was written of the pages, by name: `stamps`, of the overview too, `pages` (digests) and `rows` (what the
    overview says of each); nothing where nothing is known, or it is not ours."""
    nothing: dict[str, Any] = {name: {} for name in _KINDS}
    try:
        found = json.loads((out_dir / STATE).read_text("utf-8"))
    except (OSError, ValueError):
        return nothing
    is_ours = (
        isinstance(found, dict)
        and all(isinstance(found.get(name), dict) for name in _KINDS)
        and all(isinstance(one, kind) for name, kind in _KINDS.items() for one in found[name].values())
        and set(found["rows"]) == set(found["pages"]) - {PAGE}
    )
    return found if is_ours else nothing


def _stamps(reader: Reader) -> dict[str, str]:
    """Page → what changes when it may come out different."""
    minimum = settings_table.current(reader).get("benchmark_change_minimum")
    all_pages = f"{minimum} {code_hash()}"
    found = {
        family_page(*place): digest(f"{own} {all_pages}") for place, own in table.stamps_of_families(reader).items()
    }
    return {PAGE: digest(all_pages), **found}


def _row(view: FamilyView) -> dict[str, Any]:
    """What the overview says of a family, JSON types only."""
    states = Counter(one.latest.state for one in view.trends if one.latest.version_name == view.versions[-1])
    return {
        **{name: getattr(view.family, name) for name in ("app", "device", "variant", "runner")},
        "version_name": view.versions[-1],
        "started_at": view.started[-1].isoformat(),
        "benchmarks": len(view.trends),
        "states": dict(states),
    }


def _overview(rows: Mapping[str, Mapping[str, Any]]) -> str:
    listed = [
        {"page": name, **row, "started_at": datetime.fromisoformat(row["started_at"])} for name, row in rows.items()
    ]
    return render("benchmarks.html.j2", {"root": "", "page": "benchmarks", "rows": listed})


def _family_page(view: FamilyView, beside: Beside | None) -> str:
    comparison = beside.comparison if beside is not None else None
    shown = sorted(view.trends, key=lambda one: -abs(one.speed_change))[:BENCHMARKS]
    shown.sort(key=lambda one: (one.area, one.name))
    return render(
        "benchmark_family.html.j2",
        {
            "root": "../",
            "page": "benchmarks",
            "view": view,
            "trends": [(one, draw_trend(one, len(view.versions))) for one in shown],
            "hidden": len(view.trends) - len(shown),
            "comparison": comparison,
            "forest": forest.draw_forest(comparison) if comparison is not None else None,
            "caveats": [*beside.other_flags, *caveats(beside.comparison)] if beside is not None else [],
            "implausible": [one.key for one in comparison.tests if one.is_implausible] if comparison else [],
            "excluded": Counter(reason for _, reason in comparison.excluded) if comparison else {},
            "files_excluded": Counter(reason for _, reason in comparison.files_excluded) if comparison else {},
            "forest_hidden": max(0, len(comparison.tests) - forest.TESTS) if comparison else 0,
        },
    )
