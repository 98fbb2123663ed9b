"""The latest version of a family beside the one before: what `perfreg bench compare` says of the same two."""

from __future__ import annotations

from dataclasses import dataclass

from perfreg_assets.methods.benchmark_comparison import Comparison, compare
from perfreg_assets.reasons import Rejected
from perfreg_assets.reports.benchmark_data import FamilyView
from perfreg_assets.warehouse.benchmark_flags import told_other
from perfreg_assets.warehouse.benchmark_sides import of_family
from perfreg_assets.warehouse.connection import Reader


@dataclass(frozen=True)
class Beside:
    """`other_flags`: a line for each pair of flags of the virtual machine that differ."""

    comparison: Comparison
    other_flags: list[str]


def beside_before(reader: Reader, view: FamilyView, *, change_minimum: float) -> Beside | None:
    """The last of its versions (`b`) beside the one before (`a`); None without one, or without a benchmark in common.

    No other version's results are read.
    """
    if len(view.versions) < 2:
        return None
    first, second = view.versions[-2:]
    before, latest = (of_family(reader, view.family, version) for version in (first, second))
    try:
        found = compare(before.entries, latest.entries, change_minimum=change_minimum)
    except Rejected:  # they have no benchmark in common: there is no comparison to show
        return None
    return Beside(found, told_other(before.flags, latest.flags, (first, second)))
