"""What is answered for a version of which there are benchmarks and no run: a page is written of versions with runs."""

from __future__ import annotations

from urllib.parse import unquote

from perfreg_assets.reasons import Rejected
from perfreg_assets.reports.benchmark_site import family_page
from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.refusals import Way
from perfreg_assets.warehouse import benchmarks
from perfreg_assets.warehouse.connection import Warehouse

SENTENCE = (
    "There is no page of this version: it has benchmarks and no run. What its benchmarks say stands on the page of "
    "benchmarks."
)


def ways_to_benchmarks(warehouse: Warehouse, path: str) -> list[Way]:
    """The pages of benchmarks of the version that an address is of; none where it is no version's, or one with runs."""
    page = unquote(path).lstrip("/")
    try:
        with warehouse.reading() as reader:
            rows = benchmarks.places_of_versions_without_runs(reader)
    except Rejected:  # it cannot be read, or is not there: what is missing is told as for any other address
        return []
    return [
        Way(f"/{family_page(app, *place)}", f"Benchmarks of {app}: {', '.join(part for part in place if part)}")
        for app, version_name, *place in rows
        if version_page(app, version_name) == page
    ]
