"""What a warehouse is given in the end, and a fresh one that is given it at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from house import House
from made_folders import TRACE

from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import traces


@dataclass
class Left:
    """What a warehouse is given in the end.

    Attributes:
        taken: run → a copy of its folder as it was taken in.
        refused: folder name → a copy of it as it was refused.
        gone: runs whose trace was deleted. archived: runs whose trace was reduced.
        files: benchmark file and version → (benchmark run, start that was said, None where none was).
        profiles: (file, device) that were added and not removed, in this order; each file once.
        reduced: SHA-256 of traces that were reduced to other files.
        method_logs: (file of a power profile, device) that one was priced by.
    """

    taken: dict[str, Path] = field(default_factory=dict)
    refused: dict[str, Path] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    benchmark_reviews: dict[str, str] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    settings: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    archived: set[str] = field(default_factory=set)
    files: dict[tuple[Path, str], tuple[str, datetime | None]] = field(default_factory=dict)
    profiles: list[tuple[str, str]] = field(default_factory=list)
    reduced: set[str] = field(default_factory=set)
    method_logs: list[tuple[str, str]] = field(default_factory=list)

    @property
    def has_unreadable(self) -> bool:
        """Whether what was read of a trace stays, whatever traces are read with."""
        return bool(self.gone or self.archived)


def fresh(folder: Path, left: Left, build: Callable[[Path], House] = House) -> House:
    """A warehouse that is given what is left, at once."""
    house = build(folder)
    for setting in left.settings.items():
        house.change(*setting)
    for profile in left.profiles:
        house.add_profile(*profile)
    for log in left.method_logs:
        house.import_method_log(*log)
    for sha256 in left.reduced:
        house.reduce(sha256)
    for (file, version), (_, started_at) in sorted(left.files.items()):
        house.import_benchmarks([file], version, started_at)
    for benchmark, status in left.benchmark_reviews.items():
        house.review_benchmark(benchmark, status)
    house.register(sorted(left.taken.values()))
    house.register(sorted(left.refused.values()))
    for run_id, status in left.reviews.items():
        house.review(run_id, status)
    with house.warehouse.writing() as writer:
        for run_id in left.excluded:
            run_table.exclude(writer, run_id, "because")
    house.settle()
    house.archive(sorted(left.archived & left.taken.keys()))
    gone = left.gone & left.taken.keys()
    for run_id in gone:
        (house.settings.runs_dir / run_id / TRACE).unlink()
    with house.warehouse.writing() as writer:
        traces.note_gone(writer, sorted(gone), is_gone=True)
    return house
