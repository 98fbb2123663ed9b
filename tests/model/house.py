"""A made-up project with everything: registration of folders, benchmarks, power profiles and pages, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from made_folders import TRACE
from made_kept import method_log, reduction
from made_power_profiles import PROFILES
from synthetic import APP, Project

from perfreg_assets.assets.outstanding import outstanding, write_all_pages
from perfreg_assets.automation import spreading
from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.collection import registry
from perfreg_assets.model import benchmarks as benchmark_model
from perfreg_assets.model import handover, inspecting, offered_profiles
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.objects import Objects
from perfreg_assets.partitions import to_key
from perfreg_assets.settings import Settings
from perfreg_assets.traces import reduced
from perfreg_assets.traces.power_profile import parse_profile
from perfreg_assets.warehouse import (
    archive,
    benchmarks,
    method_logs,
    power_profiles,
    reductions,
    settings_table,
    states,
)
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Warehouse

JUDGED = ("cpu_app", "rss_app", "power_cpu_app")


class House(Project):
    """Its traces are read by what `inspecting.inspect_trace` is (`made_reading` in a test)."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(folder, None, judged_series=JUDGED)
        for name in sorted(self.settings.given & set(Settings.kept_names())):
            self.change(name, self.settings.spelled(name))
        # In force is what the warehouse keeps: what a process is given itself would go before it.
        self.settings = Settings(warehouse=self.settings.warehouse, **settings)

    def register(self, folders: Sequence[Path]) -> list[registry.Registration]:
        return registry.register(folders, self.settings, self.warehouse, to_key)

    def import_benchmarks(self, files: Sequence[Path], version: str, started_at: datetime | None = None) -> list[str]:
        """As `perfreg bench import`; ids of the benchmark runs."""
        taken = take_in(files, Origin(app=APP, version_name=version, started_at=started_at))
        found = [one.measured for one in taken if one.measured is not None]
        with self.warehouse.writing() as writer:
            benchmarks.correct_starts(writer, found)
            benchmarks.add(writer, found)
        return [one.run.benchmark_run_id for one in found]

    def review_benchmark(self, benchmark_run_id: str, status: str | None) -> None:
        """None: withdraws."""
        with self.warehouse.writing() as writer:
            if status is None:
                benchmarks.withdraw(writer, benchmark_run_id, note=None, reviewer=None)
            else:
                benchmarks.review(writer, benchmark_run_id, status, note=None, reviewer=None)

    def add_profile(self, name: str, device: str) -> None:
        """As `perfreg profiles add`."""
        described = self._described(name, device, power_profiles.ADDED)
        with self.warehouse.writing() as writer:
            offered_profiles.add(writer, settings_table.in_force(writer, self.settings), described)

    def keep_profile(self, name: str, device: str) -> list[str]:
        """As `perfreg energy-import --profile`."""
        described = self._described(name, device, power_profiles.RUN_FOLDER)
        with self.warehouse.writing() as writer:
            return offered_profiles.keep(writer, settings_table.in_force(writer, self.settings), described)

    def _described(self, name: str, device: str, origin: str) -> power_profiles.StoredProfile:
        content = PROFILES[name]
        profile = parse_profile(content, name, nominal_voltage_v=self.settings.nominal_voltage_v)
        return power_profiles.described(profile, name=name, device=device, origin=origin, content=content)

    def remove_profile(self, name: str) -> None:
        """As `perfreg profiles remove`."""
        with self.warehouse.writing() as writer:
            row = power_profiles.find_added(writer, name)
            assert row is not None
            offered_profiles.remove(writer, settings_table.in_force(writer, self.settings), row)

    def versions(self) -> list[str]:
        """Partitions of which there is a run."""
        with self.warehouse.reading() as reader:
            return sorted(states.partitions(reader))

    def reduce(self, trace_sha256: str) -> None:
        """As `perfreg reduce` of a trace, to another file."""
        with self.warehouse.writing() as writer:
            reductions.store(writer, reduction(trace_sha256))

    def archive(self, run_ids: Sequence[str]) -> Path | None:
        """As `perfreg archive`, of these runs; where the trace of the last one lies."""
        place = None
        for run_id in run_ids:
            place = self.settings.runs_dir / run_id / TRACE
            place.unlink()  # it may be a link to what was given
            place.write_bytes(reduced.mark())
            with self.warehouse.writing() as writer:
                (row,) = run_table.find(writer, [run_id]).values()
                made = replace(reduction(row.trace_sha256 or ""), is_in_place=True, reduced_file=str(place))
                archive.note_reduced(writer, run_id, made)
        return place

    def import_method_log(self, name: str, device: str) -> None:
        """As `perfreg energy-import` with a power profile of this name."""
        profile = self._described(name, device, power_profiles.RUN_FOLDER)
        with self.warehouse.writing() as writer:
            power_profiles.keep(writer, [profile])
            method_logs.store(writer, method_log(profile.row.profile_id, device), [])

    def read_again(self) -> None:
        """All traces, though nothing changed."""
        inspecting.inspect_due(self.warehouse, self.settings, self.versions(), Stopwatch(), again=True)

    def settle(self) -> None:
        super().settle()
        benchmark_model.measure_due(self.warehouse, self.settings, Stopwatch())
        self.warehouse.publish()

    def write_pages(self) -> list[str]:
        return write_all_pages(self.warehouse.reading_caught_up, self.settings)

    def told(self) -> dict[str, object]:
        """Marts and pages, once nothing is due; asserts that nothing is written any more then."""
        self.settle()
        self.write_pages()
        files = (self.settings.warehouse, self.warehouse.published)
        before = [file.stat() for file in files]
        self.settle()
        assert self.write_pages() == []
        assert [file.stat() for file in files] == before, "written though nothing was due"
        with self.warehouse.reading() as reader:
            left = outstanding(reader, self.settings)
        assert not left.keys, left
        told: dict[str, object] = {**self.snapshot(), "power_profiles": self.rows(_PROFILES)}
        del told["power_levels"], told["series_axes"]  # of what was there or was judged at any time
        root = self.settings.reports_dir
        for page in [*root.rglob("*.html"), *root.rglob("*.js")]:
            if "assets" not in page.parts and page.name != "omega.html":  # it tells of each ω that was ever asked for
                told[str(page.relative_to(root))] = _timeless(page.read_text("utf-8"), str(self.settings.warehouse))
        return told


