"""The lists of the index in pieces: JavaScript files that put JSON onto their own script element, so that a page opened
from a folder can load them, where a browser allows no other way. A piece is written when one of its rows changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perfreg_assets.reports.files import digest, write

FOLDER = "data"
_HEAD = "document.currentScript.rows = "
_TAIL = ";\n"
_SHORT = 8  # of a hash: enough to tell a file from the one that it was before

Rows = dict[str, Any]


def read(out_dir: Path, name: str, expected: str) -> Rows | None:
    """The rows of a piece; None where it is not there or not as it was written."""
    try:
        text = _path(out_dir, name).read_text("utf-8")
    except (OSError, ValueError):
        return None
    if digest(text) != expected:
        return None
    rows: Rows = json.loads(text.removeprefix(_HEAD).removesuffix(_TAIL))
    return rows


def save(out_dir: Path, name: str, rows: Rows, known: str) -> str:
    """Writes a piece unless its hash is the known one; its hash.

    Args:
        rows: by the name that tells them apart, of JSON's types.
    """
    content = json.dumps(dict(sorted(rows.items())), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = f"{_HEAD}{content}{_TAIL}"
    found = digest(text)
    if found != known or not _path(out_dir, name).is_file():
        (out_dir / FOLDER).mkdir(exist_ok=True)
        write(_path(out_dir, name), text)
    return found


def list_blocks(blocks: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    """What a page must know to load blocks by need: number of rows, latest start (s since 1970), start of the hash."""
    return [[block["count"], block["newest"], block["digest"][:_SHORT]] for block in blocks]


def there(out_dir: Path) -> set[str]:
    """Names of the pieces that are there, whatever they hold."""
    return {path.stem for path in (out_dir / FOLDER).glob("*.js")}


def remove(out_dir: Path, names: Iterable[str]) -> None:
    for name in names:
        _path(out_dir, name).unlink(missing_ok=True)


def _path(out_dir: Path, name: str) -> Path:
    return out_dir / FOLDER / f"{name}.js"
