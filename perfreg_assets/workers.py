"""Dagster's code location of worker machines: they need the exchange (PERFREG_EXCHANGE) and no warehouse.

The other location, `perfreg_assets.definitions`, holds everything else and belongs on the warehouse's machine.
"""

from perfreg_assets import garbage

garbage.look_rarely()

import dagster as dg  # noqa: E402  (while the libraries are loaded, too)

from perfreg_assets.assets.project import Project  # noqa: E402
from perfreg_assets.automation.reading import arrivals, read_traces  # noqa: E402

defs = dg.Definitions(jobs=[read_traces], sensors=[arrivals], resources={"project": Project()})
