"""Dagster's code location of worker machines: they need the exchange (PERFREG_EXCHANGE) and no warehouse.

The other location, `perfreg_assets.definitions`, holds everything else and belongs on the warehouse's machine.
"""

import dagster as dg

from perfreg_assets import garbage
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.reading import arrivals, read_traces

defs = dg.Definitions(jobs=[read_traces], sensors=[arrivals], resources={"project": Project()})
garbage.pass_over_what_is_loaded()
