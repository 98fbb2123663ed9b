"""The pages' scripts: ES modules in `scripts/`, each page's put together into one file without a name in the page.

Pages are opened as plain files too, and browsers load no ES module from a file's address (its origin is none). So what
a page loads is a classic script made here of the modules that its entry imports: the same bytes from the same sources.
Only named imports from beside and `export` before a declaration are understood; anything else is refused, so that what
a linter reads is what runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

ENTRIES = ("index", "run", "version", "omega", "call-log", "page", "inbox")
"""Modules that a page loads; `assets/<entry>.js` holds each with all that it imports."""
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z][a-z-]*)\.js";\n', re.MULTILINE)
_EFFECT = re.compile(r'^import "\./([a-z][a-z-]*)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(
    r"^export (?=(?:async )?(?:const|function|class)\b)((?:async )?(?:const|function|class)) (\w+)", re.MULTILINE
)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def sources() -> dict[str, str]:
    """Name of each module → its text."""
    folder = Path(str(files("perfreg_assets.reports"))) / "scripts"
    return {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.js"))}


@cache
def bundles() -> dict[str, str]:
    """File name → script, of every entry."""
    known = sources()
    return {f"{entry}.js": bundle(entry, known) for entry in ENTRIES}


def bundle(entry: str, modules: Mapping[str, str]) -> str:
    """One classic script of a module and all that it imports, each once, behind those it imports.

    Raises:
        ValueError: an import that leads nowhere or round in a circle, or a form that is not understood.
    """
    parts: dict[str, str] = {}
    _add(entry, modules, parts, ())
    body = "".join(parts.values())
    return f'(() => {{\n"use strict";\n{body}}})();\n'


def _add(name: str, modules: Mapping[str, str], parts: dict[str, str], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(f"scripts import each other in a circle: {' → '.join((*above, name))}")
    if name in parts:
        return
    if name not in modules:
        raise ValueError(f"{above[-1] if above else 'a page'} imports {name}.js, which is not there")
    text = modules[name]
    for imported in [*(m[2] for m in _IMPORT.finditer(text)), *(m[1] for m in _EFFECT.finditer(text))]:
        _add(imported, modules, parts, (*above, name))
    for found in _IMPORT.finditer(text):
        given = {one[2] for one in _EXPORT.finditer(modules[found[2]])}
        lacking = [one for one, _ in _names(found[1]) if one not in given]
        if lacking:
            raise ValueError(f"{name}.js imports {', '.join(lacking)} of {found[2]}.js, which does not export it")
    exported = [found[2] for found in _EXPORT.finditer(text)]
    body = _EXPORT.sub(r"\1 \2", _EFFECT.sub("", _IMPORT.sub(_bound, text)))
    other = _OTHER.search(body)
    if other is not None:
        raise ValueError(f"{name}.js: not understood: {other[0]}")
    result = f"return {{ {', '.join(exported)} }};\n" if exported else ""
    parts[name] = f"const {_variable(name)} = (() => {{\n{body}{result}}})();\n"


def _bound(found: re.Match[str]) -> str:
    names = ", ".join(one if one == own else f"{one}: {own}" for one, own in _names(found[1]))
    return f"const {{ {names} }} = {_variable(found[2])};\n"


def _names(text: str) -> list[tuple[str, str]]:
    """(What it is called there, what here) of the names between the braces of an import."""
    parts = [part.strip().split(" as ") for part in text.split(",") if part.strip()]
    return [(part[0], part[-1]) for part in parts]


def _variable(name: str) -> str:
    return f"$_{name.replace('-', '_')}"