class Exchanging(House):
    """Its folders arrive in an exchange, where a worker reads them who knows no warehouse."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        place = folder / "exchange"
        place.mkdir(parents=True)
        super().__init__(folder, exchange=str(place), **settings)
        self.objects = Objects(str(place))
        self.worker = Settings(warehouse=folder / "nowhere" / "x.duckdb", exchange=str(place))

    def register(self, folders: Sequence[Path]) -> list[registry.Registration]:
        """By the worker and the writer, in that order."""
        self.hand_in(folders)
        self.work()
        found = self.commit()
        return [found[folder.name] for folder in folders]

    def hand_in(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            for file in sorted(folder.iterdir()):
                self.objects.write(f"{handover.INBOX}/{folder.name}/{file.name}", file.read_bytes())

    def work(self) -> None:
        """All that waits is read."""
        waiting = [task.folder for task in spreading.waiting(self.objects)]
        spreading.read_folders(self.objects, self.worker, waiting, _quiet)

    def commit(self) -> dict[str, registry.Registration]:
        """Name of a folder → what became of it."""
        with admissions() as found:
            spreading.commit(self.objects, self.settings, self.warehouse, _quiet)
        return {one.folder.name: one for one in found}

    def steps(self, warehouse: Warehouse | None = None) -> dict[str, Callable[[list[str]], object]]:
        return {**super().steps(warehouse), "time_series": lambda _: self._read_again()}

    def _read_again(self) -> None:
        self.commit()  # asks for what is due
        self.work()
        self.commit()


@contextmanager
def admissions() -> Iterator[list[registry.Registration]]:
    """What becomes of folders meanwhile, whoever hands them over."""
    found: list[registry.Registration] = []
    admit = registry.admit

    def admitted(*given: Any) -> list[registry.Registration]:
        found.extend(outcomes := admit(*given))
        return outcomes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "admit", admitted)
        yield found


def _quiet(_: str) -> None:
    """Nothing is told."""


# What was removed, or was of runs that are others by now, stays in the list.
_PROFILES = """
SELECT profile_id, run_count, profile_origin = 'added' AND removed_at IS NULL AS is_in_force,
    CASE WHEN is_in_force THEN device_name END AS device_name,
    CASE WHEN is_in_force THEN profile_name END AS profile_name
FROM marts.power_profiles WHERE run_count > 0 OR is_in_force ORDER BY ALL
"""


def _timeless(text: str, place: str) -> str:
    """A page without moments of writing, which are after those of all runs."""
    return re.sub(r"20(?!26-01)\d\d-\d\d-\d\d[T ]?[\d:.]*(Z| UTC)?", "then", text.replace(place, "here"))
