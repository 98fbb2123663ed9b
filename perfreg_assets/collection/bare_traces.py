"""Traces that nobody said anything about: single ones, folders of them, lists, and what Jetpack Macrobenchmark leaves.

Macrobenchmark's folder is known by its `…benchmarkData.json`, which names the tests and, from 1.3 on, each test's
traces (`profilerOutputs`); before that a trace's name begins with its test's class and method.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfreg_assets.collection.run_folder import RUN_JSON, TRACE_SUFFIXES
from perfreg_assets.reasons import Reason, Rejected

RESULTS = "*benchmarkData.json"
_RESULTS_BYTES_MAX = 256 << 20
_MARKS = re.compile(r"^(?:[A-Z]+(?:-[A-Z]+)*_)+(?=[a-z])")  # what the library puts before a test's name: EMULATOR_
_OTHER = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True)
class BareTrace:
    """A trace and, where a file beside it says so, what the test did that recorded it."""

    path: Path
    scenario: str | None = None


@dataclass
class Found:
    """Attributes:
    traces: each once, in the order of the paths and, within a folder, of names.
    results: benchmarkData.json files of the folders.
    refused: paths that give no trace, and why.
    missing: those of them that are not there or cannot be read: nobody knows what they hold.
    """

    traces: list[BareTrace] = field(default_factory=list)
    results: list[Path] = field(default_factory=list)
    refused: list[Rejected] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)


def find_bare_traces(paths: Iterable[Path], pattern: str | None = None) -> Found:
    """The traces that some paths mean: files as they are, whatever their name; of folders those below them.

    Args:
        pattern: of the file names in folders, as in a shell; default: all that end like a trace.
    """
    found = Found()
    seen: set[Path] = set()
    for path in paths:
        try:
            own, results = _of_path(path, pattern)
            of_runs = {one.path.parent for one in own if (one.path.parent / RUN_JSON).exists() and path.is_dir()}
            found.refused += [_is_a_run(folder) for folder in sorted(of_runs)]
            own = [one for one in own if one.path.parent not in of_runs]
        except (Rejected, OSError) as error:
            found.refused.append(error if isinstance(error, Rejected) else _unreadable(path, error))
            if isinstance(error, OSError) or not path.exists():
                found.missing.append(path)
            continue
        found.results += [one for one in results if one not in found.results]
        for trace in own:
            place = trace.path.absolute()
            if place not in seen:
                seen.add(place)
                found.traces.append(trace)
    return found


def require_trace(path: Path) -> None:
    """One trace, named by its file; what is in it is not looked at.

    Raises:
        Rejected: TRACE_FILE_MISSING.
    """
    if path.is_dir():
        raise Rejected(Reason.TRACE_FILE_MISSING, f"{path} is a folder, where one trace is meant")
    if not path.exists():
        raise Rejected(Reason.TRACE_FILE_MISSING, f"{path} does not exist")


def _is_a_run(folder: Path) -> Rejected:
    return Rejected(Reason.NO_TRACE_FOUND, f"{folder} is a run folder, which `perfreg ingest` takes as it is")


def _unreadable(path: Path, error: OSError) -> Rejected:
    return Rejected(Reason.FOLDER_UNREADABLE, f"{path}: {error.strerror or error}")


def _of_path(path: Path, pattern: str | None) -> tuple[list[BareTrace], list[Path]]:
    if not path.exists():
        raise Rejected(Reason.NO_TRACE_FOUND, f"{path} does not exist")
    if path.match(RESULTS) and path.is_file():
        raise Rejected(Reason.NO_TRACE_FOUND, f"{path} holds metrics of tests; give its folder, where their traces are")
    if not path.is_dir():
        return [BareTrace(path)], []
    if (path / RUN_JSON).exists():
        raise _is_a_run(path)
    inside = sorted(one for one in path.rglob(pattern or "*") if one.is_file())
    traces = inside if pattern else [one for one in inside if one.name.endswith(TRACE_SUFFIXES)]
    results = sorted(path.rglob(RESULTS))
    if not traces and not results:
        what = f"named {pattern}" if pattern else f"that ends in {', '.join(TRACE_SUFFIXES)}; --pattern names others"
        raise Rejected(Reason.NO_TRACE_FOUND, f"{path} holds no file {what}")
    tests = {folder: _tests([one for one in results if one.parent == folder]) for folder in {r.parent for r in results}}
    return [BareTrace(one, _scenario(one, tests.get(one.parent, ()))) for one in traces], results


@dataclass(frozen=True)
class _Test:
    scenario: str
    files: frozenset[str]
    beginning: str


def _tests(results: Sequence[Path]) -> list[_Test]:
    return [_test(one) for path in results for one in _benchmarks(path)]


def _benchmarks(path: Path) -> list[dict[str, Any]]:
    """The tests of a file of results; of one that is built otherwise none: its importer says what is wrong with it."""
    if path.stat().st_size > _RESULTS_BYTES_MAX:
        return []
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError):
        return []
    given = content.get("benchmarks") if isinstance(content, dict) else None
    return [
        one
        for one in (given if isinstance(given, list) else [])
        if isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("className"), str)
    ]


def _test(one: dict[str, Any]) -> _Test:
    name = _MARKS.sub("", one["name"])
    short = one["className"].rpartition(".")[2]
    outputs = one.get("profilerOutputs")
    files = [out.get("filename") for out in outputs if isinstance(out, dict)] if isinstance(outputs, list) else []
    return _Test(f"{short}.{name}", frozenset(str(file) for file in files), f"{_plain(short)}_{_plain(name)}_iter")


def _scenario(path: Path, tests: Sequence[_Test]) -> str | None:
    """The test that recorded a trace: the one that names it, else the longest one that its name begins with."""
    named = [one.scenario for one in tests if path.name in one.files]
    begun = [one for one in tests if _plain(path.name).startswith(one.beginning)]
    return named[0] if named else max(begun, key=lambda one: len(one.beginning)).scenario if begun else None


def _plain(name: str) -> str:
    return _OTHER.sub("_", name).strip("_")
