"""The sides of a comparison: files, versions of an app, or variants of a version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from perfreg_assets.benchmarks.result_file import read_result_file
from perfreg_assets.benchmarks.results import Invalid, Result
from perfreg_assets.benchmarks.taking_in import Origin, in_area, result_files
from perfreg_assets.methods import adequacy
from perfreg_assets.methods.benchmark_comparison import Entry
from perfreg_assets.near_names import nearest
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse.benchmark_flags import Flags, texts_of
from perfreg_assets.warehouse.benchmark_sides import OfVersion, of_rows, place_of, without_result
from perfreg_assets.warehouse.connection import Reader


@dataclass(frozen=True)
class Selection:
    """Which results of the warehouse are meant by a name.

    Attributes:
        version_name: given: the name is one of its variants; None: the name is a version.
    """

    app: str | None = None
    version_name: str | None = None
    variant: str | None = None
    device: str | None = None


@dataclass(frozen=True)
class OfFiles:
    """`files`: those that count, by the SHA-256 of what is in them. `copies`: (file, the one that it is a copy of)."""

    entries: list[Entry]
    flags: Flags
    files: dict[str, Path]
    copies: list[tuple[Path, Path]]


def of_files(paths: Sequence[Path], *, with_inadequate: bool) -> OfFiles:
    """Entries of files, or of folders of them; what stands in several files is measured in as many launches, and a file
    that is there twice, packed perhaps, in one. Of a benchmark the adequate files count, see `adequacy.counted`.

    Raises:
        Rejected: BENCHMARK_FILE_UNREADABLE, BENCHMARK_FORMAT_UNKNOWN, BENCHMARK_JSON_INVALID.
    """
    parts: dict[str, list[Result]] = {}
    flags: dict[str, set[str]] = {}
    nothing: dict[str, Invalid] = {}
    known: dict[str, Path] = {}
    copies = []
    for path in paths:
        for file, origin in result_files(path, Origin()):
            read = read_result_file(file)
            first = known.setdefault(read.sha256, file)
            if first != file:
                copies.append((file, first))
                continue
            for one in in_area(read.results, origin):
                parts.setdefault(one.name, []).append(one)
                flags.setdefault(one.name, set()).update(texts_of(read.environment.get("jvmArgs")))
            nothing |= {one.name: one for one in read.invalid}
    found = [_entry(of_one, with_inadequate) for of_one in parts.values()]
    found += [
        without_result(one.name, one.of.area, one.unit, one.worse, one.why)
        for one in nothing.values()
        if one.name not in parts
    ]
    return OfFiles(found, flags, known, copies)


def _entry(parts: Sequence[Result], with_inadequate: bool) -> Entry:
    taken, left = adequacy.counted(parts, lambda part: with_inadequate or part.is_adequate)
    one = reduce(Result.joined, taken)
    return Entry(
        key=one.name,
        area=one.area,
        unit=one.unit,
        worse=one.worse,
        scores=one.scores,
        iterations=one.iterations,
        is_primary=one.is_primary,
        why_left_out=None if with_inadequate or one.is_adequate else _why(one),
        files_left_out=tuple(_why(part) for part in left),
    )


def _why(one: Result) -> str:
    return adequacy.why_inadequate(caveat.code.code for caveat in one.warnings)


def of_warehouse(
    reader: Reader, names: tuple[str, str], selection: Selection, *, with_inadequate: bool
) -> tuple[OfVersion, OfVersion]:
    """Two versions of an app, or of two variants of one of its versions.

    Results pair within a device and a runner (and, of versions, within a variant).

    Raises:
        Rejected: BENCHMARK_UNKNOWN, with what there is.
    """
    known = table.versions(reader)
    app = _app(known, selection.app)
    of_app = [one for one in known if one["app"] == app]
    is_variants = selection.version_name is not None
    if is_variants:
        _require(str(selection.version_name), [one["version_name"] for one in of_app], "version")
        of_app = [one for one in of_app if one["version_name"] == selection.version_name]
    if selection.device is not None:
        _require(selection.device, [one["device"] for one in of_app], "device")
    sides = []
    for name in names:
        _require(name, [one["variant" if is_variants else "version_name"] for one in of_app],
                 "variant" if is_variants else "version")  # fmt: skip
        version = str(selection.version_name) if is_variants else name
        variant = name if is_variants else selection.variant
        rows = table.side(reader, app, version, variant=variant, device=selection.device)
        sides.append(rows)
    names_of_place = ("device", "runner") if is_variants else ("device", "variant", "runner")
    is_one_place = len({place_of(row, names_of_place) for rows in sides for row in rows}) <= 1
    told_by = () if is_one_place else names_of_place
    first, second = (of_rows(reader, rows, told_by=told_by, with_inadequate=with_inadequate) for rows in sides)
    return first, second


def _app(known: Sequence[dict[str, Any]], app: str | None) -> str:
    apps = list(dict.fromkeys(one["app"] for one in known))
    if app is not None:
        _require(app, apps, "app")
        return app
    if len(apps) == 1:
        return str(apps[0])
    told = f"results of {', '.join(apps)}; name one with --app" if apps else "the warehouse has no results"
    raise Rejected(Reason.BENCHMARK_UNKNOWN, told)


def _require(name: str, there: Iterable[str], kind: str) -> None:
    known = list(dict.fromkeys(there))
    if name in known:
        return
    near = nearest(name, known, cutoff=0.3) or known[-3:]
    told = f"; there is {', '.join(repr(one) for one in near)}" if near else ""
    raise Rejected(Reason.BENCHMARK_UNKNOWN, f"no file and no {kind} {name!r}{told}")
