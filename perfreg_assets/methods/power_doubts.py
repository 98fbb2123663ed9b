"""What an estimate of power rests on that the trace or the profile does not say, in words."""

from __future__ import annotations

LEAST_TOLD = 0.01
"""Of the time: a share below changes no figure that is told."""


def power_doubts(late_ratio: float | None, outside_ratio: float | None) -> tuple[str, ...]:
    """A clause for each doubt that is worth telling; none is () and what is not known is no doubt.

    Args:
        late_ratio: share of the cores' time before the first sample of their frequency, 0 to 1.
        outside_ratio: share of their busy time beyond the profile's tables, 0 to 1.
    """
    found = []
    if late_ratio is not None and late_ratio >= LEAST_TOLD:
        share = f"{100 * late_ratio:.0f} %"
        found.append(f"{share} of the cores' time is before their first known frequency, held backwards")
    if outside_ratio is not None and outside_ratio >= LEAST_TOLD:
        share = f"{100 * outside_ratio:.0f} %"
        found.append(f"{share} of the busy time is at frequencies beyond the profile's, whose ends hold there")
    return tuple(found)
