"""A value without a time axis that a trace tells of a run, or the reason why it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perfreg_assets.catalogue import Worse, definition_of


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Attributes:
    value: in `unit`; None where it could not be measured, then `reason` says why.
    provenance: what it was made from, as JSON can hold it.
    """

    metric: str
    unit: str
    worse: Worse
    value: float | None
    reason: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


def measured(metric: str, value: float, provenance: Mapping[str, Any]) -> Measurement:
    """A value of a metric of the catalogue."""
    known = definition_of(metric)
    return Measurement(metric=metric, unit=known.unit, worse=known.worse, value=value, provenance=provenance)


def missing(metric: str, reason: str) -> Measurement:
    """A metric of the catalogue that the trace does not tell."""
    known = definition_of(metric)
    return Measurement(metric=metric, unit=known.unit, worse=known.worse, value=None, reason=reason)
