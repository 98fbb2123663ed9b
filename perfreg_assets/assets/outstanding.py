"""What is due in the warehouse and on the pages: what status shows, sensors request and the command line makes true."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache, cached_property

from perfreg_assets.detection import detectors
from perfreg_assets.file_stamps import stamp
from perfreg_assets.model import benchmarks, freshness
from perfreg_assets.model.benchmarks import DueBenchmark
from perfreg_assets.model.freshness import Due, Stage
from perfreg_assets.provenance import code_version, deciding_code
from perfreg_assets.reports import benchmark_site, energy_site, shards, site, site_state
from perfreg_assets.reports.templating import code_hash
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as benchmark_table
from perfreg_assets.warehouse import states
from perfreg_assets.warehouse.connection import Reader

STEPS: dict[Stage | None, tuple[str, ...]] = {
    Stage.TRACE: ("traces", "time_series", "thread_times", "energies"),
    Stage.HISTORY: ("history_sets",),
    Stage.BARYCENTER: ("barycenters",),
    Stage.DISTANCE: ("distances",),
    Stage.VERDICT: ("verdicts",),
    Stage.DISCORD: ("discords",),
    Stage.CAUSE: ("causes",),
    None: ("reports",),
}
"""The assets that make each stage true, in their order; None: the pages."""

BENCHMARK_STEP = "benchmark_verdicts"
"""The asset that makes the distances of benchmark results true."""


@dataclass(frozen=True)
class Outstanding:
    """`due`: a row per run with something due. `pages`: run (or `OVERVIEW`) → partition, of pages that would come out
    different; index, ω page and those of benchmarks belong to no version and are written with the latest one's.
    `benchmarks`: a row per benchmark run whose distances do not hold."""

    due: tuple[Due, ...]
    pages: dict[str, str]
    benchmarks: tuple[DueBenchmark, ...] = ()

    @property
    def keys(self) -> list[str]:
        """Partitions with something due, in the order of their first such run."""
        runs, benchmarks = ([one.partition_key for one in rows] for rows in (self.due, self.benchmarks))
        return list(dict.fromkeys([*runs, *benchmarks, *self.pages.values()]))

    def of(self, key: str) -> Outstanding:
        """The part of one partition."""
        return self._parts.get(key, Outstanding((), {}))

    @cached_property
    def _parts(self) -> dict[str, Outstanding]:
        due: dict[str, list[Due]] = {}
        pages: dict[str, dict[str, str]] = {}
        for one in self.due:
            due.setdefault(one.partition_key, []).append(one)
        for run_id, key in self.pages.items():
            pages.setdefault(key, {})[run_id] = key
        measured: dict[str, list[DueBenchmark]] = {}
        for row in self.benchmarks:
            measured.setdefault(row.partition_key, []).append(row)
        return {
            key: Outstanding(tuple(due.get(key, ())), pages.get(key, {}), tuple(measured.get(key, ())))
            for key in self.keys
        }

    def without(self, run_ids: Collection[str]) -> Outstanding:
        """What is due of other runs; pages and benchmarks stay."""
        return replace(self, due=tuple(one for one in self.due if one.run_id not in run_ids))

    def apart_from(self, keys: Collection[str]) -> Outstanding:
        """What is due in other partitions; pages stay."""
        return replace(
            self,
            due=tuple(one for one in self.due if one.partition_key not in keys),
            benchmarks=tuple(one for one in self.benchmarks if one.partition_key not in keys),
        )

    @property
    def assets(self) -> tuple[str, ...]:
        """The assets to materialise: from the earliest stage that is due to the pages; none where nothing is."""
        if not self.due and not self.pages and not self.benchmarks:
            return ()
        first = min((one.stage for one in self.due), default=None)
        order = list(STEPS)
        steps = tuple(asset for stage in order[order.index(first) :] for asset in STEPS[stage])
        return (BENCHMARK_STEP, *steps) if self.benchmarks else steps

    @property
    def signature(self) -> str:
        """Equal for the same things due for the same reasons."""
        measured = sorted((one.benchmark_run_id, one.why) for one in self.benchmarks)
        text = repr((sorted((one.run_id, one.stage, one.why) for one in self.due), sorted(self.pages), measured))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def outstanding(reader: Reader, settings: Settings, *, with_waiting: bool = True) -> Outstanding:
    """Everything that is due.

    Args:
        with_waiting: whether pages that were put off are (`site.build_site`).
    """
    due = freshness.due_now(reader, settings)
    late, is_overview_late = site.due_pages(
        reader,
        settings.reports_dir,
        server=settings.reports_address,
        due=freshness.told_of(due),
        with_waiting=with_waiting,
    )
    key_of = states.partitions_of(reader, late)
    pages = {run_id: key_of[run_id] for run_id in late if run_id in key_of}
    if is_overview_late:
        latest = states.latest_partition(reader) or benchmark_table.latest_partition(reader)
        if latest is not None:
            pages[site.OVERVIEW] = latest
    return Outstanding(tuple(due), pages, tuple(benchmarks.due(reader, settings)))


def witness(settings: Settings) -> str:
    """16 hex digits that are the same while nothing can have become due: nothing was published, no setting or code is
    another one, and no page was written or removed. Costs a look at eleven files.

    Raises:
        OSError: a place cannot be looked at.
    """
    places = (
        settings.published_warehouse,
        settings.reports_dir / site_state.HEAD,
        settings.reports_dir / "runs",
        settings.reports_dir / shards.FOLDER,
        settings.reports_dir / benchmark_site.STATE,
        settings.reports_dir / benchmark_site.FOLDER,
        settings.reports_dir / benchmark_site.PAGE,
        settings.reports_dir / energy_site.STATE,
        settings.reports_dir / energy_site.PAGE,
        *(settings.reports_dir / page for page in site.OVERVIEW_PAGES),
    )
    facts = (settings, detectors(), _code(), [stamp(place) for place in places])
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@cache
def _code() -> tuple[str, ...]:
    return code_version("methods"), code_version("traces"), deciding_code(), code_hash()


def write_pages(reader: Reader, settings: Settings, *, most_s: float | None = None) -> list[str]:
    """Brings the site up to date; what is still due is said on the pages it concerns. The pages written.

    Args:
        most_s: as in `site.build_site`.
    """
    due = freshness.told_now(reader, settings)
    return site.build_site(reader, settings.reports_dir, server=settings.reports_address, due=due, most_s=most_s)


def write_all_pages(
    reading: Callable[[], AbstractContextManager[Reader]], settings: Settings, *, most_s: float | None = None
) -> list[str]:
    """The same in turns, until no page waits: others are let at the site in between.

    Args:
        most_s: as in `site.build_in_turns`.
    """
    return site.build_in_turns(
        reading,
        settings.reports_dir,
        server=settings.reports_address,
        due=lambda reader: freshness.told_now(reader, settings),
        most_s=most_s,
    )
