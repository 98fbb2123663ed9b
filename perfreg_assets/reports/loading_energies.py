"""What runs cost, from the marts, for their pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from perfreg_assets.reports.data import CostRow, EnergyView, ScreenCost
from perfreg_assets.warehouse.connection import Reader

_SCOPES = ("app", "others", "wakeups")
_SHOWN_SCREENS = 10

ENERGY_HASHES = {
    "energies": """SELECT run_id, bit_xor(hash(component, scope, energy_source, charge_mah, energy_mj))
                   FROM marts.energies WHERE is_estimated AND {of} GROUP BY run_id""",
    "energy_by_run": """SELECT run_id, hash(app_mah_per_h, total_mah_per_h, battery_ratio_per_h, history_count,
                        app_change_ratio, total_change_ratio) FROM marts.energy_by_run WHERE {of}""",
    "energy_by_screen": """SELECT run_id, bit_xor(hash(screen, duration_s, app_mah, total_mah))
                           FROM marts.energy_by_screen WHERE {of} GROUP BY run_id""",
    "energy_states": """SELECT run_id, hash(profile_name, profile_origin, is_foreign_profile, has_idle_states)
                        FROM marts.energy_states WHERE {of}""",
}
"""What of it a page shows, by run; {of} limits a query to some runs."""

_COSTS = """
SELECT run_id, component, scope, energy_source, charge_mah, energy_mj FROM marts.energies
WHERE is_estimated AND component LIKE 'cpu!_%' ESCAPE '!' AND {of} ORDER BY run_id, component
"""
_WHOLE = """
SELECT whole.run_id, whole.app_mah_per_h, whole.total_mah_per_h, whole.battery_ratio_per_h, whole.history_count,
       whole.app_change_ratio, whole.total_change_ratio, states.profile_name, states.is_foreign_profile,
       states.has_idle_states
FROM marts.energy_by_run AS whole JOIN marts.energy_states AS states ON states.run_id = whole.run_id
WHERE whole.{of}
"""
_SCREENS = """
SELECT run_id, coalesce(screen, 'unknown') AS screen, duration_s, app_mah, total_mah FROM marts.energy_by_screen
WHERE {of} ORDER BY run_id, total_mah DESC, screen
"""


def load_energies(reader: Reader, run_ids: Sequence[str]) -> dict[str, EnergyView]:
    """run_id → what it cost, of runs that were estimated."""
    of = f"run_id IN ({', '.join('?' * len(run_ids))})" if run_ids else "run_id IS NULL"
    costs: dict[str, dict[str, dict[str, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for row in reader.dicts(_COSTS.format(of=of), run_ids):
        costs[row["run_id"]][row["component"]][row["scope"]] = row
    screens: dict[str, list[ScreenCost]] = defaultdict(list)
    for row in reader.dicts(_SCREENS.format(of=of), run_ids):
        screens[row.pop("run_id")].append(ScreenCost(**row))
    found = {}
    for row in reader.dicts(_WHOLE.format(of=of), run_ids):
        run_id = row.pop("run_id")
        found[run_id] = EnergyView(
            **row,
            costs=tuple(
                CostRow(component, *(own[scope]["charge_mah"] if scope in own else 0.0 for scope in _SCOPES))
                for component, own in sorted(costs[run_id].items(), key=lambda one: one[0] != "cpu_core")
            ),
            screens=tuple(screens[run_id][:_SHOWN_SCREENS]),
        )
    return found
