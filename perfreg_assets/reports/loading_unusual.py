"""Which runs of a history are no measure of what is usual: they are beyond the limit themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.run_conditions import of

# Distances of the history's runs are in the order of their ranks, one of each: where a series lacks some, nobody knows
# whose they are.
_UNUSUAL = """
SELECT DISTINCT beside.run_id, beside.history_run_id
FROM (
    SELECT members.run_no, members.run_id, members.history_run_id, members.compared_rank,
           count(*) OVER (PARTITION BY members.run_no) AS member_count
    FROM marts.compared_with AS members WHERE {of_members}
) AS beside
JOIN marts.distances AS measured
    ON measured.run_no = beside.run_no AND len(measured.history_distances) = beside.member_count
WHERE {of_measured} AND measured.is_current AND measured.series <> '*'
    AND measured.history_distances[beside.compared_rank] > measured.threshold
"""


def load_unusual(reader: Reader, run_ids: Sequence[str]) -> dict[str, set[str]]:
    """run_id → those of the runs that it is compared with that are beyond its limit in one of its judged series."""
    found: dict[str, set[str]] = defaultdict(set)
    named = {"of_members": of(reader, run_ids, "members.run_no"), "of_measured": of(reader, run_ids, "measured.run_no")}
    for run_id, member in reader.rows(_UNUSUAL.format(**named)):
        found[run_id].add(member)
    return found
