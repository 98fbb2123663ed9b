"""The house's floors: imports run downwards only and in no circle, and each outside library has its rooms."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "perfreg_assets"
ROOT = Path(__file__).parents[1] / PACKAGE

# From the ground upwards. A file imports from floors below its own, and from its own folder; rooms that share a
# floor do not import each other.
FLOORS = (
    (
        "advance",
        "catalogue",
        "detection",
        "figures",
        "file_stamps",
        "garbage",
        "how_many",
        "moments",
        "named_files",
        "near_names",
        "objects",
        "own_scratch",
        "settings",
        "reasons",
        "regular_file",
        "partitions",
        "process_life",
        "bundled",
        "provenance",
        "readable",
        "storable_text",
        "table_layout",
        "terminal",
        "unwritable",
        "run",
        "validation",
        "spans",
        "whole_files",
        "xml_text",
    ),
    ("methods",),
    ("traces", "warehouse"),
    ("model", "collection", "benchmarks", "reports", "evaluation"),
    ("assets",),
    ("automation",),
    ("assembly",),
    ("definitions", "workers"),
    ("cli",),
    ("starting",),
)
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
GROUND = set(FLOORS[0])

# Outside library → the only rooms that may import it.
ONLY_IN = {
    "duckdb": {"warehouse"},
    "adbutils": {"collection"},
    "dagster": {"assembly", "workers", "assets", "automation"},
    "fsspec": {"objects"},
    "perfetto": {"traces"},
}
# What the numerics stand on; beside it the standard library and this package.
NUMERICS = {"numpy", "scipy", "sklearn", "tslearn", "stumpy", "numba"}


def modules() -> dict[str, Path]:
    """Dotted name → file of every module of the package."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(name: str, source: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything that a module imports, inside functions and for type checking too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                is_package = MODULES[name].name == "__init__.py"
                above = name.split(".")[: len(name.split(".")) - node.level + is_package]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield node.lineno, whole if whole in MODULES else base


def room_of(module: str) -> str:
    """The folder or file directly below the package; the package itself holds the version only and is below all."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def complaints(name: str, source: str) -> list[str]:
    """What a module imports and must not, one line each."""
    room = room_of(name)
    found = []
    for line, target in imports(name, source):
        top = target.split(".")[0]
        if top == PACKAGE:
            other = room_of(target)
            if other in ("", room):
                continue
            is_ground = room in GROUND and other in GROUND  # single files of one floor; circles are looked for apart
            if other not in FLOOR_OF:
                found.append(f"{name}:{line} imports {target}, which stands on no floor")
            elif FLOOR_OF[other] > FLOOR_OF[room]:
                found.append(f"{name}:{line} imports upwards: {target}")
            elif FLOOR_OF[other] == FLOOR_OF[room] and not is_ground:
                found.append(f"{name}:{line} imports sideways: {target}")
        elif top in ONLY_IN and room not in ONLY_IN[top]:
            found.append(f"{name}:{line} imports {top}, which only {' and '.join(sorted(ONLY_IN[top]))} may")
        elif room == "methods" and top not in NUMERICS and top not in sys.stdlib_module_names:
            found.append(f"{name}:{line} imports {top}, which the numerics do without")
    return found


def circles(edges: dict[str, set[str]]) -> list[str]:
    """Circles among modules, as "a → b → a"."""
    found: list[str] = []
    done: set[str] = set()

    def walk(name: str, trail: list[str]) -> None:
        if name in trail:
            found.append(" → ".join([*trail[trail.index(name) :], name]))
            return
        if name in done:
            return
        for target in sorted(edges.get(name, ())):
            walk(target, [*trail, name])
        done.add(name)

    for name in sorted(edges):
        walk(name, [])
    return found


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_downwards_only_and_only_what_its_floor_may(name):
    if name != PACKAGE:
        assert room_of(name) in FLOOR_OF, f"{name} stands on no floor; put it on one in this test"
    assert complaints(name, MODULES[name].read_text("utf-8")) == []


def test_no_import_runs_in_a_circle():
    edges = {
        name: {target for _, target in imports(name, path.read_text("utf-8")) if target in MODULES and target != name}
        for name, path in MODULES.items()
    }
    assert circles(edges) == []


@pytest.mark.parametrize(
    ("name", "source", "word"),
    [
        ("perfreg_assets.methods.dtw", "from perfreg_assets.warehouse import runs", "upwards"),
        ("perfreg_assets.methods.dtw", "def f():\n    import pandas", "pandas"),
        ("perfreg_assets.traces.gate", "from perfreg_assets.warehouse.rows import load", "sideways"),
        ("perfreg_assets.reports.data", "from ..evaluation import show", "sideways"),
        ("perfreg_assets.reports.data", "import duckdb", "duckdb"),
        ("perfreg_assets.collection.config", "import dagster as dg", "dagster"),
        ("perfreg_assets.settings", "from perfreg_assets.elsewhere import x", "no floor"),
    ],
)
def test_this_test_sees_what_it_is_there_for(name, source, word):
    (complaint,) = complaints(name, source)
    assert word in complaint


def test_a_circle_is_named():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a → b → c → a"]
