"""Which rows of core.runs are folders that were refused: they are no runs, and go once their folder is mended, or
somebody dismisses them. A run is never deleted."""

from __future__ import annotations

REFUSED = "is_quarantined AND trace_file IS NULL"
"""Condition. A run that was quarantined when its trace was read names that file."""
