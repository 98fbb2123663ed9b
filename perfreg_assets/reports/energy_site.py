"""The page of versions by charge: what the cores took per hour in each version, by app, device and scenario.

What is kept beside the page are the rows of each app; only those of apps whose runs changed are asked for again, so
that one more run costs what its app holds, and of that the last versions only.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import groupby
from pathlib import Path
from typing import Any

from perfreg_assets.reports.energy_drawing import draw_versions
from perfreg_assets.reports.files import digest, write
from perfreg_assets.reports.templating import code_hash, render
from perfreg_assets.warehouse import energies
from perfreg_assets.warehouse.connection import Reader

PAGE = "energy.html"
STATE = ".state/energy.json"
VERSIONS = 30


def is_lost(out_dir: Path) -> bool:
    """Whether the page, or what is kept beside it, is not there or is of another release. What it says changes with the
    stamps of runs alone, and every build of a site writes it anew then."""
    return _is_lost(_known(out_dir), out_dir)


def _is_lost(known: dict[str, Any], out_dir: Path) -> bool:
    return known["code"] is None or not (out_dir / PAGE).is_file()


def write_energy_page(reader: Reader, out_dir: Path, changed: Collection[str] | None = None) -> list[str]:
    """Writes the page where it comes out different; its name if so.

    Args:
        changed: apps whose runs changed since this was last asked for; None where that is not known.
    """
    known = _known(out_dir)
    if changed is None or known["code"] is None:
        stamps = _stamps(reader)
    else:
        others = {app: stamp for app, stamp in known["stamps"].items() if app not in changed}
        stamps = dict(sorted({**others, **_stamps(reader, changed)}.items()))
    if known["stamps"] == stamps and not _is_lost(known, out_dir):
        return []
    rows = {
        app: known["rows"][app]
        if known["stamps"].get(app) == stamp and app in known["rows"]
        else energies.versions(reader, app, most=VERSIONS)
        for app, stamp in stamps.items()
    }
    text = render("energy.html.j2", {"root": "", "page": "energy", "groups": _groups(rows), "most": VERSIONS})
    written = []
    if known["page"] != digest(text) or not (out_dir / PAGE).is_file():
        write(out_dir / PAGE, text)
        written.append(PAGE)
    (out_dir / STATE).parent.mkdir(parents=True, exist_ok=True)
    told = {"code": code_hash(), "stamps": stamps, "rows": rows, "page": digest(text)}
    write(out_dir / STATE, json.dumps(told))
    return written


def _stamps(reader: Reader, apps: Collection[str] | None = None) -> dict[str, str]:
    return {app: digest(stamp) for app, stamp in energies.stamps_of_apps(reader, apps).items()}


def _known(out_dir: Path) -> dict[str, Any]:
    """What is kept beside the page; nothing where it is not there or not ours."""
    nothing: dict[str, Any] = {"code": None, "stamps": {}, "rows": {}, "page": None}
    try:
        found = json.loads((out_dir / STATE).read_text("utf-8"))
    except (OSError, ValueError):
        return nothing
    # Rows of another release may lack what this one shows.
    is_ours = isinstance(found, dict) and found.keys() == nothing.keys() and found["code"] == code_hash()
    return found if is_ours and isinstance(found["stamps"], dict) and isinstance(found["rows"], dict) else nothing


def _groups(rows: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """A table per app, device, power profile and scenario; the newest version first, with the change to the last."""
    found = []
    for app in sorted(rows):
        for (device, _, scenario), group in groupby(
            rows[app], key=lambda row: (row["device"], row["profile_id"], row["scenario"])
        ):
            own = list(group)
            for before, row in zip([None, *own], own, strict=False):
                row["step_ratio"] = (
                    row["app_mah_per_h"] / before["app_mah_per_h"] - 1 if before and before["app_mah_per_h"] else None
                )
            found.append(
                {
                    "app": app,
                    "device": device,
                    "profile": min(row["profile_name"] for row in own),
                    "scenario": scenario,
                    "rows": own[::-1],
                    "trend": draw_versions(
                        [row["app_mah_per_h"] for row in own], [row["total_mah_per_h"] for row in own]
                    ),
                }
            )
    return found
