"""The ω page: which verdicts change between two sensitivities, beside what people said of the alarms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from perfreg_assets.reports import wording
from perfreg_assets.reports.data import OmegaOverview, WrittenFor
from perfreg_assets.reports.loading_lists import OMEGA_MAXIMUM, OMEGA_STEPS
from perfreg_assets.reports.shards import list_blocks
from perfreg_assets.reports.templating import embed_json, render
from perfreg_assets.settings import OMEGA_LARGEST


def render_omega_page(overview: OmegaOverview, blocks: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page as HTML text.

    Args:
        blocks: facts of the blocks of the list of runs (`run_list`), from which a page opened as a file takes the runs
            whose verdicts change.
    """
    expected = _expected(overview)
    maximum = max(OMEGA_MAXIMUM, math.ceil(overview.omega or 0))
    return render(
        "omega.html.j2",
        {
            "root": "",
            "page": "omega",
            "omega": overview.omega,
            "written_for": WrittenFor.of(overview.detector, overview.omega),
            "detector": wording.detector_text(overview.detector),
            "maximum": maximum,
            "largest": OMEGA_LARGEST,
            "judged": overview.measured,
            "expected": expected,
            "measured": _measured(overview),
            "dataset": next((q.dataset for q in overview.quality), None),
            "payload": embed_json(
                {
                    "omega": overview.omega,
                    "measured": overview.measured,
                    "counts": overview.counts[: maximum * OMEGA_STEPS + 1],
                    "steps": OMEGA_STEPS,
                    "expected": expected,
                    "reviews": wording.SAID_LABELS,
                    "blocks": list_blocks(blocks),
                }
            ),
        },
    )


def _expected(overview: OmegaOverview) -> list[list[float]]:
    """(ω, expected false alarms) where the detector states a level."""
    of_detector = [one for one in overview.alarms if one.detector == overview.detector]
    return sorted([one.omega, one.expected] for one in of_detector if one.expected is not None)


def _measured(overview: OmegaOverview) -> list[dict[str, Any]]:
    """One line per ω of the current detector: what the warehouse's own runs and the last evaluation say."""
    alarms = {one.omega: one for one in overview.alarms if one.detector == overview.detector}
    quality = {q.omega: q for q in overview.quality if q.detector == overview.detector and q.omega is not None}
    return [
        {
            "omega": omega,
            "alarms": alarms.get(omega),
            "quality": quality.get(omega),
            "is_current": omega == overview.omega,
        }
        for omega in sorted({*alarms, *quality})
    ]
