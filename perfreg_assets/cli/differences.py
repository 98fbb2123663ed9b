"""How `perfreg compare` tells differences: in the unit that the two sides are told in, with their sign."""

from __future__ import annotations

from perfreg_assets.readable import readable_quantity


def quantity(value: float, unit: str) -> str:
    """952 MB."""
    return readable_quantity(value, unit)


def signed(value: float, unit: str) -> str:
    """+56 MB."""
    return ("+" if value > 0 else "") + quantity(value, unit)


def share(part: float, whole: float) -> str | None:
    """117%; None where there is nothing that it could be a share of."""
    return f"{part / whole:.0%}" if whole > 0 else None


def interval(low: float | None, high: float | None, unit: str) -> str:
    """-57 MB to +168 MB; a dash where there is none."""
    return "–" if low is None or high is None else f"{signed(low, unit)} to {signed(high, unit)}"
