"""What an installation without extras brings along: no tools of those who change the project."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]


def brought_along(requirements: list[str]) -> set[str]:
    """Names of all that these requirements install here, directly or not."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [(Requirement(text), frozenset[str]()) for text in requirements]
    while waiting:
        needed, asked = waiting.pop()
        if needed.marker is not None and not any(needed.marker.evaluate({"extra": one}) for one in asked or {""}):
            continue
        key = (canonicalize_name(needed.name), frozenset(needed.extras))
        if key not in found:
            found.add(key)
            waiting += [(Requirement(text), key[1]) for text in metadata.requires(key[0]) or ()]
    return {name for name, _ in found}


def test_an_installation_without_extras_has_no_developers_tools():
    brought = brought_along(PROJECT["dependencies"])
    assert {"dagster", "duckdb", "llvmlite"} <= brought
    assert not {name for name in brought if name.startswith("dagster-dg")}
    extras = PROJECT["optional-dependencies"]
    tools = {canonicalize_name(Requirement(text).name) for text in (*extras["test"], *extras["docs"])} - {"perfreg"}
    assert len(tools) > 5
    assert not tools & brought


def test_who_tests_has_what_developers_have():
    (own,) = (one for text in PROJECT["optional-dependencies"]["test"] if (one := Requirement(text)).name == "perfreg")
    assert own.extras == {"cluster", "dev", "docs"}
