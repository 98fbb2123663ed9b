"""Seeds of tests in which chance decides what happens, where each takes a minute: a few, and with
`--hypothesis-profile=search` many."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import settings


def seeds(*few: int) -> Sequence[int]:
    """Those to try; the same ones in every process of a run."""
    return range(20) if settings.get_current_profile_name() == "search" else few
