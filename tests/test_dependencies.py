"""What an installation without extras brings along: no tools of those who change the project."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
TOLD = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = TOLD["project"]


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


def test_what_the_site_is_built_with_is_asked_for_by_the_hook_and_not_before_it(monkeypatch):
    """pip is silent while it installs what `requires` names; what the hook asks for is a step of its own. Hatchling is
    in pip's build environment only: a stand-in for its interface is enough to ask the hook."""
    (only,) = TOLD["build-system"]["requires"]
    assert Requirement(only).name == "hatchling"
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("build_hook", ROOT / "deploy" / "docs" / "build_hook.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    extras = PROJECT["optional-dependencies"]
    asked = hook.DocsHook.dependencies(
        SimpleNamespace(metadata=SimpleNamespace(core=SimpleNamespace(optional_dependencies=extras)))
    )
    assert [Requirement(one).name for one in asked] == ["mkdocs-material"]
