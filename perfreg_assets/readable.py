"""Numbers as people read them. Those that SQL tells are in the same words, see `sql/marts/drifts_of.sql`."""

from __future__ import annotations

_SCALES = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    "ops/s": ((1e9, "G ops/s"), (1e6, "M ops/s"), (1e3, "k ops/s"), (1.0, "ops/s")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")),
}


def readable(value: float, *, is_difference: bool = False) -> str:
    """Three significant digits, no exponent where it is readable without; of a difference with its sign."""
    sign = "+" if is_difference else ""
    # From 999.5 on three digits of it are 1,000.
    return f"{value:{sign},.0f}" if abs(value) >= 999.5 else f"{value:{sign}.3g}"


def readable_quantity(value: float, unit: str) -> str:
    """Three significant digits with the unit that fits: 535,144,845 ns are 535 ms."""
    scales = _SCALES.get(unit, ((1.0, unit),))
    factor, name = next((one for one in scales if abs(value) >= one[0]), scales[-1])
    return f"{readable(value / factor)} {name}".rstrip()
